// SPDX-License-Identifier: Apache-2.0
// What `weir bench allocate` makes of its measurements: which batches count, what memory did, ratios round by round.
#include "allocate/allocate_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "allocate/run/allocate_batches.hpp"
#include "allocate/run/allocate_objects.hpp"
#include "allocate/run/free_lists.hpp"
#include "allocate/run/processor_wait.hpp"
#include "allocate/run/resident_memory.hpp"
#include "allocate/run/time_windows.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr SteadyTime t0{1s};

TimeWindow from_to(std::chrono::milliseconds begin, std::chrono::milliseconds end) { return {t0 + begin, t0 + end}; }

AllocateReport with_rate(double rate) {
    return {
        .rate = {.median = rate, .low = rate, .high = rate, .runs = rate > 0 ? 10U : 0U}, .batches = 10, .memory = {}};
}

TEST(TimeWindows, OverlapIsTheTimeInWhichAllRanOfTheTimeInWhichAnyDid) {
    EXPECT_DOUBLE_EQ(overlap_of(std::vector{from_to(0ms, 10ms)}), 1);
    EXPECT_DOUBLE_EQ(overlap_of(std::vector{from_to(0ms, 10ms), from_to(0ms, 10ms)}), 1);
    EXPECT_DOUBLE_EQ(overlap_of(std::vector{from_to(0ms, 9ms), from_to(1ms, 10ms)}), 0.8);
    EXPECT_DOUBLE_EQ(overlap_of(std::vector{from_to(0ms, 10ms), from_to(4ms, 5ms)}), 0.1);
    EXPECT_DOUBLE_EQ(overlap_of(std::vector{from_to(0ms, 5ms), from_to(5ms, 10ms)}), 0);  // one after the other
    EXPECT_DOUBLE_EQ(overlap_of(std::vector{from_to(0ms, 0ms), from_to(0ms, 0ms)}), 0);
    EXPECT_DOUBLE_EQ(overlap_of({}), 0);
}

std::size_t counted_when_waiting(std::chrono::milliseconds wait, std::size_t ended_in) {
    std::vector<Look> looks;
    for (std::size_t i = 0; i <= 10; ++i) {
        looks.push_back({.time = t0 + i * 5ms, .events = i * 1000, .no_processor = {}});
        if (i > ended_in) looks.back().no_processor[1] = wait;
    }
    AllocateFigures figures;
    add_batches(figures, looks);
    EXPECT_EQ(figures.batches, 10U);
    for (const auto rate : figures.rates) EXPECT_DOUBLE_EQ(rate, 1000 * 120 / 0.005);
    return figures.rates.size();
}

TEST(AllocateBatches, InWhichAThreadMayHaveLackedAProcessorDoNotCount) {
    EXPECT_EQ(counted_when_waiting(0ms, 5), 10U);
    EXPECT_EQ(counted_when_waiting(4ms, 5), 8U);   // it may have begun in the batch before
    EXPECT_EQ(counted_when_waiting(12ms, 5), 6U);  // it lasted for two whole batches at least
    EXPECT_EQ(counted_when_waiting(4ms, 0), 9U);
    EXPECT_EQ(counted_when_waiting(1000ms, 9), 0U);
    AllocateFigures none;
    add_batches(none, {});
    EXPECT_EQ(none.batches, 0U);
}

TEST(AllocateBatches, OfThreadsThatTakeTurnsDoNotCount) {
    const std::atomic<bool> stop{false};
    Batches batches({.threads = 2, .time = 0ms}, stop);
    const auto now = std::chrono::steady_clock::now();
    batches.next();
    batches.window(0, {now, now + 1ms});
    batches.window(1, {now + 1ms, now + 2ms});
    batches.next();
    batches.window(0, {now, now + 1ms});
    batches.window(1, {now, now + 1ms});
    batches.next();
    AllocateFigures figures;
    batches.give(figures);
    EXPECT_EQ(figures.batches, 2U);
    EXPECT_EQ(figures.rates.size(), 1U);
}

TEST(AllocateReports, ComeBackFromTheWorkerAsTheyWere) {
    const AllocateReport report{.rate = {.median = 3e8, .low = 1e8, .high = 4e8, .runs = 77},
                                .batches = 80,
                                .memory = {{.seconds = 0.25, .bytes = 1e6}, {.seconds = 0.5, .bytes = -4096}},
                                .memory_max_reached = true,
                                .corrections = 12345,
                                .line_trip = 1e-7};
    const auto read = read_allocate_report(boost::json::serialize(to_json(report)));
    ASSERT_TRUE(read.has_value()) << read.error().message();
    EXPECT_EQ(to_json(*read), to_json(report));
}

TEST(AllocateReports, ThatAreNoneAreErrors) {
    for (const auto* text : {"", "{}", "[1]", "{\"rate\":{\"median\":\"much\"}}", "{\"rate\":{\"median\":1}"})
        EXPECT_FALSE(read_allocate_report(text).has_value()) << text;
}

TEST(AllocateRows, MemoryThatWasThereAfterTheFirstSecondIsNoGrowth) {
    std::vector<MemoryAt> memory{{.seconds = 0.1, .bytes = 0}};
    for (int second = 1; second <= 60; ++second)
        memory.push_back({.seconds = static_cast<double>(second), .bytes = 5e6 + 1e4 * second});
    EXPECT_DOUBLE_EQ(memory_span(memory).growth(), 59e4);
    EXPECT_DOUBLE_EQ(memory_span(memory).high, 5.6e6);
    EXPECT_DOUBLE_EQ(memory_span({}).growth(), 0);
}

TEST(AllocateRows, RatiosAreOfTheSameRoundAndRoundsWithoutAFigureAreLeftOut) {
    const auto ratio =
        ratio_of({with_rate(200), with_rate(0), with_rate(90)}, {with_rate(100), with_rate(100), with_rate(30)});
    EXPECT_DOUBLE_EQ(ratio.low, 2);
    EXPECT_DOUBLE_EQ(ratio.high, 3);
    EXPECT_EQ(ratio.runs, 2U);
}

TEST(AllocateRows, HoldMigratingPoolAgainstTheBestGeneralAllocator) {
    AllocateRuns runs;
    for (const auto& [name, rate] :
         {std::pair{"locked", 10.0}, {"glibc", 100.0}, {"jemalloc", 150.0}, {"migrating", 300.0}})
        runs.short_runs[{name, pattern_private, 2}] = {with_rate(rate)};
    std::set<std::string> seen;
    for (const auto& row : allocate_rows(runs)) {
        EXPECT_EQ(row.peer, !row.name.starts_with("migrating_to_") && row.parameters.at("allocator") != "migrating")
            << row.name;
        if (row.unit != "ratio") continue;
        seen.insert(row.name + " " + std::string(row.parameters.at("allocator").as_string()));
        EXPECT_DOUBLE_EQ(row.value.median, row.name == "migrating_to_locked" ? 30 : 2);
    }
    EXPECT_EQ(seen, (std::set<std::string>{"migrating_to_best_general jemalloc", "migrating_to_locked locked"}));
}

TEST(AllocateCandidates, ThatAreNotInstalledAreKnownWithoutLoadingThem) {
    EXPECT_EQ(installed_of({"libnobody-has-this.so.1"}), std::nullopt);
    EXPECT_EQ(installed_of({"libnobody-has-this.so.1", "libc.so.6"}), "libc.so.6");
}

TEST(AllocateObjects, AreAsManyAsTheOperationsSay) {
    const EventObjects<std::allocator> objects(std::allocator<std::byte>(), 0xfffffff0U);
    EXPECT_EQ(2 * objects.count(), operations_per_event);
}

TEST(FreeLists, GiveMemoryOfEverySizeThatNobodyElseHas) {
    static constinit FreeLists lists;  // it never gives back what it took
    std::vector<std::pair<void*, std::size_t>> taken;
    for (int round = 0; round < 3; ++round) {
        for (std::size_t bytes = 1; bytes <= 1100; bytes += 7) {
            auto* memory = lists.take(bytes);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 16, 0U);
            std::memset(memory, static_cast<int>(bytes % 251), bytes);
            taken.emplace_back(memory, bytes);
        }
        for (const auto& [memory, bytes] : taken) {
            const auto* data = static_cast<const unsigned char*>(memory);
            EXPECT_TRUE(std::all_of(data, data + bytes, [&](unsigned char c) { return c == bytes % 251; })) << bytes;
            lists.give(memory, bytes);
        }
        taken.clear();
    }
}

TEST(ResidentMemory, GrowsByWhatIsTouched) {
    const ResidentMemory memory;
    const auto before = memory.now();
    ASSERT_GT(before, 0U);
    std::vector<char> touched(32 << 20, 'x');
    EXPECT_GE(memory.now(), before + touched.size() / 2);
}

TEST(ProcessorWait, NeverGoesBack) {
    const ProcessorWait wait;
    const auto before = wait.now();
    EXPECT_GE(before, 0ns);
    EXPECT_GE(wait.now(), before);
}

}  // namespace
}  // namespace weir::app

// SPDX-License-Identifier: Apache-2.0
#include "weir/checksum/parallel_adler32.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "parallel/parallel_cutoff.hpp"
#include "samples.hpp"
#include "weir/checksum/adler32.hpp"

namespace weir::checksum {
namespace {

using test::random_bytes;
using namespace std::chrono_literals;

constexpr Scheme all_schemes[] = {Scheme::thread_per_chunk, Scheme::condition_both_ways, Scheme::condition_then_spin,
                                  Scheme::spin_then_sleep};

class ParallelAdler32Schemes : public testing::TestWithParam<std::tuple<Scheme, unsigned>> {
protected:
    ParallelOptions options() const {
        ParallelOptions options;
        std::tie(options.scheme, options.threads) = GetParam();
        options.cutoff = 1;
        return options;
    }
};

TEST_P(ParallelAdler32Schemes, EverySizeGivesThePlainSumFromAnyStart) {
    ParallelAdler32 sum(options());
    const auto bytes = random_bytes(300'000, 21);
    for (std::size_t size : {0UL, 1UL, 2UL, 3UL, 63UL, 64UL, 65UL, 129UL, 1000UL, 4096UL, 65537UL, 300000UL}) {
        const auto data = ConstData(bytes).first(size);
        EXPECT_EQ(sum(data), adler32(data)) << size;
        EXPECT_EQ(sum(data, 0x00620062), adler32(data, 0x00620062)) << size;
    }
}

TEST_P(ParallelAdler32Schemes, SeveralCallersGetEachTheirOwnSum) {
    ParallelAdler32 sum(options());
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (unsigned caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&, caller] {
            const auto bytes = random_bytes(20'000 + caller * 777, caller);
            for (std::size_t round = 0; round < 150; ++round) {
                const auto data = ConstData(bytes).subspan(round * 7);
                if (sum(data, caller + 1) != adler32(data, caller + 1)) ++wrong;
            }
        });
    }
    for (auto& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
}

TEST_P(ParallelAdler32Schemes, AChildOfForkSumsAloneAndEnds) {
    auto sum = std::make_unique<ParallelAdler32>(options());
    const auto bytes = random_bytes(300'000, 23);
    const auto right = adler32(bytes);
    EXPECT_EQ((*sum)(bytes), right);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const bool good = (*sum)(bytes) == right;
        sum.reset();
        ::_exit(good ? 0 : 1);
    }
    EXPECT_EQ((*sum)(bytes), right);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_P(ParallelAdler32Schemes, WorkersCanBeStoppedAtOnceAfterWorkAndWithoutAny) {
    const auto bytes = random_bytes(10'000, 22);
    for (int round = 0; round < 20; ++round) {
        ParallelAdler32 sum(options());
        if (round % 2 == 0) {
            EXPECT_EQ(sum(bytes), adler32(bytes));
        }
    }
}

TEST_P(ParallelAdler32Schemes, WorkersThatSleptStillHelp) {
    auto sleepy = options();
    sleepy.spin = 0ns;
    ParallelAdler32 sum(sleepy);
    const auto bytes = random_bytes(50'000, 23);
    for (int round = 0; round < 30; ++round) {
        if (round % 10 == 0) std::this_thread::sleep_for(2ms);
        EXPECT_EQ(sum(bytes), adler32(bytes));
    }
    const std::vector<std::byte> large(5 << 20, std::byte{0x5a});  // worth waking a worker for
    std::this_thread::sleep_for(2ms);
    EXPECT_EQ(sum(large), adler32(large));
}

std::string case_name(const testing::TestParamInfo<std::tuple<Scheme, unsigned>>& info) {
    std::string text{name(std::get<0>(info.param))};
    std::erase(text, '-');
    return text + "With" + std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(All, ParallelAdler32Schemes,
                         testing::Combine(testing::ValuesIn(all_schemes), testing::Values(1U, 3U)), case_name);

TEST(ParallelAdler32, ZlibsLoopGivesTheSameSums) {
    ParallelOptions options;
    options.threads = 2;
    options.cutoff = 1000;
    options.kernel = AdlerKernel::zlib;
    ParallelAdler32 sum(options);
    const auto bytes = random_bytes(70'000, 24);
    for (std::size_t size : {0UL, 10UL, 999UL, 1000UL, 70000UL}) {
        const auto data = ConstData(bytes).first(size);
        EXPECT_EQ(sum(data, 5), adler32(data, 5)) << size;
    }
}

TEST(ParallelAdler32, OffMeansNoThreadsAndThePlainSum) {
    ParallelAdler32 sum({});
    const auto bytes = random_bytes(100'000, 25);
    EXPECT_EQ(sum(bytes), adler32(bytes));
    EXPECT_EQ(sum.cutoff(), ParallelOptions::never);
    EXPECT_EQ(sum.threads(), 0U);
}

TEST(ParallelAdler32, CutoffIsKeptWhenSetAndMeasuredWhenNot) {
    ParallelOptions options;
    options.threads = 1;
    options.cutoff = 12'345;
    EXPECT_EQ(ParallelAdler32(options).cutoff(), 12'345U);
    EXPECT_EQ(ParallelAdler32(options).threads(), 1U);
    options.cutoff = 0;
    for (const auto scheme : all_schemes) {
        options.scheme = scheme;
        ParallelAdler32 sum(options);
        EXPECT_GE(sum.cutoff(), 4096U) << name(scheme);
        const auto bytes = random_bytes(200'000, 26);
        EXPECT_EQ(sum(bytes), adler32(bytes));
    }
}

TEST(ParallelAdler32, WorkersArePinnedWhereAllowedAndRefusalsAreCounted) {
    ParallelOptions options;
    options.threads = 2;
    options.cutoff = 1;
    options.pin = true;
    const auto bytes = random_bytes(10'000, 27);
    for (const auto scheme : all_schemes) {
        options.scheme = scheme;
        options.cpus.clear();
        ParallelAdler32 allowed(options);
        EXPECT_EQ(allowed(bytes), adler32(bytes));
        EXPECT_EQ(allowed.pins_refused(), 0U) << name(scheme);
        options.cpus = {-1};  // no such processor
        ParallelAdler32 refused(options);
        EXPECT_EQ(refused(bytes), adler32(bytes));
        EXPECT_EQ(refused.pins_refused(), 2U) << name(scheme);
    }
}

TEST(ParallelCutoff, IsTheSmallestSizeFromWhichSplittingAlwaysWon) {
    const CutoffSample samples[] = {{1000, 1, 0.5}, {2000, 2, 3}, {4000, 4, 3}, {8000, 8, 5}};
    EXPECT_EQ(cutoff_from(samples), 4000U);
}

TEST(ParallelCutoff, IsWhereTheLinesCrossWhenSplittingHadNotYetWon) {
    // alone: 1 per byte; split: 10000 and half of it per byte. They cross at 20000, with a quarter on top.
    const CutoffSample samples[] = {{2000, 2000, 11'000}, {4000, 4000, 12'000}, {8000, 8000, 14'000}};
    EXPECT_NEAR(static_cast<double>(cutoff_from(samples)), 25'000, 1);
}

TEST(ParallelCutoff, IsNeverWhenMoreBytesDoNotHelp) {
    const CutoffSample samples[] = {{2000, 2000, 3000}, {4000, 4000, 5000}, {8000, 8000, 9000}};
    EXPECT_EQ(cutoff_from(samples), ParallelOptions::never);
    EXPECT_EQ(cutoff_from({}), ParallelOptions::never);
}

}  // namespace
}  // namespace weir::checksum

// SPDX-License-Identifier: Apache-2.0
#include "weir/base/thread_account.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "weir/base/file.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/thread_trace.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(ThreadAccounts, AWaitCostsNothingInAThreadThatEnteredNone) {
    EXPECT_EQ(ThreadAccounts::of_this_thread(), nullptr);
    const ScopedWait wait(WaitCause::network);
    const ScopedWork work("nothing");
}

TEST(ThreadAccounts, WaitingIsCountedByCauseAndTheRestIsRunning) {
    ThreadAccounts accounts;
    const ThreadAccounts::Entry entry(accounts, "main");
    {
        const ScopedWait wait(ThreadAccount::pool);
        std::this_thread::sleep_for(2ms);
    }
    const auto times = accounts.times();
    ASSERT_EQ(times.size(), 1U);
    EXPECT_EQ(times[0].thread, "main");
    EXPECT_FALSE(times[0].ended);
    EXPECT_GE(times[0].of(WaitCause::pool), 2ms);
    EXPECT_EQ(times[0].waits[static_cast<std::size_t>(WaitCause::pool)], 1U);
    EXPECT_EQ(times[0].of(WaitCause::network), 0ms);
    EXPECT_GT(times[0].running, 0ns);
    EXPECT_GT(times[0].processor, 0ns);
}

TEST(ThreadAccounts, AWaitInsideAnotherBelongsToTheOuter) {
    ThreadAccounts accounts;
    const ThreadAccounts::Entry entry(accounts, "main");
    {
        const ScopedWait outer(WaitCause::queue);
        const ScopedWait inner(WaitCause::lock);
        std::this_thread::sleep_for(1ms);
    }
    const auto times = accounts.times().front();
    EXPECT_EQ(times.of(WaitCause::lock), 0ns);
    EXPECT_GE(times.of(WaitCause::queue), 1ms);
}

TEST(ThreadAccounts, AWaitThatHasNotEndedIsSeenFromOutside) {
    ThreadAccounts accounts;
    std::atomic<bool> waits{false};
    const NamedThread thread(&accounts, "waiter", [&](const std::stop_token& stop) {
        const ScopedWait wait(WaitCause::peer);
        waits = true;
        while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
    });
    while (!waits) std::this_thread::yield();
    const auto before = accounts.times().front().of(WaitCause::peer);
    std::this_thread::sleep_for(2ms);
    EXPECT_GE(accounts.times().front().of(WaitCause::peer), before + 1ms);
}

TEST(ThreadAccounts, ThreadsThatEndedAreAddedUpByName) {
    ThreadAccounts accounts;
    for (int i = 0; i < 3; ++i) {
        NamedThread thread(&accounts, "worker", [] {
            const ScopedWait wait(WaitCause::timer);
            std::this_thread::sleep_for(1ms);
        });
    }
    const auto times = accounts.times();
    ASSERT_EQ(times.size(), 1U);
    EXPECT_EQ(times[0].threads, 3U);
    EXPECT_TRUE(times[0].ended);
    EXPECT_GE(times[0].of(WaitCause::timer), 3ms);
}

TEST(ThreadAccounts, ANamedThreadEntersTheAccountsOfItsMaker) {
    ThreadAccounts accounts;
    const ThreadAccounts::Entry entry(accounts, "maker");
    ThreadAccounts* seen = nullptr;
    {
        const NamedThread thread("made", [&] { seen = ThreadAccounts::of_this_thread(); });
    }
    EXPECT_EQ(seen, &accounts);
}

TEST(ThreadAccounts, TimesNeverFallWhileTheThreadWaitsAndWakes) {
    ThreadAccounts accounts;
    std::atomic<bool> begun{false};
    const NamedThread thread(&accounts, "busy", [&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            const ScopedWait wait(WaitCause::data);
            begun = true;
        }
    });
    while (!begun) std::this_thread::yield();
    std::chrono::nanoseconds before{0};
    for (int i = 0; i < 2000; ++i) {
        const auto now = accounts.times().front().of(WaitCause::data);
        EXPECT_GE(now, before);
        before = now;
    }
}

TEST(ThreadTrace, HoldsTheLatestSpansOfEachThreadWithItsName) {
    ThreadAccounts accounts(4);
    {
        const NamedThread thread(&accounts, "in\"put\n", [] { const ScopedWork work("assemble"); });
    }
    const ThreadAccounts::Entry entry(accounts, "main");
    for (int i = 0; i < 10; ++i) const ScopedWait wait(WaitCause::disk);
    const auto text = thread_trace(accounts, "weir");
    EXPECT_THAT(text, testing::StartsWith("{\"traceEvents\":["));
    EXPECT_THAT(text, HasSubstr(R"("name":"assemble","cat":"work")"));
    EXPECT_THAT(text, HasSubstr(R"({"name":"input"})"));
    std::size_t disks = 0;
    for (auto at = text.find("\"disk\""); at != text.npos; at = text.find("\"disk\"", at + 1)) ++disks;
    EXPECT_EQ(disks, 4U) << "bounded: the latest";

    const auto path = std::filesystem::path(testing::TempDir()) / "thread_trace_test.json";
    ASSERT_TRUE(write_thread_trace(accounts, "weir", path));
    EXPECT_EQ(read_text(path, Bytes{1 << 20}).value_or(""), text);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace weir

// SPDX-License-Identifier: Apache-2.0
#include "reports/recording_watch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;
using Alarms = std::vector<std::string>;

class RecordingWatchTest : public ::testing::Test {
protected:
    Alarms step_after(std::chrono::nanoseconds time) {
        clock_.advance(time);
        watch_.step(clock_.now());
        return std::exchange(alarms_, {});
    }

    ManualClock clock_;
    Alarms alarms_;
    std::string text_;  // of the last alarm
    OperatorReports reports_{[this](const Report& report) {
        alarms_.push_back(report.alarm);
        text_ = report.why;
    }};
    std::optional<WallTime> certificate_ends_, certificate_ends_soon_;
    std::optional<std::size_t> closing_waits_;
    RecordingWatch::MemoryWait memory_wait_;
    std::uint64_t stored_ = 0;
    Bytes usable_ = 1000_MiB;
    RecordingWatch watch_{{.certificate = "own.pem", .full_warning = 60s},
                          {.certificate_ends = [this] { return certificate_ends_; },
                           .certificate_ends_soon = [this] { return certificate_ends_soon_; },
                           .closing_waits = [this] { return closing_waits_; },
                           .memory_wait = [this] { return memory_wait_; },
                           .bytes_stored = [this] { return stored_; },
                           .usable_space = [this] { return usable_; }},
                          reports_,
                          clock_};
};

TEST_F(RecordingWatchTest, ACertificateIsReportedWhenItEndsSoonAndOnceMoreWhenItHasEnded) {
    EXPECT_EQ(step_after(0s), Alarms{});  // no TLS
    certificate_ends_ = clock_.wall() + 31 * 24h;
    certificate_ends_soon_ = clock_.wall() + 24h;
    EXPECT_EQ(step_after(1s), Alarms{});
    EXPECT_EQ(step_after(25h), Alarms{"certificate"});
    EXPECT_TRUE(text_.starts_with("own.pem ends on ")) << text_;
    EXPECT_EQ(step_after(24h), Alarms{});
    EXPECT_EQ(step_after(29 * 24h), Alarms{"certificate"});
    EXPECT_TRUE(text_.starts_with("own.pem ended on ")) << text_;
    EXPECT_EQ(step_after(24h), Alarms{});
}

TEST_F(RecordingWatchTest, ClosingThatHoldsUpTheSendersForTenSecondsIsReportedOnceUntilItHasPassed) {
    closing_waits_ = 300;
    EXPECT_EQ(step_after(0s), Alarms{});
    EXPECT_EQ(step_after(9s), Alarms{});
    closing_waits_ = 301;
    EXPECT_EQ(step_after(1s), Alarms{"closing is slow"});
    EXPECT_TRUE(text_.starts_with("301 files wait to be closed")) << text_;
    EXPECT_EQ(step_after(100s), Alarms{});
    closing_waits_.reset();
    EXPECT_EQ(step_after(1s), Alarms{});
    closing_waits_ = 300;
    EXPECT_EQ(step_after(1s), Alarms{});  // it begins anew
    EXPECT_EQ(step_after(10s), Alarms{"closing is slow"});
}

TEST_F(RecordingWatchTest, SendersThatWaitForTheMemoryOfOthersAreReportedOnceUntilItHasPassed) {
    memory_wait_ = {.events = 3, .longest = 9s};
    EXPECT_EQ(step_after(1s), Alarms{});
    memory_wait_.longest = 10s;
    EXPECT_EQ(step_after(1s), Alarms{"senders wait for memory"});
    EXPECT_TRUE(text_.starts_with("3 events wait, the first for 10 s")) << text_;
    EXPECT_EQ(step_after(1s), Alarms{});
    memory_wait_ = {};
    EXPECT_EQ(step_after(1s), Alarms{});
    memory_wait_ = {.events = 1, .longest = 11s};
    EXPECT_EQ(step_after(1s), Alarms{"senders wait for memory"});
}

TEST_F(RecordingWatchTest, DisksThatWillBeFullAreReportedAtTheRateOfTheLastMinutesOnceUntilThereIsRoomAgain) {
    EXPECT_EQ(step_after(2s), Alarms{});
    EXPECT_EQ(watch_.until_full(), std::nullopt);  // nothing is written
    stored_ = (40_MiB).count();
    EXPECT_EQ(step_after(1s), Alarms{});
    EXPECT_EQ(watch_.until_full(), std::nullopt);  // not yet time for another look
    EXPECT_EQ(step_after(1s), Alarms{});           // 10 MiB a second: 100 s
    EXPECT_EQ(watch_.until_full(), 100s);
    usable_ = 500_MiB;
    stored_ = (60_MiB).count();
    EXPECT_EQ(step_after(2s), Alarms{"disks full soon"});
    EXPECT_EQ(watch_.until_full(), 50s);
    stored_ = (80_MiB).count();
    usable_ = 1000_MiB;
    EXPECT_EQ(step_after(2s), Alarms{});  // 100 s, less than twice the limit: it counts as the same
    usable_ = 500_MiB;
    stored_ = (100_MiB).count();
    EXPECT_EQ(step_after(2s), Alarms{});
    usable_ = 2000_MiB;
    stored_ = (120_MiB).count();
    EXPECT_EQ(step_after(2s), Alarms{});
    usable_ = 500_MiB;
    stored_ = (140_MiB).count();
    EXPECT_EQ(step_after(2s), Alarms{"disks full soon"});
}

TEST(SpaceForecast, WhatWasWrittenBeforeTheWindowDoesNotCount) {
    const SteadyTime begin{};
    SpaceForecast forecast(begin);
    std::uint64_t stored = 0;
    std::optional<std::chrono::seconds> until;
    for (auto now = begin; now < begin + 10min; now += 2s) {  // fast for 5 minutes, then nothing
        if (now < begin + 5min) stored += 1'000'000;
        until = forecast.add(now, stored, 1_GiB).until_full;
    }
    EXPECT_EQ(until, std::nullopt);
}

}  // namespace
}  // namespace weir::recorder

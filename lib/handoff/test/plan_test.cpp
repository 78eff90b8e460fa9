// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include "transfer/backoff.hpp"

namespace weir::handoff {
namespace {

using namespace std::chrono_literals;

class PlanTest : public ::testing::Test {
protected:
    static catalogue::FileRow file_of(const std::string& name, std::chrono::seconds closed, std::string stream = "Main",
                                      std::string volume = "/1") {
        catalogue::FileRow file;
        file.guid = Guid::random();
        file.name = name;
        file.volume = std::move(volume);
        file.stream_type = "physics";
        file.stream_name = std::move(stream);
        file.closed = WallTime{closed};
        return file;
    }
    void add(const catalogue::FileRow& file, const std::vector<catalogue::TransferRow>& rows = {},
             bool at_once = false) {
        plan_.add(file, rows, wall_, now_, 10s, at_once);
    }
    catalogue::TransferRow row_of(const catalogue::FileRow& file, std::string destination, catalogue::CopyState state) {
        catalogue::TransferRow row;
        row.guid = file.guid;
        row.destination = std::move(destination);
        row.state = state;
        return row;
    }
    std::string next(std::size_t destination = 0) {
        const auto job = plan_.take(destination, now_);
        return job ? job->file.name : "";
    }

    Plan plan_{{"eos", "tape"}, Priorities::parse({"physics_Express=1"}).value()};
    WallTime wall_{1'000'000s};
    SteadyTime now_{500s};
};

TEST_F(PlanTest, PriorityThenQuietVolumesThenAge) {
    plan_.set_busy({"/1"});
    add(file_of("busy and old", 1s));
    add(file_of("quiet and new", 9s, "Main", "/2"));
    add(file_of("quiet and old", 5s, "Main", "/2"));
    add(file_of("express", 10s, "Express"));
    EXPECT_EQ(next(), "express");
    EXPECT_EQ(next(), "quiet and old");
    plan_.set_busy({"/2"});  // the recorder writes to the other one now
    EXPECT_EQ(next(), "busy and old");
    EXPECT_EQ(next(), "quiet and new");
    EXPECT_EQ(next(), "");
    EXPECT_EQ(next(1), "express") << "each destination has an order of its own";
}

TEST_F(PlanTest, WhatFailedComesAgainInItsTimeAndNotBefore) {
    const auto file = file_of("f", 1s);
    add(file);
    const auto job = plan_.take(0, now_);
    EXPECT_EQ(job->tries, 1U);
    plan_.end_attempt(0, job->row, now_ + 5s);
    EXPECT_EQ(next(), "");
    EXPECT_EQ(plan_.next_time(0), now_ + 5s);
    now_ += 5s;
    EXPECT_EQ(plan_.take(0, now_)->tries, 2U);
}

TEST_F(PlanTest, AWaitFromBeforeAStartIsKeptButNeverLongerThanTheLongest) {
    const auto file = file_of("f", 1s);
    auto row = row_of(file, "eos", catalogue::CopyState::failed);
    row.next_try = wall_ + 1h;  // the clock was wrong then, or is now
    add(file, {row});
    EXPECT_EQ(next(), "");
    now_ += 10s;
    EXPECT_EQ(next(), "f");
}

TEST_F(PlanTest, OnceWaitsForNothingFromBefore) {
    const auto file = file_of("f", 1s);
    auto row = row_of(file, "eos", catalogue::CopyState::failed);
    row.next_try = wall_ + 1h;
    add(file, {row}, true);
    EXPECT_EQ(next(), "f");
}

TEST_F(PlanTest, AFileIsCompleteWhenEveryDestinationHasIt) {
    const auto file = file_of("f", 1s);
    add(file, {row_of(file, "tape", catalogue::CopyState::transferred),
               row_of(file, "one that is gone", catalogue::CopyState::copying)});
    EXPECT_TRUE(plan_.is_over(1));
    EXPECT_FALSE(plan_.is_over(0));
    auto job = plan_.take(0, now_);
    EXPECT_FALSE(plan_.complete(file.guid));
    job->row.state = catalogue::CopyState::transferred;
    plan_.end_attempt(0, job->row, std::nullopt);
    EXPECT_TRUE(plan_.complete(file.guid));
    EXPECT_TRUE(plan_.is_over(0));
}

TEST_F(PlanTest, WhatIsNoLongerOfferedIsForgottenButForWhatIsInHand) {
    const auto one = file_of("one", 1s), two = file_of("two", 2s);
    add(one);
    add(two);
    const auto job = plan_.take(0, now_);
    plan_.keep_only({});
    EXPECT_TRUE(plan_.knows(one.guid));
    EXPECT_FALSE(plan_.knows(two.guid));
    plan_.end_attempt(0, job->row, now_);
    plan_.keep_only({});
    EXPECT_FALSE(plan_.knows(one.guid));
    EXPECT_EQ(next(), "");
    EXPECT_EQ(next(1), "");
}

TEST_F(PlanTest, WhatIsGivenUpIsCountedAndNotTakenAgain) {
    add(file_of("one", 1s));
    add(file_of("two", 2s));
    const auto job = plan_.take(0, now_);
    EXPECT_EQ(plan_.abandon(0), 1U);
    EXPECT_EQ(plan_.standing(0).in_hand, 1U);
    EXPECT_EQ(plan_.standing(0).waiting, 0U);
    EXPECT_EQ(plan_.standing(1).waiting, 2U);
    EXPECT_EQ(plan_.standing(1).oldest, WallTime{1s});
}

TEST(Backoff, DoublesUpToItsLimitAndIsNeverWithoutChance) {
    Backoff backoff(100ms, 1s, 1);
    for (const auto& [failures, full] : std::vector<std::pair<unsigned, std::chrono::milliseconds>>{
             {1, 100ms}, {2, 200ms}, {3, 400ms}, {5, 1s}, {4000, 1s}}) {
        for (int i = 0; i < 50; ++i) {
            const auto wait = backoff.after(failures);
            EXPECT_GE(wait, full / 2);
            EXPECT_LE(wait, full);
        }
    }
}

}  // namespace
}  // namespace weir::handoff

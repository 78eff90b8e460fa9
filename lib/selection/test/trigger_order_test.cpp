// SPDX-License-Identifier: Apache-2.0
#include "triggers/outside/trigger_order.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "weir/base/random.hpp"
#include "weir/base/testing/number_in_environment.hpp"

namespace weir::selection {
namespace {

using Verdict = TriggerOrder::Verdict;

class Order : public ::testing::Test {
protected:
    Order() { order.start_run(Level1Id{1}); }

    Verdict judge(std::uint32_t id) { return order.judge(Level1Id{id}); }
    std::string faults(const std::string& what) {
        const auto all = order.faults();
        const auto found = all.find(what);
        return found == all.end() ? "" : found->second.ranges(100);
    }
    std::vector<Report> reports() {
        std::vector<Report> made;
        order.report_to(Reporter([&](Report report) { made.push_back(std::move(report)); }));
        return made;
    }

    TriggerOrder order{"the trigger unit"};
};

TEST_F(Order, IdsThatCountUpAreGoodAndNothingIsReported) {
    for (std::uint32_t id = 1; id <= 100; ++id) ASSERT_EQ(judge(id), Verdict::good);
    EXPECT_TRUE(order.take_skipped().empty());
    EXPECT_TRUE(order.faults().empty());
    EXPECT_TRUE(reports().empty());
}

TEST_F(Order, IdsThatNeverCameAreLostNamedAndSkippedOnce) {
    for (const auto id : {1U, 5U, 6U, 8U}) EXPECT_EQ(judge(id), Verdict::good);
    EXPECT_EQ(order.take_skipped(), (std::vector<SkippedIds>{{Level1Id{2}, 3}, {Level1Id{7}, 1}}));
    EXPECT_TRUE(order.take_skipped().empty());
    EXPECT_EQ(order.counts().lost, 4U);
    EXPECT_EQ(faults("triggers lost"), "2-4,7");
    const auto made = reports();
    ASSERT_EQ(made.size(), 1U);
    EXPECT_EQ(made[0].alarm, "triggers_lost");
    EXPECT_EQ(made[0].why, "level-1 ids 2-4,7");
    EXPECT_TRUE(reports().empty()) << "it was reported";
}

TEST_F(Order, OneThatComesAgainIsDoubledAndOneBehindALaterOneIsOutOfOrder) {
    for (const auto id : {1U, 2U, 4U}) EXPECT_EQ(judge(id), Verdict::good);
    EXPECT_EQ(judge(2), Verdict::doubled);
    EXPECT_EQ(judge(3), Verdict::out_of_order);
    EXPECT_EQ(judge(3), Verdict::doubled) << "it came before, and was refused";
    EXPECT_EQ(judge(0), Verdict::out_of_order) << "before the first of the run";
    EXPECT_EQ(judge(5), Verdict::good);
    EXPECT_EQ(order.counts().lost, 0U);
    EXPECT_EQ(order.counts().doubled, 2U);
    EXPECT_EQ(faults("triggers lost"), "");
    EXPECT_EQ(faults("triggers out of order"), "0,3");
    EXPECT_EQ(faults("triggers doubled"), "2-3");
    EXPECT_EQ(order.take_skipped(), (std::vector<SkippedIds>{{Level1Id{3}, 1}})) << "its event was given up";
}

TEST_F(Order, ACounterThatJumpsOnceIsRefusedAndTheOthersGoOn) {
    EXPECT_EQ(judge(1), Verdict::good);
    EXPECT_EQ(judge(0x4000'0002), Verdict::too_far_ahead);
    EXPECT_EQ(judge(3), Verdict::good);
    EXPECT_EQ(faults("triggers lost"), "2");
    EXPECT_EQ(faults("triggers too far ahead"), "1073741826");
    EXPECT_EQ(judge(4), Verdict::good);
}

TEST_F(Order, ACounterThatCountsOnFromWhereItJumpedToIsFollowed) {
    EXPECT_EQ(judge(1), Verdict::good);
    EXPECT_EQ(judge(10'000), Verdict::too_far_ahead);
    EXPECT_EQ(judge(10'001), Verdict::good);
    EXPECT_EQ(judge(10'002), Verdict::good);
    EXPECT_EQ(faults("triggers lost"), "2-9999");
    EXPECT_EQ(faults("triggers too far ahead"), "10000");
    EXPECT_EQ(order.counts().lost, 9998U);
    EXPECT_EQ(order.take_skipped(), (std::vector<SkippedIds>{{Level1Id{2}, 9999}}));
    // Too far to be cleared id by id: never.
    const auto far = 10'003 + NextTrigger::jump_max + 1;
    EXPECT_EQ(judge(far), Verdict::too_far_ahead);
    EXPECT_EQ(judge(far + 1), Verdict::too_far_ahead);
    EXPECT_EQ(judge(10'003), Verdict::good);
}

TEST_F(Order, IdsWrapAndAGapOverTheWrapIsNamed) {
    order.start_run(Level1Id{0xffff'fffe});
    EXPECT_EQ(judge(0xffff'fffe), Verdict::good);
    EXPECT_EQ(judge(2), Verdict::good);
    EXPECT_EQ(judge(0xffff'fffe), Verdict::doubled);
    EXPECT_EQ(judge(0), Verdict::out_of_order);
    EXPECT_EQ(judge(0xffff'fffd), Verdict::out_of_order) << "before the run";
    EXPECT_EQ(faults("triggers lost"), "1,4294967295");
    EXPECT_EQ(order.take_skipped(), (std::vector<SkippedIds>{{Level1Id{0xffff'ffff}, 3}}));
}

TEST_F(Order, ANewRunKnowsNothingOfTheOneBefore) {
    EXPECT_EQ(judge(3), Verdict::good);
    order.start_run(Level1Id{1});
    EXPECT_EQ(judge(1), Verdict::good);
    EXPECT_TRUE(order.faults().empty());
    EXPECT_TRUE(order.take_skipped().empty());
    EXPECT_TRUE(reports().empty());
}

TEST_F(Order, RandomIdsAreJudgedAsASimpleModelDoes) {
    const auto seed = weir::testing::drawn_seed();
    SCOPED_TRACE(weir::testing::again(seed));
    Random random(seed);
    std::uint32_t next = 1;
    std::set<std::uint32_t> good, lost, refused;
    std::uint64_t doubled = 0;
    for (int i = 0; i < 20'000; ++i) {
        const auto id = static_cast<std::uint32_t>(
            std::max<std::int64_t>(1, std::int64_t{next} + static_cast<std::int64_t>(random.below(8)) - 4));
        const auto verdict = judge(id);
        if (id >= next) {
            ASSERT_EQ(verdict, Verdict::good) << id;
            for (; next < id; ++next) lost.insert(next);
            good.insert(id);
            next = id + 1;
        } else if (lost.erase(id) == 1) {
            ASSERT_EQ(verdict, Verdict::out_of_order) << id;
            refused.insert(id);
        } else {
            ASSERT_EQ(verdict, Verdict::doubled) << id;
            ++doubled;
        }
    }
    std::uint64_t skipped = 0;
    for (const auto& ids : order.take_skipped()) skipped += ids.count;
    EXPECT_EQ(skipped, lost.size() + refused.size());
    EXPECT_EQ(order.counts().lost, lost.size());
    EXPECT_EQ(order.counts().out_of_order, refused.size());
    EXPECT_EQ(order.counts().doubled, doubled);
    EXPECT_EQ(good.size() + lost.size() + refused.size(), next - 1);
}

}  // namespace
}  // namespace weir::selection

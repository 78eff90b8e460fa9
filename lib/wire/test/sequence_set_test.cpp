// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/sequence_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "weir/base/testing/number_in_environment.hpp"

namespace weir::wire {
namespace {

SequenceSet set_of(std::string_view text) { return parse_sequence_set(text).value(); }

TEST(SequenceSet, InOrderIsOneIntervalWhateverItsLength) {
    SequenceSet set;
    for (std::uint64_t i = 1; i <= 100'000; ++i) ASSERT_TRUE(set.insert(Sequence{i}));
    EXPECT_EQ(set.intervals().size(), 1U);
    EXPECT_EQ(set.cumulative(), Sequence{100'000});
    EXPECT_TRUE(set.ranges().empty());
}

TEST(SequenceSet, AGapHoldsTheCumulativeMarkBackUntilItIsFilled) {
    auto set = set_of("1-3,5-7");
    EXPECT_EQ(set.cumulative(), Sequence{3});
    ASSERT_EQ(set.ranges().size(), 1U);
    EXPECT_EQ(set.ranges()[0], (SequenceRange{Sequence{5}, Sequence{7}}));
    EXPECT_TRUE(set.insert(Sequence{4}));
    EXPECT_FALSE(set.insert(Sequence{4}));
    EXPECT_EQ(set.cumulative(), Sequence{7});
}

TEST(SequenceSet, WithoutTheFirstSequenceHasNoCumulativeMark) {
    const auto set = set_of("2-9");
    EXPECT_EQ(set.cumulative(), Sequence{0});
    EXPECT_EQ(set.ranges().size(), 1U);
}

TEST(SequenceSet, AgreesWithAPlainSetUnderRandomOperations) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937_64 random(seed);
    SequenceSet set;
    std::set<std::uint64_t> model;
    for (int round = 0; round < 20'000; ++round) {
        const auto first = random() % 60 + 1;
        const auto last = first + (random() % 3 == 0 ? random() % 8 : 0);
        const SequenceRange range{Sequence{first}, Sequence{last}};
        std::uint64_t changed = 0;
        std::uint64_t there = 0;
        for (auto i = first; i <= last; ++i) there += model.contains(i) ? 1U : 0U;
        ASSERT_EQ(set.count(range), there);
        if (random() % 2 == 0) {
            for (auto i = first; i <= last; ++i) changed += model.insert(i).second ? 1U : 0U;
            ASSERT_EQ(set.insert(range), changed);
        } else {
            for (auto i = first; i <= last; ++i) changed += model.erase(i);
            ASSERT_EQ(set.erase(range), changed);
        }
        ASSERT_EQ(set.count(), model.size());
        std::uint64_t cumulative = 0;
        while (model.contains(cumulative + 1)) ++cumulative;
        ASSERT_EQ(number(set.cumulative()), cumulative);
        ASSERT_EQ(number(set.highest()), model.empty() ? 0 : *model.rbegin());
        for (std::size_t i = 0; i < set.intervals().size(); ++i) {
            const auto& interval = set.intervals()[i];
            ASSERT_LE(interval.first, interval.last);
            if (i > 0) {
                ASSERT_GT(number(interval.first), number(set.intervals()[i - 1].last) + 1);
            }
        }
        ASSERT_EQ(parse_sequence_set(to_string(set)).value(), set);
    }
}

TEST(SequenceSet, MergedHoldsWhatEitherHeld) {
    auto set = set_of("1-5,20");
    set.merge(set_of("4-8,30-31"));
    EXPECT_EQ(to_string(set), "1-8,20,30-31");
}

TEST(SequenceSet, ReachesTheHighestSequenceWithoutOverflow) {
    SequenceSet set;
    set.insert(SequenceRange{Sequence{1}, Sequence{sequence_max}});
    EXPECT_EQ(set.count(), sequence_max);
    EXPECT_TRUE(set.erase(Sequence{sequence_max}));
    EXPECT_TRUE(set.insert(Sequence{sequence_max}));
    EXPECT_EQ(set.cumulative(), Sequence{sequence_max});
}

TEST(SequenceSet, TextThatIsNoSetIsRefused) {
    for (const char* text : {"0", "a", "1-", "-1", "5-4", "1,1", "3,2", "1,,2", "1,", "1;2", "1-5,3-9",
                             "9223372036854775808", "99999999999999999999"}) {
        const auto result = parse_sequence_set(text);
        ASSERT_FALSE(result.has_value()) << text;
        EXPECT_EQ(result.error().code, Errc::corrupt) << text;
    }
    EXPECT_TRUE(set_of("").empty());
    EXPECT_EQ(parse_sequence_set("1,3,5,7", 3).error().code, Errc::limit);
}

}  // namespace
}  // namespace weir::wire

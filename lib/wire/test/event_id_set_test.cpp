// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/event_id_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <random>
#include <set>

#include "weir/base/testing/number_in_environment.hpp"

namespace weir::wire {
namespace {

constexpr std::size_t memory_max = 64 << 20;

GlobalEventId id(std::uint64_t n) { return GlobalEventId{n}; }
EventIdSet set_of(std::string_view text) { return parse_event_ids(text, memory_max).value(); }
std::set<std::uint64_t> members(const EventIdSet& set) {
    std::set<std::uint64_t> all;
    for (const auto& [first, last] : set.ranges()) {
        for (auto n = number(first);; ++n) {
            all.insert(n);
            if (n == number(last)) break;
        }
    }
    return all;
}
/// Events of which a selection kept some, at random.
EventIdSet kept(std::uint64_t events, double ratio, std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    EventIdSet set;
    for (std::uint64_t n = 0; n < events; ++n) {
        if (std::uniform_real_distribution()(random) < ratio) set.insert(id(n));
    }
    return set;
}

TEST(EventIdSet, AgreesWithAPlainSetUnderRandomOperations) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937_64 random(seed);
    for (int round = 0; round < 12; ++round) {
        EventIdSet set;
        std::set<std::uint64_t> model;
        // From dense ones, which become bitmaps and full chunks, to scattered ones; over the limits between chunks.
        const std::uint64_t span =
            std::array<std::uint64_t, 4>{300, 9'000, 70'000, 500'000}[static_cast<std::size_t>(round % 4)];
        const std::uint64_t base = 65'536 * 5 - span / 2;
        const bool grows = round < 8;
        for (int step = 0; step < 12'000; ++step) {
            const auto n = base + random() % span;
            switch (random() % 16) {
                case 0: {
                    const auto last = n + random() % (step % 50 == 0 ? 3'000 : 100);
                    set.insert(EventIdRange{id(n), id(last)});
                    for (auto i = n; i <= last; ++i) model.insert(i);
                    break;
                }
                case 1:
                case 2:
                case 3: ASSERT_EQ(set.erase(id(n)), model.erase(n) == 1); break;
                case 4: ASSERT_EQ(set.contains(id(n)), model.contains(n)); break;
                default:
                    if (grows || random() % 4 == 0) ASSERT_EQ(set.insert(id(n)), model.insert(n).second);
                    else ASSERT_EQ(set.erase(id(n)), model.erase(n) == 1);
            }
            ASSERT_EQ(set.count(), model.size());
        }
        ASSERT_EQ(members(set), model);
        ASSERT_EQ(set_of(to_text(set)), set);
        ASSERT_EQ(set_of(ranges_text(set, SIZE_MAX)), set);
        std::size_t heap = 0;
        for (const auto& [number, chunk] : set.chunks()) {
            ASSERT_FALSE(chunk.empty());
            ASSERT_LE(chunk.memory(), 8192U);
            heap += chunk.memory();
        }
        ASSERT_EQ(set.memory(), heap + set.chunks().size() * EventIdSet::chunk_overhead);
        for (const auto n : model) ASSERT_TRUE(set.erase(id(n)));
        ASSERT_TRUE(set.empty() && set.chunks().empty());
        ASSERT_EQ(set.memory(), 0U);
    }
}

TEST(EventIdSet, UnionSectionAndDifferenceAreThoseOfPlainSets) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 12; ++round) {
        std::array<EventIdSet, 2> sets;
        std::array<std::set<std::uint64_t>, 2> models;
        for (std::size_t i = 0; i < 2; ++i) {
            const auto many = std::array{10, 500, 4'000}[random() % 3];
            for (int n = 0; n < many; ++n) {
                const auto first = random() % 200'000;
                const auto last = first + (random() % 400 == 0 ? random() % 20'000 : random() % 3);
                sets[i].insert(EventIdRange{id(first), id(last)});
            }
            models[i] = members(sets[i]);
        }
        std::set<std::uint64_t> either, both, only;
        std::ranges::set_union(models[0], models[1], std::inserter(either, either.end()));
        std::ranges::set_intersection(models[0], models[1], std::inserter(both, both.end()));
        std::ranges::set_difference(models[0], models[1], std::inserter(only, only.end()));
        auto united = sets[0], cut = sets[0], rest = sets[0];
        united |= sets[1];
        cut &= sets[1];
        rest -= sets[1];
        ASSERT_EQ(members(united), either);
        ASSERT_EQ(members(cut), both);
        ASSERT_EQ(members(rest), only);
        ASSERT_EQ(united.count(), either.size());
        ASSERT_EQ(cut.count(), both.size());
        ASSERT_EQ(rest.count(), only.size());
        cut |= rest;
        ASSERT_EQ(cut, sets[0]);
    }
}

TEST(EventIdSet, TakesABitForEachIdOrTwoBytesForEachMemberWhateverTheRatio) {
    constexpr std::uint64_t events = 1'000'000;
    for (const double ratio : {1.0, 0.999, 0.9, 0.5, 0.2, 0.05, 0.01, 0.001}) {
        const auto set = kept(events, ratio);
        const auto chunks = set.chunks().size();
        // Growth leaves a quarter of a list empty.
        EXPECT_LE(set.memory(),
                  std::min<double>(double(events) / 8 + 8192, 2.6 * double(set.count()) + 256.0 * double(chunks)) +
                      112.0 * double(chunks))
            << ratio;
        EXPECT_EQ(set_of(to_text(set)), set) << ratio;
        // In characters: a bitmap, or one or two bytes of gap for each.
        EXPECT_LE(to_text(set).size(), std::min(double(events) / 6 + 16.0 * double(chunks), 2.8 * double(set.count())))
            << ratio;
    }
    EXPECT_LE(kept(events, 1.0).memory(), 16U * 130U);
    EventIdSet scattered;
    for (std::uint64_t n = 0; n < 1000; ++n) scattered.insert(id(n << 20));
    EXPECT_LE(scattered.memory(), 1000U * 130U);
}

TEST(EventIdSet, IdsThatComeOutOfOrderAndAllArriveTakeNoMoreThanOthers) {
    std::mt19937_64 random(2);
    std::vector<std::uint64_t> ids(300'000);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
    for (std::size_t i = 0; i + 5000 < ids.size(); ++i) std::swap(ids[i], ids[i + random() % 5000]);
    EventIdSet set;
    for (const auto n : ids) ASSERT_TRUE(set.insert(id(n)));
    EXPECT_EQ(to_text(set), "0-299999");
    EXPECT_LE(set.memory(), ids.size() / 8 + 8192);
}

// The examples of docs/formats/event-ids.md.
TEST(EventIdSet, TextsOfTheDocument) {
    EXPECT_EQ(to_text(set_of("0-40,42,65530-65540")), "0-40,42,65530-65540");
    std::set<std::uint64_t> plain{196608, 196616};  // bytes 01 01
    EXPECT_EQ(members(set_of("@3=bAQE")), plain);
    plain = {262144 + 5, 262144 + 6, 262144 + 207};  // gaps 5, 0, 200
    EXPECT_EQ(members(set_of("@4=gBQDIAQ")), plain);
    EXPECT_EQ(ranges_text(set_of("@4=gBQDIAQ"), 8), "262149-262150,262351");
    EXPECT_EQ(ranges_text(set_of("1-3,5,7"), 2), "1-3,5,...");
    EventIdSet odd;
    for (std::uint64_t n = 1; n < 65'536; n += 2) odd.insert(id(131'072 + n));
    const auto text = to_text(odd);
    EXPECT_EQ(text.substr(0, 12), "@2=bqqqqqqqq");
    EXPECT_EQ(text.size(), 4U + 10'923U);
}

TEST(EventIdSet, TextThatIsNoSetIsRefused) {
    for (const char* text : {"a",
                             "1-",
                             "-1",
                             "5-4",
                             "1,1",
                             "3,2",
                             "1,,2",
                             "1,",
                             ",1",
                             "1;2",
                             "1-5,3-9",
                             " 1",
                             "18446744073709551616",
                             "@",
                             "@3",
                             "@3=",
                             "@3=b",
                             "@3=x",
                             "@3=xAQE",
                             "@3=bA",
                             "@3=bAA",
                             "@3=bAQA",
                             "@3=bAR",
                             "@3=bAQ=",
                             "@3=gAIA",
                             "@3=g/////w",
                             "@3=ggA",
                             "@3=gAA,196608",
                             "196608,@3=gAA",
                             "@281474976710656=gAA",
                             "@3=gAA,"}) {
        const auto result = parse_event_ids(text, memory_max);
        ASSERT_FALSE(result.has_value()) << text;
        EXPECT_EQ(result.error().code, Errc::corrupt) << text;
    }
    EXPECT_TRUE(set_of("").empty());
}

TEST(EventIdSet, TextOfASetThatTakesTooMuchMemoryIsRefusedBeforeItIsTaken) {
    EXPECT_EQ(parse_event_ids("0-18446744073709551615", memory_max).error().code, Errc::limit);
    EXPECT_EQ(parse_event_ids("0,100000,200000,300000", 3 * 120).error().code, Errc::limit);
    EXPECT_TRUE(parse_event_ids("0,100000,200000", 3 * 120).has_value());
}

TEST(EventIdSet, ReachesTheHighestId) {
    EventIdSet set;
    EXPECT_TRUE(set.insert(id(UINT64_MAX)));
    EXPECT_TRUE(set.insert(id(UINT64_MAX - 1)));
    EXPECT_TRUE(set.contains(id(UINT64_MAX)));
    EXPECT_EQ(to_text(set), "18446744073709551614-18446744073709551615");
    EXPECT_EQ(set_of(to_text(set)), set);
    set.insert(EventIdRange{id(UINT64_MAX - 200'000), id(UINT64_MAX)});
    EXPECT_EQ(set.count(), 200'001U);
}

TEST(EventIdSet, AChunkHasATextOfItsOwn) {
    const auto set = kept(200'000, 0.3);
    EventIdSet again;
    for (const auto& [number, chunk] : set.chunks()) again |= set_of(to_text(set, number));
    EXPECT_EQ(again, set);
    EXPECT_EQ(to_text(set, 17), "");
}

}  // namespace
}  // namespace weir::wire

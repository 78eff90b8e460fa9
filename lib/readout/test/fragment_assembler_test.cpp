// SPDX-License-Identifier: Apache-2.0
#include "datagrams/fragment_assembler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "datagram_sample.hpp"
#include "weir/base/random.hpp"

namespace weir::readout {
namespace {

using namespace std::chrono_literals;

class Assembler : public ::testing::Test {
protected:
    FragmentAssembler make(const DatagramHeader& header, Bytes memory = Bytes{1 << 20},
                           std::size_t unfinished_max = 64) {
        return {
            {.header = header,
             .sources = {{SourceId{0x10}}, {SourceId{0x11}}},
             .memory = memory,
             .unfinished_max = unfinished_max,
             .wait = 100ms},
            {.whole =
                 [this](const wire::InputFragment& f) {
                     ++delivered;
                     whole[{number(f.source), number(f.level1_id.value_or(Level1Id{0}))}] = as_text(f.payload);
                 },
             .refused = [this](SourceId, DatagramFate fate) { duplicates += fate == DatagramFate::duplicate ? 1 : 0; },
             .never_came =
                 [this](SourceId s, Level1Id first, Level1Id last) {
                     for (auto id = number(first); id != number(last) + 1; ++id) missing.insert({number(s), id});
                 },
             .jumped = [this](SourceId, Level1Id from, Level1Id to) { jump = {number(from), number(to)}; }}};
    }
    static std::uint64_t fate(const FragmentAssembler& a, DatagramFate what) {
        return a.counts().fates[static_cast<std::size_t>(what)];
    }
    static void balances(const FragmentAssembler& a) {
        const auto& c = a.counts();
        const auto sum = [](const auto& of) { return std::accumulate(of.begin(), of.end(), std::uint64_t{0}); };
        EXPECT_EQ(c.datagrams, sum(c.faults) + sum(c.fates));
    }

    std::uint64_t delivered = 0, duplicates = 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> whole;
    std::set<std::pair<std::uint32_t, std::uint32_t>> missing;  // never came
    std::pair<std::uint32_t, std::uint32_t> jump;
    const SteadyTime t0{};
};

TEST_F(Assembler, PartsInAnyOrderAndTwiceMakeOneFragment) {
    std::vector<std::uint32_t> order{0, 1, 2, 3};
    std::uint32_t event = 0;
    auto a = make({});
    do {
        ++event;
        for (const auto part : order)
            for (int twice = 0; twice < 2; ++twice)
                a.take(
                    own_datagram({.counter = event, .part = part, .parts = 4}, std::string(part + 1, char('a' + part))),
                    t0);
        EXPECT_EQ((whole[{0x10, event}]), "abbcccdddd");
    } while (std::ranges::next_permutation(order).found);
    EXPECT_EQ(delivered, 24U);
    EXPECT_EQ(fate(a, DatagramFate::duplicate), 24U * 4);
    EXPECT_EQ(a.sources()[0].duplicate_parts, 24U * 4);
    EXPECT_EQ(a.bytes_held(), 0U);
    balances(a);
}

TEST_F(Assembler, PartsThatDoNotComeAreGivenUpInTimeAndWhatComesLaterOpensNothing) {
    auto a = make({});
    a.take(own_datagram({.counter = 1, .part = 0, .parts = 2}, "weir"), t0);
    EXPECT_EQ(a.step(t0 + 99ms), t0 + 100ms);
    EXPECT_TRUE(missing.empty());
    EXPECT_EQ(a.step(t0 + 100ms), std::nullopt);
    EXPECT_TRUE(missing.contains({0x10, 1}));
    a.take(own_datagram({.counter = 1, .part = 1, .parts = 2}, "weir"), t0 + 101ms);
    EXPECT_EQ(a.bytes_held(), 0U);
    EXPECT_EQ(delivered, 0U);
    EXPECT_EQ(a.sources()[0].unfinished, 1U);
    balances(a);
}

TEST_F(Assembler, ACounterThatWasPassedOverIsWaitedForAndThenNamed) {
    auto a = make({});
    a.take(own_datagram({.counter = 3}, "three"), t0);  // 1 and 2 were passed over
    a.take(own_datagram({.counter = 6}, "six"), t0 + 50ms);
    a.take(own_datagram({.counter = 2}, "two"), t0 + 60ms);
    EXPECT_EQ(a.step(t0 + 99ms), t0 + 100ms);
    EXPECT_TRUE(missing.empty());
    EXPECT_EQ(a.step(t0 + 100ms), t0 + 150ms);
    EXPECT_TRUE(missing.contains({0x10, 1}));
    EXPECT_FALSE(missing.contains({0x10, 4}));
    EXPECT_EQ(a.step(t0 + 150ms), std::nullopt);
    EXPECT_TRUE(missing.contains({0x10, 4}) && missing.contains({0x10, 5}));
    EXPECT_EQ(a.sources()[0].lost, 3U) << "1, 4 and 5";
    EXPECT_EQ(a.sources()[0].disordered, 1U);
    a.take(own_datagram({.counter = 5}, "five"), t0 + 1s);
    EXPECT_EQ((whole[{0x10, 5}]), "five") << "its event may still be there";
    EXPECT_EQ(a.sources()[0].lost, 2U);
}

TEST_F(Assembler, ACounterThatJumpedIsReportedAndWhatItPassedOverIsNoLoss) {
    auto a = make({});
    for (const auto counter : {1U, 2U, 0x5000'0000U, 3U, 0x5000'0001U, 0x5000'0002U})
        a.take(own_datagram({.counter = counter}, "x"), t0);
    EXPECT_EQ(jump, std::pair(3U, 0x5000'0000U));
    EXPECT_EQ(a.sources()[0].jumps, 1U);
    EXPECT_EQ(a.sources()[0].lost, 0U);
    static_cast<void>(a.step(t0 + 1s));
    EXPECT_EQ(missing, (std::set<std::pair<std::uint32_t, std::uint32_t>>{{0x10, 0x5000'0000}}));
}

TEST_F(Assembler, ASourceThatSendsNothingForALongTimeIsNotExtendedFromTheFirstEvent) {
    auto a = make(foreign_header());
    a.reach(Level1Id{200'000});
    a.take(foreign_datagram({.source = 0x11, .counter = 200'001 & 0xffff}, "late"), t0);
    EXPECT_EQ((whole[{0x11, 200'001}]), "late");
}

TEST_F(Assembler, OnlyASilentSourceIsExtendedFromTheEventsThatAreDoneWith) {
    auto a = make(foreign_header());
    a.take(foreign_datagram({.source = 0x11, .counter = 1}, "x"), t0);
    a.reach(Level1Id{200'000});  // it has sent since the last look
    a.take(foreign_datagram({.source = 0x11, .counter = 2}, "second"), t0);
    EXPECT_EQ((whole[{0x11, 2}]), "second");
    a.reach(Level1Id{200'000});
    a.reach(Level1Id{200'000});
    a.take(foreign_datagram({.source = 0x11, .counter = 200'001 & 0xffff}, "late"), t0);
    EXPECT_EQ((whole[{0x11, 200'001}]), "late");
}

TEST_F(Assembler, ASourceThatNeverFinishesTakesNothingFromAnother) {
    auto a = make({}, Bytes{64 << 10}, 8);
    a.take(own_datagram({.source = 0x11, .counter = 1, .part = 0, .parts = 2}, "first"), t0);
    const std::string large(5000, 'x');
    for (std::uint32_t event = 1; event <= 1000; ++event) {
        a.take(own_datagram({.counter = event, .part = 0, .parts = 2}, large), t0);
        ASSERT_LE(a.bytes_held(), 64U << 10);
    }
    a.take(own_datagram({.source = 0x11, .counter = 1, .part = 1, .parts = 2}, "second"), t0);
    EXPECT_EQ((whole[{0x11, 1}]), "firstsecond");
    a.finish();
    EXPECT_EQ(a.sources()[0].unfinished, 1000U);
    EXPECT_EQ(a.bytes_held(), 0U);
}

TEST_F(Assembler, ADatagramIsCountedUnderTheReasonItWasRefusedFor) {
    auto a = make({});
    a.take(as_data("GET / HTTP/1.1"), t0);
    a.take(std::vector<std::byte>(100), t0);
    a.take({}, t0);
    a.take(own_datagram({.source = 0x99}, ""), t0);
    a.take(own_datagram({.counter = 1, .part = 0, .parts = 3}, "a"), t0);
    a.take(own_datagram({.counter = 1, .part = 1, .parts = 2}, "b"), t0);
    a.take(own_datagram({.counter = 1}, "b"), t0);
    a.take(own_datagram({.counter = 2, .part = 2, .parts = 2}, "b"), t0);
    a.take(own_datagram({.counter = 0x7000'0000}, "b"), t0);
    EXPECT_EQ(a.counts().faults[static_cast<std::size_t>(DatagramFault::too_short)], 2U);
    EXPECT_EQ(a.counts().faults[static_cast<std::size_t>(DatagramFault::foreign)], 1U);
    EXPECT_EQ(a.counts().faults[static_cast<std::size_t>(DatagramFault::wrong_parts)], 1U);
    EXPECT_EQ(fate(a, DatagramFate::unknown_source), 1U);
    EXPECT_EQ(fate(a, DatagramFate::contradictory), 2U);
    EXPECT_EQ(fate(a, DatagramFate::jumped), 1U);
    EXPECT_EQ(fate(a, DatagramFate::part), 1U);
    balances(a);
}

TEST_F(Assembler, AForeign16BitCounterGoesOnBehindItsWrapWithLossesDoublesAndDisorder) {
    auto a = make(foreign_header());
    Random random(7);
    std::set<std::uint32_t> sent;
    std::vector<std::vector<std::byte>> on_the_way;
    const std::uint32_t events = 200'000;
    for (std::uint32_t event = 1; event <= events; ++event) {
        if (event == events || random.below(20) != 0) {
            sent.insert(event);
            on_the_way.push_back(foreign_datagram({.source = 0x11, .counter = event}, std::to_string(event)));
            if (random.below(20) == 0) on_the_way.push_back(on_the_way.back());
        }
        while (on_the_way.size() > 8 || (event == events && !on_the_way.empty())) {
            const auto next = on_the_way.begin() + static_cast<std::ptrdiff_t>(random.below(on_the_way.size()));
            a.take(*next, t0);
            on_the_way.erase(next);
        }
    }
    EXPECT_EQ(delivered, sent.size());
    for (const auto event : sent) ASSERT_EQ((whole[{0x11, event}]), std::to_string(event));
    EXPECT_EQ(a.sources()[1].lost, events - sent.size());
    EXPECT_EQ(a.sources()[1].jumps, 0U);
    EXPECT_EQ(a.counts().datagrams, sent.size() + duplicates);
    balances(a);
}

TEST_F(Assembler, AMillionChangedDatagramsAreAllCountedAndMemoryStaysBounded) {
    for (const bool own : {true, false}) {
        auto a = make(own ? DatagramHeader{} : foreign_header(), Bytes{256 << 10});
        Random random(own ? 1 : 2);
        SteadyTime now = t0;
        for (std::uint32_t i = 0; i < 500'000; ++i) {
            const SampleHead head{.source = 0x10 + i % 2, .counter = i / 8, .part = i / 2 % 4, .parts = 4};
            auto bytes = own ? own_datagram(head, "some bytes") : foreign_datagram(head, "some bytes");
            for (auto changes = random.below(4); changes > 0; --changes)
                bytes[random.below(bytes.size())] = std::byte(random.below(256));
            if (random.below(10) == 0) bytes.resize(random.below(bytes.size() + 1));
            a.take(bytes, now);
            if (i % 64 == 0) static_cast<void>(a.step(now += 1ms));
            ASSERT_LE(a.bytes_held(), 256U << 10);
        }
        a.finish();
        EXPECT_EQ(a.bytes_held(), 0U);
        EXPECT_EQ(a.counts().datagrams, 500'000U);
        balances(a);
        std::uint64_t fragments = 0;
        for (const auto& source : a.sources()) fragments += source.fragments;
        EXPECT_EQ(fragments, fate(a, DatagramFate::whole));
        EXPECT_GT(fragments, 1000U);
    }
}

}  // namespace
}  // namespace weir::readout

// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/rob_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "store_sample.hpp"
#include "weir/base/testing/number_in_environment.hpp"

namespace weir::readout {
namespace {

using wire::RobState;

TEST(RobStore, WhatWasPutIsReadBitForBitInTheOrderAskedFor) {
    RobStore store(sample_options());
    ASSERT_EQ(put(store, 1, 0x10, "ten"), PutResult::stored);
    ASSERT_EQ(put(store, 1, 0x12, "twelve"), PutResult::stored);
    const auto some = ask(store, 1, {0x12, 0x10});
    EXPECT_EQ(some.data, "twelveten");
    EXPECT_EQ(some.states, (std::vector{RobState::here, RobState::here}));
    const auto all = ask(store, 1, {});
    EXPECT_EQ(all.data, "tentwelve");
    EXPECT_EQ(all.states, (std::vector{RobState::here, RobState::not_yet, RobState::here}));
}

TEST(RobStore, EachRobIsHereOrNotYetOrClearedOrUnknownOrLost) {
    RobStore store(sample_options());
    EXPECT_EQ(state(store, 1, 0x10), RobState::not_yet);
    EXPECT_EQ(state(store, 1, 0x99), RobState::unknown);
    ASSERT_EQ(put(store, 1, 0x10, "a"), PutResult::stored);
    store.mark_lost(Level1Id{1}, SourceId{0x11});
    EXPECT_EQ(state(store, 1, 0x10), RobState::here);
    EXPECT_EQ(state(store, 1, 0x11), RobState::lost);
    EXPECT_EQ(state(store, 1, 0x12), RobState::not_yet);
    clear(store, {1});
    EXPECT_EQ(state(store, 1, 0x10), RobState::cleared);
    EXPECT_EQ(state(store, 0, 0x10), RobState::cleared);
    EXPECT_EQ(state(store, 1'000'000, 0x10), RobState::not_yet);
}

TEST(RobStore, SourcesThatAreNotInAWholeEventAreLost) {
    RobStore store(sample_options());
    const auto bytes = as_data("x");
    const std::vector<event::RobData> robs{{SourceId{0x10}, bytes}, {SourceId{0x12}, bytes}};
    ASSERT_EQ(store.put_event(Level1Id{5}, robs), PutResult::stored);
    EXPECT_EQ(ask(store, 5, {}).states, (std::vector{RobState::here, RobState::lost, RobState::here}));
    EXPECT_TRUE(store.ready(Level1Id{5}, {}));
}

TEST(RobStore, ASourceThatIsFarAheadWillNotSendOlderOnes) {
    auto options = sample_options();
    options.lost_after = 3;
    RobStore store(options);
    ASSERT_EQ(put(store, 4, 0x10, "a"), PutResult::stored);
    EXPECT_EQ(state(store, 1, 0x10), RobState::lost);
    EXPECT_EQ(state(store, 2, 0x10), RobState::not_yet);
    EXPECT_EQ(state(store, 1, 0x11), RobState::not_yet);
    ASSERT_EQ(put(store, 1, 0x10, "came"), PutResult::stored);
    EXPECT_EQ(ask(store, 1, {0x10}).data, "came");
}

TEST(RobStore, FullIsAnAnswerByEventsAndByBytesAndRoomComesWithClears) {
    auto options = sample_options();
    options.events_max = 2;
    options.bytes_max = Bytes{64 << 10};
    RobStore store(options);
    ASSERT_EQ(put(store, 1, 0x10, "a"), PutResult::stored);
    ASSERT_EQ(put(store, 2, 0x10, "a"), PutResult::stored);
    EXPECT_EQ(put(store, 3, 0x10, "a"), PutResult::full);
    EXPECT_EQ(put(store, 2, 0x11, "b"), PutResult::stored);
    clear(store, {2});  // not the oldest
    EXPECT_EQ(put(store, 3, 0x10, std::string(20'000, 'x')), PutResult::stored);
    clear(store, {1});
    EXPECT_EQ(put(store, 4, 0x10, std::string(60'000, 'x')), PutResult::full);
    EXPECT_EQ(store.events_held(), 1U);
    clear(store, {3});
    EXPECT_EQ(put(store, 4, 0x10, std::string(60'000, 'x')), PutResult::stored);
    EXPECT_EQ(put(store, 4, 0x11, std::string(70'000, 'x')), PutResult::refused);
    EXPECT_EQ(rejected(store, RobReject::too_large), 1U);
}

TEST(RobStore, SmallFragmentsOfManyEventsShareMemory) {
    RobStoreOptions options{.sources = {SourceId{0x10}}, .events_max = 64, .bytes_max = Bytes{4 << 20}};
    RobStore store(options);
    const std::string text(1000, 'x');
    for (std::uint32_t id = 1; id <= 60; ++id) ASSERT_EQ(put(store, id, 0x10, text), PutResult::stored);
    EXPECT_LT(store.bytes_held().count(), 60 * 1200 + (16 << 10));
    for (std::uint32_t id = 1; id <= 59; ++id) clear(store, {id});
    EXPECT_LE(store.bytes_held().count(), 16U << 10);  // the last keeps the buffer of its neighbours
    EXPECT_EQ(ask(store, 60, {0x10}).data, text);
    clear(store, {60});
    EXPECT_EQ(store.bytes_held().count(), 0U);
}

TEST(RobStore, EventsThatStayCannotKeepSoMuchMemoryThatOthersFindNone) {
    // Every 20th event stays, until as many are held as may be: of each a whole shared buffer stays.
    RobStoreOptions options{.sources = {SourceId{0x10}}, .events_max = 64, .bytes_max = Bytes{1 << 20}};
    RobStore store(options);
    const std::string text(1000, 'x'), large(100'000, 'y');
    std::uint32_t id = 0;
    for (std::uint32_t held = 0; held < 12; ++held) {
        for (int i = 0; i < 19; ++i) {
            ASSERT_EQ(put(store, ++id, 0x10, text), PutResult::stored);
            clear(store, {id});
        }
        ASSERT_EQ(put(store, ++id, 0x10, text), PutResult::stored);
    }
    EXPECT_LE(store.held().bytes, 0.25);
    EXPECT_EQ(put(store, ++id, 0x10, large), PutResult::stored);
}

TEST(RobStore, ASlotIsUsedAgainOnceTheWindowHasPassedItsClearedEvent) {
    RobStoreOptions options{.sources = {SourceId{0x10}}, .events_max = 2, .bytes_max = Bytes{1 << 20}};
    RobStore store(options);
    const auto ring = store.ring_size();
    for (std::uint32_t id = 1; id <= 5 * ring; ++id) {
        ASSERT_EQ(put(store, id, 0x10, "a"), PutResult::stored);
        EXPECT_EQ(put(store, id + ring, 0x10, "b"), PutResult::full);
        clear(store, {id});
        ASSERT_EQ(number(store.oldest()), id + 1);
        EXPECT_EQ(put(store, id, 0x10, "a"), PutResult::refused);  // late
        EXPECT_EQ(state(store, id, 0x10), RobState::cleared);
        EXPECT_EQ(state(store, id + ring, 0x10), RobState::not_yet);  // in the same slot
    }
    EXPECT_EQ(rejected(store, RobReject::late), 5ULL * ring);
}

TEST(RobStore, OneClearOfManyEventsInAnyOrderMovesTheWindowPastAllOfThem) {
    RobStore store(sample_options());
    for (std::uint32_t id = 1; id <= 40; ++id) ASSERT_EQ(put(store, id, 0x10, "a"), PutResult::stored);
    clear(store, {3, 40, 7});
    EXPECT_EQ(number(store.oldest()), 1U);
    clear(store, {2, 1, 5, 6, 1, 2});
    EXPECT_EQ(number(store.oldest()), 4U);
    EXPECT_EQ(store.events_held(), 33U);
    clear(store, {4, 8});
    EXPECT_EQ(number(store.oldest()), 9U);
    EXPECT_EQ(store.count_robs(), store.ledger().counts().in_hand);
    EXPECT_EQ(store.ledger().counts().stored, 9U);
}

TEST(RobStore, OneEventThatStaysLongDoesNotHoldUpTheOthers) {
    auto options = sample_options();
    options.events_max = 4;
    RobStore store(options);
    std::uint32_t stored = 0;
    for (std::uint32_t id = 1; id <= 16; ++id) {
        stored += put(store, id, 0x10, "a") == PutResult::stored ? 1U : 0U;
        if (id > 1) clear(store, {id});
    }
    EXPECT_EQ(stored, 16U);
    EXPECT_EQ(put(store, 17, 0x10, "a"), PutResult::full);  // the ring ends
    clear(store, {1});
    EXPECT_EQ(number(store.oldest()), 17U);
    EXPECT_EQ(put(store, 17, 0x10, "a"), PutResult::stored);
}

TEST(RobStore, WhatComesTooLateOrTwiceOrFromNowhereIsRefusedAndCounted) {
    RobStore store(sample_options());
    ASSERT_EQ(put(store, 1, 0x10, "a"), PutResult::stored);
    EXPECT_EQ(put(store, 1, 0x10, "again"), PutResult::refused);
    EXPECT_EQ(put(store, 1, 0x77, "a"), PutResult::refused);
    clear(store, {2});
    EXPECT_EQ(put(store, 2, 0x10, "a"), PutResult::refused);
    store.clear_older(Level1Id{10});
    EXPECT_EQ(put(store, 9, 0x10, "a"), PutResult::refused);
    const auto counts = store.ledger().counts();
    EXPECT_EQ(rejected(store, RobReject::duplicate), 1U);
    EXPECT_EQ(rejected(store, RobReject::unknown_source), 1U);
    EXPECT_EQ(rejected(store, RobReject::cleared), 1U);
    EXPECT_EQ(rejected(store, RobReject::late), 1U);
    EXPECT_EQ(counts.received, 5U);
    EXPECT_EQ(counts.stored, 1U);
    EXPECT_EQ(counts.in_hand, 0U);
}

TEST(RobStore, TheWindowGoesOverTheWrapOfTheCounter) {
    auto options = sample_options();
    options.first = Level1Id{0xffff'fffe};
    RobStore store(options);
    for (std::uint32_t i = 0; i < 5; ++i)
        ASSERT_EQ(put(store, 0xffff'fffe + i, 0x10, std::to_string(i)), PutResult::stored);
    EXPECT_EQ(ask(store, 1, {0x10}).data, "3");
    EXPECT_EQ(state(store, 0xffff'fffd, 0x10), RobState::cleared);
    clear(store, {0xffff'fffe, 0xffff'ffff});
    EXPECT_EQ(number(store.oldest()), 0U);
    EXPECT_EQ(state(store, 0xffff'ffff, 0x10), RobState::cleared);
    store.clear_older(Level1Id{2});
    EXPECT_EQ(state(store, 1, 0x10), RobState::cleared);
    EXPECT_EQ(ask(store, 2, {0x10}).data, "4");
    store.clear_older(Level1Id{0xffff'fff0});  // an old message: no step back
    EXPECT_EQ(number(store.oldest()), 2U);
}

TEST(RobStore, AJumpFarAheadEmptiesTheWindow) {
    RobStore store(sample_options());
    for (std::uint32_t id = 1; id <= 8; ++id) ASSERT_EQ(put(store, id, 0x10, "a"), PutResult::stored);
    store.clear_older(Level1Id{1'000'000});
    EXPECT_EQ(store.events_held(), 0U);
    EXPECT_EQ(store.bytes_held().count(), 0U);
    EXPECT_EQ(store.ledger().counts().stored, 8U);
    EXPECT_EQ(state(store, 999'999, 0x10), RobState::cleared);
    EXPECT_EQ(put(store, 1'000'000, 0x10, "a"), PutResult::stored);
}

TEST(RobStore, AnAnswerThatWouldBeTooLargeHasNotYetForTheRest) {
    RobStore store(sample_options());
    ASSERT_EQ(put(store, 1, 0x10, "0123456789"), PutResult::stored);
    std::vector<wire::RobPart> parts;
    std::vector<std::byte> data;
    const std::vector<SourceId> twice{SourceId{0x10}, SourceId{0x10}};
    store.read(Level1Id{1}, twice, parts, data, 15);
    EXPECT_EQ(data.size(), 10U);
    EXPECT_EQ(parts[0].state, RobState::here);
    EXPECT_EQ(parts[1].state, RobState::not_yet);
}

TEST(RobStore, AtStopWhatIsHeldIsRejectedByName) {
    RobStore store(sample_options());
    for (const std::uint32_t event : {1U, 2U, 3U, 4U}) ASSERT_EQ(put(store, event, 0x10, "a"), PutResult::stored);
    store.clear(std::vector{Level1Id{2}});
    store.reset(Level1Id{1});
    EXPECT_EQ(rejected(store, RobReject::not_cleared), 1U);
    EXPECT_EQ(rejected(store, RobReject::made_ahead), 2U);
    EXPECT_EQ(store.ledger().counts().in_hand, 0U);
    EXPECT_EQ(state(store, 1, 0x10), RobState::not_yet);
}

TEST(RobStore, AWaitEndsWithTheRobAClearTheEndOrTheTime) {
    RobStore store(sample_options());
    const std::vector<SourceId> one{SourceId{0x10}};
    const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(20); };
    EXPECT_FALSE(store.wait_until_ready(Level1Id{1}, one, std::chrono::steady_clock::now()));
    for (int round = 0; round < 3; ++round) {
        const Level1Id event{static_cast<std::uint32_t>(round + 1)};
        bool ready = false;
        std::thread waiting([&] { ready = store.wait_until_ready(event, one, soon()); });
        if (round == 0) static_cast<void>(put(store, 1, 0x10, "a"));
        if (round == 1) clear(store, {2});
        if (round == 2) store.stop_waiting();
        waiting.join();
        EXPECT_EQ(ready, round < 2);
    }
}

/// The store's promise as the simplest model.
struct Model {
    std::map<std::uint64_t, std::map<std::uint32_t, std::string>> events;  // by unwrapped id
    std::set<std::uint64_t> cleared;
    std::uint64_t oldest = 0;

    void advance() {
        while (cleared.erase(oldest) > 0) ++oldest;
    }
    RobState state(std::uint64_t id, std::uint32_t source) {
        if (source < 0x10 || source > 0x12) return RobState::unknown;
        if (id < oldest || cleared.contains(id)) return RobState::cleared;
        const auto event = events.find(id);
        return event != events.end() && event->second.contains(source) ? RobState::here : RobState::not_yet;
    }
};

TEST(RobStore, RandomOperationsOverTheWrapDoWhatASimpleModelDoes) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    auto options = sample_options();
    options.events_max = 8;
    const std::uint64_t base = 0xffff'ff80;
    options.first = Level1Id{static_cast<std::uint32_t>(base)};
    RobStore store(options);
    Model model;
    model.oldest = base;
    for (int i = 0; i < 20'000; ++i) {
        const auto id = model.oldest - 4 + below(store.ring_size() + 8);
        const auto id32 = static_cast<std::uint32_t>(id);
        const auto source = static_cast<std::uint32_t>(0x0f + below(5));
        switch (below(8)) {
            case 0:
            case 1:
            case 2: {
                const auto text = std::to_string(random());
                const auto result = put(store, id32, source, text);
                const auto was = model.state(id, source);
                if (was != RobState::not_yet) {
                    ASSERT_EQ(result, PutResult::refused);
                } else if (id >= model.oldest + store.ring_size() ||
                           (!model.events.contains(id) && model.events.size() == 8)) {
                    ASSERT_EQ(result, PutResult::full);
                } else {
                    ASSERT_EQ(result, PutResult::stored);
                    model.events[id][source] = text;
                }
                break;
            }
            case 3: {
                clear(store, {id32});
                if (id >= model.oldest && id < model.oldest + store.ring_size()) {
                    model.events.erase(id);
                    model.cleared.insert(id);
                    model.advance();
                }
                break;
            }
            case 4: {
                if (below(10) != 0) break;
                store.clear_older(Level1Id{id32});
                if (id > model.oldest) {
                    model.oldest = id;
                    model.events.erase(model.events.begin(), model.events.lower_bound(id));
                    model.cleared.erase(model.cleared.begin(), model.cleared.lower_bound(id));
                    model.advance();
                }
                break;
            }
            default: {
                ASSERT_EQ(state(store, id32, source), model.state(id, source));
                if (model.state(id, source) == RobState::here) {
                    ASSERT_EQ(ask(store, id32, {source}).data, model.events[id][source]);
                }
            }
        }
        ASSERT_EQ(number(store.oldest()), static_cast<std::uint32_t>(model.oldest));
        ASSERT_EQ(store.events_held(), model.events.size());
    }
    EXPECT_GT(model.oldest, std::uint64_t{1} << 32);
    const auto counts = store.ledger().counts();
    EXPECT_EQ(counts.received, counts.stored + counts.rejected_in_all() + counts.in_hand);
    EXPECT_EQ(counts.in_hand, store.count_robs());
}

TEST(RobStore, FeedersReadersAndClearsAtOnceNeverMixEventsAndTheLedgerBalances) {
    auto options = sample_options();
    options.events_max = 16;
    RobStore store(options);
    constexpr std::uint32_t events = 2000;
    std::atomic<std::uint32_t> wrong{0};
    std::vector<std::thread> threads;
    for (const std::uint32_t source : {0x10U, 0x11U, 0x12U}) {
        threads.emplace_back([&, source] {
            for (std::uint32_t id = 1; id <= events; ++id) {
                const auto text = std::to_string(id) + "/" + std::to_string(source) + ";";
                while (true) {
                    const auto seen = store.room_changes();
                    if (put(store, id, source, text) != PutResult::full) break;
                    store.wait_for_room(seen, std::chrono::steady_clock::now() + std::chrono::seconds(1));
                }
            }
        });
    }
    threads.emplace_back([&] {
        for (std::uint32_t id = 1; id <= events; ++id) {
            const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
            if (!store.wait_until_ready(Level1Id{id}, {}, deadline)) ++wrong;
            const auto got = ask(store, id, {0x11});
            if (got.data != std::to_string(id) + "/17;") ++wrong;
            if (id % 8 == 0) {
                std::vector<Level1Id> ids;
                for (std::uint32_t k = id - 7; k <= id; ++k) ids.push_back(Level1Id{k});
                store.clear(ids);
            }
        }
    });
    threads.emplace_back([&] {
        std::mt19937 random(1);
        while (wire::level1_distance(store.oldest(), Level1Id{events}) < 0) {
            const auto id = number(store.oldest()) + static_cast<std::uint32_t>(random() % 20);
            const auto got = ask(store, id, {0x10});
            if (got.states[0] == RobState::here && got.data != std::to_string(id) + "/16;") ++wrong;
            const auto counts = store.ledger().counts();
            if (counts.received != counts.stored + counts.rejected_in_all() + counts.in_hand) ++wrong;
        }
    });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(store.ledger().counts().stored, 3ULL * events);
    EXPECT_EQ(store.count_robs(), 0U);
    EXPECT_EQ(store.bytes_held().count(), 0U);
}

TEST(RobStore, AMaskedSourceCountsAsLostFromItsEventOnUnlessItIsHere) {
    RobStore store(sample_options());
    const auto source = store.sources().front();
    const auto id = number(source);
    store.set_masks({{source, true, Level1Id{5}}});
    EXPECT_EQ(state(store, 4, id), RobState::not_yet);
    EXPECT_EQ(state(store, 5, id), RobState::lost);
    store.set_masks({{source, true, Level1Id{5}}, {source, false, Level1Id{9}}});
    EXPECT_EQ(state(store, 5, id), RobState::not_yet);
    store.set_masks({{source, true, {}}, {SourceId{0x999}, true, {}}});
    EXPECT_EQ(state(store, 1, id), RobState::lost);
}

TEST(RobStore, AFragmentThatComesWhileItsEventIsClearedLeavesNothingBehind) {
    RobStore store({.sources = {SourceId{0x10}, SourceId{0x11}}, .events_max = 64, .bytes_max = 4_MiB});
    std::atomic<std::uint32_t> cleared{1};
    std::atomic<bool> over{false};
    std::jthread feeder([&] {
        const ConstData piece = as_data("late");
        RobReject why{};
        while (!over)
            static_cast<void>(store.put(Level1Id{cleared.load(std::memory_order_relaxed)},
                                        RobPieces{SourceId{0x10}, std::span(&piece, 1)}, why));
    });
    std::jthread loser([&] {
        while (!over) store.mark_lost(Level1Id{cleared.load(std::memory_order_relaxed)}, SourceId{0x11});
    });
    for (std::uint32_t event = 1; event <= 200'000; ++event) {
        cleared.store(event, std::memory_order_relaxed);
        clear(store, {event});
    }
    over = true;
    feeder.join();
    loser.join();
    clear(store, {200'001});  // nothing, or one that came behind the last
    EXPECT_EQ(store.events_held(), 0U);
    EXPECT_EQ(store.count_robs(), 0U);
    EXPECT_EQ(store.ledger().counts().in_hand, 0U);
}

}  // namespace
}  // namespace weir::readout

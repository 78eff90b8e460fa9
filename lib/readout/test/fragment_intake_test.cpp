// SPDX-License-Identifier: Apache-2.0
#include "intake/fragment_intake.hpp"

#include <gtest/gtest.h>

#include "result_input.hpp"
#include "store_sample.hpp"
#include "weir/base/endian.hpp"
#include "weir/event/fragment.hpp"
#include "weir/event/rob_builder.hpp"

namespace weir::readout {
namespace {

using wire::RobState;

constexpr SourceId plain{0x10}, ahead{0x11}, exempt{0x12};

class Intake : public ::testing::Test {
protected:
    Intake()
        : intake(
              store,
              {.rules = {.sources = {{ahead, {.level1_offset = 1}}, {exempt, {.exempt = true}}}}, .run = RunNumber{9}},
              [this](const Level1Mismatch& mismatch) { mismatches.push_back(mismatch); }) {}

    static RobStoreOptions with_result() {
        auto options = sample_options();
        options.sources.push_back(level2_result_source);
        return options;
    }
    static std::vector<std::byte> rob(SourceId source, std::uint32_t level1, std::uint32_t status = 0) {
        std::vector<std::byte> bytes;
        const std::vector<std::uint32_t> words{1, 2, 3};
        EXPECT_TRUE(
            event::append_rob(bytes, {.source = source, .level1_id = Level1Id{level1}}, words, {.status = status})
                .has_value());
        return bytes;
    }
    /// As its source counts; `ahead` counts one ahead of the event.
    IntakeAnswer send(std::uint32_t level1, SourceId source, ConstData fragment,
                      wire::PayloadKind kind = wire::PayloadKind::rob) {
        return intake.take(
            {.source = source, .level1_id = Level1Id{level1}, .kind = kind, .status_words = {}, .payload = fragment},
            {});
    }
    IntakeAnswer send_raw(std::uint32_t level1, SourceId source, std::string_view text,
                          std::vector<std::uint32_t> status_words = {}) {
        return intake.take({.source = source,
                            .level1_id = Level1Id{level1},
                            .status_words = std::move(status_words),
                            .payload = as_data(text)},
                           {});
    }
    std::string held(std::uint32_t event, SourceId source) { return ask(store, event, {number(source)}).data; }

    RobStore store{with_result()};
    std::vector<Level1Mismatch> mismatches;
    FragmentIntake intake;
};

TEST_F(Intake, AFragmentIsKeptUnderTheEventItWasSentForAndAnsweredBitForBit) {
    send(5, plain, rob(plain, 5));
    send(6, ahead, rob(ahead, 6));
    send(5, exempt, rob(exempt, 0));
    EXPECT_EQ(held(5, plain), as_text(rob(plain, 5)));
    EXPECT_EQ(held(5, ahead), as_text(rob(ahead, 6)));
    EXPECT_EQ(held(5, exempt), as_text(rob(exempt, 0)));
    EXPECT_TRUE(mismatches.empty());
}

TEST_F(Intake, ARodAloneGetsARobAroundIt) {
    const auto whole = rob(plain, 5);
    const auto view = event::FragmentView::parse(whole, event::Level::rob, event::Format::event_5_0).value();
    send(5, plain, view.payload(), wire::PayloadKind::rod);
    EXPECT_EQ(held(5, plain), as_text(whole));
}

TEST_F(Intake, ARodOrRobWithoutAnIdIsPutByTheOneInside) {
    const auto whole = rob(ahead, 6);
    const auto answer =
        intake.take({.source = ahead, .kind = wire::PayloadKind::rob, .status_words = {}, .payload = whole}, {});
    EXPECT_EQ(answer.result, IntakeResult::stored);
    EXPECT_EQ(held(5, ahead), as_text(whole));
    const auto no_id = intake.take({.source = exempt, .kind = wire::PayloadKind::rob, .payload = rob(exempt, 6)}, {});
    EXPECT_EQ(no_id.reason, RobReject::no_level1_id);
    EXPECT_EQ(intake.take({.source = plain, .payload = as_data("x")}, {}).reason, RobReject::no_level1_id);
    EXPECT_EQ(store.ledger().counts().received, 3U);
}

TEST_F(Intake, AnyBytesBecomeTheDataOfARodWithTheirLengthAndTheStatusWords) {
    for (const std::string_view payload : {"", "w", "weir", "weir!"}) {
        const auto event = static_cast<std::uint32_t>(payload.size() + 1);
        ASSERT_EQ(send_raw(event + 1, ahead, payload, {0xab}).result, IntakeResult::stored);
        const auto data = held(event, ahead);
        const auto view = event::FragmentView::parse(as_data(data), event::Level::rob, event::Format::event_5_0);
        ASSERT_TRUE(view.has_value()) << view.error().message();
        EXPECT_EQ(view->bytes().size(), data.size());
        EXPECT_EQ(view->source(), ahead);
        const auto rod = event::RodView::parse(view->payload());
        ASSERT_TRUE(rod.has_value()) << rod.error().message();
        EXPECT_EQ(rod->level1_id(), Level1Id{event + 1});
        EXPECT_EQ(rod->run(), RunNumber{9});
        EXPECT_EQ(rod->source(), ahead);
        EXPECT_EQ(as_text(rod->data()).substr(0, payload.size()), payload);
        EXPECT_EQ(rod->data().size(), (payload.size() + 3) / 4 * 4);
        const auto status = rod->status_words();
        ASSERT_EQ(status.size(), 12U);
        EXPECT_EQ(load_little<std::uint32_t>(status, 0), 0U);
        EXPECT_EQ(load_little<std::uint32_t>(status, 4), payload.size());
        EXPECT_EQ(load_little<std::uint32_t>(status, 8), 0xabU);
    }
}

TEST_F(Intake, AnIdThatSlippedIsRefusedAndReportedNeverShifted) {
    send(5, plain, rob(plain, 6));
    EXPECT_EQ(state(store, 5, number(plain)), RobState::lost);
    EXPECT_EQ(state(store, 6, number(plain)), RobState::not_yet);
    EXPECT_EQ(rejected(store, RobReject::level1_mismatch), 1U);
    ASSERT_EQ(mismatches.size(), 1U);
    EXPECT_EQ(mismatches[0].expected, Level1Id{5});
    EXPECT_EQ(mismatches[0].found, Level1Id{6});
    send(5, plain, rob(plain, 5));  // the right one comes after all
    EXPECT_EQ(state(store, 5, number(plain)), RobState::here);
}

TEST_F(Intake, ARobThatIsMarkedWithAWrongIdIsKept) {
    send(5, plain, rob(plain, 6, event::status::level1_id));
    EXPECT_EQ(state(store, 5, number(plain)), RobState::here);
}

TEST_F(Intake, WhatIsNoFragmentOfItsSourceIsRefusedByReason) {
    auto longer = rob(plain, 5);
    longer.resize(longer.size() + 4);
    EXPECT_EQ(send(5, plain, longer).reason, RobReject::malformed);
    send(5, plain, ConstData(longer).first(8));
    send(5, plain, {});
    send(5, ahead, rob(plain, 5));
    EXPECT_EQ(rejected(store, RobReject::malformed), 4U);
    send(5, SourceId{0x99}, rob(SourceId{0x99}, 5));
    EXPECT_EQ(rejected(store, RobReject::unknown_source), 1U);
    send(5, plain, rob(plain, 5));
    send(5, plain, rob(plain, 5));
    EXPECT_EQ(rejected(store, RobReject::duplicate), 1U);
    EXPECT_EQ(store.ledger().counts().received, 7U);
    const auto counts = intake.counts();
    ASSERT_EQ(counts[0].source, plain);
    EXPECT_EQ(counts[0].arrived, 1U);
    EXPECT_EQ(counts[0].bytes, rob(plain, 5).size());
    EXPECT_EQ(counts[0].refused[static_cast<std::size_t>(RobReject::malformed)], 3U);
    EXPECT_EQ(counts[0].refused[static_cast<std::size_t>(RobReject::duplicate)], 1U);
    EXPECT_EQ(counts[1].refused[static_cast<std::size_t>(RobReject::malformed)], 1U);
    EXPECT_TRUE(counts[1].last_seen.has_value());
    EXPECT_FALSE(counts[2].last_seen.has_value());
}

TEST_F(Intake, OverTheWrapTheOffsetIsAddedToTheCounter) {
    store.reset(Level1Id{0xffff'fff0});
    send(0, ahead, rob(ahead, 0));
    EXPECT_EQ(held(0xffff'ffff, ahead), as_text(rob(ahead, 0)));
}

TEST_F(Intake, AFullStoreIsAnAnswerAndNothingIsCounted) {
    for (std::uint32_t event = 1; event <= 64; ++event)
        ASSERT_EQ(send_raw(event, plain, "x").result, IntakeResult::stored);
    const auto before = store.ledger().counts();
    EXPECT_EQ(send_raw(65, plain, "x").result, IntakeResult::full);
    EXPECT_EQ(store.ledger().counts(), before);
    EXPECT_EQ(send_raw(3, exempt, "of an event that is held").result, IntakeResult::stored);
    clear(store, {1});
    EXPECT_EQ(send_raw(65, plain, "x").result, IntakeResult::stored);
}

TEST_F(Intake, ASourceThatIsFarAheadLeavesSlotsForTheOldestEvents) {
    for (std::uint32_t event = 2; event <= 128; event += 2)  // every second: it lost the others
        ASSERT_EQ(send_raw(event, plain, "x").result, IntakeResult::stored) << event;
    EXPECT_EQ(send_raw(130, plain, "x").result, IntakeResult::full);
    EXPECT_EQ(send_raw(1, exempt, "x").result, IntakeResult::stored);
    EXPECT_EQ(send_raw(3, exempt, "x").result, IntakeResult::stored);
}

TEST_F(Intake, WhatNeverCameIsLostAlsoWhereNoFurtherEventCouldBeHeld) {
    for (std::uint32_t event = 2; event <= 128; event += 2)
        ASSERT_EQ(send_raw(event, plain, "x").result, IntakeResult::stored) << event;
    intake.never_came(plain, Level1Id{1}, Level1Id{3});
    EXPECT_EQ(state(store, 1, number(plain)), wire::RobState::lost);
    EXPECT_EQ(state(store, 2, number(plain)), wire::RobState::here);
    EXPECT_EQ(state(store, 3, number(plain)), wire::RobState::lost);
    EXPECT_EQ(state(store, 1, number(exempt)), wire::RobState::not_yet);
    EXPECT_EQ(send_raw(3, plain, "x").result, IntakeResult::stored) << "it came in the end";
}

TEST_F(Intake, WhatNeverCameOfEventsFarAheadIsMarkedAsSoonAsThereIsRoomForThem) {
    for (std::uint32_t event = 1; event <= 64; ++event)
        ASSERT_EQ(send_raw(event, plain, "x").result, IntakeResult::stored) << event;
    ASSERT_EQ(send_raw(65, plain, "x").result, IntakeResult::full);
    intake.never_came(plain, Level1Id{65}, Level1Id{65});
    intake.never_came(plain, Level1Id{66}, Level1Id{1000});
    EXPECT_TRUE(intake.mark_lost());
    EXPECT_EQ(state(store, 65, number(plain)), wire::RobState::not_yet);
    clear(store, {1, 2});
    EXPECT_TRUE(intake.mark_lost());
    EXPECT_EQ(state(store, 65, number(plain)), wire::RobState::lost);
    EXPECT_EQ(state(store, 66, number(plain)), wire::RobState::lost);
    EXPECT_EQ(state(store, 67, number(plain)), wire::RobState::not_yet);
    for (std::uint32_t event = 3; event <= 1000; ++event) {
        intake.mark_lost();
        EXPECT_EQ(state(store, event, number(plain)), event <= 64 ? wire::RobState::here : wire::RobState::lost)
            << event;
        clear(store, {event});
    }
    EXPECT_FALSE(intake.mark_lost());
}

TEST_F(Intake, ASourceThatIsFarAheadLeavesMemoryForTheOldestEvents) {
    const std::string large(100'000, 'x');
    std::uint32_t event = 1;
    while (send_raw(event, plain, large).result == IntakeResult::stored) ++event;
    EXPECT_GT(event, 5U);
    EXPECT_LT(event, 41U);
    for (std::uint32_t next = 1; next < 4; ++next) {
        EXPECT_EQ(send_raw(next + 1, ahead, large).result, IntakeResult::stored) << next;
        EXPECT_EQ(send_raw(next, exempt, large).result, IntakeResult::stored) << next;
        clear(store, {next});
    }
}

TEST_F(Intake, ASourceThatIsFarAheadLeavesMemoryForEventsThatItHasBegun) {
    const std::string large(200'000, 'x');  // more than what the first fragment of an event takes for the others
    std::uint32_t event = 20;               // ids begin behind the first, so that none is the oldest
    while (send_raw(event, plain, std::string(50'000, 'x')).result == IntakeResult::stored) ++event;
    ASSERT_GT(event, 22U);
    EXPECT_EQ(send_raw(20, exempt, large).result, IntakeResult::stored);
    EXPECT_EQ(send_raw(event, plain, "x").result, IntakeResult::full);
}

TEST_F(Intake, WhatIsTakenForTheOtherFragmentsOfALaterEventComesOutOfNoReserve) {
    const std::string large(300'000, 'x');  // of which the first fragment of an event takes three times as much
    for (std::uint32_t event = 2; send_raw(event, plain, large).result == IntakeResult::stored; ++event) {
    }
    EXPECT_EQ(send_raw(1, exempt, std::string(500'000, 'x')).result, IntakeResult::stored);
}

TEST_F(Intake, ACounterThatJumpsIsRefusedAndHoldsUpNobody) {
    ASSERT_EQ(send_raw(1, plain, "x").result, IntakeResult::stored);
    EXPECT_EQ(send_raw(0x4000'0000, plain, "x").reason, RobReject::too_far_ahead);
    EXPECT_EQ(send_raw(2, plain, "x").result, IntakeResult::stored);
    EXPECT_EQ(rejected(store, RobReject::too_far_ahead), 1U);
}

TEST_F(Intake, OfAReadoutThatIsBegunAgainInARunWhatIsFarAheadWaitsUntilAClearSaysWhereTheRunIs) {
    auto options = sample_options();
    options.placed = false;
    RobStore again(options);
    FragmentIntake into(again, {.run = RunNumber{9}}, {});
    const wire::InputFragment fragment{
        .source = plain, .level1_id = Level1Id{100'000}, .status_words = {}, .payload = as_data("x")};
    EXPECT_EQ(into.take(fragment, {}).result, IntakeResult::full);
    again.clear_older(Level1Id{99'990});
    EXPECT_EQ(into.take(fragment, {}).result, IntakeResult::stored);
    auto jumped = fragment;
    jumped.level1_id = Level1Id{0x4000'0000};
    EXPECT_EQ(into.take(jumped, {}).reason, RobReject::too_far_ahead);
}

TEST_F(Intake, ALevel2ResultBecomesARobWithItsLengthInFront) {
    std::vector<std::byte> bytes;
    wire::encode(wire::Level2Result{.level1_id = Level1Id{7},
                                    .global_id = GlobalEventId{7},
                                    .result = {std::byte{0xaa}, std::byte{0xbb}, std::byte{0xcc}, std::byte{0xdd},
                                               std::byte{0xee}}},
                 bytes);
    ResultInput input(store, event::Format::event_5_0, RunNumber{9});
    input.take(bytes);
    const auto data = held(7, level2_result_source);
    const auto view = event::FragmentView::parse(as_data(data), event::Level::rob, event::Format::event_5_0).value();
    const auto rod = event::RodView::parse(view.payload()).value();
    EXPECT_EQ(rod.source(), level2_result_source);
    EXPECT_EQ(rod.run(), RunNumber{9});
    EXPECT_EQ(rod.level1_id(), Level1Id{7});
    ASSERT_EQ(rod.data().size(), 12U);
    EXPECT_EQ(load_little<std::uint32_t>(rod.data(), 0), 5U);
    EXPECT_EQ(load_little<std::uint32_t>(rod.data(), 4), 0xddccbbaaU);
    EXPECT_EQ(load_little<std::uint32_t>(rod.data(), 8), 0xeeU);
    input.take(ConstData(bytes).first(5));
    EXPECT_EQ(rejected(store, RobReject::malformed), 1U);
}

}  // namespace
}  // namespace weir::readout

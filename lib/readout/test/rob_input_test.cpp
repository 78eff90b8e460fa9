// SPDX-License-Identifier: Apache-2.0
#include "rob_input.hpp"

#include <gtest/gtest.h>

#include "store_sample.hpp"
#include "weir/base/endian.hpp"
#include "weir/event/fragment.hpp"
#include "weir/event/rob_builder.hpp"

namespace weir::readout {
namespace {

using wire::RobState;

constexpr SourceId plain{0x10}, ahead{0x11}, exempt{0x12};

class Input : public testing::Test {
protected:
    Input()
        : input(
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
    static std::vector<std::byte> message(std::uint32_t event, SourceId source, ConstData fragment) {
        std::vector<std::byte> bytes;
        wire::encode(wire::ReadoutInput{.level1_id = Level1Id{event}, .source = source, .fragment = fragment}, bytes);
        return bytes;
    }
    void send(std::uint32_t event, SourceId source, ConstData fragment) {
        input.take_fragment(message(event, source, fragment));
    }
    std::string held(std::uint32_t event, SourceId source) { return ask(store, event, {number(source)}).data; }

    RobStore store{with_result()};
    std::vector<Level1Mismatch> mismatches;
    RobInput input;
};

TEST_F(Input, AFragmentIsKeptUnderTheEventItWasSentForAndAnsweredBitForBit) {
    send(5, plain, rob(plain, 5));
    send(5, ahead, rob(ahead, 6));
    send(5, exempt, rob(exempt, 0));
    EXPECT_EQ(held(5, plain), as_text(rob(plain, 5)));
    EXPECT_EQ(held(5, ahead), as_text(rob(ahead, 6)));
    EXPECT_EQ(held(5, exempt), as_text(rob(exempt, 0)));
    EXPECT_TRUE(mismatches.empty());
}

TEST_F(Input, ARodAloneGetsARobAroundIt) {
    const auto whole = rob(plain, 5);
    const auto view = event::FragmentView::parse(whole, event::Level::rob, event::Format::event_5_0).value();
    send(5, plain, view.payload());
    EXPECT_EQ(held(5, plain), as_text(whole));
}

TEST_F(Input, AnIdThatSlippedIsRefusedAndReportedNeverShifted) {
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

TEST_F(Input, ARobThatIsMarkedWithAWrongIdIsKept) {
    send(5, plain, rob(plain, 6, event::status::level1_id));
    EXPECT_EQ(state(store, 5, number(plain)), RobState::here);
}

TEST_F(Input, WhatIsNoFragmentOfItsSourceIsRefusedByReason) {
    auto longer = rob(plain, 5);
    longer.resize(longer.size() + 4);
    send(5, plain, longer);
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
}

TEST_F(Input, OverTheWrapTheOffsetIsAddedToTheCounter) {
    store.reset(Level1Id{0xffff'fff0});
    send(0xffff'ffff, ahead, rob(ahead, 0));
    EXPECT_EQ(held(0xffff'ffff, ahead), as_text(rob(ahead, 0)));
}

TEST_F(Input, AFullStoreRefusesAndCounts) {
    for (std::uint32_t event = 1; event <= 65; ++event) send(event, plain, rob(plain, event));
    EXPECT_EQ(rejected(store, RobReject::full), 1U);
}

TEST_F(Input, ALevel2ResultBecomesARobWithItsLengthInFront) {
    std::vector<std::byte> bytes;
    wire::encode(wire::Level2Result{.level1_id = Level1Id{7},
                                    .global_id = GlobalEventId{7},
                                    .result = {std::byte{0xaa}, std::byte{0xbb}, std::byte{0xcc}, std::byte{0xdd},
                                               std::byte{0xee}}},
                 bytes);
    input.take_result(bytes);
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
    input.take_result(ConstData(bytes).first(5));
    EXPECT_EQ(rejected(store, RobReject::malformed), 1U);
}

}  // namespace
}  // namespace weir::readout

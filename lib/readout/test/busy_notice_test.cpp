// SPDX-License-Identifier: Apache-2.0
#include "notices/busy_notice.hpp"

#include <gtest/gtest.h>

#include "store_sample.hpp"

namespace weir::readout {
namespace {

constexpr wire::StationId supervisor{7};

struct Sent final : messaging::MessageSender {
    void send(wire::StationId, wire::DataflowType, std::span<const ConstData>) override { FAIL(); }
    bool send_reliably(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) override {
        if (!room) return false;
        EXPECT_EQ(to, supervisor);
        EXPECT_EQ(type, wire::DataflowType::readout_busy);
        wire::ReadoutBusy message;
        EXPECT_TRUE(wire::decode(pieces[0], message).has_value());
        messages.push_back(message);
        return true;
    }
    bool room = true;
    std::vector<wire::ReadoutBusy> messages;
};

class Busy : public ::testing::Test {
protected:
    void fill_to(std::uint32_t last) {
        for (; filled_ < last; ++filled_) ASSERT_EQ(put(store, filled_ + 1, 0x10, "x"), PutResult::stored);
    }
    void step() { EXPECT_TRUE(notice.step({}).has_value()); }

    RobStore store{sample_options()};  // of 64 events
    Sent sent;
    BusyNotice notice{store, sent, {.high = 0.5, .low = 0.25}, supervisor};
    std::uint32_t filled_ = 0;
};

TEST_F(Busy, AboveTheHighMarkIsBusyUntilBelowTheLowOne) {
    using wire::BusyCause;
    fill_to(31);
    step();
    EXPECT_TRUE(sent.messages.empty());
    fill_to(32);
    step();
    step();
    EXPECT_EQ(sent.messages, (std::vector<wire::ReadoutBusy>{{1, true, BusyCause::events, 8}}));
    EXPECT_TRUE(notice.busy());
    for (std::uint32_t event = 1; event <= 16; ++event) clear(store, {event});
    step();
    EXPECT_EQ(sent.messages.size(), 1U) << "16 events are the low mark";
    clear(store, {17});
    step();
    EXPECT_EQ(sent.messages.size(), 2U);
    EXPECT_EQ(sent.messages.back(), (wire::ReadoutBusy{2, false, BusyCause::none}));
    EXPECT_FALSE(notice.busy());
}

TEST_F(Busy, ANoticeThatFindsNoRoomIsSentLaterAsThingsAreThen) {
    sent.room = false;
    fill_to(40);
    step();
    EXPECT_TRUE(sent.messages.empty());
    sent.room = true;
    step();
    EXPECT_EQ(sent.messages.size(), 1U);
}

TEST_F(Busy, ASupervisorThatWasStartedAgainIsSentWhatHolds) {
    notice.on_peer(supervisor, messaging::PeerChange::restarted);
    step();
    EXPECT_TRUE(sent.messages.empty()) << "it begins not busy, and so it is";
    fill_to(40);
    step();
    notice.on_peer(supervisor, messaging::PeerChange::restarted);
    notice.on_peer(wire::StationId{8}, messaging::PeerChange::restarted);
    step();
    EXPECT_EQ(sent.messages.size(), 2U);
    EXPECT_EQ(sent.messages.back().change, 2U);
    EXPECT_TRUE(sent.messages.back().busy);
}

TEST(BusyNotice, WithoutASupervisorNothingIsSent) {
    const RobStore store(sample_options());
    Sent sent;
    BusyNotice notice(store, sent, {.high = 0, .low = 0}, std::nullopt);
    EXPECT_FALSE(notice.step({}).has_value());
}

}  // namespace
}  // namespace weir::readout

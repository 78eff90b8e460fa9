// SPDX-License-Identifier: Apache-2.0
#include "triggers/trigger_notices.hpp"

#include <gtest/gtest.h>

namespace weir::selection {
namespace {

constexpr wire::StationId crate{3}, other{4};

struct Sent final : messaging::MessageSender {
    void send(wire::StationId, wire::DataflowType, std::span<const ConstData>) override { FAIL(); }
    bool send_reliably(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) override {
        if (full) return false;
        EXPECT_EQ(type, wire::DataflowType::triggers);
        wire::Triggers message;
        EXPECT_TRUE(decode(pieces[0], message));
        auto& list = to == crate ? to_crate : to_other;
        list.insert(list.end(), message.triggers.begin(), message.triggers.end());
        return true;
    }
    bool full = false;
    std::vector<wire::TriggerNotice> to_crate, to_other;
};

Peer readout(wire::StationId id, bool triggers) {
    return {.name = "crate",
            .kind = StationKind::readout,
            .id = id,
            .dataflow = {},
            .events = {},
            .sources = {},
            .triggers = triggers};
}

wire::EventTicket ticket(std::uint32_t id) {
    wire::EventTicket made;
    made.level1_id = Level1Id{id};
    made.trigger_type = id % 5;
    made.seconds = 2;
    made.nanoseconds = id;
    return made;
}

TEST(TriggerNotices, GoToTheReadoutsThatAskedForThemInTheirOrder) {
    TriggerNotices notices;
    notices.set_peers({readout(crate, true), readout(other, false)});
    Sent sent;
    for (std::uint32_t id = 0; id < 5000; ++id) notices.add(ticket(id));
    EXPECT_TRUE(notices.send(sent));
    EXPECT_TRUE(notices.send(sent));
    ASSERT_EQ(sent.to_crate.size(), 5000U);
    for (std::uint32_t id = 0; id < 5000; ++id) {
        EXPECT_EQ(sent.to_crate[id].level1_id, Level1Id{id});
        EXPECT_EQ(sent.to_crate[id].type, id % 5);
        EXPECT_EQ(sent.to_crate[id].time_ns, 2'000'000'000 + id);
    }
    EXPECT_TRUE(sent.to_other.empty());
}

TEST(TriggerNotices, StayUntilTheyAreTakenAndThoseForASilentReadoutAreCounted) {
    TriggerNotices notices;
    notices.set_peers({readout(crate, true), readout(other, true)});
    Sent sent;
    sent.full = true;
    for (std::uint32_t id = 0; id < 10; ++id) notices.add(ticket(id));
    EXPECT_FALSE(notices.send(sent));
    notices.forget(other);
    EXPECT_EQ(notices.not_sent(), 10U);
    notices.set_peers({readout(crate, true), readout(other, true)});
    sent.full = false;
    EXPECT_TRUE(notices.send(sent));
    EXPECT_EQ(sent.to_crate.size(), 10U);
    EXPECT_TRUE(sent.to_other.empty());
}

TEST(TriggerNotices, TheOldestAreCountedAndNotSentWhenAReadoutTakesNone) {
    TriggerNotices notices;
    notices.set_peers({readout(crate, true)});
    for (std::uint32_t id = 0; id < TriggerNotices::pending_max + 3; ++id) notices.add(ticket(id));
    EXPECT_EQ(notices.not_sent(), 3U);
    Sent sent;
    EXPECT_TRUE(notices.send(sent));
    EXPECT_EQ(sent.to_crate.front().level1_id, Level1Id{3});
    notices.start_run();
    EXPECT_EQ(notices.not_sent(), 0U);
}

}  // namespace
}  // namespace weir::selection

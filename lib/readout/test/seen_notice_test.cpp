// SPDX-License-Identifier: Apache-2.0
#include "notices/seen_notice.hpp"

#include <gtest/gtest.h>

namespace weir::readout {
namespace {

/// Takes messages, or does not.
class Messages final : public messaging::MessageSender {
public:
    void send(wire::StationId, wire::DataflowType, std::span<const ConstData>) override {}
    bool send_reliably(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) override {
        if (!takes) return false;
        EXPECT_EQ(to, wire::StationId{7});
        EXPECT_EQ(type, wire::DataflowType::fragment_seen);
        wire::FragmentSeen message;
        EXPECT_TRUE(wire::decode(pieces[0], message).has_value());
        EXPECT_EQ(message.source, SourceId{0x10});
        EXPECT_EQ(message.first, ids.size());
        for (const auto& fragment : message.fragments) ids.push_back(number(fragment.level1_id));
        ++sent;
        return true;
    }
    bool takes = true;
    std::vector<std::uint32_t> ids;
    int sent = 0;
};

TEST(SeenNotice, FragmentsAreReportedInOrderOnceAndInMessagesOfABoundedSize) {
    Messages messages;
    SeenNotice notice(messages, wire::StationId{7}, SourceId{0x10});
    const SteadyTime now{};
    static_cast<void>(notice.step(now));
    EXPECT_EQ(messages.sent, 0);
    for (std::uint32_t id = 1; id <= 3000; ++id) notice.seen(Level1Id{id}, std::nullopt);
    messages.takes = false;
    static_cast<void>(notice.step(now));
    notice.seen(Level1Id{3001}, 5);
    messages.takes = true;
    EXPECT_EQ(notice.step(now), now + SeenNotice::look_interval);
    static_cast<void>(notice.step(now));
    ASSERT_EQ(messages.ids.size(), 3001U);
    for (std::uint32_t id = 1; id <= 3001; ++id) ASSERT_EQ(messages.ids[id - 1], id);
    EXPECT_EQ(messages.sent, 2);
}

}  // namespace
}  // namespace weir::readout

// SPDX-License-Identifier: Apache-2.0
#include "front_end/front_end_messages.hpp"

#include <gtest/gtest.h>

namespace weir::readout {
namespace {

ConstData body_of(const std::vector<std::byte>& message) { return ConstData(message).subspan(plugin::message_head); }

TEST(FrontEndMessages, ComeOutAsTheyWentIn) {
    std::vector<std::byte> out;
    write_begin_run(
        {.run = RunNumber{7}, .poll_interval = std::chrono::microseconds(1500), .sources = {SourceId{1}, SourceId{2}}},
        out);
    const auto begin = read_begin_run(body_of(out));
    ASSERT_TRUE(begin);
    EXPECT_EQ(begin->run, RunNumber{7});
    EXPECT_EQ(begin->poll_interval, std::chrono::microseconds(1500));
    EXPECT_EQ(begin->sources, (std::vector{SourceId{1}, SourceId{2}}));
    out.clear();
    const std::vector<Trigger> triggers{{Level1Id{1}, 2, std::chrono::nanoseconds(1LL << 60)},
                                        {Level1Id{0xffffffff}, 0, {}}};
    write_triggers(triggers, out);
    std::vector<Trigger> read;
    ASSERT_TRUE(read_triggers(body_of(out), read));
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[0].time, triggers[0].time);
    EXPECT_EQ(read[0].type, 2U);
    EXPECT_EQ(read[1].level1_id, Level1Id{0xffffffff});
    out.clear();
    write_failed({.call = Call::read_out, .trigger = Level1Id{9}, .text = "why"}, out);
    const auto failed = read_failed(body_of(out));
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->call, Call::read_out);
    EXPECT_EQ(failed->trigger, Level1Id{9});
    EXPECT_EQ(failed->text, "why");
}

TEST(FrontEndMessages, CutOrChangedAreAnErrorOrAMessage) {
    std::vector<std::byte> out;
    write_failed({.call = Call::poll, .text = "why"}, out);
    for (std::size_t size = 0; size < 8; ++size) EXPECT_FALSE(read_failed(body_of(out).first(size))) << size;
    for (unsigned call = 5; call < 256; ++call) {
        auto damaged = out;
        damaged[plugin::message_head] = static_cast<std::byte>(call);
        EXPECT_FALSE(read_failed(body_of(damaged))) << call;
    }
    const std::vector<std::byte> bytes(64);
    std::vector<Trigger> triggers;
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        const auto part = ConstData(bytes).first(size);
        EXPECT_EQ(read_number(part).has_value(), size == 4);
        EXPECT_EQ(read_begin_run(part).has_value(), size >= 8 && size % 4 == 0);
        EXPECT_EQ(read_triggers(part, triggers).has_value(), size % 16 == 0);
    }
}

}  // namespace
}  // namespace weir::readout

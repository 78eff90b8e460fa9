// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/plug_in_messages.hpp"

#include <gtest/gtest.h>

namespace weir::plugin {
namespace {

using namespace std::chrono_literals;

ConstData body_of(const std::vector<std::byte>& message) { return ConstData(message).subspan(message_head); }

TEST(PlugInMessages, ComeOutAsTheyWentIn) {
    std::vector<std::byte> out;
    write_begin_run({.run = RunNumber{7}, .poll_interval = 1500us, .words = {1, 0xffffffff}}, out);
    const auto begin = read_begin_run(body_of(out));
    ASSERT_TRUE(begin);
    EXPECT_EQ(begin->run, RunNumber{7});
    EXPECT_EQ(begin->poll_interval, 1500us);
    EXPECT_EQ(begin->words, (std::vector<std::uint32_t>{1, 0xffffffff}));
    out.clear();
    write_failed({.call = Call::read_out, .trigger = Level1Id{9}, .text = "why"}, out);
    const auto failed = read_failed(body_of(out));
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->call, Call::read_out);
    EXPECT_EQ(failed->trigger, Level1Id{9});
    EXPECT_EQ(failed->text, "why");
    out.clear();
    write_number(ToPlugIn::own, std::uint64_t{1} << 40, out);
    EXPECT_EQ(read_number<std::uint64_t>(body_of(out)).value(), 1ULL << 40);
    EXPECT_FALSE(read_number<std::uint32_t>(body_of(out)));
}

TEST(PlugInMessages, CutOrChangedAreAnErrorOrAMessage) {
    std::vector<std::byte> out;
    write_failed({.call = Call::poll, .text = "why"}, out);
    for (std::size_t size = 0; size < 8; ++size) EXPECT_FALSE(read_failed(body_of(out).first(size))) << size;
    for (unsigned call = 0; call < 256; ++call) {
        auto damaged = out;
        damaged[message_head] = static_cast<std::byte>(call);
        EXPECT_EQ(read_failed(body_of(damaged)).has_value(), call >= 1 && call <= 6) << call;
    }
    const std::vector<std::byte> bytes(64);
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        const auto part = ConstData(bytes).first(size);
        EXPECT_EQ(read_number<std::uint32_t>(part).has_value(), size == 4);
        EXPECT_EQ(read_begin_run(part).has_value(), size >= 8 && size % 4 == 0);
    }
}

}  // namespace
}  // namespace weir::plugin

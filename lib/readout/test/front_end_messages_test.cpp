// SPDX-License-Identifier: Apache-2.0
#include "front_end/front_end_messages.hpp"

#include <gtest/gtest.h>

namespace weir::readout {
namespace {

TEST(FrontEndMessages, ComeOutAsTheyWentInAndThoseCutAreAnError) {
    std::vector<std::byte> out;
    const std::vector<Trigger> triggers{{Level1Id{1}, 2, std::chrono::nanoseconds(1LL << 60)},
                                        {Level1Id{0xffffffff}, 0, {}}};
    write_triggers(triggers, out);
    const auto body = ConstData(out).subspan(plugin::message_head);
    std::vector<Trigger> read;
    ASSERT_TRUE(read_triggers(body, read));
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[0].time, triggers[0].time);
    EXPECT_EQ(read[0].type, 2U);
    EXPECT_EQ(read[1].level1_id, Level1Id{0xffffffff});
    for (std::size_t size = 0; size <= body.size(); ++size)
        EXPECT_EQ(read_triggers(body.first(size), read).has_value(), size % 16 == 0) << size;
}

}  // namespace
}  // namespace weir::readout

// SPDX-License-Identifier: Apache-2.0
// Records of a known class, and one suite over every implementation that this processor can run.
#include "weir/serial/record_plan.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::serial {
namespace {

constexpr RecordTables<14> thing({constant_byte(0x40), constant_byte(0), constant_byte(0), constant_byte(10),
                                  constant_byte(0), constant_byte(0), constant_byte(0), constant_byte(0x0d),
                                  constant_byte(0xa4), constant_byte(0xf8), object_byte(3), object_byte(2),
                                  object_byte(1), object_byte(0)},
                                 4);

TEST(RecordPlan, ThingsOfRootAreWrittenAndReadBack) {
    const std::uint32_t things[] = {1, 0x01020304, 0xfffffffe};
    std::vector<std::byte> wire(3 * 14);
    write_records(thing, reinterpret_cast<const std::byte*>(things), 3, wire.data());
    const std::uint8_t second[] = {0x40, 0, 0, 10, 0, 0, 0, 0x0d, 0xa4, 0xf8, 1, 2, 3, 4};
    for (std::size_t i = 0; i < 14; ++i) EXPECT_EQ(wire[14 + i], std::byte{second[i]}) << i;
    std::uint32_t back[3] = {};
    EXPECT_EQ(read_records(thing, wire.data(), 3, reinterpret_cast<std::byte*>(back)), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(back[i], things[i]);
    wire[14 + 5] = std::byte{1};
    EXPECT_EQ(read_records(thing, wire.data(), 3, reinterpret_cast<std::byte*>(back)), 1U);
}

}  // namespace
}  // namespace weir::serial

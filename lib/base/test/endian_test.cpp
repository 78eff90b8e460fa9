// SPDX-License-Identifier: Apache-2.0
#include "weir/base/endian.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weir {
namespace {

TEST(Endian, LittleEndianIsWrittenLowByteFirstAtAnyOffset) {
    std::array<std::byte, 7> bytes{};
    store_little<std::uint32_t>(bytes, 3, 0x1234aaaa);
    EXPECT_EQ(bytes[3], std::byte{0xaa});
    EXPECT_EQ(bytes[6], std::byte{0x12});
    EXPECT_EQ(load_little<std::uint32_t>(bytes, 3), 0x1234aaaaU);
}

TEST(Endian, BigEndianIsWrittenHighByteFirst) {
    std::array<std::byte, 8> bytes{};
    store_big<std::uint64_t>(bytes, 0, 0x0102030405060708);
    EXPECT_EQ(bytes[0], std::byte{1});
    EXPECT_EQ(load_big<std::uint64_t>(bytes), 0x0102030405060708U);
    EXPECT_EQ(load_little<std::uint64_t>(bytes), 0x0807060504030201U);
}

TEST(EndianDeathTest, ReadingBesideTheBytesStopsTheProgram) {
    const std::array<std::byte, 4> bytes{};
    EXPECT_DEATH(static_cast<void>(load_little<std::uint32_t>(bytes, 1)), "broken invariant");
}

}  // namespace
}  // namespace weir

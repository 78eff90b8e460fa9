// SPDX-License-Identifier: Apache-2.0
#include "datagrams/datagram_part.hpp"

#include <gtest/gtest.h>

#include <array>

#include "datagram_sample.hpp"

namespace weir::readout {
namespace {

TEST(DatagramHeader, OursIsReadAsItsDocumentHasIt) {
    const auto bytes = own_datagram({.source = 0x420001, .counter = 0x01020304, .part = 1, .parts = 3}, "weir", true);
    const auto part = parse(DatagramHeader{}, bytes);
    ASSERT_TRUE(part.has_value());
    EXPECT_EQ(part->source, SourceId{0x420001});
    EXPECT_EQ(part->counter, 0x01020304U);
    EXPECT_EQ(part->part, 1U);
    EXPECT_EQ(part->parts, 3U);
    EXPECT_EQ(as_text(part->payload), "weir");
}

TEST(DatagramHeader, CutShortAtAnyByteIsRefused) {
    const auto own = own_datagram({.source = 0x10, .counter = 1}, "payload", true);
    for (std::size_t size = 0; size < own.size(); ++size)
        EXPECT_FALSE(parse(DatagramHeader{}, std::span(own).first(size)).has_value()) << size;
    const auto foreign = foreign_datagram({.source = 0x10, .counter = 1}, "payload");
    for (std::size_t size = 0; size < foreign.size(); ++size)
        EXPECT_FALSE(parse(foreign_header(), std::span(foreign).first(size)).has_value()) << size;
}

TEST(DatagramHeader, TheExampleOfTheDocumentIsReadAsItSays) {
    constexpr std::array<std::uint8_t, 45> example{
        0x57, 0x55, 0x44, 0x50, 0x01, 0x00, 0x13, 0x00, 0x01, 0x00, 0x42, 0x00, 0x07, 0x00, 0x00,
        0x00, 0x19, 0x00, 0x2a, 0x36, 0xfe, 0x9c, 0x97, 0x17, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
        0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x0a, 0xf7, 0xd3, 0x2b, 0x77, 0x65, 0x69, 0x72, 0x21};
    const auto part = parse(DatagramHeader{}, std::as_bytes(std::span(example)));
    ASSERT_TRUE(part.has_value()) << name(part.error());
    EXPECT_EQ(part->source, SourceId{0x420001});
    EXPECT_EQ(part->counter, 7U);
    EXPECT_EQ(part->time_ns, 1'700'000'000'000'000'025);
    EXPECT_EQ(part->parts, 1U);
    EXPECT_EQ(as_text(part->payload), "weir!");
}

TEST(DatagramHeader, AnyChangedBitOfASummedDatagramIsSeen) {
    auto bytes = own_datagram({.source = 0x10, .counter = 1}, "payload", true);
    const std::size_t sum_flag = 8 * 6 + 4;  // without it no sum is there to be compared
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        if (bit == sum_flag) continue;
        bytes[bit / 8] ^= std::byte(1U << bit % 8);
        EXPECT_FALSE(parse(DatagramHeader{}, bytes).has_value()) << bit;
        bytes[bit / 8] ^= std::byte(1U << bit % 8);
    }
}

TEST(DatagramHeader, AForeignOneIsReadByItsDescriptionAndItsPaddingIsPassedOver) {
    auto bytes = foreign_datagram({.source = 0x11, .counter = 0xfffe}, "weir");
    bytes.resize(60);
    const auto part = parse(foreign_header(), bytes);
    ASSERT_TRUE(part.has_value());
    EXPECT_EQ(part->source, SourceId{0x11});
    EXPECT_EQ(part->counter, 0xfffeU);
    EXPECT_EQ(as_text(part->payload), "weir");
}

TEST(DatagramHeader, ADescriptionThatContradictsItselfIsRefused) {
    ASSERT_TRUE(check(foreign_header()).has_value());
    const auto refused = [](auto change) {
        auto header = foreign_header();
        change(header);
        const auto good = check(header);
        return !good && good.error().code == Errc::usage;
    };
    EXPECT_TRUE(refused([](auto& h) { h.size = 0; }));
    EXPECT_TRUE(refused([](auto& h) { h.size = 5000; }));
    EXPECT_TRUE(refused([](auto& h) { h.size = 7; }));
    EXPECT_TRUE(refused([](auto& h) { h.length.offset = 0xffff'ffff; }));
    EXPECT_TRUE(refused([](auto& h) { h.source.size = 5; }));
    EXPECT_TRUE(refused([](auto& h) { h.source.size = 8, h.source.offset = 0; }));
    EXPECT_TRUE(refused([](auto& h) { h.source = {}; }));
    EXPECT_TRUE(refused([](auto& h) { h.fixed_source = SourceId{1}; }));
    EXPECT_TRUE(refused([](auto& h) { h.counter = {}; }));
    EXPECT_TRUE(refused([](auto& h) { h.counter_bits = 17; }));
    EXPECT_TRUE(refused([](auto& h) { h.counter_bits = 7; }));
    EXPECT_TRUE(refused([](auto& h) { h.part = {}; }));
    EXPECT_TRUE(refused([](auto& h) { h.magic_value = 0x1cafe; }));
}

}  // namespace
}  // namespace weir::readout

// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/datagram.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "dataflow_samples.hpp"
#include "samples.hpp"
#include "weir/base/endian.hpp"
#include "weir/checksum/crc32c.hpp"

namespace weir::wire {
namespace {

DatagramHeader sample_header() {
    return {.type = DataflowType::data,
            .reliable = false,
            .from = StationId{3},
            .run = RunNumber{91668},
            .epoch = Epoch{11},
            .to_epoch = Epoch{12},
            .message = 4,
            .message_size = 20,
            .offset = 5,
            .part_size = 9};
}

std::vector<std::byte> datagram(const DatagramHeader& header, std::string_view part, std::uint32_t key) {
    std::vector<std::byte> bytes(datagram_header_size + part.size());
    std::ranges::copy(as_data(part), bytes.begin() + datagram_header_size);
    const std::array pieces{as_data(part.substr(0, part.size() / 2)), as_data(part.substr(part.size() / 2))};
    encode_datagram_header(std::span(bytes).first<datagram_header_size>(), header, pieces, key);
    return bytes;
}

/// With one 32-bit field changed and the checksum made right again.
std::vector<std::byte> changed(std::vector<std::byte> bytes, std::size_t at, std::uint32_t value) {
    store_little(bytes, at, value);
    store_little(bytes, 52,
                 checksum::crc32c(ConstData(bytes).subspan(56), checksum::crc32c(ConstData(bytes).first(52))));
    return bytes;
}

// The worked example of docs/formats/dataflow-protocol.md: these bytes never change.
TEST(Datagram, IsEncodedAsTheFormatDescriptionShows) {
    const auto clear = sample::encoded(sample::clear());
    EXPECT_EQ(datagram({.type = DataflowType::clear,
                        .reliable = true,
                        .from = StationId{3},
                        .run = RunNumber{91668},
                        .epoch = Epoch{11},
                        .to_epoch = Epoch{12},
                        .message = 4,
                        .message_size = 16,
                        .offset = 0,
                        .part_size = 16},
                       as_text(clear), 0),
              sample::from_hex("57 52 44 46 02 06 01 00 03 00 00 00 14 66 01 00 "
                               "0b 00 00 00 00 00 00 00 0c 00 00 00 00 00 00 00 "
                               "04 00 00 00 00 00 00 00 10 00 00 00 00 00 00 00 "
                               "10 00 00 00 f1 cd f8 83 03 00 00 00 02 00 00 00 "
                               "05 00 00 00 04 00 00 00"));
}

TEST(Datagram, ComesBackAsItWasWritten) {
    for (const std::uint32_t key : {0U, 77U}) {
        const auto bytes = datagram(sample_header(), "123456789", key);
        EXPECT_EQ(decode_datagram(bytes, key).value(), sample_header());
        EXPECT_EQ(datagram_size(ConstData(bytes).first(datagram_header_size)).value(), bytes.size());
        EXPECT_FALSE(decode_datagram(bytes, key + 1).has_value()) << "of another partition";
    }
}

TEST(Datagram, CutShortOrDamagedAnywhereIsAnError) {
    const auto bytes = datagram(sample_header(), "123456789", 7);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_EQ(decode_datagram(ConstData(bytes).first(size), 7).error().code, Errc::truncated) << size;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        auto damaged = bytes;
        damaged[bit / 8] ^= std::byte{1} << bit % 8;
        EXPECT_FALSE(decode_datagram(damaged, 7).has_value()) << bit;
    }
    auto longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_EQ(decode_datagram(longer, 7).error().code, Errc::corrupt);
}

TEST(Datagram, WhoseFieldsContradictEachOtherIsRefusedThoughItsChecksumIsRight) {
    const auto bytes = datagram(sample_header(), "123456789", 0);
    EXPECT_EQ(decode_datagram(changed(bytes, 40, dataflow_message_max + 1), 0).error().code, Errc::limit);
    EXPECT_EQ(decode_datagram(changed(bytes, 40, 13), 0).error().code, Errc::corrupt)
        << "behind the end of the message";
    EXPECT_EQ(decode_datagram(changed(bytes, 44, 0xffffffff), 0).error().code, Errc::corrupt) << "offset";
    EXPECT_EQ(decode_datagram(changed(bytes, 8, 0), 0).error().code, Errc::corrupt) << "no station";
    EXPECT_EQ(decode_datagram(changed(bytes, 16, 0), 0).error().code, Errc::corrupt) << "no epoch";
    EXPECT_EQ(decode_datagram(changed(bytes, 32, 0), 0).error().code, Errc::corrupt) << "no message";
    EXPECT_EQ(decode_datagram(changed(bytes, 4, 1), 0).error().code, Errc::unsupported) << "version";
    EXPECT_EQ(decode_datagram(changed(bytes, 4, 0x0000ff01), 0).error().code, Errc::unsupported) << "type";
    EXPECT_EQ(decode_datagram(changed(changed(bytes, 4, 0x00010502), 24, 0), 0).error().code, Errc::corrupt)
        << "reliable to whom";
    auto empty = sample_header();
    empty.part_size = 0;
    EXPECT_EQ(decode_datagram(datagram(empty, "", 0), 0).error().code, Errc::corrupt) << "an empty part of more";
    empty.message_size = empty.offset = 0;
    EXPECT_EQ(decode_datagram(datagram(empty, "", 0), 0).value(), empty) << "an empty message is one";
}

TEST(Datagram, LargerThanTheNetworkCanCarryIsRefused) {
    auto header = sample_header();
    header.offset = 0;
    header.part_size = header.message_size = datagram_size_max - datagram_header_size;
    const std::string part(header.part_size + 1, 'x');
    EXPECT_TRUE(decode_datagram(datagram(header, std::string_view(part).substr(1), 0), 0).has_value());
    ++header.part_size, ++header.message_size;
    EXPECT_EQ(decode_datagram(datagram(header, part, 0), 0).error().code, Errc::limit);
}

}  // namespace
}  // namespace weir::wire

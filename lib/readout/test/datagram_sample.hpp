// SPDX-License-Identifier: Apache-2.0
// Datagrams of both kinds of header, written field by field.
#pragma once

#include <string_view>
#include <vector>

#include "datagrams/datagram_part.hpp"
#include "weir/base/endian.hpp"
#include "weir/checksum/crc32c.hpp"

namespace weir::readout {

struct SampleHead {
    std::uint32_t source = 0x10, counter = 1, part = 0, parts = 1;
};

inline std::vector<std::byte> own_datagram(SampleHead head, std::string_view payload, bool sum = false) {
    std::vector<std::byte> bytes(40);
    store_little(bytes, 0, std::uint32_t{0x50445557});
    store_little(bytes, 4, std::uint16_t{1});
    store_little(bytes, 6, static_cast<std::uint16_t>(sum ? 17 : 1));
    store_little(bytes, 8, head.source);
    store_little(bytes, 12, head.counter);
    store_little(bytes, 24, head.part);
    store_little(bytes, 28, head.parts);
    store_little(bytes, 32, static_cast<std::uint32_t>(payload.size()));
    if (sum) store_little(bytes, 36, checksum::crc32c(as_data(payload), checksum::crc32c(ConstData(bytes).first(36))));
    bytes.insert(bytes.end(), as_data(payload).begin(), as_data(payload).end());
    return bytes;
}

/// Big-endian: cafe | length 2 | source 1 | part 1 | parts 1 | a byte that is skipped | counter 2.
inline DatagramHeader foreign_header() {
    return {.own = false,
            .size = 10,
            .big_endian = true,
            .magic = {0, 2},
            .magic_value = 0xcafe,
            .source = {4, 1},
            .counter = {8, 2},
            .length = {2, 2},
            .part = {5, 1},
            .parts = {6, 1}};
}

inline std::vector<std::byte> foreign_datagram(SampleHead head, std::string_view payload) {
    std::vector<std::byte> bytes(10);
    store_big(bytes, 0, std::uint16_t{0xcafe});
    store_big(bytes, 2, static_cast<std::uint16_t>(payload.size()));
    bytes[4] = std::byte(head.source);
    bytes[5] = std::byte(head.part);
    bytes[6] = std::byte(head.parts);
    store_big(bytes, 8, static_cast<std::uint16_t>(head.counter));
    bytes.insert(bytes.end(), as_data(payload).begin(), as_data(payload).end());
    return bytes;
}

}  // namespace weir::readout

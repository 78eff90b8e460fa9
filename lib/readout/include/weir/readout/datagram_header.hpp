// SPDX-License-Identifier: Apache-2.0
// The header of a datagram that brings a fragment, or a part of one, to a readout: weir's own, or a board's, described
// by the places of its fields. docs/formats/input-udp.md has both.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir::readout {

/// An unsigned integer of 1, 2, 3, 4 or 8 bytes; size 0: the header has none.
struct HeaderField {
    std::uint32_t offset = 0, size = 0;
};

/// The largest header, and the most parts of one fragment.
inline constexpr std::uint32_t datagram_header_max = 1024;
inline constexpr std::uint32_t datagram_parts_max = 4096;

struct DatagramHeader {
    bool own = true;  // weir's; nothing below counts
    std::uint32_t size = 0;
    bool big_endian = true;
    HeaderField magic{};
    std::uint64_t magic_value = 0;
    HeaderField source{};
    std::optional<SourceId> fixed_source{};  // instead of a field
    std::uint32_t source_base = 0;           // added to what the field has
    HeaderField counter{};
    std::uint32_t counter_bits = 0;  // that are counted in; 0: all of the field
    HeaderField length{};            // of the payload, behind the header; none: the rest of the datagram
    HeaderField part{}, parts{};     // none: one datagram, one fragment
    HeaderField time{};              // ns

    /// Of the counter: 1 to 32.
    [[nodiscard]] std::uint32_t bits() const noexcept;
};

/// Errc::usage: a description that contradicts itself; names the key of the readout and what to do.
[[nodiscard]] Result<> check(const DatagramHeader& header);

}  // namespace weir::readout

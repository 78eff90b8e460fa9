// SPDX-License-Identifier: Apache-2.0
// One datagram, checked against its header: which part of which source's fragment it is, or why it is none.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>

#include "weir/base/data.hpp"
#include "weir/readout/datagram_header.hpp"
#include "weir/wire/input_block.hpp"

namespace weir::readout {

enum class DatagramFault : std::uint8_t {
    too_short,       // for its header
    foreign,         // another magic or version
    wrong_length,    // another length than the header says
    wrong_checksum,  // it is not what was sent
    wrong_parts,     // no parts, more than are allowed, or a part beyond them
    wrong_flags,     // that no version has
};
inline constexpr std::size_t datagram_fault_count = 6;
/// "too_short", ...
[[nodiscard]] const char* name(DatagramFault fault) noexcept;

struct DatagramPart {
    SourceId source{};
    std::optional<std::uint32_t> counter{};  // as its source counts: of bits() bits
    std::optional<std::int64_t> time_ns{};
    wire::PayloadKind kind = wire::PayloadKind::raw;
    std::uint32_t part = 0, parts = 1;
    ConstData payload{};  // a view into the datagram
};

/// Any bytes. The header is checked.
[[nodiscard]] std::expected<DatagramPart, DatagramFault> parse(const DatagramHeader& header, ConstData datagram);

}  // namespace weir::readout

// SPDX-License-Identifier: Apache-2.0
#include "datagrams/datagram_part.hpp"

#include <array>

#include "weir/base/endian.hpp"
#include "weir/checksum/crc32c.hpp"

namespace weir::readout {
namespace {

constexpr std::size_t own_size = 40;
constexpr std::size_t own_sum_at = 36;           // the last field: it covers all before it, and the payload
constexpr std::uint32_t own_magic = 0x50445557;  // "WUDP"
constexpr std::uint16_t own_version = 1;
constexpr std::uint16_t has_id = 1, has_time = 2, is_rod = 4, is_rob = 8, has_sum = 16, all_flags = 31;

using Parsed = std::expected<DatagramPart, DatagramFault>;

/// The field lies in the header: check() has seen it, parse() the datagram's size.
std::uint64_t value_of(ConstData datagram, HeaderField field, bool big_endian) noexcept {
    std::uint64_t value = 0;
    for (std::uint32_t i = 0; i < field.size; ++i) {
        const auto at = field.offset + (big_endian ? i : field.size - 1 - i);
        value = value << 8 | std::to_integer<std::uint64_t>(datagram[at]);
    }
    return value;
}

Parsed parse_own(ConstData datagram) {
    if (datagram.size() < own_size) return std::unexpected(DatagramFault::too_short);
    if (load_little<std::uint32_t>(datagram) != own_magic || load_little<std::uint16_t>(datagram, 4) != own_version)
        return std::unexpected(DatagramFault::foreign);
    const auto flags = load_little<std::uint16_t>(datagram, 6);
    if ((flags & ~all_flags) != 0 || (flags & (is_rod | is_rob)) == (is_rod | is_rob))
        return std::unexpected(DatagramFault::wrong_flags);
    DatagramPart part{.source = SourceId{load_little<std::uint32_t>(datagram, 8)}};
    if ((flags & has_id) != 0) part.counter = load_little<std::uint32_t>(datagram, 12);
    if ((flags & has_time) != 0) part.time_ns = static_cast<std::int64_t>(load_little<std::uint64_t>(datagram, 16));
    if ((flags & is_rod) != 0) part.kind = wire::PayloadKind::rod;
    if ((flags & is_rob) != 0) part.kind = wire::PayloadKind::rob;
    part.part = load_little<std::uint32_t>(datagram, 24);
    part.parts = load_little<std::uint32_t>(datagram, 28);
    part.payload = datagram.subspan(own_size);
    if (load_little<std::uint32_t>(datagram, 32) != part.payload.size())
        return std::unexpected(DatagramFault::wrong_length);
    if ((flags & has_sum) != 0 && load_little<std::uint32_t>(datagram, own_sum_at) !=
                                      checksum::crc32c(part.payload, checksum::crc32c(datagram.first(own_sum_at))))
        return std::unexpected(DatagramFault::wrong_checksum);
    return part;
}

Parsed parse_described(const DatagramHeader& header, ConstData datagram) {
    if (datagram.size() < header.size) return std::unexpected(DatagramFault::too_short);
    const auto value = [&](HeaderField field) { return value_of(datagram, field, header.big_endian); };
    if (header.magic.size > 0 && value(header.magic) != header.magic_value)
        return std::unexpected(DatagramFault::foreign);
    DatagramPart part;
    part.source =
        header.fixed_source.value_or(SourceId{static_cast<std::uint32_t>(header.source_base + value(header.source))});
    const auto mask = (std::uint64_t{1} << header.bits()) - 1;
    if (header.counter.size > 0) part.counter = static_cast<std::uint32_t>(value(header.counter) & mask);
    if (header.time.size > 0) part.time_ns = static_cast<std::int64_t>(value(header.time));
    if (header.part.size > 0) {
        const auto number = value(header.part), parts = value(header.parts);
        if (number >= datagram_parts_max || parts > datagram_parts_max)
            return std::unexpected(DatagramFault::wrong_parts);
        part.part = static_cast<std::uint32_t>(number);
        part.parts = static_cast<std::uint32_t>(parts);
    }
    part.payload = datagram.subspan(header.size);
    if (header.length.size > 0) {  // padding behind it is passed over: Ethernet's least frame
        const auto length = value(header.length);
        if (length > part.payload.size()) return std::unexpected(DatagramFault::wrong_length);
        part.payload = part.payload.first(length);
    }
    return part;
}

}  // namespace

const char* name(DatagramFault fault) noexcept {
    constexpr std::array names{"too_short", "foreign", "wrong_length", "wrong_checksum", "wrong_parts", "wrong_flags"};
    static_assert(names.size() == datagram_fault_count);
    return names[static_cast<std::size_t>(fault)];
}

Parsed parse(const DatagramHeader& header, ConstData datagram) {
    auto part = header.own ? parse_own(datagram) : parse_described(header, datagram);
    if (part && (part->parts == 0 || part->parts > datagram_parts_max || part->part >= part->parts))
        return std::unexpected(DatagramFault::wrong_parts);
    return part;
}

}  // namespace weir::readout

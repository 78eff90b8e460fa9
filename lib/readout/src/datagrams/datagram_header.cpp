// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/datagram_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::readout {

std::uint32_t DatagramHeader::bits() const noexcept {
    if (own || counter.size == 0) return 32;
    return counter_bits > 0 ? counter_bits : std::min(8 * counter.size, 32U);
}

Result<> check(const DatagramHeader& header) {
    if (header.own) return {};
    const auto wrong = [](std::string what) { return fail(Errc::usage, std::move(what)); };
    if (header.size == 0 || header.size > datagram_header_max)
        return wrong(
            fmt::format("udp_header_size = {}: give the header's bytes, 1 to {}", header.size, datagram_header_max));
    const std::array fields{std::pair{"udp_magic", header.magic},     std::pair{"udp_source", header.source},
                            std::pair{"udp_counter", header.counter}, std::pair{"udp_length", header.length},
                            std::pair{"udp_part", header.part},       std::pair{"udp_parts", header.parts},
                            std::pair{"udp_time", header.time}};
    for (const auto& [what, field] : fields) {
        const auto size = field.size;
        if (size > 4 && size != 8)
            return wrong(fmt::format("{} has {} bytes; a field has 1, 2, 3, 4 or 8", what, size));
        if (size > 0 && (field.offset > header.size || header.size - field.offset < size))
            return wrong(fmt::format("{} lies at {} to {}, and the header has {} bytes; correct it or udp_header_size",
                                     what, field.offset, std::uint64_t{field.offset} + size, header.size));
    }
    if (header.magic.size > 0 && header.magic.size < 8 && header.magic_value >> 8 * header.magic.size != 0)
        return wrong(fmt::format("udp_magic: 0x{:x} does not fit {} bytes", header.magic_value, header.magic.size));
    if (header.fixed_source.has_value() == (header.source.size > 0))
        return wrong(
            "give either udp_source, the field that has the source, or udp_fixed_source, the one of all datagrams");
    if (header.source.size > 4) return wrong("udp_source has 8 bytes; a source id has at most 4");
    if (header.fixed_source && header.source_base != 0)
        return wrong("udp_source_base is added to a field; with udp_fixed_source leave it out");
    if (header.counter.size == 0 && (header.time.size == 0 || header.parts.size > 0))
        return wrong("udp_counter is needed: the field that counts the triggers, \"OFFSET:SIZE\"");
    if (header.counter.size == 0 && header.counter_bits > 0)
        return wrong("udp_counter_bits are of a counter; give udp_counter, or leave it out");
    if (header.counter.size > 0 && (header.bits() > 8 * header.counter.size || header.bits() > 32))
        return wrong(fmt::format("the counter has {} bits and its field {} bytes; set udp_counter_bits to at most {}",
                                 header.bits(), header.counter.size, std::min(32U, 8 * header.counter.size)));
    if (header.bits() < 8)
        return wrong("udp_counter_bits is less than 8: so short a counter cannot be told from a loss");
    if ((header.part.size > 0) != (header.parts.size > 0))
        return wrong(
            "udp_part and udp_parts belong together: the number of this part, from 0 on, and how many there are");
    return {};
}

}  // namespace weir::readout

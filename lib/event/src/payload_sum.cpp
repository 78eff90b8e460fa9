// SPDX-License-Identifier: Apache-2.0
#include "payload_sum.hpp"

#include <zlib.h>

namespace weir::event {

std::uint32_t payload_adler32(ConstData data, std::uint32_t sum) noexcept {
    return static_cast<std::uint32_t>(::adler32_z(sum, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

std::uint32_t adler32_after_change(std::uint32_t sum, std::uint64_t size, std::uint64_t position, std::uint32_t before,
                                   std::uint32_t after) noexcept {
    std::uint64_t low = sum & 0xffff;
    std::uint64_t high = sum >> 16;
    for (unsigned i = 0; i < 4; ++i) {  // little-endian: byte i of the word stands at position + i
        const std::uint64_t was = (before >> (8 * i)) & 0xff;
        const std::uint64_t is = (after >> (8 * i)) & 0xff;
        const std::uint64_t change = is + adler32_base - was;  // never negative
        const std::uint64_t weight = (size - position - i) % adler32_base;
        low = (low + change) % adler32_base;
        high = (high + change % adler32_base * weight) % adler32_base;
    }
    return static_cast<std::uint32_t>(high << 16 | low);
}

}  // namespace weir::event

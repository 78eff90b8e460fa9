// SPDX-License-Identifier: Apache-2.0
// zlib's crc32 with our kernels. The operator of crc32_combine_gen is x^(8 * length) modulo the polynomial in
// the bit order of the CRC, in zlib as here, so operators may even pass between the two.
//
// A negative length means nothing. zlib 1.2.13 never returns from crc32_combine with one; like later
// versions, ours is 0.
#include "weir/checksum/crc32.hpp"

#include <array>

#include "weir/checksum/chosen.hpp"
#include "weir_zlib.hpp"

namespace {

constexpr std::uint32_t one = 0x80000000;  // the polynomial x^0

std::uint32_t multiply(std::uint32_t a, std::uint32_t b) noexcept {
    return weir::checksum::ChosenKernel<weir::checksum::crc32_multiply_kernels>::run(a, b);
}

constexpr auto table = [] {
    std::array<z_crc_t, 256> sums{};
    for (z_crc_t byte = 0; byte < 256; ++byte) {
        z_crc_t sum = byte;
        for (int bit = 0; bit < 8; ++bit) sum = (sum & 1) != 0 ? sum >> 1 ^ 0xedb88320 : sum >> 1;
        sums[byte] = sum;
    }
    return sums;
}();

/// Of both functions: one that calls the other would go through the table of what other libraries may replace.
[[gnu::always_inline]] inline uLong sum(uLong crc, const Bytef* buffer, z_size_t length) noexcept {
    if (buffer == nullptr) return 0;  // the question for the initial value
    return weir::checksum::ChosenKernel<weir::checksum::crc32_kernels>::run(
        {reinterpret_cast<const std::byte*>(buffer), length}, static_cast<std::uint32_t>(crc));
}

}  // namespace

uLong crc32_z(uLong crc, const Bytef* buffer, z_size_t length) noexcept { return sum(crc, buffer, length); }

uLong crc32(uLong crc, const Bytef* buffer, uInt length) noexcept { return sum(crc, buffer, length); }

uLong crc32_combine64(uLong crc1, uLong crc2, z_off64_t length2) noexcept {
    if (length2 < 0) return 0;
    return weir::checksum::crc32_combine(static_cast<std::uint32_t>(crc1), static_cast<std::uint32_t>(crc2),
                                         static_cast<std::uint64_t>(length2));
}

uLong crc32_combine(uLong crc1, uLong crc2, z_off_t length2) noexcept { return crc32_combine64(crc1, crc2, length2); }

uLong crc32_combine_gen64(z_off64_t length2) noexcept {
    if (length2 < 0) return 0;
    return weir::checksum::crc32_combine(one, 0, static_cast<std::uint64_t>(length2));
}

uLong crc32_combine_gen(z_off_t length2) noexcept { return crc32_combine_gen64(length2); }

uLong crc32_combine_op(uLong crc1, uLong crc2, uLong op) noexcept {
    if (op == 0) return 0;  // the operator of a negative length
    return multiply(static_cast<std::uint32_t>(op), static_cast<std::uint32_t>(crc1)) ^
           static_cast<std::uint32_t>(crc2);
}

const z_crc_t* get_crc_table() noexcept { return table.data(); }

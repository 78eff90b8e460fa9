// SPDX-License-Identifier: Apache-2.0
// zlib's adler32 with our kernels. The start value comes from the program and may be any number: zlib takes
// its low 32 bits and reduces both halves, so a half above 65520 is as good as its remainder. Only for a
// single byte zlib skips the reduction; that path is the same here, value by value.
#include "weir/checksum/chosen.hpp"

#include "weir_zlib.hpp"

namespace {

constexpr std::uint32_t modulus = 65521;
constexpr std::uint32_t start = 1;

std::uint32_t of_one_byte(std::uint32_t value, Bytef byte) noexcept {
    std::uint32_t low = (value & 0xffff) + byte;
    if (low >= modulus) low -= modulus;
    std::uint32_t high = (value >> 16) + low;
    if (high >= modulus) high -= modulus;
    return high << 16 | low;
}

/// With both halves below the modulus, of which they are less than twice as much.
std::uint32_t reduced(std::uint32_t value) noexcept {
    const std::uint32_t high = value >> 16;
    const std::uint32_t low = value & 0xffff;
    return (high >= modulus ? high - modulus : high) << 16 | (low >= modulus ? low - modulus : low);
}

/// Of both functions: one that calls the other would go through the table of what other libraries may replace.
[[gnu::always_inline]] inline uLong sum(uLong adler, const Bytef* buffer, z_size_t length) noexcept {
    if (buffer == nullptr) return start;  // the question for the initial value
    const auto value = static_cast<std::uint32_t>(adler);
    if (length == 1) return of_one_byte(value, *buffer);
    return weir::checksum::ChosenKernel<weir::checksum::adler32_kernels>::run(
        {reinterpret_cast<const std::byte*>(buffer), length}, reduced(value));
}

}  // namespace

uLong adler32_z(uLong adler, const Bytef* buffer, z_size_t length) noexcept { return sum(adler, buffer, length); }

uLong adler32(uLong adler, const Bytef* buffer, uInt length) noexcept { return sum(adler, buffer, length); }

uLong adler32_combine64(uLong adler1, uLong adler2, z_off64_t length2) noexcept {
    if (length2 < 0) return 0xffffffff;  // as zlib: no adler32 is this number
    // In zlib's steps, which are not a remainder when a program passes halves above the modulus.
    const auto rest = static_cast<std::uint32_t>(length2 % modulus);
    std::uint32_t low = adler1 & 0xffff;
    std::uint32_t high = rest * low % modulus;
    low += static_cast<std::uint32_t>(adler2 & 0xffff) + modulus - 1;
    high += static_cast<std::uint32_t>((adler1 >> 16 & 0xffff) + (adler2 >> 16 & 0xffff)) + modulus - rest;
    if (low >= modulus) low -= modulus;
    if (low >= modulus) low -= modulus;
    if (high >= 2 * modulus) high -= 2 * modulus;
    if (high >= modulus) high -= modulus;
    return low | high << 16;
}

uLong adler32_combine(uLong adler1, uLong adler2, z_off_t length2) noexcept {
    return adler32_combine64(adler1, adler2, length2);
}

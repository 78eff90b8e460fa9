// SPDX-License-Identifier: Apache-2.0
// The length at the end is data of up to eight bytes, so it is appended like a second part: the register is
// multiplied by x^(8 * bytes), and the bytes' own sum is added. Both steps can be reversed.
#include "weir/checksum/cksum.hpp"

#include <array>
#include <bit>

#include "crc/crc_chosen.hpp"
#include "weir/base/endian.hpp"

namespace weir::checksum {
namespace {

using Chosen = CrcChosen<cksum_spec, cksum_kernels, cksum_multiply_kernels>;
using Field = Chosen::Field;

constexpr std::size_t lengths = sizeof(std::uint64_t) + 1;

constexpr auto behind = [] {  // behind[n] = x^(8n)
    std::array<std::uint32_t, lengths> powers{};
    for (std::size_t n = 0; n < lengths; ++n) powers[n] = Field::power_of_x(8 * n);
    return powers;
}();

constexpr auto away = [] {  // away[n] = x^(-8n): n bytes taken away again
    std::array<std::uint32_t, lengths> powers{};
    for (std::size_t n = 0; n < lengths; ++n) powers[n] = Field::power_of_x(Field::period - 8 * n);
    return powers;
}();

/// The part that POSIX appends: the bytes that are needed to write the length, the lowest first.
std::size_t bytes_of(std::uint64_t length) noexcept {
    return (static_cast<std::size_t>(std::bit_width(length)) + 7) / 8;
}

/// The running value of these bytes alone. The first byte holds the highest powers: with the bytes reversed
/// they are a polynomial of degree below 64, which is shifted by the 32 bits that every CRC appends.
std::uint32_t sum_of(std::uint64_t length, std::size_t bytes, MultiplyFunction* multiply) noexcept {
    constexpr std::uint32_t over_32 = Field::power_of_x(32);
    constexpr std::uint32_t over_64 = Field::power_of_x(64);
    const std::uint64_t message = bytes == 0 ? 0 : byte_swap(length) >> (64 - 8 * bytes);
    const std::uint32_t low = multiply(static_cast<std::uint32_t>(message), over_32);
    return message >> 32 == 0 ? low : low ^ multiply(static_cast<std::uint32_t>(message >> 32), over_64);
}

}  // namespace

std::uint32_t cksum_add(ConstData data, std::uint32_t running) noexcept { return Chosen::sum(data, running); }

std::uint32_t cksum_finish(std::uint32_t running, std::uint64_t length) noexcept {
    auto* const multiply = Chosen::multiply();
    const auto bytes = bytes_of(length);
    return ~(multiply(running, behind[bytes]) ^ sum_of(length, bytes, multiply));
}

std::uint32_t cksum_running(std::uint32_t finished, std::uint64_t length) noexcept {
    auto* const multiply = Chosen::multiply();
    const auto bytes = bytes_of(length);
    return multiply(~finished ^ sum_of(length, bytes, multiply), away[bytes]);
}

std::uint32_t cksum(ConstData data) noexcept { return cksum_finish(cksum_add(data), data.size()); }

std::uint32_t cksum_combine(std::uint32_t a, std::uint64_t length_of_a, std::uint32_t b,
                            std::uint64_t length_of_b) noexcept {
    // Both lengths are taken away and that of the whole is appended, in one step for each part: what stands
    // behind a part is a number of bytes of any value.
    auto* const multiply = Chosen::multiply();
    const std::uint64_t length = length_of_a + length_of_b;
    const auto bytes = bytes_of(length);
    const auto bytes_a = bytes_of(length_of_a);
    const auto bytes_b = bytes_of(length_of_b);
    const auto behind_a = Field::shift_for(Field::fold_length(length_of_b) + (bytes - bytes_a), multiply);
    return ~(multiply(~a ^ sum_of(length_of_a, bytes_a, multiply), behind_a) ^
             multiply(~b ^ sum_of(length_of_b, bytes_b, multiply), behind[bytes - bytes_b]) ^
             sum_of(length, bytes, multiply));
}

std::uint32_t cksum_combine_running(std::uint32_t a, std::uint32_t b, std::uint64_t length_of_b) noexcept {
    return Chosen::combine(a, b, length_of_b);
}

std::string_view cksum_name() noexcept { return Chosen::name(); }

CksumCombiner::CksumCombiner(std::uint64_t length_of_b) noexcept
    : CrcCombiner(Chosen::multiply(), Chosen::power_for(length_of_b)) {}

}  // namespace weir::checksum

// SPDX-License-Identifier: Apache-2.0
// The CRC of fewer bytes than a lane has. Included like crc_fold.hpp, by those that bind the folding.
#pragma once

#include "few_bytes.hpp"

/// The sum of fewer bytes than a lane has, in at most three dependent multiplications.
template <class Lane, CrcSpec spec>
CrcWord<spec> crc_of_few_bytes(ConstData data, CrcWord<spec> value) noexcept {
    using Constants = CrcConstants<spec>;
    const std::byte* const at = data.data();
    const std::size_t size = data.size();
    if (size == 0) return value;
    constexpr bool reflected = spec.reflected;
    // A shift by whole bytes to where the powers of x are higher, and to where they are lower.
    const auto up = [](std::uint64_t half, std::size_t bits) { return reflected ? half >> bits : half << bits; };
    const auto down = [](std::uint64_t half, std::size_t bits) { return reflected ? half << bits : half >> bits; };
    const std::uint64_t start = Constants::widen(value ^ static_cast<CrcWord<spec>>(spec.xor_out));
    std::uint64_t sum;
    if (size <= 8) {
        // The register takes up the message in its first bytes; as many zeros follow as it has bytes.
        const std::uint64_t half = few_bytes<reflected>(at, size) ^ start;
        const auto lane =
            Lane::template of_halves<reflected>(down(half, 64 - 8 * size), up(up(half, 4 * size), 4 * size));
        sum = Lane::template reduce_product<spec>(lane);
    } else {
        // The second half has the last eight bytes; some of them are of the first eight, which take up the register.
        const std::uint64_t last = eight_bytes<reflected>(at + size - 8) ^ up(start, 8 * (size - 8));
        const auto lane =
            Lane::template of_halves<reflected>(down(eight_bytes<reflected>(at) ^ start, 128 - 8 * size), last);
        sum = Lane::template reduce<spec>(lane);
    }
    return Constants::narrow(sum) ^ static_cast<CrcWord<spec>>(spec.xor_out);
}

// SPDX-License-Identifier: Apache-2.0
// The definition of right for every CRC: some bytes a step from as many tables (M. E. Kounavis and F. L. Berry,
// "A Systematic Approach to Building High Performance Software-based CRC Generators", 2005), which are computed
// at compile time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "crc/crc_field.hpp"
#include "weir/base/data.hpp"
#include "weir/base/endian.hpp"

namespace weir::checksum {

/// The register after `byte`, given the table of single bytes.
template <CrcSpec spec, class Word>
[[nodiscard]] constexpr Word crc_after_byte(const std::array<Word, 256>& table, Word sum, Word byte) noexcept {
    if constexpr (spec.reflected) return sum >> 8 ^ table[(sum ^ byte) & 0xff];
    return static_cast<Word>(sum << 8) ^ table[sum >> (spec.width - 8) ^ byte];
}

/// crc_tables<spec, slices>[k][b] is the register of byte b with k zero bytes behind it.
template <CrcSpec spec, std::size_t slices>
inline constexpr auto crc_tables = [] {
    using Field = CrcField<spec>;
    using Word = typename Field::Word;
    std::array<std::array<Word, 256>, slices> tables{};
    for (Word byte = 0; byte < 256; ++byte) {
        Word sum = spec.reflected ? byte : static_cast<Word>(byte << (spec.width - 8));
        for (int bit = 0; bit < 8; ++bit) sum = Field::times_x(sum);
        tables[0][byte] = sum;
    }
    for (std::size_t zeros = 1; zeros < slices; ++zeros)
        for (std::size_t byte = 0; byte < 256; ++byte)
            tables[zeros][byte] = crc_after_byte<spec, Word>(tables[0], tables[zeros - 1][byte], 0);
    return tables;
}();

/// The sum of `data`, continuing from `value`, `slices` bytes a step.
template <CrcSpec spec, std::size_t slices>
[[nodiscard]] CrcWord<spec> crc_by_tables(ConstData data, CrcWord<spec> value) noexcept {
    using Word = CrcWord<spec>;
    static_assert(slices % 8 == 0);
    constexpr auto& tables = crc_tables<spec, slices>;
    Word sum = value ^ static_cast<Word>(spec.xor_out);
    for (; data.size() >= slices; data = data.subspan(slices)) {
        Word next = 0;
        for (std::size_t at = 0; at < slices; at += 8) {
            std::uint64_t word =
                spec.reflected ? load_little<std::uint64_t>(data, at) : load_big<std::uint64_t>(data, at);
            // The register goes into the first bytes, where its first bits meet those of the message.
            if (at == 0) word ^= spec.reflected ? sum : std::uint64_t{sum} << (64 - spec.width);
            for (std::size_t i = 0; i < 8; ++i) {
                const std::uint64_t byte = (spec.reflected ? word >> (8 * i) : word >> (56 - 8 * i)) & 0xff;
                next ^= tables[slices - 1 - at - i][byte];
            }
        }
        sum = next;
    }
    for (const auto byte : data) sum = crc_after_byte<spec, Word>(tables[0], sum, std::to_integer<Word>(byte));
    return sum ^ static_cast<Word>(spec.xor_out);
}

}  // namespace weir::checksum

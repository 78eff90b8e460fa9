// SPDX-License-Identifier: Apache-2.0
// 1 to 16 bytes in two words, without a loop over them and without reading beyond them: overlapping loads give the same
// bytes twice in the same place. Included by the files that bind an algorithm to an instruction set, within their
// anonymous namespace.
#pragma once

/// Eight bytes. The first is the lowest of the word, or (`first_lowest` false) the highest.
template <bool first_lowest>
[[gnu::always_inline]] inline std::uint64_t eight_bytes(const std::byte* at) noexcept {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return first_lowest ? word : __builtin_bswap64(word);
}

/// The same of 1 to 8 bytes, with zeros behind them.
template <bool first_lowest>
[[gnu::always_inline]] inline std::uint64_t few_bytes(const std::byte* at, std::size_t size) noexcept {
    if (size == 8) return eight_bytes<first_lowest>(at);
    if (size >= 4) {
        std::uint32_t first, last;
        std::memcpy(&first, at, sizeof first);
        std::memcpy(&last, at + size - 4, sizeof last);
        if (first_lowest) return first | std::uint64_t{last} << (8 * (size - 4));
        return std::uint64_t{__builtin_bswap32(first)} << 32 | std::uint64_t{__builtin_bswap32(last)}
                                                                   << (64 - 8 * size);
    }
    const auto byte = [&](std::size_t place) {
        return std::to_integer<std::uint64_t>(at[place]) << (first_lowest ? 8 * place : 56 - 8 * place);
    };
    return byte(0) | byte(size / 2) | byte(size - 1);
}

// SPDX-License-Identifier: Apache-2.0
// adler32 over vectors: the part that all instruction sets share. A header with lanes includes it, and is included in
// the anonymous namespace of a file that defines a vector type, below WEIR_TARGET_BEGIN: so each
// instruction set has its own copy, inlined as a whole.
//
// Over n bytes b[0..n) the low sum grows by sum(b[i]), the high sum by n * low + sum((n - i) * b[i]).
// Cut the bytes into units of W. With S[k] the sum of unit k, and i the place of a byte in its unit,
//
//     sum((n - i) * b[i])  =  W * sum(S[0] + ... + S[k-1])  +  sum((W - i) * b[k][i])       over all k
//
// so a loop keeps three things in lanes: the sum so far, the sum of these sums before each unit, and the
// bytes weighted by their place. How that is done best depends on the instructions:
// adler32_columns.hpp has it for those that multiply into 16 bits, adler32_dots.hpp for those that have
// dot products. Lanes are wide enough for hundreds of KiB, so the modulo is nowhere near the loop.
//
// Lanes has: Unit, width (bytes of a unit), load(p), mask(unit, mask unit), turn (units between two
// calls of end_turn(); only the first turn may be shorter), turns_max, take(unit), end_turn(),
// totals(), and totals_of(unit), which is the same for a single unit.
#pragma once

struct Adler32Totals {
    std::uint64_t sum;       // of the bytes
    std::uint64_t weighted;  // of the bytes, each times the number of bytes from it to the end
};

/// Adds `size` bytes to the two sums, and leaves them unreduced.
inline void adler32_fold(const Adler32Totals& totals, std::uint64_t size, std::uint64_t& low,
                         std::uint64_t& high) noexcept {
    high += size * low + totals.weighted;
    low += totals.sum;
}

/// The last bytes, fewer than a unit, as a unit with zeros before them: they change neither sum.
template <class Lanes>
typename Lanes::Unit adler32_rest(ConstData data, std::size_t rest) noexcept {
    constexpr std::size_t width = Lanes::width;
    if (data.size() >= width) {
        static constexpr auto zeros_then_ones = [] {
            std::array<std::uint8_t, 2 * width> bytes{};
            for (std::size_t i = width; i < bytes.size(); ++i) bytes[i] = 0xff;
            return bytes;
        }();
        const auto* const mask = reinterpret_cast<const std::byte*>(zeros_then_ones.data() + rest);
        return Lanes::mask(Lanes::load(data.data() + data.size() - width), Lanes::load(mask));
    }
    alignas(64) std::byte bytes[width] = {};
    std::memcpy(bytes + (width - rest), data.data() + data.size() - rest, rest);
    return Lanes::load(bytes);
}

/// The distance at which lines are prefetched ahead of the loads while there is more data, where that helps
/// (CpuFeatures::prefetch_helps); less than a page ahead is slower.
constexpr std::size_t adler32_prefetch_ahead = 4096;

/// Called as tap(place, unit) with each whole unit: a copy on the way (copy_and_sum.hpp). This one does nothing.
struct Adler32NoTap {
    template <class Unit>
    [[gnu::always_inline]] void operator()(const std::byte*, const Unit&) const noexcept {}
};

template <class Lanes, class Tap>
[[gnu::always_inline]] inline void adler32_take(Lanes& lanes, const std::byte* at, const Tap& tap) noexcept {
    const auto unit = Lanes::load(at);
    tap(at, unit);
    lanes.take(unit);
}

template <bool prefetch, class Lanes, class Tap>
[[gnu::always_inline]] inline void adler32_take_turn(Lanes& lanes, const std::byte*& at, const Tap& tap) noexcept {
    constexpr std::size_t step = 2;
    static_assert(Lanes::turn % step == 0);
    const std::byte* const turn_end = at + Lanes::turn * Lanes::width;
    for (; at != turn_end; at += step * Lanes::width) {
        if constexpr (prefetch) {
            for (std::size_t line = 0; line < step * Lanes::width; line += 64)
                __builtin_prefetch(at + line + adler32_prefetch_ahead);
        }
        adler32_take(lanes, at, tap);
        adler32_take(lanes, at + Lanes::width, tap);
    }
    lanes.end_turn();
}

template <class Lanes, bool prefetch = false, class Tap = Adler32NoTap>
std::uint32_t adler32_over(ConstData data, std::uint32_t value, const Tap& tap = {}) noexcept {
    // A run between two reductions is far below 2^20 bytes, so neither sum comes near 2^64.
    std::uint64_t low = value & 0xffff;
    std::uint64_t high = value >> 16;
    if (data.size() < 32 && data.size() < Lanes::width) {  // not worth a vector
        for (const auto byte : data) {
            low += std::to_integer<std::uint64_t>(byte);
            high += low;
        }
        return static_cast<std::uint32_t>(high % adler32_modulus << 16 | low % adler32_modulus);
    }
    const std::byte* at = data.data();
    const std::size_t rest = data.size() % Lanes::width;
    const std::byte* const whole_end = at + (data.size() - rest);
    while (at != whole_end) {
        const std::byte* const begin = at;
        Lanes lanes;
        const auto units = static_cast<std::size_t>(whole_end - at) / Lanes::width;
        if (const std::size_t first = units % Lanes::turn; first != 0) {
            for (std::size_t i = 0; i < first; ++i, at += Lanes::width) adler32_take(lanes, at, tap);
            lanes.end_turn();
        }
        std::size_t turns = units / Lanes::turn < Lanes::turns_max - 1 ? units / Lanes::turn : Lanes::turns_max - 1;
        if constexpr (prefetch) {
            constexpr std::size_t turn_size = Lanes::turn * Lanes::width;
            for (; turns != 0 && static_cast<std::size_t>(whole_end - at) >= turn_size + adler32_prefetch_ahead;
                 --turns)
                adler32_take_turn<true>(lanes, at, tap);
        }
        for (; turns != 0; --turns) adler32_take_turn<false>(lanes, at, tap);
        adler32_fold(lanes.totals(), static_cast<std::uint64_t>(at - begin), low, high);
        if (at == whole_end) break;
        low %= adler32_modulus;
        high %= adler32_modulus;
    }
    if (rest != 0) adler32_fold(Lanes::totals_of(adler32_rest<Lanes>(data, rest)), rest, low, high);
    return static_cast<std::uint32_t>(high % adler32_modulus << 16 | low % adler32_modulus);
}

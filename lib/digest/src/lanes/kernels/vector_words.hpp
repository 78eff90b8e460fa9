// SPDX-License-Identifier: Apache-2.0
// Vectors of 32-bit words, one word a lane, with the compiler's vector extensions: + ^ & | ~ and shifts
// are the language's, and the missing ones stand here. The width is a template parameter, so one source
// serves every instruction set. Included in the anonymous namespace of a file that binds it to one, below
// WEIR_TARGET_BEGIN: so each set has its own copy, inlined as a whole.
//
// A Set describes the instructions that the compiler can use: width (lanes), rotates (there is an instruction to rotate
// each lane), shuffles_bytes (there is one to permute bytes), and for md5 and sha ternary (there is one for any
// function of three vectors).
#pragma once

template <std::size_t lanes>
struct VectorOf {  // `using` cannot carry the attribute when it depends on a parameter
    typedef std::uint32_t Words __attribute__((vector_size(4 * lanes)));
    typedef std::uint8_t Bytes __attribute__((vector_size(4 * lanes)));
};
template <std::size_t lanes>
using Words = typename VectorOf<lanes>::Words;

template <std::size_t lanes>
WEIR_INLINE Words<lanes> all(std::uint32_t word) noexcept {
    return Words<lanes>{} + word;
}

/// Byte i of each lane becomes byte order[i] of that lane.
template <int b0, int b1, int b2, int b3, std::size_t lanes>
WEIR_INLINE Words<lanes> order_bytes(const Words<lanes>& words) noexcept {
    const auto bytes = reinterpret_cast<typename VectorOf<lanes>::Bytes>(words);
    return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
        constexpr std::size_t order[4] = {b0, b1, b2, b3};
        return reinterpret_cast<Words<lanes>>(__builtin_shufflevector(bytes, bytes, (i / 4 * 4 + order[i % 4])...));
    }(std::make_index_sequence<4 * lanes>());
}

template <class Set, int bits>
WEIR_INLINE Words<Set::width> rotate_right(const Words<Set::width>& words) noexcept {
    if constexpr (!Set::rotates && Set::shuffles_bytes && bits % 8 == 0) {
        constexpr int first = bits / 8;
        return order_bytes<first, (first + 1) % 4, (first + 2) % 4, (first + 3) % 4, Set::width>(words);
    } else {
        return words >> bits | words << (32 - bits);
    }
}
template <class Set, int bits>
WEIR_INLINE Words<Set::width> rotate_left(const Words<Set::width>& words) noexcept {
    return rotate_right<Set, 32 - bits>(words);
}

/// Words as they lie in memory in the given order, into numbers.
template <class Set, std::endian order>
WEIR_INLINE Words<Set::width> in_order(const Words<Set::width>& words) noexcept {
    if constexpr (order == std::endian::native) {
        return words;
    } else if constexpr (Set::shuffles_bytes) {
        return order_bytes<3, 2, 1, 0, Set::width>(words);
    } else {
        const auto halves = words << 16 | words >> 16;
        return (halves & 0x00ff00ff) << 8 | (halves >> 8 & 0x00ff00ff);
    }
}

/// Within each quad (four lanes): the four words of vector i become lane i of the four vectors.
template <std::size_t lanes>
WEIR_INLINE void transpose_quads(Words<lanes>& a, Words<lanes>& b, Words<lanes>& c, Words<lanes>& d) noexcept {
    [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
        const auto ab_low = __builtin_shufflevector(a, b, (i / 4 * 4 + i % 4 / 2 + i % 2 * lanes)...);
        const auto ab_high = __builtin_shufflevector(a, b, (i / 4 * 4 + 2 + i % 4 / 2 + i % 2 * lanes)...);
        const auto cd_low = __builtin_shufflevector(c, d, (i / 4 * 4 + i % 4 / 2 + i % 2 * lanes)...);
        const auto cd_high = __builtin_shufflevector(c, d, (i / 4 * 4 + 2 + i % 4 / 2 + i % 2 * lanes)...);
        a = __builtin_shufflevector(ab_low, cd_low, (i / 4 * 4 + i % 2 + i % 4 / 2 * lanes)...);
        b = __builtin_shufflevector(ab_low, cd_low, (i / 4 * 4 + 2 + i % 2 + i % 4 / 2 * lanes)...);
        c = __builtin_shufflevector(ab_high, cd_high, (i / 4 * 4 + i % 2 + i % 4 / 2 * lanes)...);
        d = __builtin_shufflevector(ab_high, cd_high, (i / 4 * 4 + 2 + i % 2 + i % 4 / 2 * lanes)...);
    }(std::make_index_sequence<lanes>());
}

template <std::size_t lanes>
WEIR_INLINE Words<2 * lanes> join(const Words<lanes>& low, const Words<lanes>& high) noexcept {
    return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
        return __builtin_shufflevector(low, high, i...);
    }(std::make_index_sequence<2 * lanes>());
}

/// 16 bytes from at[0], at[step], at[2 * step] ...: a quad each.
template <std::size_t lanes, std::size_t step>
WEIR_INLINE Words<lanes> load_quads(const std::byte* const* at, std::size_t offset) noexcept {
    if constexpr (lanes == 4) {
        Words<4> quad;
        std::memcpy(&quad, at[0] + offset, sizeof quad);
        return quad;
    } else {
        constexpr auto half = lanes / 2;
        return join<half>(load_quads<half, step>(at, offset), load_quads<half, step>(at + half / 4 * step, offset));
    }
}

/// A block of 64 bytes from each of at[0], at[1] ...: word i of lane j's block becomes lane j of message[i].
template <class Set, std::endian order>
WEIR_INLINE void load_blocks(const std::byte* const* at, std::size_t offset, Words<Set::width>* message) noexcept {
    for (std::size_t i = 0; i < 16; i += 4) {
        auto* const four = message + i;
        for (std::size_t j = 0; j < 4; ++j) four[j] = load_quads<Set::width, 4>(at + j, offset + 4 * i);
        transpose_quads<Set::width>(four[0], four[1], four[2], four[3]);
        for (std::size_t j = 0; j < 4; ++j) four[j] = in_order<Set, order>(four[j]);
    }
}

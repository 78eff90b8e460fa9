// SPDX-License-Identifier: Apache-2.0
// BLAKE3 over one block, or a few that are independent: the state is four rows of four words, and a row is a
// quad of a vector, so that the four columns, then the four diagonals, of a block are mixed at once. A
// block has to wait for the one before, so what counts is the length of the chain, not the number of
// instructions; a vector of several quads, and several vectors in turn, cost little more than one. This is for
// data that do not fill half the lanes of blake3_lanes.hpp. Included like vector_words.hpp.
//
// Between columns and diagonals the rows are turned against row b, which is the last to be ready. The
// words of the message lie as they are needed: those of the columns in `even` and `odd` (first and second
// use), those of the diagonals in `diagonal_even` and `diagonal_odd`, beginning with the last diagonal, the
// one that stands in place 0 when row b stays. Each round they are permuted among themselves.
#pragma once

#include "lanes/kernels/vector_words.hpp"

/// Word j of each quad is word index[j] of the eight that two vectors have there.
template <int i0, int i1, int i2, int i3, std::size_t lanes>
WEIR_INLINE Words<lanes> shuffle_quads(const Words<lanes>& a, const Words<lanes>& b) noexcept {
    return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
        constexpr std::size_t from[4] = {i0, i1, i2, i3};
        return __builtin_shufflevector(a, b, (from[i % 4] / 4 * lanes + i / 4 * 4 + from[i % 4] % 4)...);
    }(std::make_index_sequence<lanes>());
}

/// The same out of the 16 of four vectors.
template <int i0, int i1, int i2, int i3, std::size_t lanes>
WEIR_INLINE Words<lanes> shuffle_quads(const Words<lanes>& a, const Words<lanes>& b, const Words<lanes>& c,
                                       const Words<lanes>& d) noexcept {
    constexpr auto in = [](int index, int pair) { return index / 8 == pair ? index % 8 : 0; };
    const auto ab = shuffle_quads<in(i0, 0), in(i1, 0), in(i2, 0), in(i3, 0), lanes>(a, b);
    const auto cd = shuffle_quads<in(i0, 1), in(i1, 1), in(i2, 1), in(i3, 1), lanes>(c, d);
    return shuffle_quads<i0 / 8 * 4, i1 / 8 * 4 + 1, i2 / 8 * 4 + 2, i3 / 8 * 4 + 3, lanes>(ab, cd);
}

template <class Set, std::size_t vectors>
class Blake3Rows {
    static constexpr std::size_t lanes = Set::width, quads = lanes / 4;
    using Row = Words<lanes>;

public:
    static constexpr std::size_t most = vectors * quads;  // blocks side by side

    static void compress(Node& node, const std::byte* block, std::uint64_t counter, std::uint32_t length,
                         std::uint32_t flags) noexcept
        requires(most == 1)
    {
        Chain chain;
        chain.at[0] = block;
        std::memcpy(&chain.top[0], node.data(), 16);
        std::memcpy(&chain.bottom[0], node.data() + 4, 16);
        chain.number[0] = counter;
        chain.take(0, length, flags);
        chain.store(1, &node);
    }

    /// The nodes of 1 to `most` chunks; quads too many do the last one once more.
    static void chunks(const std::byte* data, std::size_t count, std::uint64_t first, Node* nodes) noexcept {
        Chain chain;
        for (std::size_t i = 0; i < most; ++i) {
            const auto number = i < count ? i : count - 1;
            chain.at[i] = data + number * chunk_size;
            chain.number[i] = first + number;
        }
        chain.begin();
        for (std::size_t at = 0; at < chunk_size; at += block_size) {
            const std::uint32_t flags = (at == 0 ? chunk_start : 0U) | (at == chunk_size - block_size ? chunk_end : 0U);
            chain.take(at, block_size, flags);
        }
        chain.store(count, nodes);
    }

    /// The nodes above 1 to `most` pairs.
    static void parents(const Node* children, std::size_t count, Node* nodes) noexcept {
        static_assert(std::endian::native == std::endian::little);  // words are read as bytes
        Chain chain;
        for (std::size_t i = 0; i < most; ++i) {
            chain.at[i] = reinterpret_cast<const std::byte*>(children + 2 * (i < count ? i : count - 1));
            chain.number[i] = 0;
        }
        chain.begin();
        chain.take(0, block_size, parent);
        chain.store(count, nodes);
    }

private:
    struct Chain {
        const std::byte* at[most];
        std::uint64_t number[most];
        Row top[vectors], bottom[vectors];  // the node so far

        WEIR_INLINE void begin() noexcept {
            for (std::size_t v = 0; v < vectors; ++v) {
                top[v] = row(initial[0], initial[1], initial[2], initial[3]);
                bottom[v] = row(initial[4], initial[5], initial[6], initial[7]);
            }
        }

        WEIR_INLINE void store(std::size_t count, Node* nodes) const noexcept {
            for (std::size_t i = 0; i < count; ++i) {
                std::memcpy(nodes[i].data(), reinterpret_cast<const std::byte*>(&top[i / quads]) + i % quads * 16, 16);
                std::memcpy(nodes[i].data() + 4,
                            reinterpret_cast<const std::byte*>(&bottom[i / quads]) + i % quads * 16, 16);
            }
        }

        WEIR_INLINE void take(std::size_t offset, std::uint32_t length, std::uint32_t flags) noexcept {
            Row a[vectors], b[vectors], c[vectors], d[vectors];
            Row even[vectors], odd[vectors], diagonal_even[vectors], diagonal_odd[vectors];
            for (std::size_t v = 0; v < vectors; ++v) {
                Row words[4];
                for (std::size_t i = 0; i < 4; ++i) words[i] = load_quads<lanes, 1>(at + v * quads, offset + 16 * i);
                even[v] = shuffle_quads<0, 2, 4, 6, lanes>(words[0], words[1]);
                odd[v] = shuffle_quads<1, 3, 5, 7, lanes>(words[0], words[1]);
                diagonal_even[v] = shuffle_quads<6, 0, 2, 4, lanes>(words[2], words[3]);
                diagonal_odd[v] = shuffle_quads<7, 1, 3, 5, lanes>(words[2], words[3]);
                a[v] = top[v];
                b[v] = bottom[v];
                c[v] = row(initial[0], initial[1], initial[2], initial[3]);
                d[v] = last_row<lanes>(number + v * quads, length, flags);
            }
            for (std::size_t round = 0;; ++round) {
                half<16, 12>(a, b, c, d, even);
                half<8, 7>(a, b, c, d, odd);
                turn<3, 1>(a, c, d);
                half<16, 12>(a, b, c, d, diagonal_even);
                half<8, 7>(a, b, c, d, diagonal_odd);
                turn<1, 3>(a, c, d);
                if (round == rounds - 1) break;
                for (std::size_t v = 0; v < vectors; ++v) permute(even[v], odd[v], diagonal_even[v], diagonal_odd[v]);
            }
            for (std::size_t v = 0; v < vectors; ++v) {
                top[v] = a[v] ^ c[v];
                bottom[v] = b[v] ^ d[v];
            }
        }
    };

    WEIR_INLINE static Row row(std::uint32_t w0, std::uint32_t w1, std::uint32_t w2, std::uint32_t w3) noexcept {
        return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
            return Row{(i % 4 == 0 ? w0 : i % 4 == 1 ? w1 : i % 4 == 2 ? w2 : w3)...};
        }(std::make_index_sequence<lanes>());
    }

    template <std::size_t of>
    WEIR_INLINE static Words<of> last_row(const std::uint64_t* number, std::uint32_t length,
                                          std::uint32_t flags) noexcept {
        if constexpr (of == 4) {
            return Words<4>{static_cast<std::uint32_t>(*number), static_cast<std::uint32_t>(*number >> 32), length,
                            flags};
        } else {
            return join<of / 2>(last_row<of / 2>(number, length, flags),
                                last_row<of / 2>(number + of / 8, length, flags));
        }
    }

    template <int first, int second>
    WEIR_INLINE static void half(Row (&a)[vectors], Row (&b)[vectors], Row (&c)[vectors], Row (&d)[vectors],
                                 const Row (&message)[vectors]) noexcept {
        for (std::size_t v = 0; v < vectors; ++v) {
            a[v] += message[v];
            a[v] += b[v];
            d[v] = rotate_right<Set, first>(d[v] ^ a[v]);
            c[v] += d[v];
            b[v] = rotate_right<Set, second>(b[v] ^ c[v]);
        }
    }

    /// Row a by `by_a` places, c by `by_c`, d by two.
    template <int by_a, int by_c>
    WEIR_INLINE static void turn(Row (&a)[vectors], Row (&c)[vectors], Row (&d)[vectors]) noexcept {
        for (std::size_t v = 0; v < vectors; ++v) {
            a[v] = shuffle_quads<by_a, (by_a + 1) % 4, (by_a + 2) % 4, (by_a + 3) % 4, lanes>(a[v], a[v]);
            c[v] = shuffle_quads<by_c, (by_c + 1) % 4, (by_c + 2) % 4, (by_c + 3) % 4, lanes>(c[v], c[v]);
            d[v] = shuffle_quads<2, 3, 0, 1, lanes>(d[v], d[v]);
        }
    }

    /// 2 6 3 10 7 0 4 13 1 11 12 5 9 14 15 8, where the 16 words are numbered by the place where they lie:
    /// 0 2 4 6, 1 3 5 7, 14 8 10 12, 15 9 11 13.
    WEIR_INLINE static void permute(Row& even, Row& odd, Row& diagonal_even, Row& diagonal_odd) noexcept {
        const Row next_even = shuffle_quads<1, 5, 7, 2, lanes>(even, odd, diagonal_even, diagonal_odd);
        const Row next_odd = shuffle_quads<3, 10, 0, 15, lanes>(even, odd, diagonal_even, diagonal_odd);
        const Row next_diagonal_even = shuffle_quads<12, 4, 11, 13, lanes>(even, odd, diagonal_even, diagonal_odd);
        diagonal_odd = shuffle_quads<9, 14, 6, 8, lanes>(even, odd, diagonal_even, diagonal_odd);
        even = next_even;
        odd = next_odd;
        diagonal_even = next_diagonal_even;
    }
};

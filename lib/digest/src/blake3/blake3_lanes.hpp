// SPDX-License-Identifier: Apache-2.0
// BLAKE3 over as many chunks, or pairs of nodes, as a vector has lanes: word i of all of them is vector i,
// so the compression function reads as in the paper. Included like vector_words.hpp.
//
// The state fills 16 registers, so where there are no more the compiler keeps some of it in memory. To mix
// one column after the other needs the fewest, and the processor finds the overlap by itself. (g++ 12 on Zen 3:
// two columns side by side in the source change nothing on AVX2 and cost 10 % on SSE4.1, four cost 30 %.)
#pragma once

#include "blake3/blake3_rows.hpp"

template <class Set>
class Blake3Lanes {
    static constexpr std::size_t lanes = Set::width;
    using Vector = Words<lanes>;

public:
    static constexpr std::size_t most = lanes;

    /// The nodes of 1 to `lanes` chunks; lanes too many do the last one once more.
    static void chunks(const std::byte* data, std::size_t count, std::uint64_t first, Node* nodes) noexcept {
        Input input;
        for (std::size_t i = 0; i < lanes; ++i) {
            const auto number = i < count ? i : count - 1;
            input.at[i] = data + number * chunk_size;
            input.low[i] = static_cast<std::uint32_t>(first + number);
            input.high[i] = static_cast<std::uint32_t>((first + number) >> 32);
        }
        input.size = chunk_size;
        input.ahead = 2 * lanes * chunk_size;
        input.first_flag = chunk_start;
        input.last_flag = chunk_end;
        hash(input, count, nodes);
    }

    /// The nodes above 1 to `lanes` pairs.
    static void parents(const Node* children, std::size_t count, Node* nodes) noexcept {
        static_assert(std::endian::native == std::endian::little);  // words are read as bytes
        Input input;
        for (std::size_t i = 0; i < lanes; ++i) {
            input.at[i] = reinterpret_cast<const std::byte*>(children + 2 * (i < count ? i : count - 1));
            input.low[i] = input.high[i] = 0;
        }
        input.size = block_size;
        input.ahead = 0;
        input.first_flag = parent;
        input.last_flag = 0;
        hash(input, count, nodes);
    }

private:
    struct Input {
        const std::byte* at[lanes];
        std::size_t size;                       // of each
        std::size_t ahead;                      // the distance of bytes that are soon needed
        std::uint32_t low[lanes], high[lanes];  // halves of the counters
        std::uint32_t first_flag, last_flag;
    };

    WEIR_INLINE static void mix(Vector& a, Vector& b, Vector& c, Vector& d, const Vector& x, const Vector& y) noexcept {
        a += x;
        a += b;
        d = rotate_right<Set, 16>(d ^ a);
        c += d;
        b = rotate_right<Set, 12>(b ^ c);
        a += y;
        a += b;
        d = rotate_right<Set, 8>(d ^ a);
        c += d;
        b = rotate_right<Set, 7>(b ^ c);
    }

    template <std::size_t number>
    WEIR_INLINE static void round(Vector (&v)[16], const Vector (&m)[16]) noexcept {
        constexpr auto& s = schedule[number];
        mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
        mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
        mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
        mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
        mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
        mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
        mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
        mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
    }

    /// One function for chunks and parents: it is 6 KiB of instructions.
    [[gnu::noinline]] static void hash(const Input& input, std::size_t count, Node* nodes) noexcept {
        Vector node[8], low, high;
        for (std::size_t i = 0; i < 8; ++i) node[i] = all<lanes>(initial[i]);
        std::memcpy(&low, input.low, sizeof low);
        std::memcpy(&high, input.high, sizeof high);
        auto flags = input.first_flag;
        for (std::size_t at = 0; at < input.size; at += block_size) {
            if (at == input.size - block_size) flags |= input.last_flag;
            Vector m[16], v[16];
            load_blocks<Set, std::endian::little>(input.at, at, m);
            // The chunks after the next ones go to the second level: so far the processor does not look by itself.
            // (From memory, g++ 12 on Sapphire Rapids: a seventh faster; when hot it costs 0.5 % at 32 KiB.)
            for (std::size_t i = 0; i < lanes; ++i)  // beyond the data at its end: addresses only, as numbers
                __builtin_prefetch(
                    reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(input.at[i]) + at + input.ahead), 0,
                    2);
            for (std::size_t i = 0; i < 8; ++i) v[i] = node[i];
            for (std::size_t i = 0; i < 4; ++i) v[8 + i] = all<lanes>(initial[i]);
            v[12] = low;
            v[13] = high;
            v[14] = all<lanes>(block_size);
            v[15] = all<lanes>(flags);
            static_assert(rounds == 7);
            round<0>(v, m);
            round<1>(v, m);
            round<2>(v, m);
            round<3>(v, m);
            round<4>(v, m);
            round<5>(v, m);
            round<6>(v, m);
            for (std::size_t i = 0; i < 8; ++i) node[i] = v[i] ^ v[8 + i];
            flags = 0;
        }
        for (std::size_t half_node = 0; half_node < 8; half_node += 4) {
            auto* const four = node + half_node;
            transpose_quads<lanes>(four[0], four[1], four[2], four[3]);
            for (std::size_t i = 0; i < count; ++i) {
                const auto* const quad = reinterpret_cast<const std::byte*>(&four[i % 4]) + i / 4 * 16;
                std::memcpy(nodes[i].data() + half_node, quad, 16);
            }
        }
    }
};

/// How a set takes any number of chunks or pairs: the widest way as long as it is filled, then the first one
/// that takes all that is left. Ways stand from one block to the widest.
template <class... Ways>
class Blake3Ways {
public:
    static void chunks(const std::byte* data, std::size_t count, std::uint64_t first, Node* nodes) noexcept {
        in_turns(count, [&]<class Way>(std::size_t taken) {
            Way::chunks(data, taken, first, nodes);
            data += taken * chunk_size;
            first += taken;
            nodes += taken;
        });
    }

    static void parents(const Node* children, std::size_t count, Node* nodes) noexcept {
        in_turns(count, [&]<class Way>(std::size_t taken) {
            Way::parents(children, taken, nodes);
            children += 2 * taken;
            nodes += taken;
        });
    }

private:
    template <class Take>
    static void in_turns(std::size_t count, const Take& take) noexcept {
        while (count != 0) {
            std::size_t taken = 0;
            const auto try_way = [&]<class Way>() {
                if (taken != 0 || (count > Way::most && Way::most != widest)) return;
                taken = count < Way::most ? count : Way::most;
                take.template operator()<Way>(taken);
            };
            (try_way.template operator()<Ways>(), ...);
            count -= taken;
        }
    }

    static constexpr std::size_t widest = (Ways::most, ...);  // the last one's
};

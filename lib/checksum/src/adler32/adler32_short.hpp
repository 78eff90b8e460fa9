// SPDX-License-Identifier: Apache-2.0
// adler32 of short messages, with vectors of 16 or 32 bytes. Here the end counts, not the loop: all of a message goes
// through one set of lanes, so that there is one reduction. The bytes that do not fill a vector come first, each with
// the weight that it has at their end; a message may begin with zeros. Up to size_max no sum of all lanes reaches 2^32,
// so lanes of 32 bits may overflow and the total is still right, and the modulo is one of 32 bits. Included by the
// files that bind it to an instruction set, within their anonymous namespace and below WEIR_TARGET_BEGIN.
//
// V has: Vector, width, load(p), keep(x) (adler32_columns.hpp), mask(a, b), zero(), of_words(first, second) when it is
// 16 bytes wide, byte_sums(bytes) (in lanes of 64 bits), weigh(bytes, weights up to 64) (in lanes of 32), add(a, b),
// times<factor>(lanes), total(sums, weighted) (lanes of 64 and of 32: the first total in the low half, the second in
// the high half).
#pragma once

#include "few_bytes.hpp"

template <class V>
struct Adler32Short {
    using Vector = typename V::Vector;
    static constexpr std::size_t width = V::width;
    static constexpr std::size_t size_max = 4096;
    static_assert(std::uint64_t{255} * size_max * (size_max + 1) / 2 + (size_max + 1) * 65535 < std::uint64_t{1} << 32);

    /// Of size_max bytes at most; the smallest vector takes any, others a whole vector at least.
    [[gnu::always_inline]] static std::uint32_t sum(ConstData data, std::uint32_t value) noexcept {
        const std::byte* at = data.data();
        const std::size_t size = data.size();
        const std::byte* const end = at + size;
        auto sums = V::zero(), weighted = V::zero();
        if (const std::size_t rest = size % width; rest != 0) {
            const auto bytes = first_bytes(at, size, rest);
            sums = V::byte_sums(bytes);
            weighted = V::weigh(bytes, V::load(weights_then_zeros.data() + (2 * width - rest)));
            at += rest;
        }
        const auto last_weights = V::load(weights_then_zeros.data() + width);
        if ((size & width) != 0) {
            auto bytes = V::load(at);
            V::keep(bytes);
            weighted = V::add(weighted, V::add(V::template times<width>(sums), V::weigh(bytes, last_weights)));
            sums = V::add(sums, V::byte_sums(bytes));
            at += width;
        }
        if (at != end) {
            auto before = V::zero();  // sum of `sums` before each pair of vectors
            const auto first_weights = V::load(weights_then_zeros.data());
            do {
                auto first = V::load(at);
                auto second = V::load(at + width);
                V::keep(first);
                V::keep(second);
                before = V::add(before, sums);
                sums = V::add(sums, V::add(V::byte_sums(first), V::byte_sums(second)));
                weighted = V::add(weighted, V::add(V::weigh(first, first_weights), V::weigh(second, last_weights)));
                at += 2 * width;
            } while (at != end);
            weighted = V::add(weighted, V::template times<2 * width>(before));
        }
        const std::uint64_t both = V::total(sums, weighted);
        const std::uint32_t low = value & 0xffff;
        const std::uint32_t high =
            (value >> 16) + static_cast<std::uint32_t>(size) * low + static_cast<std::uint32_t>(both >> 32);
        return high % adler32_modulus << 16 | (low + static_cast<std::uint32_t>(both)) % adler32_modulus;
    }

private:
    static constexpr auto weights_then_zeros = [] {  // 2 * width ... 1
        std::array<std::byte, 3 * width> weights{};
        for (std::size_t i = 0; i < 2 * width; ++i) weights[i] = static_cast<std::byte>(2 * width - i);
        return weights;
    }();
    static constexpr auto ones_then_zeros = [] {
        std::array<std::byte, 2 * width> mask{};
        for (std::size_t i = 0; i < width; ++i) mask[i] = std::byte{0xff};
        return mask;
    }();

    [[gnu::always_inline]] static Vector first_bytes(const std::byte* at, std::size_t size, std::size_t rest) noexcept {
        if constexpr (width == 16) {
            if (size < width) {
                if (size <= 8) return V::of_words(few_bytes<true>(at, size), 0);
                return V::of_words(eight_bytes<true>(at), eight_bytes<true>(at + size - 8) >> (128 - 8 * size));
            }
        }
        return V::mask(V::load(at), V::load(ones_then_zeros.data() + (width - rest)));
    }
};

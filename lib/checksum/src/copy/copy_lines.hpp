// SPDX-License-Identifier: Apache-2.0
// Copies lines of 64 bytes with stores that go around the cache, over a vector type: V::width bytes,
// V::load from any address, V::stream to an aligned one. All stores of a line stand together, so that
// the processor sends whole lines to memory. Include it as adler32_vector.hpp is included.
//
// What comes next is fetched while this is stored: who sums a block before it is copied finds the block in the
// cache (copy and sum from memory is a fifth faster on Emerald Rapids; nearer or farther ahead is slower).
#pragma once

constexpr std::size_t copy_prefetch_ahead = 4096;

template <class V>
[[gnu::always_inline]] inline void copy_line(std::byte* to, const std::byte* from) noexcept {
    constexpr std::size_t vectors = 64 / V::width;
    typename V::Vector line[vectors];
    for (std::size_t i = 0; i < vectors; ++i) line[i] = V::load(from + i * V::width);
    for (std::size_t i = 0; i < vectors; ++i) V::stream(to + i * V::width, line[i]);
}

template <class V>
void copy_lines_over(std::byte* to, const std::byte* from, std::size_t size, std::size_t behind) noexcept {
    const std::byte* const end = from + size;
    const std::size_t all = size + behind;
    const std::size_t fetching = all > copy_prefetch_ahead ? all - copy_prefetch_ahead : 0;
    for (const std::byte* const until = from + (fetching < size ? fetching / 64 * 64 : size); from != until;
         from += 64, to += 64) {
        __builtin_prefetch(from + copy_prefetch_ahead);
        copy_line<V>(to, from);
    }
    for (; from != end; from += 64, to += 64) copy_line<V>(to, from);
}

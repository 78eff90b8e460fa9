// SPDX-License-Identifier: Apache-2.0
// The sizes in which a MigratingPool keeps its blocks: steps of 16 bytes up to 128, then four steps per power of two up
// to 8 KiB, so that at most a fifth of a larger block is unused. Slabs begin at a page; a block lies at a multiple of
// its class's size behind that, so a class promises every alignment that divides its size.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weir::memory::size_classes {

inline constexpr std::size_t granule = 16;
inline constexpr std::size_t fine_max = 128;  // up to here one class per granule
inline constexpr std::size_t size_max = 8192;
inline constexpr std::size_t alignment_max = 4096;  // of a slab
inline constexpr std::size_t count = 8 + 4 * 6;

[[nodiscard]] constexpr std::size_t size_of(std::size_t size_class) noexcept {
    if (size_class < 8) return (size_class + 1) * granule;
    const std::size_t power = 7 + (size_class - 8) / 4;
    return (std::size_t{1} << power) + ((size_class - 8) % 4 + 1) * (std::size_t{1} << (power - 2));
}

/// By arithmetic; `size` is at most size_max.
[[nodiscard]] constexpr std::size_t computed(std::size_t size) noexcept {
    if (size <= fine_max) return size == 0 ? 0 : (size - 1) / granule;
    const auto power = static_cast<std::size_t>(std::bit_width(size - 1)) - 1;  // 2^power < size <= 2^(power+1)
    return 8 + (power - 7) * 4 + ((size - 1 - (std::size_t{1} << power)) >> (power - 2));
}

inline constexpr auto table = [] {  // the most frequent sizes take one load
    std::array<std::uint8_t, 1024 / granule + 1> classes{};
    for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<std::uint8_t>(computed(i * granule));
    return classes;
}();

/// The smallest class for `size` bytes at `alignment` (a power of two); `count` when the pool has none.
[[nodiscard]] constexpr std::size_t of(std::size_t size, std::size_t alignment) noexcept {
    if (alignment <= granule) [[likely]] {
        if (size <= 1024) [[likely]]
            return table[(size + granule - 1) / granule];
        return size <= size_max ? computed(size) : count;
    }
    if (size > size_max || alignment > alignment_max) return count;
    std::size_t size_class = computed(size < alignment ? alignment : size);
    while (size_class < count && size_of(size_class) % alignment != 0) ++size_class;
    return size_class;
}

static_assert(size_of(count - 1) == size_max);
static_assert(computed(size_max) == count - 1 && computed(129) == 8 && size_of(8) == 160);

}  // namespace weir::memory::size_classes

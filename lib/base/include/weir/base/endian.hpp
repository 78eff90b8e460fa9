// SPDX-License-Identifier: Apache-2.0
// Integers in and out of bytes, in a stated byte order, at any alignment. The caller has checked the
// length; a wrong offset is our own mistake and stops the program.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weir/base/assert.hpp"
#include "weir/base/data.hpp"

namespace weir {

template <std::unsigned_integral T>
[[nodiscard]] constexpr T byte_swap(T value) noexcept {
    if constexpr (sizeof(T) == 1) return value;
    if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

template <std::unsigned_integral T>
[[nodiscard]] inline T load_little(ConstData data, std::size_t offset = 0) noexcept {
    WEIR_ASSERT(offset <= data.size() && data.size() - offset >= sizeof(T));
    T value;
    std::memcpy(&value, data.data() + offset, sizeof(T));
    return std::endian::native == std::endian::little ? value : byte_swap(value);
}

template <std::unsigned_integral T>
[[nodiscard]] inline T load_big(ConstData data, std::size_t offset = 0) noexcept {
    return byte_swap(load_little<T>(data, offset));
}

template <std::unsigned_integral T>
inline void store_little(MutableData data, std::size_t offset, T value) noexcept {
    WEIR_ASSERT(offset <= data.size() && data.size() - offset >= sizeof(T));
    if constexpr (std::endian::native == std::endian::big) value = byte_swap(value);
    std::memcpy(data.data() + offset, &value, sizeof(T));
}

template <std::unsigned_integral T>
inline void store_big(MutableData data, std::size_t offset, T value) noexcept {
    store_little(data, offset, byte_swap(value));
}

}  // namespace weir

// SPDX-License-Identifier: Apache-2.0
// Words of 4 bytes, by their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/base/endian.hpp"
#include "weir/event/markers.hpp"

namespace weir::event {

[[nodiscard]] inline std::uint32_t word(ConstData data, std::size_t number) noexcept {
    return load_little<std::uint32_t>(data, number * word_bytes);
}

inline void set_word(MutableData data, std::size_t number, std::uint32_t value) noexcept {
    store_little<std::uint32_t>(data, number * word_bytes, value);
}

inline void append_word(std::vector<std::byte>& to, std::uint32_t value) {
    const auto at = to.size();
    to.resize(at + word_bytes);
    store_little<std::uint32_t>(to, at, value);
}

inline void append(std::vector<std::byte>& to, ConstData bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

}  // namespace weir::event

// SPDX-License-Identifier: Apache-2.0
// 32-bit words as raw files have them, read in place at any alignment and on any machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>

#include "weir/base/data.hpp"
#include "weir/base/endian.hpp"

namespace weir::event {

/// The little-endian words of `data`, which outlives the range: size(), [i], iterators with random access. Bytes behind
/// the last whole word are left out.
[[nodiscard]] inline auto words_of(ConstData data) noexcept {
    return std::views::iota(std::size_t{0}, data.size() / 4) |
           std::views::transform([data](std::size_t i) { return load_little<std::uint32_t>(data, 4 * i); });
}

}  // namespace weir::event

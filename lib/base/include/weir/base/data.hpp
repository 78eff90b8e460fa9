// SPDX-License-Identifier: Apache-2.0
// Names for spans of bytes. A view in a signature means "only for this call". (`Bytes` is an amount,
// never the data.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir {

using ConstData = std::span<const std::byte>;
using MutableData = std::span<std::byte>;

[[nodiscard]] inline ConstData as_data(std::string_view text) noexcept {
    return std::as_bytes(std::span(text.data(), text.size()));
}

[[nodiscard]] inline std::string_view as_text(ConstData data) noexcept {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace weir

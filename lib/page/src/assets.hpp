// SPDX-License-Identifier: Apache-2.0
// The files of the page as they stand in lib/page/assets, compiled into the program.
#pragma once

#include <span>
#include <string_view>

namespace weir::page {

struct NamedBytes {
    std::string_view name;   // "index.html"
    std::string_view bytes;  // of the program's own
};

[[nodiscard]] std::span<const NamedBytes> assets() noexcept;

/// By the end of a name: "text/html; charset=utf-8". Unknown ones are bytes, which no browser shows or runs.
[[nodiscard]] std::string_view content_type_of(std::string_view name) noexcept;

}  // namespace weir::page

// SPDX-License-Identifier: Apache-2.0
#include "assets.hpp"

#include <utility>

namespace weir::page {
namespace {

#include "page_assets.inc"

constexpr std::pair<std::string_view, std::string_view> content_types[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".json", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".txt", "text/plain; charset=utf-8"},
};

}  // namespace

std::span<const NamedBytes> assets() noexcept { return page_assets; }

std::string_view content_type_of(std::string_view name) noexcept {
    for (const auto& [end, type] : content_types)
        if (name.ends_with(end)) return type;
    return "application/octet-stream";
}

}  // namespace weir::page

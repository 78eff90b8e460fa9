// SPDX-License-Identifier: Apache-2.0
// A source's id as people, settings and control messages write it.
#pragma once

#include <optional>
#include <string_view>

#include "weir/base/ids.hpp"

namespace weir {

/// "0x7c0000" or "8126464".
[[nodiscard]] std::optional<SourceId> parse_source_id(std::string_view text) noexcept;

}  // namespace weir

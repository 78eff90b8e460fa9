// SPDX-License-Identifier: Apache-2.0
// Selections that need no file: for tests, for measurements, and for partitions that keep a share of their events.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "weir/base/result.hpp"
#include "weir/selection/selection.hpp"

namespace weir::selection {

using SelectCall = std::function<SelectFunction>;

/// Nothing: `text` names no built-in selection. Error: its argument is not one.
[[nodiscard]] Result<std::optional<SelectCall>> builtin_selection(std::string_view text);

}  // namespace weir::selection

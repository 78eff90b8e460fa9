// SPDX-License-Identifier: Apache-2.0
// Selections that need no file: for tests, for measurements, and for partitions that keep a share of their events.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/selection/selection.hpp"

namespace weir::selection {

/// A stop ends what it waits for; its decision does not count then.
using SelectCall = std::function<void(const Event&, Decision&, const std::stop_token& stop)>;

/// Nothing: `text` names no built-in selection. Error: its argument is not one. The clock outlives the call.
[[nodiscard]] Result<std::optional<SelectCall>> builtin_selection(std::string_view text, const Clock& clock);

}  // namespace weir::selection

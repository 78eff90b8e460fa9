// SPDX-License-Identifier: Apache-2.0
// A selection in a shared library: loaded once, never unloaded (its threads and statics may live on).
#pragma once

#include <filesystem>
#include <functional>

#include "weir/base/result.hpp"
#include "weir/selection/selection.hpp"

namespace weir::selection {

/// Error: it cannot be loaded, is no selection, or was built against another weir.
[[nodiscard]] Result<SelectFunction*> load_library(const std::filesystem::path& path);

/// Calls a selection. An exception, or a decision beyond the limits, is an error with its reason.
[[nodiscard]] Result<Decision> call_selection(const std::function<SelectFunction>& function, const Event& event);

}  // namespace weir::selection

// SPDX-License-Identifier: Apache-2.0
// A selection in a shared library (weir/plugin/library.hpp).
#pragma once

#include <filesystem>
#include <functional>

#include "weir/base/result.hpp"
#include "weir/selection/selection.hpp"
#include "workers/requested_fragments.hpp"

namespace weir::selection {

/// Error: it cannot be loaded, is no selection, or was built against another weir.
[[nodiscard]] Result<SelectFunction*> load_library(const std::filesystem::path& path);

/// Calls a selection. An exception, or a decision or requests beyond the limits, is an error with its reason.
[[nodiscard]] Result<Decision> call_selection(const std::function<SelectFunction>& function, RequestedFragments& event);

}  // namespace weir::selection

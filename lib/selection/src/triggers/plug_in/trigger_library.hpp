// SPDX-License-Identifier: Apache-2.0
// A trigger plug-in in a shared library (weir/plugin/library.hpp), as its process loads it.
#pragma once

#include <filesystem>

#include "weir/base/result.hpp"
#include "weir/selection/trigger_plug_in.hpp"

namespace weir::selection {

/// Error: it cannot be loaded, is no trigger plug-in, or was built against another weir.
[[nodiscard]] Result<TriggerPlugInFace> load_trigger_plug_in(const std::filesystem::path& file);

}  // namespace weir::selection

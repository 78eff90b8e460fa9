// SPDX-License-Identifier: Apache-2.0
// A monitor in a shared library.
#pragma once

#include <filesystem>

#include "weir/base/result.hpp"
#include "weir/monitor/monitor.hpp"

namespace weir::monitor {

/// Error: it cannot be loaded, is no monitor, or was built against another weir.
[[nodiscard]] Result<MonitorFace> load_monitor(const std::filesystem::path& file);

}  // namespace weir::monitor

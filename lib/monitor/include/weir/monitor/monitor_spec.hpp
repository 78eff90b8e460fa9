// SPDX-License-Identifier: Apache-2.0
// Which monitor a station runs, and how. It runs in a process of its own, in C++ too.
#pragma once

#include <string>

#include "weir/base/result.hpp"
#include "weir/plugin/plug_in_spec.hpp"

namespace weir::monitor {

struct MonitorSpec : plugin::PlugInSpec {
    /// Whether it is named as one that can be one: enough for a station on another machine. Errc::usage.
    [[nodiscard]] static Result<> check_name(const std::string& file);
    /// Whether `file` is there, and of a kind that can be one. Loads nothing. Errc::usage.
    [[nodiscard]] static Result<> check(const std::string& file);
};

}  // namespace weir::monitor

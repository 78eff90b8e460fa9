// SPDX-License-Identifier: Apache-2.0
// Which trigger plug-in a supervisor runs, and how. It runs in a process of its own, in C++ too: a crash shall not end
// the supervisor, of which a partition has only one.
#pragma once

#include <string>

#include "weir/base/result.hpp"
#include "weir/plugin/plug_in_spec.hpp"

namespace weir::selection {

struct TriggerPlugInSpec : plugin::PlugInSpec {
    /// Whether it is named as one that can be one: enough for a supervisor on another machine. Errc::usage.
    [[nodiscard]] static Result<> check_name(const std::string& file);
    /// Whether `file` is there, and of a kind that can be one. Loads nothing. Errc::usage.
    [[nodiscard]] static Result<> check(const std::string& file);
};

}  // namespace weir::selection

// SPDX-License-Identifier: Apache-2.0
// Section [run] of a partition file: how patient run control is, and how often it tries again.
#pragma once

#include <filesystem>

#include "weir/base/result.hpp"
#include "weir/control/run_control.hpp"
#include "weir/service/configuration.hpp"

namespace weir::app {

struct RunSettings {
    control::RunControlOptions options;

    /// Declares every key in [run].
    void declare(service::Settings& settings);
};

[[nodiscard]] Result<RunSettings> read_run_settings(const std::filesystem::path& partition);

}  // namespace weir::app

// SPDX-License-Identifier: Apache-2.0
// Section [run] of a partition file: how patient run control is, and how often it tries again.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/control/run_control.hpp"
#include "weir/service/configuration.hpp"

namespace weir::app {

struct RunSettings {
    control::RunControlOptions options;
    std::string incomplete_max = control::IncompleteLimit{}.text();  // both as in the file
    std::string mask_after{};
    std::vector<std::string> masked{};
    std::string lease{};  // as in the file, see lease_place()

    /// Declares every key in [run].
    void declare(service::Settings& settings);
};

[[nodiscard]] Result<RunSettings> read_run_settings(std::string_view text, const std::filesystem::path& partition);

}  // namespace weir::app

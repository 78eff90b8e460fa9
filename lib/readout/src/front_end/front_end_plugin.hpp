// SPDX-License-Identifier: Apache-2.0
// The file of a front-end, opened: loaded into this process, or tried in a process of its own. What is wrong with it is
// reported before a run.
#pragma once

#include <string>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/readout/front_end.hpp"
#include "weir/readout/front_end_spec.hpp"

namespace weir::readout {

struct FrontEndPlugin {
    FrontEndSpec spec{};
    bool polls = false, reads_out = false;
    FrontEndFace face{};                 // runs in a thread
    std::vector<std::string> command{};  // runs in a process

    [[nodiscard]] bool in_process() const noexcept { return !command.empty(); }

    /// Errc::usage, Errc::unsupported.
    [[nodiscard]] static Result<FrontEndPlugin> open(const FrontEndSpec& spec);
};

/// Of the library `file`.
[[nodiscard]] Result<FrontEndFace> load_front_end(const std::filesystem::path& file);

}  // namespace weir::readout

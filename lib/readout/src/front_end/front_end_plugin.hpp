// SPDX-License-Identifier: Apache-2.0
// The file of a front-end, opened: loaded into this process, or tried in a process of its own. What is wrong with it is
// reported before a run.
#pragma once

#include <optional>

#include "weir/base/result.hpp"
#include "weir/plugin/plug_in_process.hpp"
#include "weir/readout/front_end.hpp"
#include "weir/readout/front_end_spec.hpp"

namespace weir::readout {

/// As operators know it.
[[nodiscard]] plugin::PlugInKind front_end_kind(FrontEndRuns runs) noexcept;

struct FrontEndPlugin {
    FrontEndSpec spec{};
    bool polls = false, reads_out = false;
    FrontEndFace face{};                             // runs in a thread
    std::optional<plugin::PlugInProgram> program{};  // runs in a process

    /// Errc::usage, Errc::unsupported.
    [[nodiscard]] static Result<FrontEndPlugin> open(const FrontEndSpec& spec);
};

/// Of the library `file`.
[[nodiscard]] Result<FrontEndFace> load_front_end(const std::filesystem::path& file);

}  // namespace weir::readout

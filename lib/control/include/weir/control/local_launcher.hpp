// SPDX-License-Identifier: Apache-2.0
// Stations as processes of this machine, each in a process group of its own. They get SIGTERM when the thread that
// launched them ends, however it ends: no station is left over when run control is killed.
#pragma once

#include "weir/control/launcher.hpp"

namespace weir::control {

class LocalLauncher final : public Launcher {
public:
    /// From a thread that lives as long as the stations shall.
    [[nodiscard]] Result<std::unique_ptr<LaunchedProcess>> launch(const LaunchRequest& request) override;
};

}  // namespace weir::control

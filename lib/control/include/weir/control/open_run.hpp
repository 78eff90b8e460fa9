// SPDX-License-Identifier: Apache-2.0
// What a run control that is killed leaves of its run: a small file with the run's number and counts, rewritten while
// the run goes on and removed at its end. Who finds one knows that the run was not stopped.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir::control {

class OpenRun {
public:
    struct Left {
        RunNumber run{};
        std::map<std::string, std::string> parameters{};
    };

    explicit OpenRun(std::filesystem::path file) : file_(std::move(file)) {}

    /// Replaces the file. Not synced: after a power cut an older one, or none, may be found.
    [[nodiscard]] Result<> note(RunNumber run, const std::map<std::string, std::string>& parameters) const;
    void over() const noexcept;
    /// Nothing: no run was left. Errc::corrupt: a file that is none of ours.
    [[nodiscard]] Result<std::optional<Left>> left() const;

private:
    std::filesystem::path file_;
};

}  // namespace weir::control

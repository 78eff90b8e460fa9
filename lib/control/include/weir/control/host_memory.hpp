// SPDX-License-Identifier: Apache-2.0
// What run control keeps in its directory of the machines whose nodes Slurm chooses: without it the next run control
// would not find their agents, and a pinned machine not its node.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/control/partition.hpp"

namespace weir::control {

/// "run-machines.json" in run control's directory. One thread.
class HostMemory {
public:
    /// Empty: nothing is kept.
    explicit HostMemory(std::filesystem::path file) : file_(std::move(file)) {}
    [[nodiscard]] static std::filesystem::path file_in(const std::filesystem::path& directory) {
        return directory / "run-machines.json";
    }

    /// Fills in HostEntry::place and HostEntry::former of the machines of groups; others in the file are passed over.
    /// No file: nothing is known. An error: it is damaged; a pinned machine would begin without its data.
    [[nodiscard]] Result<> recall(Partition& partition) const;
    /// Of these, what the machines of groups have is written, synced, unless it is in the file already.
    [[nodiscard]] Result<> keep(const std::vector<HostEntry>& hosts);

private:
    std::filesystem::path file_;
    std::string kept_{};  // that was written last
};

}  // namespace weir::control

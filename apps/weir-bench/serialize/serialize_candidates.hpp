// SPDX-License-Identifier: Apache-2.0
// Who takes part in `weir bench serialize`: weir and the limits always, peers where they are found.
#pragma once

#include <string>
#include <vector>

#include "serialize/process/serialize_process.hpp"

namespace weir::app {

struct SerializeCandidates {
    std::vector<JobProcess> processes;
    std::vector<std::string> notes;  // who is not there, and what would bring it; what differs from ROOT
};

/// `peers`: the folder of the programs weir-bench-NAME; `root_python`: an interpreter, or empty for no ROOT.
[[nodiscard]] Result<SerializeCandidates> find_serialize_candidates(const std::string& peers,
                                                                    const std::string& root_python);

}  // namespace weir::app

// SPDX-License-Identifier: Apache-2.0
// What speaks to XRootD servers is a module beside the program, opened with the first such destination. XRootD's client
// brings twenty libraries along and starts threads of its own; a process that hands nothing to XRootD has none of them.
// The module and the program are of one build: they exchange C++ objects.
#pragma once

#include "weir/handoff/xrootd_destination.hpp"

namespace weir::handoff {

inline constexpr const char* xrootd_module = "weir-handoff-xrootd.so";

/// As xrootd_destination(); the answer goes to `to`.
using MakeXrootdDestination = void(std::string name, const std::string& url, const XrootdOptions& options,
                                   Result<std::unique_ptr<Destination>>& to);

}  // namespace weir::handoff

// What the module shows.
extern "C" {
extern const char weir_handoff_xrootd_build[];  // must be the program's WEIR_VERSION
weir::handoff::MakeXrootdDestination weir_handoff_xrootd_make;
}

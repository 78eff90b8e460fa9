// SPDX-License-Identifier: Apache-2.0
// Who takes part in `weir bench allocate`. Allocators of others are loaded before everything else (LD_PRELOAD) into a
// process of their own, when they are installed; weir needs none of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::app {

struct AllocateCandidate {
    std::string name, what;
    std::string color;                 // of its lines
    bool ours = false;                 // lib/memory's, else a peer
    bool general = false;              // behind operator new
    std::vector<std::string> files{};  // one of these is loaded before the program; none: nothing is
    std::string package{};             // where Debian has it
};

[[nodiscard]] const std::vector<AllocateCandidate>& allocate_candidates();
[[nodiscard]] const AllocateCandidate* allocate_candidate(std::string_view name);

/// The first of `files` that the dynamic linker can load before a program; nothing: not installed.
[[nodiscard]] std::optional<std::string> installed_of(const std::vector<std::string>& files);

/// The library that operator new of this process comes from: "libjemalloc.so.2".
[[nodiscard]] std::string library_of_new();

}  // namespace weir::app

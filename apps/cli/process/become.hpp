// SPDX-License-Identifier: Apache-2.0
// One program takes over from another: same process, other code.
#pragma once

#include <filesystem>
#include <span>

#include "weir/base/result.hpp"

namespace weir::app {

/// The program that lies at `place`, seen from this one's folder. Returns only if it cannot be started, with the
/// reason.
[[nodiscard]] Error become(const std::filesystem::path& place, std::span<char* const> arguments);

}  // namespace weir::app

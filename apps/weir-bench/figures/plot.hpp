// SPDX-License-Identifier: Apache-2.0
// Plots are drawn by gnuplot (Debian: gnuplot-nox), which does it well; we write its script.
#pragma once

#include <filesystem>
#include <string>

#include "weir/base/result.hpp"

namespace weir::app {

/// Runs `script` with the output set to an SVG or PNG file, by the ending of `target`. Errc::usage for
/// another ending; Errc::io when gnuplot is not there or fails.
[[nodiscard]] Result<> draw(const std::filesystem::path& target, const std::string& script, int width = 900,
                            int height = 600);

}  // namespace weir::app

// SPDX-License-Identifier: Apache-2.0
// The figures of `weir bench serialize` as people read them: tables, what they should show, throughput against threads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "serialize/serialize_points.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

void print_serialize_points(const SerializePoints& points, const std::vector<std::string>& notes);

[[nodiscard]] Result<> draw_serialize_points(const std::filesystem::path& target, const SerializePoints& points,
                                             const Machine& machine);

}  // namespace weir::app

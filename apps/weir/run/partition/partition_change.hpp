// SPDX-License-Identifier: Apache-2.0
// What a changed partition file means for stations that run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"

namespace weir::app {

struct PartitionChange {
    std::vector<std::string> at_once{};     // run control's own: "[run] incomplete_max"
    std::vector<std::string> anew{};        // stations that have to start again to read it
    std::vector<std::string> impossible{};  // one reason each why the whole partition has to
};

/// Of two files that are good. Errc::usage: one is no TOML.
[[nodiscard]] Result<PartitionChange> change_of_partition(std::string_view before, std::string_view now);

}  // namespace weir::app

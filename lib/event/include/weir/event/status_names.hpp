// SPDX-License-Identifier: Apache-2.0
// The bits of a status word in words, for people. The meanings are those of ATLAS' event format
// (docs/formats/atlas-raw.md).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weir/event/fragment.hpp"

namespace weir::event {

struct StatusNames {
    std::vector<std::string_view> names{};  // "data corruption", "lost", ...; lowest bit first
    std::uint32_t unnamed = 0;              // bits that are set and have no name at this level
};

/// Of the first status word of a fragment. The high half has names at the levels event and rob.
[[nodiscard]] StatusNames status_names(Level level, std::uint32_t status);

}  // namespace weir::event

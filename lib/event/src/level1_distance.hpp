// SPDX-License-Identifier: Apache-2.0
// How far a fragment's level-1 id is from its event's, when it follows the event at all.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/event/restamp.hpp"

namespace weir::event {

[[nodiscard]] inline std::optional<std::int32_t> level1_distance(std::uint32_t id, Level1Id event, SourceId source,
                                                                 const RodRules& rules) {
    const auto distance = static_cast<std::int32_t>(id - number(event));
    if (const auto rule = rules.sources.find(source); rule != rules.sources.end()) {
        if (rule->second.exempt) return std::nullopt;
        if (rule->second.level1_offset == distance) return distance;
    }
    if (id == 0 && number(event) != 0) return std::nullopt;
    if (distance < -RestampPlan::near_max || distance > RestampPlan::near_max) return std::nullopt;
    return distance;
}

}  // namespace weir::event

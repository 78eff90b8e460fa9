// SPDX-License-Identifier: Apache-2.0
// When the next event must go to a new file of its sequence.
#pragma once

#include <cstdint>

#include "weir/base/bytes.hpp"
#include "weir/event/raw_file.hpp"

namespace weir::event {

struct RotationLimits {
    std::uint32_t size_max_mb = 0;  // MiB of events; 0 = no limit
    std::uint32_t events_max = 0;   // 0 = no limit
};

struct FileFill {
    Bytes bytes{};  // of events, without records
    std::uint32_t events = 0;
};

/// True when `next` would take the file over its size, or it has all the events it may have. An empty
/// file takes any event, so that one larger than the limit is recorded and not carried on for ever.
[[nodiscard]] constexpr bool needs_new_file(const RotationLimits& limits, const FileFill& fill, Bytes next) noexcept {
    if (fill.events == 0) return false;
    if (limits.events_max != 0 && fill.events >= limits.events_max) return true;
    return limits.size_max_mb != 0 && rounded_mib(fill.bytes + next) > limits.size_max_mb;
}

}  // namespace weir::event

// SPDX-License-Identifier: Apache-2.0
// The format of an event's bytes. A sender states it once; all code that reads inside an event depends on it.
// `opaque` is any other experiment's event: it is carried and kept, never looked into.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::event {

enum class Format : std::uint8_t {
    opaque = 0,
    event_5_0 = 1,  // ATLAS since 2014: event > ROB > ROD; goes into files of version 6
    event_3_0 = 2,  // BES III: event > sub-detector > ROS > ROB > ROD; goes into files of version 2
};

/// "opaque", "event-5.0", "event-3.0".
[[nodiscard]] const char* name(Format format) noexcept;
[[nodiscard]] std::optional<Format> parse_format(std::string_view text) noexcept;

/// The version of the raw file that holds such events when nothing else is asked for: 6 or 2.
[[nodiscard]] std::uint32_t file_version(Format format) noexcept;

}  // namespace weir::event

// SPDX-License-Identifier: Apache-2.0
// The format of the payload of a session's events. The sender states it once, in HELLO; the recorder checks known
// formats and takes opaque ones as they are. Readouts and supervisors take blocks of fragments and triggers instead of
// events (input_block.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::wire {

enum class EventFormat : std::uint8_t {
    event_5_0 = 1,  // ATLAS full event, format version 5.0
    event_3_0 = 2,  // ATLAS full event, format version 3.0
    opaque = 3,     // any bytes; cannot be cut down to ROBs
    fragments = 4,  // a block of fragments
    triggers = 5,   // a block of triggers
};

/// Blocks name no streams, and parts of them may be refused.
[[nodiscard]] constexpr bool is_block(EventFormat format) noexcept {
    return format == EventFormat::fragments || format == EventFormat::triggers;
}

/// "event-5.0", "event-3.0", "opaque", "fragments", "triggers".
[[nodiscard]] const char* name(EventFormat format) noexcept;
/// Of events: blocks are no format that a user chooses.
[[nodiscard]] std::optional<EventFormat> parse_event_format(std::string_view text) noexcept;

/// Nothing for a number that this version does not know.
[[nodiscard]] std::optional<EventFormat> event_format_from(std::uint8_t number) noexcept;

}  // namespace weir::wire

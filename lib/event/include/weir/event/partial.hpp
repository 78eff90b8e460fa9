// SPDX-License-Identifier: Apache-2.0
// The event of a partial stream: a valid event of its own, with only the ROBs that the stream's tag
// asks for and the status bit "partial event". Nothing is copied but headers.
#pragma once

#include "weir/base/stream_tag.hpp"
#include "weir/event/event_pieces.hpp"
#include "weir/event/event_view.hpp"

namespace weir::event {

/// Fills `into` (cleared first) with the cut event. Its fragments stay in `event`, which must outlive it.
/// A tag that is not partial gives the event as it is, in one piece. ROBs that the tag names and the
/// event lacks are not an error: the cut event just has none of them. Sub-detector and ROS fragments
/// (event 3.0) that lose all their ROBs go too. Errc::unsupported for a compressed event
/// (decompress_event first), for an event checksum that we cannot make, and for opaque events.
[[nodiscard]] Result<> cut_event(const EventView& event, const StreamTag& tag, EventPieces& into);

[[nodiscard]] Result<EventPieces> cut_event(const EventView& event, const StreamTag& tag);

}  // namespace weir::event

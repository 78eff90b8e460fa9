// SPDX-License-Identifier: Apache-2.0
// Which recorder of a partition an event belongs to. The choice follows from the global id and the names of the
// recorders only, so every filter and builder chooses the same one, and an event that comes again through another
// station meets its duplicate (docs/decisions/0015-an-event-belongs-to-one-recorder.md).
//
// Rendezvous hashing: each recorder has a preference for each run of 32 consecutive ids, and the highest one takes
// them. When a recorder leaves, its events spread over the others, and no other event changes its place.
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/ids.hpp"

namespace weir::wire {

/// Ids in one run. Consecutive ids stay together, so that a recorder's list of the ids that it holds stays short; a run
/// is short against what is in flight, so that all recorders are busy at once.
inline constexpr std::uint64_t recorder_run_ids = 32;

/// The recorder with the highest number takes the event; of two equal ones, the name that sorts first. The same on
/// every machine and in every version.
[[nodiscard]] std::uint64_t preference(GlobalEventId event, std::string_view recorder) noexcept;

}  // namespace weir::wire

// SPDX-License-Identifier: Apache-2.0
// What each part of a readout station adds to the station's status: counters, and what is known of each source. Any
// thread, while the part lives. docs/apps/readout.md lists the counters.
#pragma once

#include "datagrams/datagram_server.hpp"
#include "front_end/front_end_feed.hpp"
#include "intake/fragment_intake.hpp"
#include "intake/fragment_server.hpp"
#include "matching/matched_intake.hpp"
#include "weir/service/station.hpp"

namespace weir::readout {

/// What a source outside weir sent, as run control adds it up.
[[nodiscard]] service::SourceStatus status_of(const SourceCounts& source, const Clock& clock);
void add_front_end(const FrontEndStats& stats, service::StationStatus& status);
void add_input(const FragmentServer& server, service::StationStatus& status);
/// Datagrams by what came of them. The sources of the status must be there: what is known of each is added to it.
void add_datagrams(const DatagramServer& server, service::StationStatus& status);
/// Likewise: what became of fragments that brought a time, over all sources; jumps of their boards' clocks by source.
void add_matching(const MatchedIntake& matched, service::StationStatus& status);

}  // namespace weir::readout

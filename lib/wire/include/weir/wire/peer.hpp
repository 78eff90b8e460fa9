// SPDX-License-Identifier: Apache-2.0
// A station of the partition as the others see it: run control sends it to each of them at `connect`.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/wire/datagram.hpp"

namespace weir {

enum class StationKind { readout, assign, build, supervise, select, filter, record, handoff, monitor };
inline constexpr std::array station_kinds{StationKind::readout,   StationKind::assign,  StationKind::build,
                                          StationKind::supervise, StationKind::select,  StationKind::filter,
                                          StationKind::record,    StationKind::handoff, StationKind::monitor};

/// "readout", ... : the command that runs it, and its section in the partition file ([readout.ros-1]).
[[nodiscard]] const char* name(StationKind kind) noexcept;
[[nodiscard]] std::optional<StationKind> parse_station_kind(std::string_view text) noexcept;

struct Peer {
    std::string name{};  // "ros-1"; one of a kind in the partition
    StationKind kind = StationKind::readout;
    wire::StationId id{};
    std::string dataflow{};  // "127.0.0.1:40001": datagrams, or TCP, as the link; empty: none
    std::string events{};    // "127.0.0.1:40002": the delivery protocol (filters, recorders); empty: takes none
    std::vector<SourceId> sources{};  // ROBs that a readout serves
    bool tcp = false;                 // it wants its links over TCP: a link is when either end wants it
    bool busy = false;                // of a readout: it sends the supervisor when it is busy (ReadoutBusy)
    bool triggers = false;            // of a readout: the supervisor sends it all triggers (Triggers)
    std::optional<SourceId> first{};  // of a supervisor: its events begin with a fragment of this source (FragmentSeen)
    std::string control{};            // its control port, as run control reaches it; empty: run control has not said it

    bool operator==(const Peer&) const = default;
};

}  // namespace weir

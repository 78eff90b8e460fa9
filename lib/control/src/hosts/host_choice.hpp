// SPDX-License-Identifier: Apache-2.0
// Which machine a station goes to.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weir/control/partition.hpp"

namespace weir::control {

/// A station whose disk or hardware is on its machine may be on this one: it keeps its node.
[[nodiscard]] inline bool may_stay(const HostEntry& host) noexcept { return !host.in_group() || host.pinned; }

/// Where each station begins, as a place in Partition::hosts: on the machine that it names, or on one of the group that
/// it names; else on those that are for its kind, each in turn the one with the fewest stations; a hand-off on its
/// recorder's. None begins on a spare machine.
[[nodiscard]] std::map<std::string, std::size_t> homes_of(const Partition& partition);

struct HostLoad {
    bool there = true;  // as far as is known
    std::size_t stations = 0;
    std::size_t at_home = 0;  // that begin there
};

/// Its home, if that is there or the station stays. Else a spare machine of the group, or any spare one for its kind,
/// as long as it has fewer stations than begin at that home; else one of the group that the station names; else the
/// machine for its kind with the fewest stations, or of any kind if none of those is there.
[[nodiscard]] std::size_t choose_host(const Partition& partition, const StationEntry& station, std::size_t home,
                                      const std::vector<HostLoad>& loads);

}  // namespace weir::control

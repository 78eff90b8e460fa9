// SPDX-License-Identifier: Apache-2.0
// A partition as the page shows it, every second: like GET /partition, but of a size that
// does not grow with the run: its texts, changes and sources are cut.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/control/run_control.hpp"

namespace weir::control {

/// Numbers a second, from two looks at a partition.
struct LiveRates {
    double triggers = 0, accepted = 0, built = 0, incomplete = 0, recorded = 0, bytes = 0;
};

/// What the rates are made of.
struct LiveCounts {
    SteadyTime at{};
    RunNumber run{};
    RunEvents events{};
    double bytes = 0;  // stored by all recorders
};
[[nodiscard]] LiveCounts live_counts(const PartitionView& view, SteadyTime now);
/// Zero where another run has begun in between.
[[nodiscard]] LiveRates live_rates(const LiveCounts& before, const LiveCounts& now);

[[nodiscard]] boost::json::object live_partition(const Partition& partition, const PartitionView& view,
                                                 const LiveRates& rates);
[[nodiscard]] boost::json::array live_stations(const std::vector<StationView>& stations);

}  // namespace weir::control

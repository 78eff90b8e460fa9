// SPDX-License-Identifier: Apache-2.0
// A partition as the page shows it, every second: like GET /partition, but of a size that
// does not grow with the run: its texts, changes and sources are cut.
#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/control/run_control.hpp"

namespace weir::control {

/// Numbers a second, from two looks at a partition.
struct LiveRates {
    double triggers = 0, accepted = 0, built = 0, incomplete = 0, recorded = 0, bytes = 0;
};

/// Makes rates of what each station has counted between two of its answers, and of the time between these: not of the
/// time between two looks, since run control, a station or a machine may have stood still in it. One thread at a time.
class LiveMeter {
public:
    /// Where a station has not answered since the last look, its rates are those before, or zero when it is gone or
    /// does not answer. All are zero when another run has begun.
    [[nodiscard]] LiveRates look(const PartitionView& view);

private:
    struct Seen {
        SteadyTime at{};
        RunEvents events{};
        double bytes = 0;  // stored
        LiveRates rates{};
    };
    RunNumber run_{};
    std::map<std::string, Seen> stations_;  // those whose counts are events of the run
};

[[nodiscard]] boost::json::object live_partition(const Partition& partition, const PartitionView& view,
                                                 const LiveRates& rates);
[[nodiscard]] boost::json::array live_stations(const std::vector<StationView>& stations);

}  // namespace weir::control

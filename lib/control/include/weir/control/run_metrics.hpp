// SPDX-License-Identifier: Apache-2.0
// What run control knows of its partition, for Prometheus: docs/metrics.md.
#pragma once

#include <functional>
#include <vector>

#include "weir/control/host_launcher.hpp"
#include "weir/control/run_control.hpp"
#include "weir/service/metrics.hpp"
#include "weir/service/reports.hpp"

namespace weir::control {

/// Label sets of one name that run control needs room for: one a station, of which a partition has at most 4096.
inline constexpr std::size_t run_label_sets_max = 4200;

struct RunMetricParts {  // all of them outlive the collection
    const RunControl& control;
    const service::Reports& reports;
    std::function<std::vector<HostView>()> hosts{};  // none: all stations are on this machine
    bool taken_over = false;  // what was counted up to the first scrape that knows the stations is in the counts of
                              // another run control
};

/// State, events, sources, stations, hosts and alarms, at each scrape.
[[nodiscard]] service::Metrics::Collection collect_partition(service::Metrics& metrics, const RunMetricParts& parts);

}  // namespace weir::control

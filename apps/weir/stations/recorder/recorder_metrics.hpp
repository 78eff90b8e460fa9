// SPDX-License-Identifier: Apache-2.0
// A recorder's metrics for Prometheus: names are stable, units are base units.
#pragma once

#include "weir/recorder/recorder.hpp"
#include "weir/service/metrics.hpp"

namespace weir::app {

/// The recorder outlives what is returned.
[[nodiscard]] service::Metrics::Collection collect_recorder(service::Metrics& metrics,
                                                            const recorder::Recorder& recorder);

}  // namespace weir::app

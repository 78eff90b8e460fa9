// SPDX-License-Identifier: Apache-2.0
// What a station's control port answers (docs/formats/control-protocol.md), and the frame's metrics for Prometheus.
#pragma once

#include <functional>
#include <vector>

#include "station/frame_loop.hpp"
#include "weir/service/http_server.hpp"
#include "weir/service/metrics.hpp"

namespace weir::service {

/// The loop and the services outlive the server that answers.
[[nodiscard]] std::vector<HttpRoute> control_routes(FrameLoop& loop, const StationServices& services,
                                                    const StationFrameOptions& options);

/// State, ledger and counters of the station; seconds of the threads.
[[nodiscard]] Metrics::Collection collect_station(Metrics& metrics, std::function<StationReport()> report,
                                                  const ThreadAccounts& threads);

}  // namespace weir::service

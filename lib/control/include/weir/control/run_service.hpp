// SPDX-License-Identifier: Apache-2.0
// Run control over HTTP, for weir run status, for web pages and for scripts: docs/formats/run-control-protocol.md.
#pragma once

#include <boost/json/array.hpp>
#include <functional>
#include <string>
#include <vector>

#include "weir/control/host_launcher.hpp"
#include "weir/control/operator_lease.hpp"
#include "weir/control/run_control.hpp"
#include "weir/service/control_calls.hpp"
#include "weir/service/http_server.hpp"
#include "weir/service/metrics.hpp"
#include "weir/service/reports.hpp"

namespace weir::control {

/// What came of a partition file that was applied.
struct AppliedFile {
    std::vector<std::string> at_once{};  // "[run] incomplete_max"
    std::vector<std::string> anew{};     // stations that start again for it
};

struct RunServiceParts {  // all of them outlive the server
    const Partition& partition;
    RunControl& control;
    LogBook& log;
    service::Reports& reports;
    const service::Metrics& metrics;
    std::function<Result<AppliedFile>()> apply{};    // reads the partition file again
    std::function<std::vector<HostView>()> hosts{};  // none: all stations are on this machine
    OperatorLease* lease = nullptr;                  // none: whoever may command does, and no page
    service::ControlCalls* calls = nullptr;          // to acknowledge alarms of stations; none: only run control's own
};

/// GET /partition /log /alarms /metrics /targets, POST /run /alarms/acknowledge.
[[nodiscard]] std::vector<service::HttpRoute> run_routes(const RunServiceParts& parts);

/// GET /log?after=N. The log outlives the server.
[[nodiscard]] service::HttpRoute log_route(LogBook& log);

/// Of run control and of all stations, as GET /alarms lists them.
[[nodiscard]] boost::json::array alarms_of(const service::Reports& reports, const std::vector<StationView>& stations);

}  // namespace weir::control

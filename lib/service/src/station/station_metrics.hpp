// SPDX-License-Identifier: Apache-2.0
// What a station knows of itself, for Prometheus: docs/metrics.md. Every number that a station counts has a name of its
// own, after its kind, since numbers of one name must make sense when they are added: events and seconds do not.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "weir/base/result.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/service/control_messages.hpp"
#include "weir/service/metrics.hpp"
#include "weir/transport/tls.hpp"

namespace weir::service {

/// Of each transition, change of peers and mask by name.
using TransitionDurations = std::map<std::string, Durations>;

struct CounterName {
    std::string metric;  // "weir_supervise_busy_seconds_total"
    Labels labels;       // cause="ros-1"
};
/// "busy_seconds ros-1" of a supervisor: what stands behind a blank is whom it is about. "bytes_built": the unit comes
/// last. `level`: it falls too.
[[nodiscard]] CounterName counter_name(StationKind kind, std::string_view counter, bool level);

/// State, ledger, counters, durations, alarms; seconds of the threads.
[[nodiscard]] Metrics::Collection collect_station(Metrics& metrics, std::function<StationReport()> report,
                                                  std::function<TransitionDurations()> durations_of,
                                                  const ThreadAccounts& threads);

/// When the certificate of the control port ends. Error: it cannot be read.
[[nodiscard]] Result<Metrics::Collection> collect_certificate(Metrics& metrics, const transport::TlsFiles& files);

}  // namespace weir::service

// SPDX-License-Identifier: Apache-2.0
// What a process has for its station, made once and handed in. All of it outlives the station.
#pragma once

#include "weir/base/clock.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/service/metrics.hpp"
#include "weir/service/reports.hpp"
#include "weir/service/sampled_events.hpp"
#include "weir/service/timers.hpp"

namespace weir::service {

struct StationServices {
    const Clock& clock;
    Reports& reports;
    Metrics& metrics;
    ThreadAccounts& threads;
    Timers& timers;
    SampledEvents& samples;
};

}  // namespace weir::service

// SPDX-License-Identifier: Apache-2.0
// What a process has around its station: signals, the service manager, the clock, metrics, the path of its reports to
// log and counters, the time of its threads. Made first in a command, before any thread.
#pragma once

#include <memory>
#include <string>

#include "cli/command_line.hpp"
#include "cli/process/signals.hpp"
#include "stations/frame/service_manager.hpp"
#include "weir/service/clock_metrics.hpp"
#include "weir/service/log_output.hpp"
#include "weir/service/station_services.hpp"

namespace weir::app {

/// --log-format, for more_options.
void declare_log_format(CLI::App& command, service::LogFormat& format);
/// With the journal that is behind stderr, if one is. `partition`: its name; empty: there is none.
[[nodiscard]] service::LogOptions log_options(service::LogFormat format, const std::string& partition = {});

class StationProcess {
public:
    /// `name`: of the station, in its reports. `spans_max`: kept of each thread for a trace; 0: none is written.
    /// `more`: where reports go beside stderr and counters; nullptr: nowhere.
    explicit StationProcess(const std::string& name, std::size_t spans_max = 0,
                            std::unique_ptr<service::ReportSink> more = {},
                            const service::LogOptions& log_to = log_options(service::LogFormat::text));
    StationProcess(const StationProcess&) = delete;
    StationProcess& operator=(const StationProcess&) = delete;

    Signals signals;  // the first member: threads that begin later block them too
    const ServiceManager manager = ServiceManager::from_environment();
    const SystemClock clock{};
    const std::shared_ptr<service::LogOutput> log;  // shared with the sink of the reports
    service::Metrics metrics{};
    service::Reports reports;
    ThreadAccounts threads;

private:
    const service::Metrics::Collection clock_metrics_ = service::collect_clock(metrics);
    const ThreadAccounts::Entry main_;

public:
    service::Timers timers;
    service::SampledEvents samples{};
    const service::StationServices services;

    /// Alarms of an earlier process that are not acknowledged, on stderr.
    void report_latched(std::string_view command_name) const;
};

}  // namespace weir::app

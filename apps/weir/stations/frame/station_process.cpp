// SPDX-License-Identifier: Apache-2.0
#include "stations/frame/station_process.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "cli/command_line.hpp"
#include "cli/output.hpp"
#include "weir/service/report_sinks.hpp"

namespace weir::app {
namespace {

std::vector<std::unique_ptr<service::ReportSink>> sinks(service::Metrics& metrics,
                                                        std::unique_ptr<service::ReportSink> more,
                                                        const std::shared_ptr<service::LogOutput>& log) {
    std::vector<std::unique_ptr<service::ReportSink>> all;
    all.push_back(service::log_sink(log));
    all.push_back(service::counter_sink(metrics));
    if (more) all.push_back(std::move(more));
    return all;
}

}  // namespace

void declare_log_format(CLI::App& command, service::LogFormat& format) {
    add_choice(command, "--log-format", format,
               {{"text", service::LogFormat::text}, {"json", service::LogFormat::json}},
               "of the log on stderr: lines for people, or a JSON document a line")
        .group(more_options);
}

service::LogOptions log_options(service::LogFormat format, const std::string& partition) {
    return {.format = format, .partition = partition, .journal_stream = std::getenv("JOURNAL_STREAM")};
}

StationProcess::StationProcess(const std::string& name, std::size_t spans_max,
                               std::unique_ptr<service::ReportSink> more, const service::LogOptions& log_to)
    : log(std::make_shared<service::LogOutput>(log_to)),
      reports(name, clock, sinks(metrics, std::move(more), log)),
      threads(spans_max),
      main_(threads, "main"),
      timers(clock),
      services{clock, reports, metrics, threads, timers, samples} {
    std::signal(SIGPIPE, SIG_IGN);  // who reads the log or the summary may go away
    std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error of the write
}

void StationProcess::report_latched(std::string_view command_name) const {
    if (const auto latched = reports.latched(); latched > 0)
        complain(command_name, fmt::format("{} latched; see weir alarms", counted(latched, "alarm is", "alarms are")));
}

}  // namespace weir::app

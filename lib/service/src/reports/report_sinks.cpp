// SPDX-License-Identifier: Apache-2.0
#include "weir/service/report_sinks.hpp"

#include <array>
#include <utility>

namespace weir::service {
namespace {

class LogSink final : public ReportSink {
public:
    explicit LogSink(std::shared_ptr<LogOutput> output) : output_(std::move(output)) {}

    void show(const SubmittedReport& report) override {
        const auto who = on_one_line(report.who);
        const auto before = name(report.severity).size() + 1 + who.size() + 2;  // "error rec-1: "
        output_->write({report.when, {}, who, {}, report.severity, one_line(report).substr(before)});
    }

private:
    const std::shared_ptr<LogOutput> output_;  // shared with who knows the run
};

class CounterSink final : public ReportSink {
public:
    explicit CounterSink(Metrics& metrics) {
        for (const auto severity : {Severity::information, Severity::warning, Severity::error, Severity::fatal}) {
            for (const bool shown : {false, true}) {
                counters_.at(slot(severity, shown)) =
                    &metrics.counter("weir_reports_total", "Error reports, shown or held back by the rate limit",
                                     {{"severity", std::string(name(severity))}, {"shown", shown ? "yes" : "no"}});
            }
        }
    }

    void show(const SubmittedReport& report) override {
        if (!report.late)
            counters_.at(slot(report.severity, true))->add();  // a late one was counted when it was held back
    }
    void hold_back(const SubmittedReport& report) override { counters_.at(slot(report.severity, false))->add(); }

private:
    static std::size_t slot(Severity severity, bool shown) {
        return 2 * static_cast<std::size_t>(severity) + (shown ? 1 : 0);
    }
    std::array<Counter*, 8> counters_{};
};

}  // namespace

std::unique_ptr<ReportSink> log_sink(std::shared_ptr<LogOutput> output) {
    return std::make_unique<LogSink>(std::move(output));
}
std::unique_ptr<ReportSink> counter_sink(Metrics& metrics) { return std::make_unique<CounterSink>(metrics); }

}  // namespace weir::service

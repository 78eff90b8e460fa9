// SPDX-License-Identifier: Apache-2.0
#include "station/station_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/base/data.hpp"

namespace weir::service {
namespace {

double in_seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

bool may_stand_in_a_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

void add_ledger(const StationLedger& ledger, MetricSink& sink) {
    const auto real = [](std::uint64_t n) { return static_cast<double>(n); };
    const Labels what{{"what", ledger.what}};
    sink.counter("weir_ledger_received_total", "received = stored + rejected + in hand, at any time", what,
                 real(ledger.received));
    sink.counter("weir_ledger_stored_total", "sent on, or served and cleared", what, real(ledger.stored));
    sink.gauge("weir_ledger_in_hand", "neither stored nor rejected yet", what, real(ledger.in_hand));
    for (const auto& [reason, count] : ledger.rejected)
        sink.counter("weir_ledger_rejected_total", "rejected, by reason", {{"what", ledger.what}, {"reason", reason}},
                     real(count));
}

void add_counters(StationKind kind, const StationStatus& status, MetricSink& sink) {
    const auto is_mean_of_durations = [&](std::string_view counter) {
        return std::ranges::any_of(status.durations, [&](const StationDurations& durations) {
            return counter == fmt::format("{}_seconds", durations.name);
        });
    };
    for (const auto& [counter, value] : status.counters) {
        // A port is an address, and no amount.
        if (is_mean_of_durations(counter) || counter.ends_with("_port")) continue;
        const bool level = std::ranges::find(status.levels, counter) != status.levels.end();
        const auto [metric, labels] = counter_name(kind, counter, level);
        const auto help = fmt::format("\"{}\" among the counters of /status", counter.substr(0, counter.find(' ')));
        if (level) sink.gauge(metric, help, labels, value);
        else sink.counter(metric, help, labels, value);
    }
}

void add_threads(const ThreadAccounts& threads, MetricSink& sink) {
    for (const auto& times : threads.times()) {
        const auto add_time = [&](const char* state, const char* cause, std::chrono::nanoseconds time) {
            sink.counter(
                "weir_thread_seconds_total", "time of the threads of this name, by what they did",
                {{"thread", times.thread}, {"state", state}, {"cause", cause}, {"ended", times.ended ? "yes" : "no"}},
                in_seconds(time));
        };
        add_time("running", "", times.running);
        for (std::size_t i = 0; i < wait_cause_count; ++i) {
            const auto cause = static_cast<WaitCause>(i);
            if (times.waits[i] > 0) add_time(blocks(cause) ? "blocked" : "waiting", name(cause), times.waited[i]);
        }
    }
}

}  // namespace

CounterName counter_name(StationKind kind, std::string_view counter, bool level) {
    CounterName found;
    const auto blank = counter.find(' ');
    if (blank != std::string_view::npos) found.labels["cause"] = counter.substr(blank + 1);
    std::string base(counter.substr(0, blank));
    for (auto& c : base)
        if (!may_stand_in_a_name(c)) c = '_';
    if (constexpr std::string_view unit = "bytes_"; base.starts_with(unit))
        base = fmt::format("{}_bytes", base.substr(unit.size()));
    found.metric = fmt::format("weir_{}_{}{}", name(kind), base, level ? "" : "_total");
    return found;
}

Metrics::Collection collect_station(Metrics& metrics, std::function<StationReport()> report,
                                    std::function<TransitionDurations()> durations_of, const ThreadAccounts& threads) {
    return metrics.collect(
        [report = std::move(report), durations_of = std::move(durations_of), &threads](MetricSink& sink) {
            const auto now = report();
            for (const auto state : station_states)
                sink.gauge("weir_station_state", "1 for the state that the station is in", {{"state", name(state)}},
                           state == now.state ? 1 : 0);
            add_ledger(now.status.ledger, sink);
            if (!now.status.metered) add_counters(now.kind, now.status, sink);
            for (const auto& durations : now.status.durations)
                sink.histogram(fmt::format("weir_{}_{}_duration_seconds", name(now.kind), durations.name),
                               durations.help, {}, durations.durations);
            for (const auto& [transition, durations] : durations_of())
                sink.histogram("weir_station_transition_duration_seconds", "how long transitions took",
                               {{"transition", transition}}, durations);
            for (const auto& alarm : now.alarms)
                sink.gauge("weir_alarm", "1 while latched, 0 once acknowledged", {{"name", alarm.name}},
                           alarm.acknowledged_by ? 0 : 1);
            add_threads(threads, sink);
        });
}

Result<Metrics::Collection> collect_certificate(Metrics& metrics, const transport::TlsFiles& files) {
    const auto context = WEIR_TRY(transport::TlsContext::for_server(files));
    return metrics.collect([ends = context.certificate_ends()](MetricSink& sink) {
        sink.gauge("weir_tls_certificate_ends_timestamp_seconds",
                   "when the certificate of a port ends, seconds since 1970", {{"port", "control"}},
                   in_seconds(ends.time_since_epoch()));
    });
}

}  // namespace weir::service

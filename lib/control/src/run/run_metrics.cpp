// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace weir::control {
namespace {

constexpr std::size_t sources_metered = 8;  // those that miss most, if there are more: each has ten series

double real(std::uint64_t n) { return static_cast<double>(n); }

/// Counts of a run begin anew with each run. Prometheus takes a counter that fell for one that began at 0, and would
/// count again all that is left. So only what is added counts. At most as many as there are numbers of sources and
/// stations.
class Risen {
public:
    explicit Risen(bool taken_over) : known_by_another_(taken_over) {}

    /// Numbers that come now are of this run.
    void of_run(RunNumber run) noexcept { run_ = run; }
    /// A scrape is over. What another run control has counted is known when the stations have answered.
    void scraped(PartitionState state) noexcept {
        if (state != PartitionState::down && state != PartitionState::coming_up) known_by_another_ = false;
    }
    double operator()(const std::string& key, std::uint64_t now) {
        auto& count = counts_[key];
        if (std::exchange(count.run, run_) != run_) count.last = 0;
        if (known_by_another_) count.last = now;
        if (now > count.last) count.sum += now - count.last;
        count.last = now;
        return real(count.sum);
    }

private:
    struct Count {
        RunNumber run{};
        std::uint64_t last = 0;  // of that run
        std::uint64_t sum = 0;
    };
    bool known_by_another_;
    RunNumber run_{};
    std::map<std::string, Count> counts_;
};

void add_state(const PartitionView& view, service::MetricSink& sink) {
    using enum PartitionState;
    for (const auto state : {down, coming_up, ready, starting, running, paused, stopping, ending})
        sink.gauge("weir_partition_state", "1 for the state that the partition is in", {{"state", name(state)}},
                   state == view.state ? 1 : 0);
    if (view.run != RunNumber{})
        sink.gauge("weir_run_info", "number of the present run, or the last",
                   {{"run", fmt::to_string(number(view.run))}}, 1);
    sink.gauge("weir_partition_run_seconds", "how long the run lasts", {}, view.seconds);
    const auto ended = [&](const char* verdict, std::uint32_t runs) {
        sink.counter("weir_runs_ended_total", "runs that ended, by whether they had problems", {{"verdict", verdict}},
                     runs);
    };
    ended("good", view.runs - std::min(view.runs, view.bad_runs));
    ended("bad", view.bad_runs);
    if (view.last)
        sink.gauge("weir_last_run_problems", "problems of the last run that ended", {},
                   real(view.last->problems.size()));
    for (const auto& [state, durations] : view.passages)
        sink.histogram("weir_partition_transition_duration_seconds", "how long the partition was in passing states",
                       {{"transition", name(state)}}, durations);
}

void add_events(const RunEvents& events, Risen& risen, service::MetricSink& sink) {
    const auto add = [&](const char* metric, const char* help, std::uint64_t count) {
        sink.counter(metric, help, {}, risen(metric, count));
    };
    add("weir_partition_triggers_total", "triggers that were not refused", events.triggers);
    add("weir_partition_accepted_events_total", "events that level 2 accepted", events.accepted);
    add("weir_partition_rejected_events_total", "events that level 2 rejected", events.rejected);
    add("weir_partition_built_events_total", "events that are final behind the builders", events.built);
    add("weir_partition_incomplete_events_total", "built events that lack fragments", events.incomplete);
    add("weir_partition_recorded_events_total", "events in files, at each recorder", events.recorded);
}

void add_sources(const std::vector<RunSource>& sources, Risen& risen, service::MetricSink& sink) {
    const auto are = [&](auto test) { return real(static_cast<std::uint64_t>(std::ranges::count_if(sources, test))); };
    sink.gauge("weir_partition_sources", "sources of the partition", {}, real(sources.size()));
    sink.gauge("weir_partition_masked_sources", "sources that are masked", {}, are([](auto& s) { return s.masked; }));
    sink.gauge("weir_partition_silent_sources", "sources that are silent", {}, are([](auto& s) { return s.silent; }));
    sink.gauge("weir_partition_missing_sources", "sources of which fragments are missing in events of the run", {},
               are([](auto& s) { return s.counts.missing > 0; }));
    for (const auto& source : worst(sources, sources_metered)) {
        const auto& c = source.counts;
        const auto id = fmt::format("0x{:06x}", number(c.source));
        const auto add = [&](const char* what, const char* help, std::uint64_t count) {
            const auto metric = fmt::format("weir_source_{}_total", what);
            sink.counter(metric, help, {{"source", id}}, risen(metric + id, count));
        };
        add("expected_fragments", "fragments that events expected of the source", c.expected);
        add("arrived_fragments", "fragments that arrived", c.arrived);
        add("late_fragments", "fragments that came too late for their event", c.late);
        add("lost_fragments", "fragments that were lost on their way", c.lost);
        add("missing_fragments", "fragments that events lack", c.missing);
        add("duplicated_fragments", "fragments that came again", c.duplicated);
        add("disordered_fragments", "fragments that came out of order", c.disordered);
        add("refused_fragments", "fragments that were refused", c.refused);
        add("masked_fragments", "fragments that were masked", c.masked);
        add("bytes", "bytes of the fragments that arrived", c.bytes);
    }
}

void add_stations(const std::vector<StationView>& stations, Risen& risen, service::MetricSink& sink) {
    for (const auto& station : stations) {
        const service::Labels labels{{"station", station.entry.name}, {"kind", name(station.entry.kind)}};
        sink.gauge("weir_station_up", "1: its process runs and is known", labels,
                   station.state == "gone" || station.state == "launching" ? 0 : 1);
        sink.counter("weir_station_restarts_total", "how often it was replaced", labels,
                     risen("restarts " + station.entry.name, station.restarts));
    }
}

}  // namespace

service::Metrics::Collection collect_partition(service::Metrics& metrics, const RunMetricParts& parts) {
    return metrics.collect([parts, risen = std::make_shared<Risen>(parts.taken_over)](service::MetricSink& sink) {
        const auto view = parts.control.view();
        risen->of_run(view.run);
        add_state(view, sink);
        add_events(view.events, *risen, sink);
        add_sources(*view.sources, *risen, sink);
        add_stations(view.stations, *risen, sink);
        risen->scraped(view.state);
        if (parts.hosts) {
            for (const auto& host : parts.hosts()) {
                sink.gauge("weir_host_up", "1: its agent answers; 0: suspected, lost or not known",
                           {{"host", host.name}}, host.state == "up" ? 1 : 0);
                sink.gauge("weir_host_silent_seconds", "since its agent answered last", {{"host", host.name}},
                           host.silent);
            }
        }
        for (const auto& alarm : parts.reports.alarms())
            sink.gauge("weir_alarm", "1 while latched, 0 once acknowledged", {{"name", alarm.name}},
                       alarm.acknowledged_by ? 0 : 1);
    });
}

}  // namespace weir::control

// SPDX-License-Identifier: Apache-2.0
#include "page/live_view.hpp"

#include "weir/control/run_json.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

constexpr std::size_t live_sources_max = 64;  // those that miss most
constexpr std::size_t live_changes_max = 20;  // the newest
constexpr std::size_t live_problems_max = 20;
constexpr std::size_t live_text_max = 2000;  // bytes of a text

json::string live_text(std::string_view text) {
    auto shown = json::safe(text.substr(0, live_text_max));
    if (text.size() > live_text_max) shown += "...";
    return shown;
}

double live_seconds(WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

json::value live_last(const std::optional<RunResult>& last) {
    if (!last) return nullptr;
    json::array problems;
    for (const auto& problem : last->problems)
        if (problems.size() < live_problems_max) problems.push_back(live_text(problem));
    return json::object{{"run", number(last->run)},
                        {"seconds", last->seconds},
                        {"reason", live_text(last->reason)},
                        {"events", to_json(last->events)},
                        {"files", last->files},
                        {"bytes_stored", last->bytes_stored},
                        {"problems_all", last->problems.size()},
                        {"problems", std::move(problems)}};
}

json::object live_sources(const std::vector<RunSource>& sources) {
    std::uint64_t masked = 0, silent = 0, missing = 0;
    for (const auto& source : sources) {
        masked += source.masked ? 1U : 0U;
        silent += source.silent ? 1U : 0U;
        missing += source.counts.missing > 0 ? 1U : 0U;
    }
    json::array worst_ones;
    for (const auto& source : worst(sources, live_sources_max)) worst_ones.push_back(to_json(source));
    return {{"all", sources.size()},
            {"masked", masked},
            {"silent", silent},
            {"missing", missing},
            {"worst", std::move(worst_ones)}};
}

}  // namespace

LiveCounts live_counts(const PartitionView& view, SteadyTime now) {
    LiveCounts counts{now, view.run, view.events, 0};
    for (const auto& station : view.stations) {
        if (station.entry.kind != StationKind::record) continue;
        const auto& counters = station.report.status.counters;
        if (const auto stored = counters.find("bytes_stored"); stored != counters.end()) counts.bytes += stored->second;
    }
    return counts;
}

LiveRates live_rates(const LiveCounts& before, const LiveCounts& now) {
    const auto seconds = std::chrono::duration<double>(now.at - before.at).count();
    if (before.run != now.run || seconds <= 0) return {};
    // A station that was replaced counts from zero.
    const auto rate = [seconds](auto from, auto to) {
        return to > from ? static_cast<double>(to - from) / seconds : 0.0;
    };
    return {rate(before.events.triggers, now.events.triggers), rate(before.events.accepted, now.events.accepted),
            rate(before.events.built, now.events.built),       rate(before.events.incomplete, now.events.incomplete),
            rate(before.events.recorded, now.events.recorded), rate(before.bytes, now.bytes)};
}

json::object live_partition(const Partition& partition, const PartitionView& view, const LiveRates& rates) {
    json::array changes;
    const auto from = view.changes.size() - std::min(view.changes.size(), live_changes_max);
    for (auto i = from; i < view.changes.size(); ++i) changes.push_back(catalogue::to_json(view.changes[i]));
    json::value failure;
    if (view.failure) failure = live_text(*view.failure);
    return {{"name", live_text(partition.name)},
            {"file", live_text(partition.file.native())},
            {"state", name(view.state)},
            {"run", number(view.run)},
            {"runs", view.runs},
            {"bad_runs", view.bad_runs},
            {"comment", live_text(view.comment)},
            {"started", live_seconds(view.started)},
            {"seconds", view.seconds},
            {"stop_reason", live_text(view.stop_reason)},
            {"failure", std::move(failure)},
            {"events", to_json(view.events)},
            {"rates",
             {{"triggers", rates.triggers},
              {"accepted", rates.accepted},
              {"built", rates.built},
              {"incomplete", rates.incomplete},
              {"recorded", rates.recorded},
              {"bytes", rates.bytes}}},
            {"sources", live_sources(*view.sources)},
            {"changes", std::move(changes)},
            {"last", live_last(view.last)}};
}

json::array live_stations(const std::vector<StationView>& stations) {
    json::array all;
    for (const auto& station : stations) {
        const auto& report = station.report;
        json::object counters;
        for (const auto& [counter, value] : report.status.counters)
            if (value != 0) counters[json::safe(counter)] = value;
        json::value error;
        if (report.error) error = live_text(*report.error);
        std::uint64_t latched = 0;
        for (const auto& alarm : report.alarms) latched += alarm.acknowledged_by ? 0U : 1U;
        all.push_back({{"name", station.entry.name},
                       {"kind", name(station.entry.kind)},
                       {"host", station.host},
                       {"state", station.state},
                       {"restarts", station.restarts},
                       {"rate", station.rate},
                       {"silent_seconds", station.silent_seconds},
                       {"error", std::move(error)},
                       {"alarms", latched},
                       {"ledger", to_json(report.status.ledger)},
                       {"counters", std::move(counters)}});
    }
    return all;
}

}  // namespace weir::control

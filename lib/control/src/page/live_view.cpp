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

constexpr double live_silence = std::chrono::duration<double>(silence_shown_after).count();

bool counts_events(StationKind kind) noexcept {
    return kind == StationKind::supervise || kind == StationKind::assign || kind == StationKind::record;
}

struct LiveCounts {
    RunEvents events{};
    double bytes = 0;
};

/// Of one station: the events of a run are sums over its stations.
LiveCounts live_counts(const StationView& station) {
    const auto& status = station.report.status;
    LiveCounts counts;
    StationResult result;
    result.name = station.entry.name;
    result.kind = station.entry.kind;
    result.ledger = status.ledger;
    result.counters = status.counters;
    counts.events = events_of({std::move(result)});
    if (station.entry.kind != StationKind::record) return counts;
    if (const auto stored = status.counters.find("bytes_stored"); stored != status.counters.end())
        counts.bytes = stored->second;
    return counts;
}

LiveRates live_rates(const LiveCounts& before, const LiveCounts& now, double seconds) {
    // A station that was replaced may count from zero.
    const auto rate = [seconds](auto from, auto to) {
        return to > from ? static_cast<double>(to - from) / seconds : 0.0;
    };
    return {rate(before.events.triggers, now.events.triggers), rate(before.events.accepted, now.events.accepted),
            rate(before.events.built, now.events.built),       rate(before.events.incomplete, now.events.incomplete),
            rate(before.events.recorded, now.events.recorded), rate(before.bytes, now.bytes)};
}

void add_rates(LiveRates& to, const LiveRates& rates) {
    for (const auto what : {&LiveRates::triggers, &LiveRates::accepted, &LiveRates::built, &LiveRates::incomplete,
                            &LiveRates::recorded, &LiveRates::bytes})
        to.*what += rates.*what;
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

LiveRates LiveMeter::look(const PartitionView& view) {
    if (std::exchange(run_, view.run) != view.run) stations_.clear();
    LiveRates all;
    for (const auto& station : view.stations) {
        if (!counts_events(station.entry.kind)) continue;
        const auto found = stations_.find(station.entry.name);
        if (!station.counted_at) {  // the counts stay: what comes next may go on with them
            if (found != stations_.end()) found->second.rates = {};
            continue;
        }
        auto seen = live_counts(station);
        if (found == stations_.end()) {
            stations_.emplace(station.entry.name, Seen{*station.counted_at, seen.events, seen.bytes, {}});
            continue;
        }
        auto& before = found->second;
        if (*station.counted_at > before.at) {
            const auto seconds = std::chrono::duration<double>(*station.counted_at - before.at).count();
            before = {*station.counted_at, seen.events, seen.bytes,
                      live_rates({before.events, before.bytes}, seen, seconds)};
        } else if (station.silent_seconds > live_silence) {
            before.rates = {};
        }
        add_rates(all, before.rates);
    }
    return all;
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

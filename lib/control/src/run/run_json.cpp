// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_json.hpp"

#include <fmt/format.h>

#include <array>

#include "weir/base/source_id.hpp"
#include "weir/base/suggest.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

constexpr std::size_t comment_max = 4096;
constexpr std::size_t parameters_max = 256;
constexpr std::size_t sources_shown = 4096;  // those that miss most, if there are more

template <class Value>
json::object counts(const std::map<std::string, Value>& values) {
    json::object object;
    for (const auto& [name, value] : values) object[json::safe(name)] = value;
    return object;
}

double seconds_of(WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

json::value optional_text(const std::optional<std::string>& text) {
    if (!text) return nullptr;
    return json::value(json::safe(*text));
}

json::array to_json(const std::vector<RunSource>& sources) {
    json::array all;
    for (const auto& source : worst(sources, sources_shown)) all.push_back(control::to_json(source));
    return all;
}

json::object to_json(const StationView& station) {
    const auto& report = station.report;
    json::array alarms;
    for (const auto& alarm : report.alarms)
        alarms.push_back({{"name", json::safe(alarm.name)},
                          {"text", json::safe(alarm.text)},
                          {"severity", json::safe(alarm.severity)}});
    return {{"name", station.entry.name},
            {"kind", name(station.entry.kind)},
            {"id", number(station.entry.id)},
            {"state", station.state},
            {"host", station.host},
            {"pid", station.pid},
            {"control", station.control},
            {"restarts", station.restarts},
            {"rate", station.rate},
            {"silent_seconds", station.silent_seconds},
            {"error", optional_text(report.error)},
            {"finished", report.status.finished},
            {"ledger", control::to_json(report.status.ledger)},
            {"counters", counts(report.status.counters)},
            {"alarms", std::move(alarms)}};
}

}  // namespace

json::object to_json(const service::StationLedger& ledger) {
    return {{"what", json::safe(ledger.what)},
            {"received", ledger.received},
            {"stored", ledger.stored},
            {"rejected", counts(ledger.rejected)},
            {"in_hand", ledger.in_hand}};
}

json::object to_json(const RunEvents& e) {
    return {{"triggers", e.triggers}, {"accepted", e.accepted},     {"rejected", e.rejected},
            {"built", e.built},       {"incomplete", e.incomplete}, {"recorded", e.recorded}};
}

json::object to_json(const RunSource& source) {
    const auto& c = source.counts;
    json::value last_seen;
    if (c.last_seen) last_seen = seconds_of(*c.last_seen);
    return {{"source", fmt::format("0x{:06x}", number(c.source))},
            {"readout", source.readout},
            {"expected", c.expected},
            {"arrived", c.arrived},
            {"bytes", c.bytes},
            {"late", c.late},
            {"lost", c.lost},
            {"missing", c.missing},
            {"missing_level2", source.missing_level2},
            {"duplicated", c.duplicated},
            {"disordered", c.disordered},
            {"jumps", c.jumps},
            {"refused", c.refused},
            {"masked_events", c.masked},
            {"masked", source.masked},
            {"silent", source.silent},
            {"outside", c.outside},
            {"last_seen", std::move(last_seen)}};
}

json::object to_json(const SelectionFaults& s) {
    return {{"forced", s.forced()}, {"threw", s.threw},       {"timed_out", s.timed_out},
            {"crashed", s.crashed}, {"unjudged", s.unjudged}, {"hanging", s.hanging}};
}

constexpr std::size_t ids_ranges_max = 100'000;

json::object to_json(const TriggerAccount& t) {
    const auto named = [](const NamedTriggers& n) {
        return json::object{{"triggers", n.triggers}, {"level1_ids", n.level1_ids.ranges(ids_ranges_max)}};
    };
    const auto optional = [](const std::optional<double>& number) {
        return number ? json::value(*number) : json::value();
    };
    return {{"running_seconds", t.running_seconds},
            {"dead_seconds", optional(t.dead_seconds)},
            {"dead_time", optional(t.dead_time())},
            {"in_dead_time", t.in_dead_time},
            {"busy_seconds", counts(t.busy_seconds)},
            {"lost", named(t.lost)},
            {"out_of_order", named(t.out_of_order)},
            {"too_far_ahead", named(t.too_far_ahead)},
            {"doubled", named(t.doubled)},
            {"malformed", t.malformed},
            {"plug_in_crashed", t.plug_in_crashed},
            {"plug_in_hung", t.plug_in_hung}};
}

json::value to_json(const std::optional<EventAccount>& account) {
    if (!account) return nullptr;
    const auto ids = [](const service::EventIds& events) {
        return json::object{{"events", events.count()}, {"ids", events.ranges(ids_ranges_max)}};
    };
    json::array lost;
    for (const auto& [cause, events] : account->lost) {
        auto one = ids(events);
        one["cause"] = cause;
        lost.push_back(std::move(one));
    }
    return json::object{{"accepted", account->accepted}, {"recorded", account->recorded},
                        {"rejected", account->rejected}, {"lost", std::move(lost)},
                        {"twice", ids(account->twice)},  {"unaccepted", ids(account->unaccepted)}};
}

json::value to_json(const std::optional<HandOffAccount>& hand_off) {
    if (!hand_off) return nullptr;
    json::array names;
    for (const auto* some : {&hand_off->names, &hand_off->names_kept}) {
        for (const auto& name : *some) {
            if (names.size() < HandOffAccount::names_max) names.push_back(json::safe(name));
        }
    }
    return json::object{{"closed", hand_off->closed},
                        {"handed_over", hand_off->handed_over},
                        {"left", hand_off->left},
                        {"names", std::move(names)}};
}

json::object to_json(const RunResult& result) {
    json::array stations;
    for (const auto& station : result.stations) {
        stations.push_back({{"name", station.name},
                            {"kind", name(station.kind)},
                            {"restarts", station.restarts},
                            {"ledger", to_json(station.ledger)},
                            {"counters", counts(station.counters)}});
    }
    json::array problems;
    for (const auto& problem : result.problems) problems.push_back(json::safe(problem));
    json::array alarms;
    for (const auto& alarm : result.alarms) alarms.push_back(json::safe(alarm));
    return {{"run", number(result.run)},
            {"seconds", result.seconds},
            {"reason", json::safe(result.reason)},
            {"events", to_json(result.events)},
            {"stations", std::move(stations)},
            {"sources", to_json(result.sources)},
            {"problems", std::move(problems)},
            {"account", to_json(result.account)},
            {"selection", to_json(result.selection)},
            {"triggers", to_json(result.triggers)},
            {"alarms", std::move(alarms)},
            {"files", result.files},
            {"hand_off", to_json(result.hand_off)},
            {"bytes_stored", result.bytes_stored},
            {"gb_per_s", result.seconds > 0 ? static_cast<double>(result.bytes_stored) / 1e9 / result.seconds : 0.0}};
}

json::object to_json(const Partition& partition, const PartitionView& view) {
    json::array stations;
    for (const auto& station : view.stations) stations.push_back(to_json(station));
    json::array changes;
    for (const auto& change : view.changes) changes.push_back(catalogue::to_json(change));
    json::value last;
    if (view.last) last = to_json(*view.last);
    return {{"partition", json::safe(partition.name)},
            {"file", json::safe(partition.file.native())},
            {"state", name(view.state)},
            {"run", number(view.run)},
            {"runs", view.runs},
            {"comment", json::safe(view.comment)},
            {"started", seconds_of(view.started)},
            {"seconds", view.seconds},
            {"stop_reason", json::safe(view.stop_reason)},
            {"failure", optional_text(view.failure)},
            {"events", to_json(view.events)},
            {"stations", std::move(stations)},
            {"sources", to_json(*view.sources)},
            {"changes", std::move(changes)},
            {"last", std::move(last)}};
}

json::object to_json(const HostView& host) {
    return {{"name", host.name},
            {"address", json::safe(host.address)},
            {"state", host.state},
            {"trouble", json::safe(host.trouble)},
            {"weir", json::safe(host.weir)},
            {"silent", host.silent},
            {"stations", host.stations},
            {"node", json::safe(host.node)}};
}

json::object to_json(const LogLine& line) {
    return {{"number", line.number},
            {"time", seconds_of(line.when)},
            {"station", line.station},
            {"text", json::safe(line.text)}};
}

Result<RunCommand> parse_run_command(std::string_view text) {
    const auto document = WEIR_TRY(json::parse(text, {.size = 256_KiB, .depth = 4}));
    json::Fields fields(document, "the command");
    const auto word = fields.text("command");
    RunCommand command;
    command.request.comment = fields.text("comment", "", comment_max);
    command.reason = fields.text("reason", "", comment_max);
    command.station = fields.text("station", "");
    const auto source = parse_source_id(fields.text("source", ""));
    command.person = fields.text("person", "");
    command.lease = fields.text("lease", "");
    if (const auto* parameters = fields.object("parameters")) {
        if (parameters->size() > parameters_max)
            fields.fail_with(fmt::format("more than {} parameters", parameters_max));
        json::Fields values(document.get_object().at("parameters"), "parameters");
        for (const auto& [key, value] : *parameters)
            command.request.parameters[std::string(key)] = values.text(key, std::nullopt, comment_max);
        if (auto read = values.result(); !read) fields.fail_with(read.error().context);
    }
    fields.no_others();
    WEIR_TRY(fields.result());
    const std::array words{std::string("start"),  std::string("stop"),   std::string("pause"),
                           std::string("resume"), std::string("exit"),   std::string("replace"),
                           std::string("mask"),   std::string("unmask"), std::string("apply")};
    const auto found = std::ranges::find(words, word);
    if (found == words.end())
        return fail(
            Errc::usage,
            fmt::format(
                "unknown command \"{}\"; there are start, stop, pause, resume, exit, replace, mask, unmask and apply{}",
                word, did_you_mean(word, words)));
    command.kind = static_cast<RunCommand::Kind>(found - words.begin());
    command.word = word;
    if (command.kind == RunCommand::Kind::replace && command.station.empty())
        return fail(Errc::usage, "replace: which \"station\"?");
    const bool masks = command.kind == RunCommand::Kind::mask || command.kind == RunCommand::Kind::unmask;
    if (masks && !source)
        return fail(Errc::usage, fmt::format("{}: which \"source\"? It is a text such as \"0x420000\"", word));
    command.source = source.value_or(SourceId{});
    return command;
}

}  // namespace weir::control

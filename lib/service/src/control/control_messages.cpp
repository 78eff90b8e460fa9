// SPDX-License-Identifier: Apache-2.0
#include "weir/service/control_messages.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "control/control_json.hpp"
#include "weir/base/source_id.hpp"
#include "weir/base/suggest.hpp"
#include "weir/json/parse.hpp"

namespace weir::service {
namespace {

constexpr json::Limits limits{Bytes{16U << 20}, 16};
constexpr double deadline_max = 3600;  // seconds
constexpr std::size_t names_max = 1000;

void read_sources(json::Fields& fields, Peer& peer, const std::string& what) {
    const auto* sources = fields.array("sources", sources_max);
    if (sources == nullptr) return;
    for (const auto& source : *sources) {
        const auto* text = source.if_string();
        const auto parsed = text != nullptr ? parse_source_id(*text) : std::nullopt;
        if (!parsed) return fields.fail_with(fmt::format("\"sources\" of {} are not texts such as \"0x7c0000\"", what));
        peer.sources.push_back(*parsed);
    }
}

Result<Peer> read_peer(const json::value& value, const std::string& what) {
    json::Fields fields(value, what);
    Peer peer;
    peer.name = fields.text("name");
    const auto kind_name = fields.text("kind");
    const auto kind = parse_station_kind(kind_name);
    if (!kind) fields.fail_with(fmt::format("\"kind\" of {} is no kind of station", what));
    peer.kind = kind.value_or(StationKind::readout);
    peer.id = wire::StationId{static_cast<std::uint16_t>(fields.number("id", std::nullopt, 65'535))};
    peer.dataflow = fields.text("dataflow", "");
    peer.events = fields.text("events", "");
    peer.control = fields.text("control", "");
    const auto link = fields.text("link", "udp");
    if (link != "udp" && link != "tcp") fields.fail_with(fmt::format("\"link\" of {} is neither udp nor tcp", what));
    peer.tcp = link == "tcp";
    read_sources(fields, peer, what);
    peer.busy = fields.flag("busy", false);
    peer.triggers = fields.flag("triggers", false);
    if (const auto first = fields.text("first", ""); !first.empty()) {
        peer.first = parse_source_id(first);
        if (!peer.first) fields.fail_with(fmt::format("\"first\" of {} is no text such as \"0x7c0000\"", what));
    }
    WEIR_TRY(fields.result());
    return peer;
}

double seconds_of(WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

json::object json_of(const SourceStatus& source) {
    return {{"source", fmt::format("0x{:x}", number(source.source))},
            {"outside", source.outside},
            {"arrived", source.arrived},
            {"bytes", source.bytes},
            {"late", source.late},
            {"lost", source.lost},
            {"duplicated", source.duplicated},
            {"disordered", source.disordered},
            {"jumps", source.jumps},
            {"refused", source.refused},
            {"last_seen", source.last_seen ? json::value(seconds_of(*source.last_seen)) : json::value(nullptr)},
            {"expected", source.expected},
            {"missing", source.missing},
            {"masked", source.masked}};
}

/// Counts that are absent are 0: a station of an earlier version has none of them.
void read_source_status(const json::value& value, StationStatus& status, json::Fields& outer) {
    constexpr double seconds_max = 9e9;  // fits the clock's nanoseconds
    json::Fields fields(value, "a source");
    SourceStatus source;
    const auto id = parse_source_id(fields.text("source"));
    if (!id) fields.fail_with("\"source\" of a source is no text such as \"0x7c0000\"");
    source.source = id.value_or(SourceId{});
    source.outside = fields.flag("outside", false);
    source.arrived = fields.number("arrived", 0);
    source.bytes = fields.number("bytes", 0);
    source.late = fields.number("late", 0);
    source.lost = fields.number("lost", 0);
    source.duplicated = fields.number("duplicated", 0);
    source.disordered = fields.number("disordered", 0);
    source.jumps = fields.number("jumps", 0);
    source.refused = fields.number("refused", 0);
    if (fields.has("last_seen") && !value.at("last_seen").is_null()) {
        const auto seconds = fields.real("last_seen");
        if (!(seconds >= 0 && seconds <= seconds_max)) fields.fail_with("\"last_seen\" of a source is no time");
        else source.last_seen = WallTime(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
    }
    source.expected = fields.number("expected", 0);
    source.missing = fields.number("missing", 0);
    source.masked = fields.number("masked", 0);
    if (auto good = fields.result(); !good) return outer.fail_with(good.error().context);
    status.sources.push_back(source);
}

void read_mask(const json::value& value, StationRequest& request, json::Fields& outer) {
    json::Fields fields(value, "a mask");
    const auto source = parse_source_id(fields.text("source"));
    if (!source) fields.fail_with("\"source\" of a mask is no text such as \"0x7c0000\"");
    SourceMask mask{source.value_or(SourceId{}), fields.flag("masked"), {}};
    if (fields.has("from"))
        mask.from = Level1Id{static_cast<std::uint32_t>(fields.number("from", std::nullopt, 0xffff'ffff))};
    fields.no_others();
    if (auto good = fields.result(); !good) return outer.fail_with(good.error().context);
    request.masks.push_back(mask);
}

std::vector<std::string> request_names() {
    std::vector<std::string> names;
    for (const auto transition : transitions) names.emplace_back(name(transition));
    names.insert(names.end(), {"change_peers", "mask", "exit"});
    return names;
}

void read_ledger(const json::value& value, StationLedger& ledger, json::Fields& outer) {
    json::Fields fields(value, "the ledger");
    ledger.what = fields.text("what", "events");
    ledger.received = fields.number("received");
    ledger.stored = fields.number("stored");
    ledger.in_hand = fields.number("in_hand");
    if (const auto* rejected = fields.object("rejected")) {
        json::Fields reasons(*value.as_object().if_contains("rejected"), "the rejected");
        for (const auto& [reason, count] : *rejected) {
            if (ledger.rejected.size() < names_max) ledger.rejected[std::string(reason)] = reasons.number(reason);
        }
        if (auto good = reasons.result(); !good) fields.fail_with(good.error().context);
    }
    if (auto good = fields.result(); !good) outer.fail_with(good.error().context);
}

void read_alarms(const json::array& alarms, StationReport& report, json::Fields& outer) {
    for (const auto& value : alarms) {
        json::Fields fields(value, "an alarm");
        StationReport::LatchedAlarm alarm;
        alarm.name = fields.text("name", std::nullopt, 4096);
        alarm.text = fields.text("text", "", 65'536);
        alarm.severity = fields.text("severity", "");
        alarm.raised = fields.number("raised", 1);
        if (const auto by = fields.text("acknowledged_by", ""); !by.empty()) alarm.acknowledged_by = by;
        alarm.first = fields.real("first", 0.0);
        alarm.last = fields.real("last", 0.0);
        if (auto good = fields.result(); !good) return outer.fail_with(good.error().context);
        report.alarms.push_back(std::move(alarm));
    }
}

}  // namespace

const char* name(const StationRequest& request) noexcept {
    switch (request.kind) {
        case StationRequestKind::transition: return name(request.transition);
        case StationRequestKind::change_peers: return "change_peers";
        case StationRequestKind::mask: return "mask";
        case StationRequestKind::exit: return "exit";
    }
    return "unknown";
}

json::object json_of(const Peer& peer) {
    json::array sources;
    for (const auto source : peer.sources) sources.emplace_back(fmt::format("0x{:x}", number(source)));
    json::object object{{"name", json::safe(peer.name)},
                        {"kind", name(peer.kind)},
                        {"id", static_cast<std::uint16_t>(peer.id)},
                        {"dataflow", json::safe(peer.dataflow)},
                        {"events", json::safe(peer.events)},
                        {"sources", sources},
                        {"link", peer.tcp ? "tcp" : "udp"}};
    if (!peer.control.empty()) object["control"] = json::safe(peer.control);
    if (peer.busy) object["busy"] = true;
    if (peer.triggers) object["triggers"] = true;
    if (peer.first) object["first"] = fmt::format("0x{:x}", number(*peer.first));
    return object;
}

json::object json_of(const StationReport::LatchedAlarm& alarm) {
    return {{"name", json::safe(alarm.name)},
            {"severity", alarm.severity},
            {"text", json::safe(alarm.text)},
            {"raised", alarm.raised},
            {"first", alarm.first},
            {"last", alarm.last},
            {"acknowledged_by",
             alarm.acknowledged_by ? json::value(json::safe(*alarm.acknowledged_by)) : json::value(nullptr)}};
}

StationReport::LatchedAlarm latched_alarm(const Alarm& alarm) {
    const auto seconds = [](WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); };
    return {alarm.name,
            on_one_line(one_line(alarm.report)),
            std::string(name(alarm.report.severity)),
            alarm.raised,
            alarm.acknowledged_by,
            seconds(alarm.first),
            seconds(alarm.last)};
}

std::string to_json(const StationRequest& request) {
    json::object object{{"name", name(request)}};
    if (request.run) object["run"] = number(*request.run);
    if (request.again) object["again"] = true;
    if (request.deadline) object["deadline"] = std::chrono::duration<double>(*request.deadline).count();
    if (!request.peers.empty()) {
        json::array peers;
        for (const auto& peer : request.peers) peers.push_back(json_of(peer));
        object["peers"] = std::move(peers);
    }
    if (!request.masks.empty()) {
        json::array masks;
        for (const auto& mask : request.masks) {
            json::object change{{"source", fmt::format("0x{:x}", number(mask.source))}, {"masked", mask.masked}};
            if (mask.from) change["from"] = number(*mask.from);
            masks.push_back(std::move(change));
        }
        object["masks"] = std::move(masks);
    }
    return json::serialize(object);
}

std::string to_json(const StationReport& report) {
    const auto& ledger = report.status.ledger;
    json::object rejected, counters;
    for (const auto& [reason, count] : ledger.rejected) rejected[json::safe(reason)] = count;
    for (const auto& [what, value] : report.status.counters)
        counters[json::safe(what)] = std::isfinite(value) ? value : 0.0;
    json::array alarms, sources;
    for (const auto& alarm : report.alarms) alarms.push_back(json_of(alarm));
    for (const auto& source : report.status.sources) sources.push_back(json_of(source));
    const json::object object{
        {"station", json::safe(report.station)},
        {"kind", name(report.kind)},
        {"id", static_cast<std::uint16_t>(report.id)},
        {"pid", report.pid},
        {"state", name(report.state)},
        {"run", report.run ? json::value(number(*report.run)) : json::value(nullptr)},
        {"transition", report.transition ? json::value{{"name", report.transition->name},
                                                       {"seconds", report.transition->since.count()}}
                                         : json::value(nullptr)},
        {"error", report.error ? json::value(json::safe(*report.error)) : json::value(nullptr)},
        {"finished", report.status.finished},
        {"ledger",
         {{"what", json::safe(ledger.what)},
          {"received", ledger.received},
          {"stored", ledger.stored},
          {"rejected", rejected},
          {"in_hand", ledger.in_hand}}},
        {"counters", counters},
        {"sources", sources},
        {"alarms", alarms},
        {"self", report.self ? json::value(json_of(*report.self)) : json::value(nullptr)}};
    return json::serialize(object);
}

Result<StationRequest> parse_station_request(std::string_view text) {
    const auto value = WEIR_TRY(json::parse(text, limits));
    json::Fields fields(value, "the request");
    StationRequest request;
    const auto what = fields.text("name");
    if (const auto transition = parse_transition(what)) {
        request.transition = *transition;
    } else if (what == "change_peers" || what == "mask" || what == "exit") {
        request.kind = what == "exit"   ? StationRequestKind::exit
                       : what == "mask" ? StationRequestKind::mask
                                        : StationRequestKind::change_peers;
    } else {
        fields.fail_with(
            fmt::format("\"{}\" is no transition{}", on_one_line(what, 60), did_you_mean(what, request_names())));
    }
    const bool starts = request.kind == StationRequestKind::transition && request.transition == Transition::start;
    if (fields.has("run") || starts)
        request.run = RunNumber{static_cast<std::uint32_t>(fields.number("run", std::nullopt, 0xffff'ffff))};
    if (starts) request.again = fields.flag("again", false);
    if (fields.has("deadline")) {
        const auto seconds = fields.real("deadline");
        if (!(seconds >= 0 && seconds <= deadline_max))
            fields.fail_with("\"deadline\" of the request is not a number of seconds from 0 to 3600");
        else request.deadline = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
    }
    if (const auto* peers = fields.array("peers", peers_max)) {
        for (std::size_t i = 0; i < peers->size(); ++i) {
            auto peer = read_peer((*peers)[i], fmt::format("peers[{}]", i));
            if (!peer) {
                fields.fail_with(peer.error().context);
                break;
            }
            request.peers.push_back(std::move(*peer));
        }
    }
    if (starts || request.kind == StationRequestKind::mask) {
        if (const auto* masks = fields.array("masks", masks_max)) {
            for (const auto& mask : *masks) read_mask(mask, request, fields);
        }
    }
    fields.no_others();
    WEIR_TRY(fields.result());
    return request;
}

Result<StationReport> parse_station_report(std::string_view text) {
    json::monotonic_resource memory(text.size());
    const auto document = WEIR_TRY(json::parse(text, limits, &memory));
    return read_station_report(document);
}

Result<StationReport> read_station_report(const json::value& value) {
    json::Fields fields(value, "the status");
    StationReport report;
    report.station = fields.text("station");
    const auto kind = parse_station_kind(fields.text("kind"));
    const auto state = parse_station_state(fields.text("state"));
    if (!kind || !state) fields.fail_with("\"kind\" or \"state\" of the status is not known");
    report.kind = kind.value_or(StationKind::readout);
    report.state = state.value_or(StationState::initial);
    report.id = wire::StationId{static_cast<std::uint16_t>(fields.number("id", 0, 65'535))};
    report.pid = fields.number("pid", 0);
    if (fields.has("run") && !value.at("run").is_null())
        report.run = RunNumber{static_cast<std::uint32_t>(fields.number("run", 0, 0xffff'ffff))};
    if (fields.object("transition") != nullptr) {
        json::Fields inner(value.at("transition"), "the transition");
        report.transition = {inner.text("name"), std::chrono::duration<double>(inner.real("seconds", 0))};
        if (auto good = inner.result(); !good) fields.fail_with(good.error().context);
    }
    if (auto error = fields.text("error", "", 65'536); !error.empty()) report.error = std::move(error);
    report.status.finished = fields.flag("finished", false);
    if (fields.object("ledger") != nullptr) read_ledger(value.at("ledger"), report.status.ledger, fields);
    if (const auto* counters = fields.object("counters")) {
        json::Fields inner(value.at("counters"), "the counters");
        for (const auto& [what, count] : *counters) {
            if (report.status.counters.size() < names_max) report.status.counters[std::string(what)] = inner.real(what);
        }
        if (auto good = inner.result(); !good) fields.fail_with(good.error().context);
    }
    if (const auto* sources = fields.array("sources", sources_max)) {
        report.status.sources.reserve(sources->size());
        for (const auto& source : *sources) read_source_status(source, report.status, fields);
    }
    if (const auto* alarms = fields.array("alarms", 10'000)) read_alarms(*alarms, report, fields);
    if (fields.object("self") != nullptr) {
        auto self = read_peer(value.at("self"), "self");
        if (self) report.self = std::move(*self);
        else fields.fail_with(self.error().context);
    }
    WEIR_TRY(fields.result());
    return report;
}

}  // namespace weir::service

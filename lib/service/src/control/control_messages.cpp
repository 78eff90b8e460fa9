// SPDX-License-Identifier: Apache-2.0
#include "weir/service/control_messages.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>

#include "control/control_json.hpp"
#include "weir/base/suggest.hpp"
#include "weir/json/parse.hpp"

namespace weir::service {
namespace {

constexpr json::Limits limits{Bytes{16U << 20}, 16};
constexpr double deadline_max = 3600;  // seconds
constexpr std::size_t names_max = 1000;

std::optional<SourceId> parse_source(std::string_view text) {
    if (!text.starts_with("0x")) return std::nullopt;
    text.remove_prefix(2);
    std::uint32_t value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return SourceId{value};
}

void read_sources(json::Fields& fields, Peer& peer, const std::string& what) {
    const auto* sources = fields.array("sources", sources_max);
    if (sources == nullptr) return;
    for (const auto& source : *sources) {
        const auto* text = source.if_string();
        const auto parsed = text != nullptr ? parse_source(*text) : std::nullopt;
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
    const auto link = fields.text("link", "udp");
    if (link != "udp" && link != "tcp") fields.fail_with(fmt::format("\"link\" of {} is neither udp nor tcp", what));
    peer.tcp = link == "tcp";
    read_sources(fields, peer, what);
    WEIR_TRY(fields.result());
    return peer;
}

std::vector<std::string> request_names() {
    std::vector<std::string> names;
    for (const auto transition : transitions) names.emplace_back(name(transition));
    names.insert(names.end(), {"change_peers", "exit"});
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
        if (auto good = fields.result(); !good) return outer.fail_with(good.error().context);
        report.alarms.push_back(std::move(alarm));
    }
}

}  // namespace

const char* name(const StationRequest& request) noexcept {
    switch (request.kind) {
        case StationRequestKind::transition: return name(request.transition);
        case StationRequestKind::change_peers: return "change_peers";
        case StationRequestKind::exit: return "exit";
    }
    return "unknown";
}

json::object json_of(const Peer& peer) {
    json::array sources;
    for (const auto source : peer.sources) sources.emplace_back(fmt::format("0x{:x}", number(source)));
    return {{"name", json::safe(peer.name)},
            {"kind", name(peer.kind)},
            {"id", static_cast<std::uint16_t>(peer.id)},
            {"dataflow", json::safe(peer.dataflow)},
            {"events", json::safe(peer.events)},
            {"sources", sources},
            {"link", peer.tcp ? "tcp" : "udp"}};
}

json::object json_of(const StationReport::LatchedAlarm& alarm) {
    return {{"name", json::safe(alarm.name)},
            {"severity", alarm.severity},
            {"text", json::safe(alarm.text)},
            {"raised", alarm.raised},
            {"acknowledged_by",
             alarm.acknowledged_by ? json::value(json::safe(*alarm.acknowledged_by)) : json::value(nullptr)}};
}

StationReport::LatchedAlarm latched_alarm(const Alarm& alarm) {
    return {alarm.name, on_one_line(one_line(alarm.report)), std::string(name(alarm.report.severity)), alarm.raised,
            alarm.acknowledged_by};
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
    return json::serialize(object);
}

std::string to_json(const StationReport& report) {
    const auto& ledger = report.status.ledger;
    json::object rejected, counters;
    for (const auto& [reason, count] : ledger.rejected) rejected[json::safe(reason)] = count;
    for (const auto& [what, value] : report.status.counters)
        counters[json::safe(what)] = std::isfinite(value) ? value : 0.0;
    json::array alarms;
    for (const auto& alarm : report.alarms) alarms.push_back(json_of(alarm));
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
    } else if (what == "change_peers" || what == "exit") {
        request.kind = what == "exit" ? StationRequestKind::exit : StationRequestKind::change_peers;
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
    fields.no_others();
    WEIR_TRY(fields.result());
    return request;
}

Result<StationReport> parse_station_report(std::string_view text) {
    const auto value = WEIR_TRY(json::parse(text, limits));
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

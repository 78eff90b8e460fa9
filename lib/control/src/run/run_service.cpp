// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>

#include "weir/control/run_json.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

using Method = service::HttpRoute::Method;

constexpr std::size_t log_lines_max = 1000;  // of one answer
constexpr std::chrono::milliseconds acknowledge_deadline{5000};

service::HttpResponse answer_of(const json::value& value) { return {200, json::serialize(value), "application/json"}; }

service::HttpResponse refusal(const Error& error) {
    return service::http_error(error.code == Errc::usage     ? 400
                               : error.code == Errc::refused ? 409
                                                             : 500,
                               error.message());
}

/// "after=17" -> 17; nothing: 0.
std::uint64_t after_of(std::string_view query) {
    constexpr std::string_view key = "after=";
    std::uint64_t number = 0;
    if (query.starts_with(key)) std::from_chars(query.data() + key.size(), query.data() + query.size(), number);
    return number;
}

service::HttpResponse log_after(const LogBook& log, std::uint64_t after) {
    json::array lines;
    for (const auto& line : log.after(after, log_lines_max)) lines.push_back(to_json(line));
    return answer_of(json::object{{"last", log.last()}, {"lines", std::move(lines)}});
}

/// For Prometheus' HTTP service discovery: what there is to scrape beside this port, a station behind an agent by its
/// path there. https://prometheus.io/docs/prometheus/latest/http_sd/
service::HttpResponse targets_of(const RunServiceParts& parts) {
    json::array targets;
    const auto add = [&](const std::string& address, json::object labels) {
        const auto slash = std::min(address.find('/'), address.size());
        labels["partition"] = json::safe(parts.partition.name);
        labels["__metrics_path__"] = address.substr(slash) + "/metrics";
        targets.push_back(json::object{{"targets", json::array{json::value(address.substr(0, slash))}},
                                       {"labels", std::move(labels)}});
    };
    if (parts.hosts) {
        for (const auto& host : parts.hosts())
            if (!host.address.empty()) add(host.address, {{"station", "host"}, {"kind", "host"}, {"host", host.name}});
    }
    for (const auto& station : parts.control.view().stations) {
        if (station.control.empty()) continue;
        add(station.control,
            {{"station", station.entry.name}, {"kind", name(station.entry.kind)}, {"host", station.host}});
    }
    return answer_of(targets);
}

/// Who asks: as the certificate says, else from the page who is in control, else as the request says.
std::string person_of(const RunServiceParts& parts, const service::HttpRequest& request, const std::string& named) {
    if (!request.person.empty()) return request.person;
    if (const auto holder = request.of_page && parts.lease != nullptr ? parts.lease->holder() : std::nullopt)
        return holder->person;
    return named;
}

/// Whether who asks may command, with regard to who is in control.
Result<> allowed(const RunServiceParts& parts, const service::HttpRequest& request, const std::string& lease) {
    if (parts.lease != nullptr) return parts.lease->allows(lease, request.of_page);
    if (request.of_page) return fail(Errc::refused, "pages command nothing here");
    return {};
}

/// An alarm of a station, at its control port.
void acknowledge_there(const RunServiceParts& parts, const std::string& station, const std::string& alarm,
                       const std::string& person, const service::HttpAnswer& answer) {
    const auto stations = parts.control.view().stations;
    const auto found = std::ranges::find(stations, station, [](const StationView& view) { return view.entry.name; });
    if (found == stations.end() || parts.calls == nullptr)
        return answer(service::http_error(400, fmt::format("no station \"{}\" has alarms", station)));
    if (found->control.empty())
        return answer(
            service::http_error(409, fmt::format("{} is not there; its alarms are when it is back", station)));
    const auto body = json::serialize(json::object{{"name", json::safe(alarm)}, {"person", json::safe(person)}});
    parts.calls->post(found->control, "/alarms/acknowledge", body, acknowledge_deadline, [answer](const auto& given) {
        if (!given) return answer(service::http_error(500, given.error().message()));
        answer(given->good() ? service::HttpResponse{.status = 200, .body = given->body}
                             : service::http_error(given->status == 404 ? 409 : given->status, given->error()));
    });
}

void acknowledge(const RunServiceParts& parts, const service::HttpRequest& request, const service::HttpAnswer& answer) {
    const auto document = json::parse(request.body);
    if (!document) return answer(refusal(document.error()));
    json::Fields fields(*document, "the request");
    const auto alarm = fields.text("name", std::nullopt, 1000);
    const auto named = fields.text("person", request.of_page ? std::optional<std::string>("") : std::nullopt);
    const auto station = fields.text("station", "run");
    const auto lease = fields.text("lease", "");
    fields.no_others();
    if (auto read = fields.result(); !read) return answer(refusal(read.error()));
    if (request.of_page || !lease.empty()) {
        if (const auto may = allowed(parts, request, lease); !may) return answer(refusal(may.error()));
    }
    const auto person = person_of(parts, request, named);
    if (station != "run") return acknowledge_there(parts, station, alarm, person, answer);
    if (!parts.reports.acknowledge(alarm, person))
        return answer(service::http_error(409, fmt::format("no alarm \"{}\" is latched", alarm)));
    answer(answer_of(json::object{{"acknowledged", json::safe(alarm)}}));
}

json::array texts(const std::vector<std::string>& from) {
    json::array all;
    for (const auto& text : from) all.emplace_back(json::safe(text));
    return all;
}

service::HttpResponse apply(const RunServiceParts& parts) {
    const auto applied = parts.apply();
    if (!applied) return refusal(applied.error());
    return answer_of(json::object{{"state", name(parts.control.view().state)},
                                  {"at_once", texts(applied->at_once)},
                                  {"anew", texts(applied->anew)}});
}

/// Of a stop or an end: as the command says, with the name in the certificate.
std::string reason_of(const service::HttpRequest& request, const RunCommand& command, const char* done,
                      const std::string& person) {
    if (command.reason.empty()) return fmt::format("{} by {}", done, person);
    return request.person.empty() ? command.reason : fmt::format("{} ({})", command.reason, request.person);
}

service::HttpResponse obey(const RunServiceParts& parts, const service::HttpRequest& request) {
    auto& control = parts.control;
    const auto command = parse_run_command(request.body);
    if (!command) return refusal(command.error());
    if (const auto may = allowed(parts, request, command->lease); !may) return refusal(may.error());
    const auto person = person_of(parts, request, command->person.empty() ? "command" : command->person);
    Result<> done;
    switch (command->kind) {
        case RunCommand::Kind::start:
            if (const auto run = control.start(command->request); !run) done = std::unexpected(run.error());
            break;
        case RunCommand::Kind::stop:
            done = control.stop(reason_of(request, *command, "stopped", person), Drain::bounded, person);
            break;
        case RunCommand::Kind::pause: done = control.pause(person); break;
        case RunCommand::Kind::resume: done = control.resume(person); break;
        case RunCommand::Kind::replace: done = control.replace(command->station, person); break;
        case RunCommand::Kind::mask:
        case RunCommand::Kind::unmask:
            done = control.mask(command->source, command->kind == RunCommand::Kind::mask, person);
            break;
        case RunCommand::Kind::apply: return apply(parts);
        case RunCommand::Kind::exit: control.shut_down(reason_of(request, *command, "ended", person), person); break;
    }
    if (!done) return refusal(done.error());
    if (request.of_page)
        parts.reports.submit({.what = fmt::format("{}, by {} at the page", command->word, on_one_line(person)),
                              .key = "a command of the page: " + command->word});
    const auto view = control.view();
    return answer_of(json::object{{"state", name(view.state)}, {"run", number(view.run)}, {"runs", view.runs}});
}

}  // namespace

std::vector<service::HttpRoute> run_routes(const RunServiceParts& parts) {
    return {
        {Method::get, "/partition",
         [parts](const service::HttpRequest&, const service::HttpAnswer& answer) {
             auto document = to_json(parts.partition, parts.control.view());
             json::array hosts;
             if (parts.hosts) {
                 for (const auto& host : parts.hosts()) hosts.push_back(to_json(host));
             }
             document["hosts"] = std::move(hosts);
             answer(answer_of(document));
         }},
        log_route(parts.log),
        {Method::get, "/alarms",
         [parts](const service::HttpRequest&, const service::HttpAnswer& answer) {
             answer(answer_of(json::object{{"alarms", alarms_of(parts.reports, parts.control.view().stations)}}));
         }},
        {Method::post, "/alarms/acknowledge",
         [parts](const service::HttpRequest& request, const service::HttpAnswer& answer) {
             acknowledge(parts, request, answer);
         }},
        {Method::post, "/run",
         [parts](const service::HttpRequest& request, const service::HttpAnswer& answer) {
             answer(obey(parts, request));
         }},
        {Method::get, "/targets",
         [parts](const service::HttpRequest&, const service::HttpAnswer& answer) { answer(targets_of(parts)); }},
        service::metrics_route(parts.metrics),
    };
}

service::HttpRoute log_route(LogBook& log) {
    return {Method::get, "/log", [&log](const service::HttpRequest& request, const service::HttpAnswer& answer) {
                answer(log_after(log, after_of(request.query)));
            }};
}

json::array alarms_of(const service::Reports& reports, const std::vector<StationView>& stations) {
    json::array alarms;
    const auto add = [&](const std::string& station, const std::string& alarm, const std::string& text,
                         std::string_view severity, const std::optional<std::string>& acknowledged_by,
                         std::uint64_t raised) -> json::object& {
        alarms.push_back({{"station", station},
                          {"name", json::safe(alarm)},
                          {"text", json::safe(text)},
                          {"severity", json::safe(severity)},
                          {"latched", !acknowledged_by},
                          {"raised", raised}});
        auto& added = alarms.back().get_object();
        if (acknowledged_by) added["acknowledged_by"] = json::safe(*acknowledged_by);
        return added;
    };
    const auto seconds = [](WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); };
    for (const auto& alarm : reports.alarms()) {
        auto& added = add("run", alarm.name, text_of(alarm.report), name(alarm.report.severity), alarm.acknowledged_by,
                          alarm.raised);
        added["first"] = seconds(alarm.first);
        added["last"] = seconds(alarm.last);
    }
    for (const auto& station : stations) {
        for (const auto& alarm : station.report.alarms) {
            auto& added =
                add(station.entry.name, alarm.name, alarm.text, alarm.severity, alarm.acknowledged_by, alarm.raised);
            if (alarm.last == 0) continue;
            added["first"] = alarm.first;
            added["last"] = alarm.last;
        }
    }
    return alarms;
}

}  // namespace weir::control

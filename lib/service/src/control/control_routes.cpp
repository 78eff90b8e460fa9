// SPDX-License-Identifier: Apache-2.0
#include "control/control_routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "control/control_json.hpp"
#include "weir/base/data.hpp"
#include "weir/json/parse.hpp"
#include "weir/serial/writer.hpp"

namespace weir::service {
namespace {

using enum HttpRoute::Method;

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

HttpResponse as_json(const json::value& document) { return {.status = 200, .body = json::serialize(document) + "\n"}; }

json::object json_of(const ThreadAccount::Times& times) {
    json::object waiting, blocked;
    for (std::size_t i = 0; i < wait_cause_count; ++i) {
        const auto cause = static_cast<WaitCause>(i);
        if (times.waits[i] > 0 || times.waited[i].count() > 0)
            (blocks(cause) ? blocked : waiting)[name(cause)] = seconds(times.waited[i]);
    }
    return {{"name", json::safe(times.thread)},
            {"threads", times.threads},
            {"ended", times.ended},
            {"running", seconds(times.running)},
            {"processor", seconds(times.processor)},
            {"waiting", waiting},
            {"blocked", blocked}};
}

HttpResponse threads_of(const ThreadAccounts& accounts) {
    json::array threads;
    for (const auto& times : accounts.times()) threads.push_back(json_of(times));
    return as_json({{"threads", threads}});
}

HttpResponse alarms_of(const Reports& reports) {
    json::array alarms;
    for (const auto& alarm : reports.alarms()) alarms.push_back(json_of(latched_alarm(alarm)));
    return as_json({{"alarms", alarms}});
}

HttpResponse acknowledge(Reports& reports, const HttpRequest& request) {
    const auto document = json::parse(request.body);
    if (!document) return http_error(400, document.error().message());
    json::Fields fields(*document, "the request");
    const auto alarm = fields.text("name", std::nullopt, 4096);
    const auto person = fields.text("person", std::nullopt, 100);
    fields.no_others();
    if (person.empty()) fields.fail_with("\"person\" of the request is empty; give the name of who acknowledges");
    if (const auto good = fields.result(); !good) return http_error(400, good.error().message());
    if (!reports.acknowledge(alarm, request.person.empty() ? person : request.person))
        return http_error(404, "no alarm of that name is latched");
    return as_json({{"acknowledged", json::safe(alarm)}});
}

HttpResponse sample_of(const SampledEvents& samples) {
    const auto event = samples.latest();
    if (!event) return {.status = 204, .content_type = "application/octet-stream"};
    return {.status = 200, .body = std::string(as_text(*event)), .content_type = "application/octet-stream"};
}

constexpr const char* object_type = "application/octet-stream";

template <serial::Object T>
HttpResponse as_object(const T& object) {
    serial::Writer writer;
    if (const auto written = writer.write_any(&object); !written) return http_error(500, written.error().message());
    return {.status = 200, .body = std::string(as_text(writer.data())), .content_type = object_type};
}

/// Made of the copy that was taken, here and now: the thread that offers events has no part in it.
HttpResponse sample_object_of(const SampledEvents& samples, const ReadSample& read) {
    const auto event = samples.latest();
    if (!event) return {.status = 204, .content_type = object_type};
    const auto object = read(*event);
    return object ? as_object(*object) : http_error(500, object.error().message());
}

/// The next event of some kind, when there is one.
void tap_event(SampledEvents& samples, const Clock& clock, const HttpRequest& request, const HttpAnswer& answer) {
    auto wish = parse_tap_wish(request.query);
    if (!wish) return answer(http_error(400, wish.error().message()));
    samples.tap().ask(std::move(*wish), clock.now(), [answer](Tapped tapped) {
        if (tapped.refused) return answer(http_error(503, "as many taps as there may be wait here already; ask later"));
        if (tapped.event) return answer({.status = 200, .body = std::move(*tapped.event), .content_type = object_type});
        json::array streams;
        for (const auto& stream : tapped.streams) streams.emplace_back(json::safe(stream));
        answer(as_json({{"passed", tapped.passed}, {"too_large", tapped.too_large}, {"streams", std::move(streams)}}));
    });
}

HttpResponse response_to(const StationAnswer& answer) {
    json::object document{{"state", name(answer.state)}};
    if (!answer.error.empty()) document["error"] = json::safe(answer.error);
    auto response = as_json(document);
    using enum StationAnswer::Outcome;
    response.status = answer.outcome == done ? 200 : answer.outcome == late ? 504 : 409;
    return response;
}

void transition(FrameLoop& loop, const HttpRequest& request, HttpAnswer answer) {
    auto parsed = parse_station_request(request.body);
    if (!parsed) return answer(http_error(400, parsed.error().message()));
    loop.request(std::move(*parsed),
                 [answer = std::move(answer)](const StationAnswer& given) { answer(response_to(given)); });
}

}  // namespace

std::vector<HttpRoute> control_routes(FrameLoop& loop, const StationServices& services,
                                      const StationFrameOptions& options) {
    std::vector<HttpRoute> routes;
    const auto question = [&](const char* path, auto reply) {
        routes.push_back({get, path, [reply](const HttpRequest&, const HttpAnswer& answer) { answer(reply()); }});
    };
    routes.push_back(metrics_route(services.metrics));
    question("/status", [&loop] { return HttpResponse{.status = 200, .body = to_json(loop.report()) + "\n"}; });
    question("/status/object",
             [&loop, &clock = services.clock] { return as_object(snapshot_of(loop.report(), clock.wall())); });
    question("/events", [&loop] {
        return HttpResponse{.status = 200, .body = to_text(loop.events()), .content_type = "text/plain; charset=utf-8"};
    });
    question("/threads", [&threads = services.threads] { return threads_of(threads); });
    question("/sample", [&samples = services.samples] { return sample_of(samples); });
    if (options.read_sample)
        question("/sample/object",
                 [&samples = services.samples, read = options.read_sample] { return sample_object_of(samples, read); });
    if (options.tap_matches)
        routes.push_back({get, "/tap",
                          [&samples = services.samples, &clock = services.clock](const HttpRequest& request,
                                                                                 const HttpAnswer& answer) {
                              tap_event(samples, clock, request, answer);
                          }});
    question("/alarms", [&reports = services.reports] { return alarms_of(reports); });
    routes.insert(routes.end(), options.routes.begin(), options.routes.end());
    for (auto& route : loop.routes()) routes.push_back(std::move(route));
    if (options.read_only) return routes;
    routes.push_back({post, "/transition", [&loop](const HttpRequest& request, HttpAnswer answer) {
                          transition(loop, request, std::move(answer));
                      }});
    routes.push_back({post, "/alarms/acknowledge",
                      [&reports = services.reports](const HttpRequest& request, const HttpAnswer& answer) {
                          answer(acknowledge(reports, request));
                      }});
    return routes;
}

}  // namespace weir::service

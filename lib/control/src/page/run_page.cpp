// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_page.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <deque>
#include <iterator>
#include <mutex>

#include "page/event_look.hpp"
#include "page/live_view.hpp"
#include "page/question_thread.hpp"
#include "weir/control/files_route.hpp"
#include "weir/control/run_json.hpp"
#include "weir/json/parse.hpp"
#include "weir/page/history.hpp"
#include "weir/page/live_document.hpp"
#include "weir/page/page_routes.hpp"

namespace weir::control {
namespace {

using Method = service::HttpRoute::Method;

constexpr std::size_t alarms_shown = 200;
constexpr std::size_t alarm_text_shown = 2000;  // bytes
constexpr std::size_t lines_shown = 8;          // of the log
constexpr std::size_t line_shown = 500;         // bytes
constexpr Bytes monitor_answer_max{64U << 20};
constexpr std::size_t monitors_asked_max = 8;  // at once
constexpr std::size_t search_max = 200;        // bytes
constexpr std::chrono::milliseconds monitor_deadline{5000};

/// What is given of the history to who names no series: all of a large partition would take long.
constexpr std::array partition_series{"triggers", "accepted", "built", "incomplete", "recorded", "bytes"};

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) fmt::format_to(std::back_inserter(out), "%{:02x}", static_cast<unsigned char>(c));
    return out;
}

/// An alarm whose texts are not longer than what is shown of them.
json::value shortened(json::value alarm) {
    for (auto& [name, value] : alarm.as_object())
        if (value.is_string() && value.get_string().size() > alarm_text_shown) {
            value = json::safe(std::string_view(value.get_string()).substr(0, alarm_text_shown));
            value.get_string() += "...";
        }
    return alarm;
}

}  // namespace

class RunPage::State {
public:
    State(RunPageParts parts, RunPageOptions options, service::Timers& timers, const Clock& clock)
        : parts_(std::move(parts)),
          options_(std::move(options)),
          clock_(clock),
          server_(fmt::format("{}-{}", ::getpid(), clock.wall().time_since_epoch().count())),
          archive_(std::make_shared<RunArchive>(options_.archive)),
          history_(clock),
          events_(options_.tls, options_.describe_event),
          live_([this] { return document(); }),
          files_(files_parts(), clock),
          thread_("page-archive"),
          further_thread_("page-further"),
          timer_(timers.every(std::chrono::seconds{1}, [this] { tick(); })) {}

    void tick() {
        const auto view = parts_.view();
        LiveRates rates;
        {
            const std::scoped_lock lock(mutex_);
            rates = rates_ = meter_.look(view);
        }
        std::vector<std::pair<std::string_view, double>> values{
            {"triggers", rates.triggers},     {"accepted", rates.accepted}, {"built", rates.built},
            {"incomplete", rates.incomplete}, {"recorded", rates.recorded}, {"bytes", rates.bytes}};
        std::deque<std::string> names;  // that stay where they are
        for (const auto& station : view.stations) {
            values.emplace_back(names.emplace_back("rate " + station.entry.name), station.rate);
            values.emplace_back(names.emplace_back("in hand " + station.entry.name),
                                static_cast<double>(station.report.status.ledger.in_hand));
        }
        history_.add(values);
        live_.tick();
    }

    std::vector<service::HttpRoute> routes() {
        auto all = page::page_routes();
        all.push_back(page::live_route(live_));
        all.push_back({Method::get, "/history", [this](const auto& request, const auto& answer) {
                           auto query = page::parse_history_query(request.query);
                           if (query.names.empty())
                               query.names.assign(partition_series.begin(), partition_series.end());
                           answer(page::json_answer(history_.to_json(query.span, query.names), request));
                       }});
        if (parts_.lease != nullptr) add_run_routes(all);
        else all.push_back(log_route(parts_.log));
        all.push_back(files_.route());
        if (options_.further_route)
            all.push_back({options_.further_route->method, options_.further_route->path,
                           [this](const auto& request, const auto& answer) {
                               further_thread_.run(answer, [handle = options_.further_route->handle, request,
                                                            answer](const auto&) { handle(request, answer); });
                           }});
        if (options_.describe_event) {
            all.push_back({Method::get, "/event", [this](const auto& request, const auto& answer) {
                               events_.next(parts_.view().stations, request, answer);
                           }});
            all.push_back({Method::get, "/event/*", [this](const auto& request, const auto& answer) {
                               answer(events_.bytes(std::string_view(request.path).substr(7)));
                           }});
        }
        return all;
    }

private:
    void add_run_routes(std::vector<service::HttpRoute>& all) {
        all.push_back({Method::post, "/control",
                       [this](const auto& request, const auto& answer) { answer(take_control(request)); }});
        all.push_back({Method::get, "/runs", [this](const auto& request, const auto& answer) {
                           auto text = page::query_value(request.query, "text").substr(0, search_max);
                           ask(request, answer,
                               [archive = archive_, text = std::move(text)] { return archive->runs(text); });
                       }});
        all.push_back({Method::get, "/runs/*", [this](const auto& request, const auto& answer) {
                           const auto run = parse_run_number(std::string_view(request.path).substr(6));
                           if (!run) return answer(service::http_error(400, "which run? /runs/NUMBER"));
                           ask(request, answer, [archive = archive_, run = *run] { return archive->run(run); });
                       }});
        all.push_back({Method::get, "/histograms",
                       [this](const auto& request, const auto& answer) { ask_monitor(request, answer); }});
    }

    /// What its monitor answers: all without their bins, or one with them.
    void ask_monitor(const service::HttpRequest& request, const service::HttpAnswer& answer) {
        const auto monitor = page::query_value(request.query, "monitor");
        const auto stations = parts_.view().stations;
        const auto found =
            std::ranges::find(stations, monitor, [](const StationView& view) { return view.entry.name; });
        if (found == stations.end() || found->entry.kind != StationKind::monitor)
            return answer(service::http_error(404, fmt::format("the partition has no monitor \"{}\"", monitor)));
        if (found->control.empty())
            return answer(
                service::http_error(409, fmt::format("{} is not there; run control starts it again", monitor)));
        {
            const std::scoped_lock lock(mutex_);
            if (monitors_asked_ == monitors_asked_max)
                return answer(service::http_error(503, "too many ask monitors already; ask again later"));
            if (!monitor_calls_) {
                auto calls = service::ControlCalls::start(options_.tls, monitor_answer_max);
                if (!calls) return answer(service::http_error(500, calls.error().message()));
                monitor_calls_ = std::move(*calls);
            }
            ++monitors_asked_;
        }
        const auto name = page::query_value(request.query, "name");
        monitor_calls_->get(found->control, name.empty() ? "/histograms" : "/histograms?name=" + escaped(name),
                            monitor_deadline, [this, answer, request](const auto& given) {
                                {
                                    const std::scoped_lock lock(mutex_);
                                    --monitors_asked_;
                                }
                                if (!given) return answer(service::http_error(502, given.error().message()));
                                answer(given->good() ? page::json_answer(given->body, request)
                                                     : service::http_error(given->status, given->error()));
                            });
    }

    /// Called by the live document when somebody asks.
    json::object document() {
        const auto view = parts_.view();
        LiveRates rates;
        {
            const std::scoped_lock lock(mutex_);
            rates = rates_;
        }
        json::array hosts, alarms, lines, further;
        if (parts_.hosts) {
            for (const auto& host : parts_.hosts()) hosts.push_back(to_json(host));
        }
        const auto all_alarms = alarms_of(parts_.reports, view.stations);
        std::uint64_t latched = 0;
        for (const bool wanted : {true, false}) {  // latched ones first
            for (const auto& alarm : all_alarms) {
                if (alarm.at("latched").as_bool() != wanted) continue;
                latched += wanted ? 1U : 0U;
                if (alarms.size() < alarms_shown) alarms.push_back(shortened(alarm));
            }
        }
        const auto last = parts_.log.last();
        for (auto& line : parts_.log.after(last - std::min<std::uint64_t>(last, lines_shown), lines_shown)) {
            if (line.text.size() > line_shown) line.text = line.text.substr(0, line_shown) + "...";
            lines.push_back(to_json(line));
        }
        for (const auto& name : options_.further) further.emplace_back(json::safe(name));
        json::value control;
        if (const auto holder = parts_.lease == nullptr ? std::nullopt : parts_.lease->holder())
            control = json::object{{"person", json::safe(holder->person)}, {"since", seconds_of(holder->since)}};
        return {{"server", server_},
                {"time", seconds_of(clock_.wall())},
                {"kind", parts_.lease == nullptr ? "station" : "partition"},
                {"partition", live_partition(parts_.partition, view, rates)},
                {"stations", live_stations(view.stations)},
                {"hosts", std::move(hosts)},
                {"latched", latched},
                {"alarms", std::move(alarms)},
                {"log", {{"last", last}, {"lines", std::move(lines)}}},
                {"control", std::move(control)},
                {"zone", json::safe(options_.zone)},
                {"contact", json::safe(options_.contact)},
                {"pages", std::move(further)}};
    }

    static double seconds_of(WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

    service::HttpResponse take_control(const service::HttpRequest& request) {
        const auto document = json::parse(request.body);
        if (!document) return refusal_of(document.error());
        json::Fields fields(*document, "the request");
        const auto command = fields.text("command");
        const auto named = fields.text("person", "");
        const auto secret = fields.text("lease", "");
        fields.no_others();
        if (const auto read = fields.result(); !read) return refusal_of(read.error());
        if (command != "take" && command != "force" && command != "release")
            return service::http_error(400, "\"command\" is take, force or release");
        json::object given;
        if (command == "release") {
            if (const auto released = parts_.lease->release(secret); !released) return refusal_of(released.error());
        } else {
            const auto taken = parts_.lease->take(request.person.empty() ? named : request.person, command == "force");
            if (!taken) return refusal_of(taken.error());
            given["lease"] = *taken;
        }
        live_.renew();
        json::value person, since;
        if (const auto holder = parts_.lease->holder()) {
            person = json::safe(holder->person);
            since = seconds_of(holder->since);
        }
        given["person"] = std::move(person);
        given["since"] = std::move(since);
        return page::json_answer(json::serialize(given), request);
    }

    /// Answered by the thread that may wait for a disk; the question owns what it uses.
    void ask(const service::HttpRequest& request, const service::HttpAnswer& answer,
             std::function<Result<json::object>()> question) {
        thread_.ask(request, answer, [question = std::move(question)](const auto&) -> Result<std::string> {
            return json::serialize(WEIR_TRY(question()));
        });
    }

    FilesRouteParts files_parts() {
        FilesRouteParts parts{.here = options_.archive, .tls = options_.tls};
        parts.run = [this]() -> std::optional<RunNumber> {
            const auto run = parts_.view().run;
            return run == RunNumber{} ? std::nullopt : std::optional(run);
        };
        if (options_.recorders_elsewhere) parts.recorders = [this] { return recorders(); };
        return parts;
    }

    std::vector<RecorderPlace> recorders() {
        std::vector<RecorderPlace> all;
        for (const auto& station : parts_.view().stations) {
            if (station.entry.kind != StationKind::record) continue;
            all.push_back(
                {station.entry.name, station.host.empty() ? station.entry.host : station.host, station.control});
        }
        return all;
    }

    const RunPageParts parts_;
    const RunPageOptions options_;
    const Clock& clock_;
    const std::string server_;                   // another one when run control was started anew
    const std::shared_ptr<RunArchive> archive_;  // of the thread, which is left behind when a disk hangs
    page::History history_;
    EventLook events_;
    std::mutex mutex_;
    LiveMeter meter_;
    LiveRates rates_;
    page::LiveDocument live_;
    FilesRoute files_;
    QuestionThread thread_;
    QuestionThread further_thread_;
    std::size_t monitors_asked_ = 0;
    std::unique_ptr<service::ControlCalls> monitor_calls_;  // from the first question on
    service::Timers::Periodic timer_;                       // the last member: it ends before what it uses is gone
};

RunPage::RunPage(RunPageParts parts, RunPageOptions options, service::Timers& timers, const Clock& clock)
    : state_(std::make_unique<State>(std::move(parts), std::move(options), timers, clock)) {}
RunPage::~RunPage() = default;

std::vector<service::HttpRoute> RunPage::routes() { return state_->routes(); }
void RunPage::tick() { state_->tick(); }

}  // namespace weir::control

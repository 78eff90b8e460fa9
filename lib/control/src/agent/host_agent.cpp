// SPDX-License-Identifier: Apache-2.0
// The orders that an agent takes, and from whom. One thread carries them out on the stations that it has
// (agent_stations.hpp); what is asked of the agent comes to it in a queue. It is the thread that launches, and lives as
// long as the agent: the stations end with it.
#include "weir/control/host_agent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>

#include "agent/agent_stations.hpp"
#include "agent/work_queue.hpp"
#include "hosts/host_books.hpp"
#include "hosts/host_messages.hpp"
#include "weir/base/guid.hpp"
#include "weir/base/named_thread.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using service::http_error;
using service::HttpAnswer;
using service::HttpRequest;
using service::HttpResponse;

constexpr auto look_every = 50ms;
constexpr auto commander_gone_after = 5s;
constexpr std::size_t log_lines_per_answer = 2000;
constexpr std::string_view stations_path = "/stations/";

HttpResponse json_answer(std::string text) { return {.status = 200, .body = std::move(text) + "\n"}; }

}  // namespace

class HostAgent::Thread {
public:
    Thread(HostAgentOptions options, std::unique_ptr<service::ControlCalls> calls, Reporter report, const Clock& clock)
        : options_(std::move(options)),
          report_(std::move(report)),
          clock_(clock),
          instance_(to_string(Guid::random()).substr(0, 8)),
          spoken_(clock.now()),
          calls_(std::move(calls)),
          stations_(options_, *calls_, [this](std::function<void()> work) { post(std::move(work)); }, clock) {}

    ~Thread() {
        thread_ = {};  // ends the stations
        books_thread_ = {};
        calls_.reset();
        for (auto& poll : polls_) poll.answer(http_error(503, "the agent ends"));
    }
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    Result<> begin() {
        std::error_code failed;
        std::filesystem::create_directories(options_.directory / "log", failed);
        if (failed)
            return fail_errno(failed.value(), fmt::format("cannot make {}", (options_.directory / "log").native()));
        books_thread_ = NamedThread("host-books", [this](const std::stop_token& stop) {
            while (!stop.stop_requested()) books_.work(stop, 10s);
        });
        thread_ = NamedThread("host-agent", [this](const std::stop_token& stop) { run(stop); });
        return {};
    }

    /// Any thread.
    [[nodiscard]] bool over() const noexcept { return over_.load(std::memory_order_relaxed); }
    /// Any thread.
    void post(std::function<void()> work) { queue_.post(std::move(work)); }

    // What follows is of the thread.

    void host(const HttpAnswer& answer) { answer(json_answer(to_json(report_now(std::nullopt)))); }

    void poll(const std::string& body, const HttpAnswer& answer) {
        if (over()) return answer(ends());
        auto order = parse_host_poll(body);
        if (!order) return answer(http_error(400, order.error().message()));
        if (!order->machine.empty() && order->machine != options_.name)
            return answer(http_error(
                misdirected, fmt::format("this is the agent of {}, and not of {}", options_.name, order->machine)));
        if (!order->instance.empty() && order->instance != instance_)
            return answer(http_error(
                misdirected, fmt::format("this is another agent of {} than the one that is meant", options_.name)));
        if (const auto refused = obey(order->commander)) return answer(http_error(409, *refused));
        if (order->number <= poll_number_) return answer(http_error(409, "a later poll has come already"));
        for (const auto& name : stations_.end_all_but(order->kept, order->generation_last))
            report_({.severity = Severity::warning,
                     .what = fmt::format("{} is ended", name),
                     .where = options_.name,
                     .why = fmt::format("{} does not know it, or has started it elsewhere", commander_->name)});
        poll_number_ = order->number;
        polled_last_ = std::max(polled_last_, order->generation_last);
        kept_ = std::move(order->kept);
        if (order->last) leaving_ = true;
        polls_.push_back({order->log_after, answer, clock_.now() + options_.gathering_max});
        stations_.ask(poll_number_);
        answer_polls();
    }

    void launch(const std::string& body, const HttpAnswer& answer) {
        if (over()) return answer(ends());
        auto order = parse_process_order(body);
        if (!order) return answer(http_error(400, order.error().message()));
        if (const auto refused = obey(order->commander)) return answer(http_error(409, *refused));
        // Orders may overtake each other, and polls.
        if (stations_.has(order->name, order->generation) ||
            (order->generation <= polled_last_ && !kept_.contains(order->generation)))
            return answer(http_error(409, fmt::format("{} is not wanted any more", order->name)));
        stations_.launch(std::move(*order), answer);
    }

    void end(const std::string& body, const HttpAnswer& answer) {
        const auto order = parse_end_order(body);
        if (!order) return answer(http_error(400, order.error().message()));
        if (const auto refused = obey(order->commander)) return answer(http_error(409, *refused));
        stations_.signal(order->generation, order->kill);
        answer(json_answer("{}"));
    }

    /// Catalogues are asked on a thread of their own: a disk may be slow.
    void books(const std::string& body, const HttpAnswer& answer) {
        auto request = parse_books_request(body);
        if (!request) return answer(http_error(400, request.error().message()));
        if (const auto refused = obey(request->commander)) return answer(http_error(409, *refused));
        books_.post([request = std::move(*request), answer] {
            auto text = answer_of_books(request);
            answer(text ? json_answer(std::move(*text)) : http_error(500, text.error().message()));
        });
    }

    /// What is asked of a station, "/stations/ros-1/status", goes to its control port.
    void pass_on(const HttpRequest& request, bool post, const HttpAnswer& answer) {
        auto path = request.path.substr(stations_path.size());
        const auto slash = std::min(path.find('/'), path.size());
        const auto name = path.substr(0, slash);
        path.erase(0, slash);
        if (!stations_.reachable(name)) return answer(http_error(404, stations_.no_station(name)));
        if (post && path == "/transition" && commander_ && request.query != fmt::format("epoch={}", commander_->epoch))
            return answer(http_error(409, superseded()));
        if (!request.query.empty() && !post) path += "?" + request.query;
        stations_.pass_on(name, path, request.body, post, answer);
    }

private:
    struct Poll {
        std::uint64_t log_after = 0;
        HttpAnswer answer;
        SteadyTime until{};
    };

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            queue_.work(stop, look_every);
            look();
        }
        stations_.end_all();
    }

    /// To a run control that begins: an engine will start another agent for it.
    [[nodiscard]] HttpResponse ends() const {
        return http_error(503, fmt::format("the agent of {} ends with its run control", options_.name));
    }

    /// Nothing: it commands here. Else why not.
    std::optional<std::string> obey(const Commander& who) {
        const auto now = clock_.now();
        if (commander_ &&
            (who.epoch < commander_->epoch || (who.epoch == commander_->epoch && who.name != commander_->name)))
            return superseded();
        if (!commander_ || who.epoch > commander_->epoch) {
            if (commander_ && !who.take_over && !leaving_ && now - spoken_ < commander_gone_after)
                return fmt::format("{} commands {}, and spoke {} ago; end it first, or take over with --take-over",
                                   commander_->name, options_.name,
                                   to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now - spoken_)));
            report_({.severity = Severity::information,
                     .what = fmt::format("{} commands this machine", who.name),
                     .where = options_.name,
                     .why = commander_ ? commander_->name + " did before" : ""});
            commander_ = who;
            poll_number_ = 0;
            leaving_ = false;
        }
        orphaned_ = false;
        spoken_ = now;
        return std::nullopt;
    }
    [[nodiscard]] std::string superseded() const {
        return fmt::format("superseded: {} commands {} now", commander_->name, options_.name);
    }

    void look() {
        stations_.look();
        answer_polls();
        const auto now = clock_.now();
        if ((commander_ || options_.ends_with_run) && !orphaned_ && now - spoken_ >= options_.orphan_after)
            end_orphans();
        if (options_.ends_with_run && (leaving_ || orphaned_) && polls_.empty() && stations_.none())
            over_.store(true, std::memory_order_relaxed);  // nothing else is read because of it
    }

    void end_orphans() {
        orphaned_ = true;
        for (const auto& name : stations_.end_orphans())
            report_(
                {.severity = Severity::error,
                 .what = fmt::format("{} is ended", name),
                 .where = options_.name,
                 .why = fmt::format("{} has not spoken for {}", commander_->name, to_string(options_.orphan_after))});
    }

    void answer_polls() {
        if (polls_.empty()) return;
        const bool gathered = stations_.answered();
        const auto now = clock_.now();
        while (!polls_.empty() && (gathered || now >= polls_.front().until)) {
            polls_.front().answer(json_answer(to_json(report_now(polls_.front().log_after))));
            polls_.pop_front();
        }
    }

    /// With `log_after`: what its commander does not know yet. Else all, and no log.
    HostReport report_now(std::optional<std::uint64_t> log_after) {
        HostReport report;
        report.host = options_.name;
        report.weir = WEIR_VERSION;
        report.instance = instance_;
        report.commander = commander_;
        if (commander_) report.commander_silent = std::chrono::duration<double>(clock_.now() - spoken_).count();
        report.processes = stations_.statuses(log_after.has_value());
        report.log_last = stations_.log().last();
        if (log_after) report.log = stations_.log().after(*log_after, log_lines_per_answer);
        return report;
    }

    const HostAgentOptions options_;
    const Reporter report_;
    const Clock& clock_;
    const std::string instance_;
    std::optional<Commander> commander_;
    SteadyTime spoken_;  // by it; at first: when this began
    bool orphaned_ = false;
    bool leaving_ = false;  // it has ended
    std::atomic<bool> over_{false};
    std::uint64_t poll_number_ = 0;
    std::uint64_t polled_last_ = 0;  // the last generation that a poll spoke of, and
    std::set<std::uint64_t> kept_;   // which of them it wants
    std::deque<Poll> polls_;

    WorkQueue queue_, books_;
    std::unique_ptr<service::ControlCalls> calls_;
    AgentStations stations_;
    NamedThread books_thread_;
    NamedThread thread_;
};

HostAgent::HostAgent(std::unique_ptr<Thread> thread) : thread_(std::move(thread)) {}
HostAgent::~HostAgent() = default;
bool HostAgent::over() const noexcept { return thread_->over(); }

Result<std::unique_ptr<HostAgent>> HostAgent::start(HostAgentOptions options,
                                                    std::unique_ptr<service::ControlCalls> calls, Reporter report,
                                                    const Clock& clock) {
    try {
        auto thread = std::make_unique<Thread>(std::move(options), std::move(calls), std::move(report), clock);
        WEIR_TRY(thread->begin());
        return std::unique_ptr<HostAgent>(new HostAgent(std::move(thread)));
    } catch (const std::system_error& error) {
        return fail_errno(error.code().value(), "cannot start an agent");
    }
}

std::vector<service::HttpRoute> HostAgent::routes() {
    using enum service::HttpRoute::Method;
    auto* agent = thread_.get();
    const auto route = [agent](service::HttpRoute::Method method, const char* path, auto handle) {
        return service::HttpRoute{
            method, path, [agent, handle](const HttpRequest& request, HttpAnswer answer) {
                agent->post([agent, handle, request, answer = std::move(answer)] { handle(*agent, request, answer); });
            }};
    };
    return {
        route(get, "/host", [](Thread& to, const HttpRequest&, const HttpAnswer& answer) { to.host(answer); }),
        route(post, "/poll",
              [](Thread& to, const HttpRequest& request, const HttpAnswer& answer) { to.poll(request.body, answer); }),
        route(
            post, "/processes",
            [](Thread& to, const HttpRequest& request, const HttpAnswer& answer) { to.launch(request.body, answer); }),
        route(post, "/end",
              [](Thread& to, const HttpRequest& request, const HttpAnswer& answer) { to.end(request.body, answer); }),
        route(post, "/books",
              [](Thread& to, const HttpRequest& request, const HttpAnswer& answer) { to.books(request.body, answer); }),
        route(get, "/stations/*",
              [](Thread& to, const HttpRequest& request, const HttpAnswer& answer) {
                  to.pass_on(request, false, answer);
              }),
        route(post, "/stations/*",
              [](Thread& to, const HttpRequest& request, const HttpAnswer& answer) {
                  to.pass_on(request, true, answer);
              }),
    };
}

}  // namespace weir::control

// SPDX-License-Identifier: Apache-2.0
// One thread has all processes; what is asked of the agent comes to it in a queue. It is the thread that launches, and
// lives as long as the agent: the stations end with it.
#include "weir/control/host_agent.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "hosts/host_books.hpp"
#include "hosts/host_messages.hpp"
#include "weir/base/file.hpp"
#include "weir/base/guid.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/stoppable_sleep.hpp"
#include "weir/control/local_launcher.hpp"
#include "weir/control/partition.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using service::http_error;
using service::HttpAnswer;
using service::HttpRequest;
using service::HttpResponse;

constexpr auto look_every = 50ms;
constexpr auto end_grace = 1000ms;       // of a process that is wanted no more, until SIGKILL, and
constexpr auto moved_grace = 300ms;      // of one whose place another may have elsewhere: what it has in hand is lost
constexpr auto last_grace = 10'000ms;    // when the agent ends
constexpr auto orphan_grace = 60'000ms;  // a recorder that has much to close
constexpr auto commander_gone_after = 5s;
constexpr auto status_deadline = 2s;
constexpr auto command_deadline = std::chrono::hours{1};
constexpr auto reading_deadline = std::chrono::minutes{1};
constexpr std::uint32_t readers_max = 6;  // of one station at once: it has places for sixteen
constexpr auto logs_every = 200ms;
constexpr std::size_t log_lines = 20'000;
constexpr std::size_t log_lines_per_answer = 2000;
constexpr Bytes station_log_max = 16_MiB;
constexpr const char* partition_name = "partition.toml";
constexpr std::string_view stations_path = "/stations/";

HttpResponse json_answer(std::string text) { return {.status = 200, .body = std::move(text) + "\n"}; }

/// "127.0.0.1:41234" of the line that a station prints when it is there.
std::optional<std::string> control_of(const std::string& announcement) {
    const auto document = json::parse(announcement);
    if (!document) return std::nullopt;
    json::Fields fields(*document, "the announcement");
    auto address = fields.text("control");
    if (!fields.result()) return std::nullopt;
    return address;
}

/// Work that is done one after the other, by one thread that waits for it.
class WorkQueue {
public:
    /// Any thread.
    void post(std::function<void()> work) {
        const std::scoped_lock lock(mutex_);
        queue_.push_back(std::move(work));
        changed_.notify_one();
    }
    /// Does what there is; waits for it `at_most`.
    void work(const std::stop_token& stop, std::chrono::milliseconds at_most) {
        std::deque<std::function<void()>> all;
        {
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, stop, at_most, [this] { return !queue_.empty(); });
            all.swap(queue_);
        }
        for (auto& item : all) item();
    }

private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::function<void()>> queue_;
};

struct Hosted {
    Hosted(HostedStatus first, std::unique_ptr<LaunchedProcess> launched, std::unique_ptr<LogTail> log)
        : status(std::move(first)), process(std::move(launched)), tail(std::move(log)) {}

    HostedStatus status;
    std::unique_ptr<LaunchedProcess> process;
    std::unique_ptr<LogTail> tail;
    bool stays = false;         // on its machine: it has files or hardware there
    std::string control{};      // once it is announced
    std::uint32_t reading = 0;  // of what was asked of it, is under way
    bool asking = false;
    std::uint64_t asking_in = 0;          // the poll
    bool fresh = false;                   // its report was not sent yet
    std::optional<SteadyTime> kill_at{};  // it was asked to end
};

}  // namespace

class HostAgent::Thread {
public:
    Thread(HostAgentOptions options, std::unique_ptr<service::ControlCalls> calls, Reporter report, const Clock& clock)
        : options_(std::move(options)),
          report_(std::move(report)),
          clock_(clock),
          instance_(to_string(Guid::random()).substr(0, 8)),
          spoken_(clock.now()),
          calls_(std::move(calls)) {}

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
        for (auto& [name, hosted] : processes_) {
            const auto generation = hosted.status.generation;
            if (hosted.status.end || generation > order->generation_last || order->kept.contains(generation)) continue;
            if (!hosted.kill_at)
                report_({.severity = Severity::warning,
                         .what = fmt::format("{} is ended", name),
                         .where = options_.name,
                         .why = fmt::format("{} does not know it, or has started it elsewhere", commander_->name)});
            end(hosted, hosted.stays ? end_grace : moved_grace);
        }
        poll_number_ = order->number;
        polled_last_ = std::max(polled_last_, order->generation_last);
        kept_ = std::move(order->kept);
        if (order->last) leaving_ = true;
        polls_.push_back({order->log_after, answer, clock_.now() + options_.gathering_max});
        for (auto& [name, hosted] : processes_) ask(hosted);
        answer_polls();
    }

    void launch(const std::string& body, const HttpAnswer& answer) {
        if (over()) return answer(ends());
        auto order = parse_process_order(body);
        if (!order) return answer(http_error(400, order.error().message()));
        if (const auto refused = obey(order->commander)) return answer(http_error(409, *refused));
        // Orders may overtake each other, and polls.
        const auto found = processes_.find(order->name);
        const bool newer_came = found != processes_.end() && found->second.status.generation >= order->generation;
        if (newer_came || (order->generation <= polled_last_ && !kept_.contains(order->generation)))
            return answer(http_error(409, fmt::format("{} is not wanted any more", order->name)));
        if (found != processes_.end() && !found->second.status.end) end(found->second, end_grace);
        if (const auto before = waiting_.find(order->name); before != waiting_.end()) {
            before->second.answer(http_error(409, fmt::format("{} is asked for anew", order->name)));
            waiting_.erase(before);
        }
        waiting_.emplace(order->name, Waiting{std::move(*order), answer});
        launch_waiting();
    }

    void end(const std::string& body, const HttpAnswer& answer) {
        const auto order = parse_end_order(body);
        if (!order) return answer(http_error(400, order.error().message()));
        if (const auto refused = obey(order->commander)) return answer(http_error(409, *refused));
        for (auto& [name, hosted] : processes_) {
            if (hosted.status.generation != order->generation || hosted.status.end) continue;
            if (order->kill) hosted.process->kill();
            else hosted.process->terminate();
        }
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
        const auto found = processes_.find(name);
        if (found == processes_.end() || found->second.status.end || found->second.control.empty())
            return answer(http_error(404, no_station(name)));
        if (post && path == "/transition" && commander_ && request.query != fmt::format("epoch={}", commander_->epoch))
            return answer(http_error(409, superseded()));
        if (!request.query.empty() && !post) path += "?" + request.query;
        if (!post && found->second.reading >= readers_max)
            return answer(http_error(503, fmt::format("{} answers {} questions already", name, readers_max)));
        if (!post) ++found->second.reading;
        const auto over = [this, post, name, generation = found->second.status.generation] {
            if (!post) this->post([this, name, generation] { read_one(name, generation); });
        };
        const auto done = [answer, over](Result<service::ControlAnswer> result) {
            over();
            if (!result) return answer(http_error(502, result.error().message()));
            answer({.status = result->status, .body = std::move(result->body), .content_type = result->content_type});
        };
        if (post) {
            calls_->post(found->second.control, path, request.body, command_deadline, done);
        } else {
            calls_->get(found->second.control, path, reading_deadline, done);
        }
    }

private:
    struct Poll {
        std::uint64_t log_after = 0;
        HttpAnswer answer;
        SteadyTime until{};
    };
    struct Waiting {
        ProcessOrder order;
        HttpAnswer answer;
    };

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            queue_.work(stop, look_every);
            look();
        }
        end_all();
    }

    void read_one(const std::string& name, std::uint64_t generation) {
        const auto found = processes_.find(name);
        if (found != processes_.end() && found->second.status.generation == generation) --found->second.reading;
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

    [[nodiscard]] std::string no_station(const std::string& name) const {
        std::vector<std::string> names;
        for (const auto& [other, hosted] : processes_)
            if (!hosted.status.end) names.push_back(other);
        return fmt::format("{} runs no station \"{}\"; there are {}", options_.name, on_one_line(name, 64),
                           names.empty() ? "none" : fmt::to_string(fmt::join(names, ", ")));
    }

    void end(Hosted& hosted, std::chrono::milliseconds grace) {
        const auto kill_at = clock_.now() + grace;
        if (!hosted.kill_at) hosted.process->terminate();
        hosted.kill_at = std::min(hosted.kill_at.value_or(kill_at), kill_at);
    }

    void launch_waiting() {
        for (auto at = waiting_.begin(); at != waiting_.end();) {
            const auto found = processes_.find(at->first);
            if (found != processes_.end() && !found->second.status.end) {
                ++at;
                continue;
            }
            const auto launched = launch_now(at->second.order);
            at->second.answer(launched ? json_answer("{}") : http_error(500, launched.error().message()));
            at = waiting_.erase(at);
        }
    }

    Result<> launch_now(const ProcessOrder& order) {
        if (order.partition != partition_) {
            WEIR_TRY(replace_text(options_.directory / partition_name, order.partition, Synced::no));
            partition_ = order.partition;
        }
        LaunchRequest request{order.name, order.arguments, options_.directory / "log" / (order.name + ".log")};
        request.arguments.front() = options_.program;
        std::ranges::copy(options_.arguments, std::back_inserter(request.arguments));
        auto tail = std::make_unique<LogTail>(request.log, station_log_max);  // from its first line on
        auto process = WEIR_TRY(launcher_.launch(request));
        processes_.erase(order.name);
        HostedStatus status;
        status.name = order.name;
        status.generation = order.generation;
        status.pid = process->pid();
        const auto kind = order.arguments.size() > 1 ? parse_station_kind(order.arguments[1]) : std::nullopt;
        processes_
            .emplace(std::piecewise_construct, std::forward_as_tuple(order.name),
                     std::forward_as_tuple(std::move(status), std::move(process), std::move(tail)))
            .first->second.stays = kind && stays_on_its_host(*kind);
        return {};
    }

    void look() {
        const auto now = clock_.now();
        const bool logs = now - logs_read_ >= logs_every;
        if (logs) logs_read_ = now;
        for (auto& [name, hosted] : processes_) {
            if (hosted.status.end) continue;
            if (logs) read_log(hosted);
            if (!hosted.status.announcement) {
                hosted.status.announcement = hosted.process->announcement();
                if (hosted.status.announcement) hosted.control = control_of(*hosted.status.announcement).value_or("");
            }
            hosted.status.end = hosted.process->ended();
            if (hosted.status.end) read_log(hosted);
            else if (hosted.kill_at && now >= *hosted.kill_at) hosted.process->kill();
        }
        launch_waiting();
        answer_polls();
        if ((commander_ || options_.ends_with_run) && !orphaned_ && now - spoken_ >= options_.orphan_after)
            end_orphans();
        if (options_.ends_with_run && (leaving_ || orphaned_) && polls_.empty() && waiting_.empty() &&
            std::ranges::all_of(processes_, [](const auto& entry) { return entry.second.status.end.has_value(); }))
            over_.store(true, std::memory_order_relaxed);  // nothing else is read because of it
    }

    void read_log(Hosted& hosted) {
        hosted.tail->read([&](std::string_view line) { log_.add(clock_.wall(), hosted.status.name, line); });
    }

    void end_orphans() {
        orphaned_ = true;
        for (auto& [name, hosted] : processes_) {
            if (hosted.status.end) continue;
            report_(
                {.severity = Severity::error,
                 .what = fmt::format("{} is ended", name),
                 .where = options_.name,
                 .why = fmt::format("{} has not spoken for {}", commander_->name, to_string(options_.orphan_after))});
            end(hosted, orphan_grace);
        }
    }

    void ask(Hosted& hosted) {
        if (hosted.asking || hosted.status.end || hosted.control.empty()) return;
        hosted.asking = true;
        hosted.asking_in = poll_number_;
        calls_->get(hosted.control, "/status", status_deadline,
                    [this, name = hosted.status.name,
                     generation = hosted.status.generation](Result<service::ControlAnswer> answer) {
                        post([this, name, generation, answer = std::move(answer)] { take(name, generation, answer); });
                    });
    }

    void take(const std::string& name, std::uint64_t generation, const Result<service::ControlAnswer>& answer) {
        const auto found = processes_.find(name);
        if (found == processes_.end() || found->second.status.generation != generation) return;
        auto& hosted = found->second;
        hosted.asking = false;
        if (answer && answer->good()) {
            if (auto document = json::parse(answer->body, {.size = 16_MiB}); document && document->is_object()) {
                hosted.status.report_json =
                    std::make_shared<const boost::json::object>(std::move(document->get_object()));
                hosted.status.asked_in = hosted.asking_in;
                hosted.fresh = true;
            }
        }
        answer_polls();
    }

    void answer_polls() {
        if (polls_.empty()) return;
        const bool gathered = std::ranges::none_of(processes_, [](const auto& entry) { return entry.second.asking; });
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
        for (auto& [name, hosted] : processes_) {
            report.processes.push_back(hosted.status);
            if (!log_after) continue;
            if (!hosted.fresh) report.processes.back().report_json = nullptr;
            hosted.fresh = false;
        }
        report.log_last = log_.last();
        if (log_after) report.log = log_.after(*log_after, log_lines_per_answer);
        return report;
    }

    void end_all() {
        for (auto& [name, hosted] : processes_)
            if (!hosted.status.end) hosted.process->terminate();
        const auto until = clock_.now() + last_grace;
        const auto alive = [](auto& entry) { return !entry.second.process->ended(); };
        while (std::ranges::any_of(processes_, alive) && clock_.now() < until)
            static_cast<void>(stoppable_sleep(20ms, {}));
        processes_.clear();  // kills what is left
    }

    const HostAgentOptions options_;
    const Reporter report_;
    const Clock& clock_;
    const std::string instance_;
    LocalLauncher launcher_;
    LogBook log_{log_lines};
    std::optional<Commander> commander_;
    SteadyTime logs_read_{};
    SteadyTime spoken_;  // by it; at first: when this began
    bool orphaned_ = false;
    bool leaving_ = false;  // it has ended
    std::atomic<bool> over_{false};
    std::uint64_t poll_number_ = 0;
    std::uint64_t polled_last_ = 0;  // the last generation that a poll spoke of, and
    std::set<std::uint64_t> kept_;   // which of them it wants
    std::string partition_;          // as it is in the file
    std::map<std::string, Hosted> processes_;
    std::map<std::string, Waiting> waiting_;  // for the one before them to end
    std::deque<Poll> polls_;

    WorkQueue queue_, books_;
    std::unique_ptr<service::ControlCalls> calls_;
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

// SPDX-License-Identifier: Apache-2.0
#include "agent/agent_stations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "weir/base/file.hpp"
#include "weir/base/stoppable_sleep.hpp"
#include "weir/control/partition.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using service::http_error;
using service::HttpAnswer;

constexpr auto end_grace = 1000ms;       // of a process that is wanted no more, until SIGKILL, and
constexpr auto moved_grace = 300ms;      // of one whose place another may have elsewhere: what it has in hand is lost
constexpr auto last_grace = 10'000ms;    // when the agent ends
constexpr auto orphan_grace = 60'000ms;  // a recorder that has much to close
constexpr auto status_deadline = 2s;
constexpr auto command_deadline = std::chrono::hours{1};
constexpr auto reading_deadline = std::chrono::minutes{1};
constexpr std::uint32_t readers_max = 6;  // of one station at once: it has places for sixteen
constexpr auto logs_every = 200ms;
constexpr Bytes station_log_max = 16_MiB;
constexpr const char* partition_name = "partition.toml";

/// "127.0.0.1:41234" of the line that a station prints when it is there.
std::optional<std::string> control_of(const std::string& announcement) {
    const auto document = json::parse(announcement);
    if (!document) return std::nullopt;
    json::Fields fields(*document, "the announcement");
    auto address = fields.text("control");
    if (!fields.result()) return std::nullopt;
    return address;
}

}  // namespace

bool AgentStations::has(const std::string& name, std::uint64_t generation) const {
    const auto found = processes_.find(name);
    return found != processes_.end() && found->second.status.generation >= generation;
}

void AgentStations::launch(ProcessOrder order, const HttpAnswer& answer) {
    const auto found = processes_.find(order.name);
    if (found != processes_.end() && !found->second.status.end) end(found->second, end_grace);
    if (const auto before = waiting_.find(order.name); before != waiting_.end()) {
        before->second.answer(http_error(409, fmt::format("{} is asked for anew", order.name)));
        waiting_.erase(before);
    }
    const auto name = order.name;
    waiting_.emplace(name, Waiting{std::move(order), answer});
    launch_waiting();
}

void AgentStations::launch_waiting() {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        const auto found = processes_.find(at->first);
        if (found != processes_.end() && !found->second.status.end) {
            ++at;
            continue;
        }
        const auto launched = launch_now(at->second.order);
        at->second.answer(launched ? service::HttpResponse{.status = 200, .body = "{}\n"}
                                   : http_error(500, launched.error().message()));
        at = waiting_.erase(at);
    }
}

Result<> AgentStations::launch_now(const ProcessOrder& order) {
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

void AgentStations::signal(std::uint64_t generation, bool kill) {
    for (auto& [name, hosted] : processes_) {
        if (hosted.status.generation != generation || hosted.status.end) continue;
        if (kill) hosted.process->kill();
        else hosted.process->terminate();
    }
}

void AgentStations::end(Hosted& hosted, std::chrono::milliseconds grace) {
    const auto kill_at = clock_.now() + grace;
    if (!hosted.kill_at) hosted.process->terminate();
    hosted.kill_at = std::min(hosted.kill_at.value_or(kill_at), kill_at);
}

std::vector<std::string> AgentStations::end_all_but(const std::set<std::uint64_t>& kept,
                                                    std::uint64_t generation_last) {
    std::vector<std::string> names;
    for (auto& [name, hosted] : processes_) {
        const auto generation = hosted.status.generation;
        if (hosted.status.end || generation > generation_last || kept.contains(generation)) continue;
        if (!hosted.kill_at) names.push_back(name);
        end(hosted, hosted.stays ? end_grace : moved_grace);
    }
    return names;
}

std::vector<std::string> AgentStations::end_orphans() {
    std::vector<std::string> names;
    for (auto& [name, hosted] : processes_) {
        if (hosted.status.end) continue;
        names.push_back(name);
        end(hosted, orphan_grace);
    }
    return names;
}

void AgentStations::end_all() {
    for (auto& [name, hosted] : processes_)
        if (!hosted.status.end) hosted.process->terminate();
    const auto until = clock_.now() + last_grace;
    const auto alive = [](auto& entry) { return !entry.second.process->ended(); };
    while (std::ranges::any_of(processes_, alive) && clock_.now() < until) static_cast<void>(stoppable_sleep(20ms, {}));
    processes_.clear();  // kills what is left
}

void AgentStations::look() {
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
}

void AgentStations::read_log(Hosted& hosted) {
    hosted.tail->read([&](std::string_view line) { log_.add(clock_.wall(), hosted.status.name, line); });
}

void AgentStations::ask(std::uint64_t poll) {
    for (auto& [station, hosted] : processes_) {
        if (hosted.asking || hosted.status.end || hosted.control.empty()) continue;
        hosted.asking = true;
        hosted.asking_in = poll;
        calls_.get(hosted.control, "/status", status_deadline,
                   [this, name = hosted.status.name,
                    generation = hosted.status.generation](Result<service::ControlAnswer> answer) {
                       post_([this, name, generation, answer = std::move(answer)] { take(name, generation, answer); });
                   });
    }
}

void AgentStations::take(const std::string& name, std::uint64_t generation,
                         const Result<service::ControlAnswer>& answer) {
    const auto found = processes_.find(name);
    if (found == processes_.end() || found->second.status.generation != generation) return;
    auto& hosted = found->second;
    hosted.asking = false;
    if (!answer || !answer->good()) return;
    auto document = json::parse(answer->body, {.size = 16_MiB});
    if (!document || !document->is_object()) return;
    hosted.status.report_json = std::make_shared<const boost::json::object>(std::move(document->get_object()));
    hosted.status.asked_in = hosted.asking_in;
    hosted.fresh = true;
}

bool AgentStations::answered() const noexcept {
    return std::ranges::none_of(processes_, [](const auto& entry) { return entry.second.asking; });
}

std::vector<HostedStatus> AgentStations::statuses(bool news) {
    std::vector<HostedStatus> all;
    for (auto& [name, hosted] : processes_) {
        all.push_back(hosted.status);
        if (!news) continue;
        if (!hosted.fresh) all.back().report_json = nullptr;
        hosted.fresh = false;
    }
    return all;
}

bool AgentStations::none() const noexcept {
    return waiting_.empty() &&
           std::ranges::all_of(processes_, [](const auto& entry) { return entry.second.status.end.has_value(); });
}

bool AgentStations::reachable(const std::string& name) const {
    const auto found = processes_.find(name);
    return found != processes_.end() && !found->second.status.end && !found->second.control.empty();
}

std::string AgentStations::no_station(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& [other, hosted] : processes_)
        if (!hosted.status.end) names.push_back(other);
    return fmt::format("{} runs no station \"{}\"; there are {}", options_.name, on_one_line(name, 64),
                       names.empty() ? "none" : fmt::to_string(fmt::join(names, ", ")));
}

Result<> AgentStations::take_place(Hosted& hosted, const std::string& path) {
    std::uint32_t all = 0;
    for (const auto& [other, count] : hosted.reading) all += count;
    if (all >= readers_max)
        return fail(Errc::limit, fmt::format("{} answers {} questions already", hosted.status.name, all));
    auto& of_path = hosted.reading[path];
    if (of_path >= readers_max - 1)
        return fail(Errc::limit, fmt::format("{} answers {} questions for {} already", hosted.status.name, of_path,
                                             on_one_line(path, 64)));
    ++of_path;
    return {};
}

void AgentStations::leave_place(const std::string& name, std::uint64_t generation, const std::string& path) {
    const auto found = processes_.find(name);
    if (found == processes_.end() || found->second.status.generation != generation) return;
    auto& reading = found->second.reading;
    if (const auto of_path = reading.find(path); --of_path->second == 0) reading.erase(of_path);
}

void AgentStations::pass_on(const std::string& name, const std::string& path, const std::string& body, bool post,
                            const HttpAnswer& answer) {
    auto& hosted = processes_.at(name);
    const auto pass = [answer](Result<service::ControlAnswer> result) {
        if (!result) return answer(http_error(502, result.error().message()));
        answer({.status = result->status, .body = std::move(result->body), .content_type = result->content_type});
    };
    if (post) return calls_.post(hosted.control, path, body, command_deadline, pass);

    const auto what = path.substr(0, path.find('?'));
    if (const auto place = take_place(hosted, what); !place) return answer(http_error(503, place.error().context));
    calls_.get(hosted.control, path, reading_deadline,
               [this, pass, name, what, generation = hosted.status.generation](Result<service::ControlAnswer> result) {
                   post_([this, name, generation, what] { leave_place(name, generation, what); });
                   pass(std::move(result));
               });
}

}  // namespace weir::control

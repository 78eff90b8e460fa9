// SPDX-License-Identifier: Apache-2.0
#include "notify/notify_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weir/control/run_json.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

constexpr std::size_t problems_sent_max = 20;
constexpr std::size_t problem_sent_max = 1000;  // bytes

bool has_begun(PartitionState state) { return state == PartitionState::running || state == PartitionState::paused; }

/// "2 h 12 min", "45 s"
std::string in_words(double seconds) {
    const auto whole = static_cast<std::int64_t>(seconds);
    if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
    if (whole >= 120) return fmt::format("{} min", whole / 60);
    return fmt::format("{} s", whole);
}

NotifyMessage start_of(const PartitionView& view, WallTime now) {
    NotifyMessage message{.event = NotifyEvent::start, .when = now, .run = view.run};
    message.text = fmt::format("run {} has begun", number(view.run));
    if (!view.comment.empty()) message.text += ": " + view.comment;
    message.details = {{"comment", json::safe(view.comment)}};
    return message;
}

NotifyMessage end_of(const RunResult& result, const std::string& comment, WallTime now) {
    NotifyMessage message{
        .event = result.good() ? NotifyEvent::stop : NotifyEvent::bad_run, .when = now, .run = result.run};
    const auto after = fmt::format("after {}, {} events recorded in {} files", in_words(result.seconds),
                                   result.events.recorded, result.files);
    if (result.good()) {
        message.text = fmt::format("run {} has ended {}: {}", number(result.run), after, result.reason);
    } else {
        message.text = fmt::format("run {} was not well: {}", number(result.run),
                                   on_one_line(result.problems.front(), problem_sent_max));
        if (result.problems.size() > 1) message.text += fmt::format(" ({} more problems)", result.problems.size() - 1);
        message.text += fmt::format("; it ended {}: {}", after, result.reason);
    }
    json::array problems;
    for (const auto& problem : result.problems)
        if (problems.size() < problems_sent_max) problems.push_back(json::safe(on_one_line(problem, problem_sent_max)));
    message.details = {{"comment", json::safe(comment)},      {"good", result.good()},
                       {"reason", json::safe(result.reason)}, {"seconds", result.seconds},
                       {"events", to_json(result.events)},    {"files", result.files},
                       {"bytes_stored", result.bytes_stored}, {"problems_all", result.problems.size()},
                       {"problems", std::move(problems)}};
    return message;
}

}  // namespace

std::vector<NotifyMessage> NotifyWatch::look(const PartitionView& view, const std::vector<service::Alarm>& own,
                                             WallTime now) {
    std::vector<NotifyMessage> news;
    if (has_begun(view.state) && view.run != started_) {
        started_ = view.run;
        if (view.started >= since_) news.push_back(start_of(view, now));
    }
    if (view.runs != ended_ && view.last) {
        ended_ = view.runs;
        if (view.last->run != started_ && view.last->run == view.run) {  // it was shorter than from look to look
            started_ = view.run;
            if (view.last->seconds > 0) news.push_back(start_of(view, now));
        }
        news.push_back(end_of(*view.last, view.last->run == view.run ? view.comment : "", now));
    }
    std::map<std::pair<std::string, std::string>, bool> found;
    const auto look_at = [&](const std::string& station, const std::string& alarm, Severity severity,
                             const std::string& why, const std::optional<std::string>& acknowledged_by) {
        const auto seen = latched_.find({station, alarm});
        const bool is = !acknowledged_by;
        found[{station, alarm}] = is;
        // One that was acknowledged before it was first seen is no news.
        if (is == (seen != latched_.end() && seen->second)) return;
        NotifyMessage message{.event = acknowledged_by ? NotifyEvent::acknowledged : NotifyEvent::alarm,
                              .when = now,
                              .run = view.run,
                              .station = station,
                              .alarm = alarm,
                              .severity = severity};
        const auto of = station == "run" ? std::string("run control") : station;
        if (acknowledged_by)
            message.text = fmt::format("alarm of {} acknowledged by {}: {}", of, *acknowledged_by, alarm);
        else message.text = fmt::format("alarm of {}: {}", of, why);
        news.push_back(std::move(message));
    };
    for (const auto& alarm : own)
        look_at("run", alarm.name, alarm.report.severity, text_of(alarm.report), alarm.acknowledged_by);
    for (const auto& station : view.stations)
        for (const auto& alarm : station.report.alarms)
            look_at(station.entry.name, alarm.name, parse_severity(alarm.severity).value_or(Severity::error),
                    alarm.text, alarm.acknowledged_by);
    // A new process may come back with the alarms that it had; one that comes without them has raised none.
    for (const auto& station : view.stations) {
        if (station.state != "gone" && station.state != "launching") continue;
        for (const auto& [key, is] : latched_)
            if (key.first == station.entry.name) found.try_emplace(key, is);
    }
    latched_ = std::move(found);
    return news;
}

}  // namespace weir::control

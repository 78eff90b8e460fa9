// SPDX-License-Identifier: Apache-2.0
// The end of a run: its result, what is kept of it, and what is noted while it goes on for the case that run control is
// killed.
#include <fmt/format.h>

#include <algorithm>

#include "run/run_control_state.hpp"

namespace weir::control {
namespace {

constexpr std::size_t ranges_kept = 10'000;  // of ids of lost events, in the catalogue

constexpr std::size_t problems_kept = 4096;  // bytes

/// A line each.
std::string problems_text(const std::vector<std::string>& problems) {
    std::string text;
    for (const auto& problem : problems) {
        if (text.size() + problem.size() > problems_kept)
            return text + "and further ones; the log of run control has all";
        text += on_one_line(problem) + '\n';
    }
    text.pop_back();
    return text;
}

/// What a run's end leaves in the catalogues.
std::map<std::string, std::string> parameters_of(const RunResult& result) {
    const auto& e = result.events;
    std::map<std::string, std::string> all{{"stop reason", result.reason},
                                           {"triggers", fmt::to_string(e.triggers)},
                                           {"accepted", fmt::to_string(e.accepted)},
                                           {"built", fmt::to_string(e.built)},
                                           {"incomplete", fmt::to_string(e.incomplete)},
                                           {"recorded", fmt::to_string(e.recorded)}};
    if (!result.problems.empty()) all["problems"] = problems_text(result.problems);
    if (!result.account) return all;
    for (const auto& [cause, events] : result.account->lost) all["lost: " + cause] = events.ranges(ranges_kept);
    if (!result.account->twice.empty()) all["recorded twice"] = result.account->twice.ranges(ranges_kept);
    if (!result.account->unaccepted.empty())
        all["recorded, never accepted"] = result.account->unaccepted.ranges(ranges_kept);
    return all;
}

}  // namespace

void RunControl::State::end_of_run() {
    events_ = events();
    RunResult result{run_, stop_reason_, run_seconds_, {}, 0, 0, results(), {}, problems_};
    for (const auto& station : stations_) {
        if (!station->up() && !station->reported() && !dispensable(station->entry().kind))
            result.problems.push_back(fmt::format("{} is gone and left no counts", station->entry().name));
    }
    if (partition_.count(StationKind::handoff) > 0) {
        if (auto files = keeper_.hand_off(run_)) {
            result.hand_off = std::move(*files);
        } else {
            report_(report_of(Severity::warning, "what is handed over of the run is not known", files.error()));
        }
    }
    look_at_sources();
    result.sources = *sources_;
    balance(result);
    check_incomplete(result, options_.incomplete_max);
    check_triggers(result, options_.incomplete_max);
    for (auto& station : result.stations) station.events.reset();  // large, and not needed any more
    for (const auto& station : stations_) {
        station->forget_events();
        station->end_run();
    }
    result.alarms = latched_alarms();
    note_changes();
    if (auto kept = keeper_.keep(run_, parameters_of(result)); !kept)
        report_(report_of(Severity::warning, "the end of the run is not in the catalogue", kept.error()));
    report(result.good() ? Severity::information : Severity::error,
           fmt::format("run {} is over: {}{}", number(run_), stop_reason_,
                       result.good() || result.problems.front() == stop_reason_
                           ? ""
                           : fmt::format("; {}", result.problems.front())));
    keeper_.over();
    if (result.hand_off) report_files_left(*result.hand_off);
    if (result.account && !result.account->good()) {
        for (const auto& line : result.problems) {
            if (line != result.problems.front() && std::ranges::find(problems_, line) == problems_.end())
                report(Severity::error, line);
        }
    }
    if (!result.good()) ++bad_runs_;
    last_ = std::move(result);
    ++runs_;
    state = PartitionState::ready;
    if (ending_wanted_) return end_all();
    begins_again_ = head_lost_ && options_.begin_again && !stop_until_;  // else an operator has stopped it
    begin_again();
}

/// As soon as it can be.
void RunControl::State::begin_again() {
    if (!begins_again_ || state != PartitionState::ready || now_ < begin_again_at_) return;
    begin_again_at_ = now_ + std::chrono::seconds{1};
    if (const auto next = start(RunRequest(request_)); !next)
        report_({.severity = Severity::warning,
                 .what = "the next run cannot begin yet",
                 .why = next.error().message(),
                 .key = "begin again"});
}

void RunControl::State::report_files_left(const HandOffAccount& files) const {
    if (const auto later = files.later_text(); !later.empty())
        report_({.severity = Severity::warning,
                 .what = fmt::format("run {}: {}", number(run_), later),
                 .advice = "the next run hands them over too, and so does weir handoff"});
    if (const auto kept = files.kept_text(); !kept.empty())
        report_({.severity = Severity::warning,
                 .what = fmt::format("run {}: {}", number(run_), kept),
                 .advice = "no hand-off takes them; copy by hand what weir verify finds good"});
}

/// A run control before this one was killed in a run: its stations have stopped by themselves, and closed the run.
void RunControl::State::look_for_run_left_open() {
    const auto left = keeper_.left();
    if (!left) {
        report_(report_of(Severity::warning, "it is not known whether the run before was stopped", left.error()));
        return;
    }
    if (!*left) return;
    const auto run = (*left)->changes.run;
    const auto& noted = (*left)->counts;
    auto parameters = noted;
    parameters["stop reason"] =
        "run control ended without stopping the run; its counts are those of a second before, or older";
    const auto accepted = noted.contains("accepted") ? noted.at("accepted") : std::string("0");
    report_({.severity = Severity::error,
             .what = fmt::format("run {} was not stopped: the run control before this one was killed", number(run)),
             .why = fmt::format("{} events were accepted when it was last noted", accepted),
             .advice = "weir ls and weir verify show what its recorders have",
             .alarm = "run not stopped"});
    if (auto kept = keeper_.keep(run, parameters); !kept) {  // it stays noted, until the next run is
        report_(report_of(Severity::warning, "the end of the run before is not in the catalogue", kept.error()));
        return;
    }
    keeper_.over();
}

void RunControl::State::note_run() {
    noted_ = seen_;
    const auto e = events();
    const std::map<std::string, std::string> counts{{"triggers", fmt::to_string(e.triggers)},
                                                    {"accepted", fmt::to_string(e.accepted)},
                                                    {"built", fmt::to_string(e.built)},
                                                    {"incomplete", fmt::to_string(e.incomplete)},
                                                    {"recorded", fmt::to_string(e.recorded)}};
    const auto noted = keeper_.note(run_, counts);
    if (!noted && !note_failed_)
        report_(report_of(Severity::warning, "what is known of the run cannot be noted", noted.error()));
    note_failed_ = !noted;
    note_changes();
}

void RunControl::State::note_changes() {
    if (!std::exchange(peers_noted_, true)) {
        if (const auto noted = keeper_.note(run_, peers_); !noted)
            report_(report_of(Severity::warning, "how stations reach each other cannot be noted", noted.error()));
    }
    if (changes_noted_) return;
    changes_noted_ = true;  // tried once for each
    if (const auto noted = keeper_.note(changes_); !noted)
        report_(report_of(Severity::warning, "the record of the run cannot be written", noted.error()));
}

void RunControl::State::end_all() {
    state = PartitionState::ending;
    phases_.clear();
    begun_ = false;
    replacing_.clear();
    for (const auto& station : stations_) station->end(now_, exit_grace(options_, station->entry().kind));
}

}  // namespace weir::control

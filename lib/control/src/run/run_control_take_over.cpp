// SPDX-License-Identifier: Apache-2.0
// A run control that goes on with what one before it left. Stations go on without run control; what it had to remember
// is in the record of the run. Each station says how it is: those that run the run are kept as they are, and what is
// missing or in another state has died, as far as this one is concerned.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "run/run_control_state.hpp"
#include "weir/base/source_id.hpp"

namespace weir::control {
namespace {

using service::StationState;

/// A number that was noted; 0: it was not, or is no number.
std::uint64_t noted_count(const std::map<std::string, std::string>& counts, const std::string& what) {
    const auto found = counts.find(what);
    std::uint64_t count = 0;
    if (found != counts.end())
        static_cast<void>(std::from_chars(found->second.data(), found->second.data() + found->second.size(), count));
    return count;
}

bool in_run(StationState state) noexcept { return state == StationState::running || state == StationState::paused; }

}  // namespace

Result<> RunControl::State::take_over() {
    WEIR_TRY(must_be(PartitionState::down, "take the partition over"));
    const auto left = keeper_.left();
    if (!left) return std::unexpected(left.error());
    std::size_t adopted = 0;
    for (const auto& station : stations_)
        if (station->adopt(now_, options_.launch_deadline)) ++adopted;
    if (adopted == 0) return bring_up();
    failure_.reset();
    ending_wanted_ = false;
    state = PartitionState::coming_up;
    taking_over_ = true;
    if (*left) go_on_with(**left);
    // One that is silent has its own limits; a transition that is under way has its time.
    const auto patience = std::max({options_.launch_deadline, options_.start_deadline, options_.stop_deadline});
    set_phases({{.what = Phase::What::look, .until = now_ + patience}});
    report(Severity::information, fmt::format("partition {} is taken over: {} of its {} stations are there",
                                              partition_.name, adopted, stations_.size()));
    return {};
}

/// What the one before had in its memory.
void RunControl::State::go_on_with(const RunLeft& left) {
    changes_ = left.changes;
    changes_noted_ = false;
    for (const auto& peer : left.peers) known_[peer.name] = peer;
    list_peers();
    run_ = changes_.run;
    events_ = {.triggers = noted_count(left.counts, "triggers"),
               .accepted = noted_count(left.counts, "accepted"),
               .built = noted_count(left.counts, "built"),
               .incomplete = noted_count(left.counts, "incomplete"),
               .recorded = noted_count(left.counts, "recorded")};
    started_ = changes_.started;
    run_begin_ = seen_ - (started_ == WallTime{} ? SteadyTime::duration{}
                                                 : std::max<SteadyTime::duration>(clock_.wall() - started_, {}));
    request_ = {{}, changes_.parameters};
    if (const auto comment = request_.parameters.extract("comment")) request_.comment = comment.mapped();
    request_.parameters.erase("partition");
    masked_.clear();
    masks_.clear();
    for (const auto& change : changes_.list) {
        if (change.what != "mask" && change.what != "unmask") continue;
        const auto source = parse_source_id(change.subject);
        if (!source) continue;
        masks_.push_back({*source, change.what == "mask", change.from});
        if (change.what == "mask") masked_[*source] = {change.who, change.why};
        else masked_.erase(*source);
    }
    watch_.begin_run();
    for (const auto& station : stations_) {
        station->begin_run();
        station->set_masks(masks_);
        station->restarts = static_cast<std::uint32_t>(std::ranges::count_if(changes_.list, [&](const auto& change) {
            return change.what == "replace" && change.subject == station->entry().name;
        }));
    }
}

bool RunControl::State::waits_for_look(const Phase& phase) {
    if (phase.until && now_ >= *phase.until) return false;
    return !std::ranges::all_of(stations_, [](const auto& station) {
        return station->gone() || (station->idle() && station->reported() && !station->report().transition);
    });
}

void RunControl::State::taken_over() {
    taking_over_ = false;
    if (run_ != RunNumber{}) return go_on_with_run();
    state = PartitionState::ready;
    for (const auto& station : stations_) {
        if (station->gone() || station->state() == StationState::connected) continue;
        report(Severity::warning, fmt::format("{} is {} and is started again", station->entry().name,
                                              station->up() ? service::name(station->state()) : "not there"));
        station->kill();
    }
}

void RunControl::State::go_on_with_run() {
    const auto stop_before = std::ranges::find(changes_.list, "stop", &RunChange::what);
    const bool stops = stop_before != changes_.list.end();
    const auto before = stops ? *stop_before : RunChange{};
    std::erase_if(changes_.list, [](const RunChange& change) { return change.what == "stop"; });
    state = PartitionState::running;
    std::vector<StationControl*> missing;
    for (const auto& station : stations_) {
        const bool of_run = !station->gone() && station->up() && station->reported() && station->report().run == run_;
        station->has_started(of_run);
        if (of_run && (in_run(station->state()) || (stops && station->state() == StationState::connected))) {
            if (station->entry().kind == StationKind::supervise && station->state() == StationState::paused && !stops)
                state = PartitionState::paused;
        } else {
            missing.push_back(station.get());
        }
    }
    report(Severity::information,
           fmt::format("run {} goes on{}", number(run_), request_.comment.empty() ? "" : ": " + request_.comment));
    for (auto* station : missing) {
        const auto what = fmt::format("was {} when run control came back",
                                      station->gone() || !station->up() ? "gone" : service::name(station->state()));
        station->kill();
        trouble_of(*station, {true, false, what});
    }
    if (stops) {
        stop(before.why, Drain::complete);
        const auto noted = std::ranges::find(changes_.list, "stop", &RunChange::what);
        if (noted != changes_.list.end()) *noted = before;  // it was asked for then
    }
    if (const auto wish = std::exchange(stop_at_look_, std::nullopt)) shut_down(wish->why, wish->who);
}

}  // namespace weir::control

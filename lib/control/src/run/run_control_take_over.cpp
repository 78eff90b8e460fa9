// SPDX-License-Identifier: Apache-2.0
// A run control that goes on with what one before it left. Stations go on without run control; what it had to remember
// is in the record of the run. Each station says how it is: those that run the run are kept as they are, and what is
// missing or in another state has died, as far as this one is concerned.
#include <fmt/format.h>

#include <algorithm>

#include "run/run_control_state.hpp"
#include "weir/base/source_id.hpp"

namespace weir::control {
namespace {

using service::StationState;

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
    set_phases({{.what = Phase::What::look, .until = now_ + options_.launch_deadline}});
    report(Severity::information, fmt::format("partition {} is taken over: {} of its {} stations are there",
                                              partition_.name, adopted, stations_.size()));
    return {};
}

/// What the one before had in its memory.
void RunControl::State::go_on_with(const RunLeft& left) {
    changes_ = left.changes;
    changes_noted_ = false;
    run_ = changes_.run;
    started_ = changes_.started;
    run_begin_ = seen_ - std::clamp<SteadyTime::duration>(clock_.wall() - started_, {}, seen_.time_since_epoch());
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
    const auto why = stops ? stop_before->why : std::string();
    std::erase_if(changes_.list, [](const RunChange& change) { return change.what == "stop"; });
    state = PartitionState::running;
    std::vector<StationControl*> missing;
    for (const auto& station : stations_) {
        const bool of_run = !station->gone() && station->up() && station->reported() && station->report().run == run_;
        station->has_started();
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
    if (stops) stop(why, Drain::complete);
}

}  // namespace weir::control

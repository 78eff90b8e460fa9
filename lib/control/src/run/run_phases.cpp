// SPDX-License-Identifier: Apache-2.0
#include "run/run_phases.hpp"

#include <algorithm>
#include <array>

namespace weir::control {
namespace {

using Kind = StationStep::Kind;

struct StopShare {
    StationKind kind;
    double until;  // of the whole time
};
// Nothing is in hand then, or it is abandoned. The recorder syncs and closes files, and gets most. The hand-off has
// what these leave: at its end all events are in files, and what it does not hand over then stays in the catalogue.
// Monitors come last: nothing waits for them but the end.
constexpr std::array stop_order{StopShare{StationKind::supervise, 0.05}, StopShare{StationKind::select, 0.10},
                                StopShare{StationKind::assign, 0.15},    StopShare{StationKind::build, 0.30},
                                StopShare{StationKind::filter, 0.45},    StopShare{StationKind::record, 0.85},
                                StopShare{StationKind::readout, 0.88},   StopShare{StationKind::handoff, 0.92},
                                StopShare{StationKind::monitor, 0.96}};
constexpr double drain_part = 0.6;  // of an operator's stop
constexpr std::array start_order{StationKind::record,    StationKind::filter,  StationKind::build,
                                 StationKind::readout,   StationKind::assign,  StationKind::select,
                                 StationKind::supervise, StationKind::handoff, StationKind::monitor};

Phase all(Kind kind, std::chrono::milliseconds limit, service::Transition transition = service::Transition::configure) {
    return {Phase::What::step, {kind, transition, limit}, std::nullopt, std::nullopt, false};
}

}  // namespace

std::vector<Phase> phases_up(const RunControlOptions& o) {
    std::vector<Phase> phases{all(Kind::launch, o.launch_deadline),
                              all(Kind::transition, o.configure_deadline, service::Transition::configure),
                              all(Kind::report, o.connect_deadline),
                              all(Kind::transition, o.connect_deadline, service::Transition::connect)};
    phases[2].introduces = true;
    return phases;
}

std::vector<Phase> phases_start(const RunControlOptions& o) {
    std::vector<Phase> phases{{Phase::What::assemble, {}, std::nullopt, std::nullopt, false}};
    for (const auto kind : start_order)
        phases.push_back({Phase::What::step,
                          {Kind::transition, service::Transition::start, o.start_deadline},
                          kind,
                          std::nullopt,
                          false});
    return phases;
}

std::chrono::milliseconds drain_share(const RunControlOptions& o) noexcept {
    return std::chrono::duration_cast<std::chrono::milliseconds>(o.stop_deadline * drain_part);
}

std::vector<Phase> phases_drain(const RunControlOptions& o, Drain drain) {
    // A silent supervisor has the time of the drain, or as long as it lives.
    const auto limit = drain == Drain::bounded ? drain_share(o) : std::chrono::milliseconds(std::chrono::hours(1));
    return {{Phase::What::step,
             {Kind::transition, service::Transition::pause, limit},
             StationKind::supervise,
             std::nullopt,
             false},
            {Phase::What::drain, {}, std::nullopt, std::nullopt, false}};
}

std::vector<Phase> phases_stop(SteadyTime now, SteadyTime until, std::chrono::milliseconds patience) {
    std::vector<Phase> phases;
    const auto part = [&](double share) {
        return std::chrono::duration_cast<std::chrono::milliseconds>((until - now) * share);
    };
    for (const auto& [kind, share] : stop_order) {
        const bool single = kind == StationKind::supervise || kind == StationKind::assign;
        phases.push_back({Phase::What::step,
                          {Kind::transition, service::Transition::stop, part(share)},
                          kind,
                          now + part(share),
                          false,
                          single ? patience : std::chrono::milliseconds{}});
    }
    phases.push_back(
        {Phase::What::step, {Kind::report, service::Transition::stop, part(1)}, std::nullopt, until, false});
    return phases;
}

std::vector<Phase> phases_pause(const RunControlOptions& o, service::Transition transition) {
    return {{Phase::What::step,
             {Kind::transition, transition, o.pause_deadline},
             StationKind::supervise,
             std::nullopt,
             false}};
}

std::vector<StationStep> steps_of_replacement(const RunControlOptions& o, bool run) {
    std::vector<StationStep> steps{{Kind::launch, service::Transition::configure, o.launch_deadline},
                                   {Kind::transition, service::Transition::configure, o.configure_deadline},
                                   {Kind::report, service::Transition::configure, o.connect_deadline},
                                   {Kind::transition, service::Transition::connect, o.connect_deadline}};
    if (run) steps.push_back({Kind::transition, service::Transition::start, o.start_deadline});
    return steps;
}

std::chrono::milliseconds exit_grace(const RunControlOptions& o, StationKind kind) noexcept {
    // At the end of the process a hand-off removes what it began at destinations that may not answer, and waits for the
    // shared catalogue: 21 s at most. It ends at once when all of them answer.
    constexpr std::chrono::milliseconds of_a_hand_off{25'000};
    return kind == StationKind::handoff ? std::max(o.exit_deadline, of_a_hand_off) : o.exit_deadline;
}

std::size_t stop_rank(StationKind kind) noexcept {
    for (std::size_t i = 0; i < stop_order.size(); ++i) {
        if (stop_order[i].kind == kind) return i;
    }
    return stop_order.size();
}

}  // namespace weir::control

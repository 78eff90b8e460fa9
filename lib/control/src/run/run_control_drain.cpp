// SPDX-License-Identifier: Apache-2.0
// The drain of a run that stops: when every accepted event is final, and how long that is waited for.
#include <fmt/format.h>

#include <algorithm>

#include "run/run_control_state.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

// Supervisor and DFM have nothing in hand and disagree about how much there was: no message is under way that long.
constexpr auto disagreement_max = 10s;
constexpr auto still_after = 60s;  // a drain without progress is reported

}  // namespace

const StationControl* RunControl::State::single(StationKind kind) const noexcept {
    const auto found = std::ranges::find_if(stations_, [&](const auto& s) { return s->entry().kind == kind; });
    return found == stations_.end() ? nullptr : found->get();
}

/// Every accepted event is final: the supervisor makes none and has sent all decisions, and the DFM has received them
/// and has none in hand. Without a DFM that is not known; then builders and filters bring away what they have.
bool RunControl::State::drained() {
    const auto* dfm = single(StationKind::assign);
    const auto* supervisor = single(StationKind::supervise);
    if (dfm == nullptr) return true;
    if (!dfm->up() || dfm->ending()) return drained_without_dfm();
    if (dfm->state() != service::StationState::running) return dfm->idle();
    const bool supervised = supervisor != nullptr && supervisor->up() && !supervisor->ending() &&
                            supervisor->state() != service::StationState::connected;
    if (supervised &&
        (!supervisor->idle() || supervisor->report_asked() < drain_begun_ || supervisor->status().ledger.in_hand > 0))
        return false;
    if (dfm->report_asked() < drain_begun_ || dfm->status().ledger.in_hand > 0) return false;
    const std::pair counts{supervised ? decisions_of(supervisor->status().ledger, supervisor->status().counters) : 0,
                           dfm->status().ledger.received};
    if (!supervised || counts.first == counts.second) return true;
    if (!disagreement_ || disagreement_->counts != counts) disagreement_ = Disagreement{counts, now_};
    const auto asked = std::min(supervisor->report_asked(), dfm->report_asked());
    return asked - disagreement_->since >= disagreement_max;  // reported at the end, as a ledger that does not balance
}

bool RunControl::State::drained_without_dfm() {
    if (!dfm_gone_since_) dfm_gone_since_ = now_;
    return std::ranges::all_of(stations_, [&](const auto& station) {
        if (station->entry().kind != StationKind::build && station->entry().kind != StationKind::filter) return true;
        if (station->gone() && station->idle()) return true;  // it is not started again
        return station->idle() && !replacing_.contains(station->entry().name) &&
               station->report_asked() > *dfm_gone_since_ && station->status().ledger.in_hand == 0;
    });
}

bool RunControl::State::waits_for_drain() {
    const auto* dfm = single(StationKind::assign);
    const auto in_hand = dfm != nullptr ? dfm->status().ledger.in_hand : 0;
    if (!progress_ && in_hand > 0)
        report(Severity::information,
               fmt::format("run {} waits for {} accepted events that are not final", number(run_), in_hand));
    if (!progress_ || progress_->in_hand != in_hand) progress_ = Progress{in_hand, now_};
    if (drained()) return false;
    if (drain_until_ && now_ >= *drain_until_) return false;
    if (now_ - progress_->since < still_after) return true;
    report_({.severity = Severity::warning,
             .what = fmt::format("run {} has waited {} for {} accepted events, and none became final", number(run_),
                                 to_string(std::chrono::duration_cast<std::chrono::seconds>(now_ - progress_->since)),
                                 in_hand),
             .advice = "see the stations' alarms; weir run stop gives the run its stop_deadline to end",
             .alarm = "the run does not end"});
    progress_->since = now_;
    return true;
}

void RunControl::State::drain_over() {
    drain_over_ = true;
    if (stop_until_) return set_phases(phases_stop(now_, *stop_until_, {}));
    const auto* dfm = single(StationKind::assign);  // without one the supervisor waits for nothing
    const bool alive = dfm != nullptr && dfm->up() && !dfm->ending();
    set_phases(phases_stop(now_, now_ + options_.stop_deadline,
                           alive ? options_.silent_after_single : std::chrono::milliseconds{}));
}

/// What is not final by then is abandoned.
void RunControl::State::bound_drain() {
    if (!drain_until_) drain_until_ = now_ + drain_share(options_);
}

void RunControl::State::bound_stop() {
    if (stop_until_) return;
    bound_drain();
    stop_until_ = now_ + options_.stop_deadline;
}

/// An operator is there now: what has not stopped yet shares out the time of his stop.
void RunControl::State::bound_rest_of_stop() {
    const auto present = rank_of_front();
    auto phases = phases_stop(now_, *stop_until_, {});
    std::erase_if(phases, [&](const Phase& phase) { return phase.kind && stop_rank(*phase.kind) < present; });
    set_phases(phases);
}

}  // namespace weir::control

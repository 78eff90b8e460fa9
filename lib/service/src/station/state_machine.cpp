// SPDX-License-Identifier: Apache-2.0
#include "weir/service/state_machine.hpp"

#include <fmt/format.h>

#include "weir/base/assert.hpp"

namespace weir::service {
namespace {

bool leads_down(Transition transition) noexcept {
    return transition == Transition::stop || transition == Transition::disconnect ||
           transition == Transition::unconfigure;
}

std::string possible_from(StationState state) {
    std::string names;
    for (const auto transition : transitions) {
        if (after(state, transition)) names.append(names.empty() ? "" : ", ").append(name(transition));
    }
    return names;
}

}  // namespace

Result<> StateMachine::idle() const {
    if (under_way_) return fail(Errc::refused, fmt::format("{} is under way; wait for its end", under_way_->name));
    return {};
}

void StateMachine::begin(std::string name, StationState to, bool down, SteadyTime now, WallTime wall,
                         std::chrono::milliseconds deadline) {
    to_ = to;
    down_ = down;
    hopeless_reported_ = false;
    began_wall_ = wall;
    under_way_ = {std::move(name), now, deadline, false};
}

Result<> StateMachine::begin(Transition transition, SteadyTime now, WallTime wall, std::chrono::milliseconds deadline) {
    WEIR_TRY(idle());
    const auto to = after(state_, transition);
    if (!to)
        return fail(Errc::refused, fmt::format("{} is not possible in state {}; possible: {}", name(transition),
                                               name(state_), possible_from(state_)));
    begin(name(transition), *to, leads_down(transition), now, wall, deadline);
    return {};
}

Result<> StateMachine::begin_change_peers(SteadyTime now, WallTime wall, std::chrono::milliseconds deadline) {
    WEIR_TRY(idle());
    if (state_ == StationState::initial || state_ == StationState::configured)
        return fail(Errc::refused,
                    fmt::format("change_peers is not possible in state {}; connect names the peers", name(state_)));
    begin("change_peers", state_, false, now, wall, deadline);
    return {};
}

Result<> StateMachine::begin_mask(SteadyTime now, WallTime wall, std::chrono::milliseconds deadline) {
    WEIR_TRY(idle());
    if (state_ != StationState::running && state_ != StationState::paused)
        return fail(Errc::refused,
                    fmt::format("mask is not possible in state {}; start names the masks", name(state_)));
    begin("mask", state_, false, now, wall, deadline);
    return {};
}

void StateMachine::end(const Result<>& result, SteadyTime now) {
    WEIR_ASSERT(under_way_.has_value());
    Step step{under_way_->name, state_, state_, began_wall_, now - under_way_->began, {}};
    if (result || down_) step.to = to_;
    if (!result) step.error = result.error().message();
    error_ = step.error;
    state_ = step.to;
    history_.push_back(std::move(step));
    if (history_.size() > history_max) history_.pop_front();
    under_way_.reset();
}

Lateness StateMachine::look(SteadyTime now) {
    if (!under_way_) return Lateness::in_time;
    const auto deadline = under_way_->began + under_way_->deadline;
    if (now >= deadline && !under_way_->late) {
        under_way_->late = true;
        return Lateness::late;
    }
    if (down_ && !hopeless_reported_ && now >= deadline + grace_) {
        hopeless_reported_ = true;
        return Lateness::hopeless;
    }
    return Lateness::in_time;
}

std::optional<SteadyTime> StateMachine::next_look() const {
    if (!under_way_) return std::nullopt;
    const auto deadline = under_way_->began + under_way_->deadline;
    if (!under_way_->late) return deadline;
    if (down_ && !hopeless_reported_) return deadline + grace_;
    return std::nullopt;
}

}  // namespace weir::service

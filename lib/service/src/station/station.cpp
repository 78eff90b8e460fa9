// SPDX-License-Identifier: Apache-2.0
#include "weir/service/station.hpp"

namespace weir::service {

const char* name(StationState state) noexcept {
    switch (state) {
        case StationState::initial: return "initial";
        case StationState::configured: return "configured";
        case StationState::connected: return "connected";
        case StationState::running: return "running";
        case StationState::paused: return "paused";
    }
    return "unknown";
}

const char* name(Transition transition) noexcept {
    switch (transition) {
        case Transition::configure: return "configure";
        case Transition::connect: return "connect";
        case Transition::start: return "start";
        case Transition::pause: return "pause";
        case Transition::resume: return "resume";
        case Transition::stop: return "stop";
        case Transition::disconnect: return "disconnect";
        case Transition::unconfigure: return "unconfigure";
    }
    return "unknown";
}

std::optional<StationState> parse_station_state(std::string_view text) noexcept {
    for (const auto state : station_states) {
        if (text == name(state)) return state;
    }
    return std::nullopt;
}

std::optional<Transition> parse_transition(std::string_view text) noexcept {
    for (const auto transition : transitions) {
        if (text == name(transition)) return transition;
    }
    return std::nullopt;
}

std::optional<StationState> after(StationState state, Transition transition) noexcept {
    using enum StationState;
    const auto when = [&](StationState from, StationState to) {
        return state == from ? std::optional(to) : std::nullopt;
    };
    switch (transition) {
        case Transition::configure: return when(initial, configured);
        case Transition::connect: return when(configured, connected);
        case Transition::start: return when(connected, running);
        case Transition::pause: return when(running, paused);
        case Transition::resume: return when(paused, running);
        case Transition::stop: return state == running || state == paused ? std::optional(connected) : std::nullopt;
        case Transition::disconnect: return when(connected, configured);
        case Transition::unconfigure: return when(configured, initial);
    }
    return std::nullopt;
}

bool StationLedger::balances() const noexcept {
    auto sum = stored + in_hand;
    for (const auto& [reason, count] : rejected) sum += count;
    return received == sum;
}

}  // namespace weir::service

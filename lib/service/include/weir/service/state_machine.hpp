// SPDX-License-Identifier: Apache-2.0
// The states of a station: which transition may begin, where it leads, whether it is late, and what happened so far. No
// thread and no clock in it: the frame locks it and passes the time.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/service/station.hpp"

namespace weir::service {

/// What the frame's watchdog has to do about the transition under way; each is reported once.
enum class Lateness { in_time, late, hopeless };

class StateMachine {
public:
    /// `grace`: a way down (stop, disconnect, unconfigure) that is later than its deadline by this is hopeless.
    explicit StateMachine(std::chrono::milliseconds grace) : grace_(grace) {}

    struct Step {
        std::string name;  // of the transition, "change_peers" or "mask"
        StationState from{}, to{};
        WallTime began{};
        std::chrono::nanoseconds took{0};
        std::optional<std::string> error{};
    };

    [[nodiscard]] StationState state() const noexcept { return state_; }
    [[nodiscard]] bool busy() const noexcept { return under_way_.has_value(); }

    /// Errc::refused: not from this state, or a transition is under way; one line that names what is possible.
    [[nodiscard]] Result<> begin(Transition transition, SteadyTime now, WallTime wall,
                                 std::chrono::milliseconds deadline);
    /// The same for a change of peers, which needs a station that is connected and leads nowhere.
    [[nodiscard]] Result<> begin_change_peers(SteadyTime now, WallTime wall, std::chrono::milliseconds deadline);
    [[nodiscard]] Result<> begin_mask(SteadyTime now, WallTime wall, std::chrono::milliseconds deadline);

    /// The transition has ended. A way up that failed does not change the state; a way down leads down even so,
    /// because a station must be able to end.
    void end(const Result<>& result, SteadyTime now);

    struct UnderWay {
        std::string name;
        SteadyTime began{};
        std::chrono::milliseconds deadline{0};
        bool late = false;
    };
    [[nodiscard]] const std::optional<UnderWay>& under_way() const noexcept { return under_way_; }

    /// late and hopeless are answered once each.
    [[nodiscard]] Lateness look(SteadyTime now);
    /// When to look again; nothing: nothing is under way, or all was reported.
    [[nodiscard]] std::optional<SteadyTime> next_look() const;

    /// Of the last one that failed, unless a later one went well.
    [[nodiscard]] const std::optional<std::string>& error() const noexcept { return error_; }
    /// The latest, oldest first.
    [[nodiscard]] const std::deque<Step>& history() const noexcept { return history_; }
    static constexpr std::size_t history_max = 100;

private:
    void begin(std::string name, StationState to, bool down, SteadyTime now, WallTime wall,
               std::chrono::milliseconds deadline);
    [[nodiscard]] Result<> idle() const;

    const std::chrono::milliseconds grace_;
    StationState state_ = StationState::initial;
    StationState to_ = StationState::initial;
    bool down_ = false, hopeless_reported_ = false;
    WallTime began_wall_{};
    std::optional<UnderWay> under_way_;
    std::optional<std::string> error_;
    std::deque<Step> history_;
};

}  // namespace weir::service

// SPDX-License-Identifier: Apache-2.0
// How the clock of one board stands to the clock of the triggers, followed from matches that are beyond doubt. The
// state is an offset and a rate with their uncertainty (a Kalman filter of two states), so it is known at every moment
// how far a prediction can be trusted: after a long silence of the board it cannot.
//
// Times of day in nanoseconds need more digits than a double has. So both clocks are kept as integers at the last
// match, and the filter holds only what is left of the offset there.
#pragma once

#include <chrono>
#include <cstdint>

namespace weir::readout {

enum class BoardTime : std::int64_t {};    // nanoseconds of a board's own clock
enum class TriggerTime : std::int64_t {};  // nanoseconds of the clock that the triggers carry

/// Signed nanoseconds from b to a.
template <class Time>
[[nodiscard]] constexpr std::int64_t nanoseconds_between(Time a, Time b) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

class ClockTrack {
public:
    static constexpr double rate_start = 1e5;  // ns/s: a clock that nothing is known about is wrong by 100 ppm or less
    static constexpr double rate_walk = 30;    // ns/s in a second: the rate of a quartz that gets warm

    /// One match is known. `jitter`: of a single time, one sigma, in ns.
    ClockTrack(BoardTime board, TriggerTime trigger, double jitter) noexcept
        : board_(board), trigger_(trigger), jitter_(jitter), offset_variance_(jitter * jitter) {}

    /// The triggers' time at a time of the board.
    [[nodiscard]] TriggerTime to_trigger(BoardTime board) const noexcept;
    /// The uncertainty of that, in ns, one sigma.
    [[nodiscard]] double sigma(BoardTime board) const noexcept;
    /// Another match, later than the last (an earlier one changes nothing).
    void update(BoardTime board, TriggerTime trigger) noexcept;
    /// The same clock, seen from an earlier time of the board; its rate stays known.
    [[nodiscard]] ClockTrack from(BoardTime board) const noexcept;

    /// How much more the triggers' clock counts than the board's, in ns a second (1000 are 1 ppm).
    [[nodiscard]] double rate() const noexcept { return rate_; }

private:
    struct Variances {
        double offset, both, rate;
    };
    [[nodiscard]] Variances predicted(double seconds) const noexcept;
    [[nodiscard]] double seconds_to(BoardTime board) const noexcept {
        return static_cast<double>(nanoseconds_between(board, board_)) * 1e-9;
    }

    BoardTime board_;      // of the last match
    TriggerTime trigger_;  // there, to a nanosecond
    double jitter_;
    double offset_ = 0;  // ns that are left
    double rate_ = 0;
    double offset_variance_;
    double both_variance_ = 0;
    double rate_variance_ = rate_start * rate_start;
};

}  // namespace weir::readout

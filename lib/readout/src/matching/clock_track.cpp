// SPDX-License-Identifier: Apache-2.0
#include "matching/clock_track.hpp"

#include <algorithm>
#include <cmath>

namespace weir::readout {
namespace {

TriggerTime later(TriggerTime time, std::int64_t nanoseconds) noexcept {
    return TriggerTime{
        static_cast<std::int64_t>(static_cast<std::uint64_t>(time) + static_cast<std::uint64_t>(nanoseconds))};
}

// Beyond this a double is no whole nanosecond any more, and no prediction is of use: 100 days.
constexpr double nanoseconds_max = 9e15;

std::int64_t whole(double nanoseconds) noexcept {
    if (!(std::abs(nanoseconds) < nanoseconds_max)) return 0;
    return std::llround(nanoseconds);
}

}  // namespace

TriggerTime ClockTrack::to_trigger(BoardTime board) const noexcept {
    const auto apart = nanoseconds_between(board, board_);
    return later(later(trigger_, apart), whole(offset_ + rate_ * seconds_to(board)));
}

ClockTrack::Variances ClockTrack::predicted(double seconds) const noexcept {
    constexpr double walk = rate_walk * rate_walk;
    const double apart = std::abs(seconds);
    return {.offset = offset_variance_ + seconds * (2 * both_variance_ + seconds * rate_variance_) +
                      walk * apart * apart * apart / 3,
            .both = both_variance_ + seconds * rate_variance_ + walk * seconds * apart / 2,
            .rate = rate_variance_ + walk * apart};
}

double ClockTrack::sigma(BoardTime board) const noexcept {
    return std::sqrt(std::max(predicted(seconds_to(board)).offset, 0.0));
}

void ClockTrack::update(BoardTime board, TriggerTime trigger) noexcept {
    const double seconds = seconds_to(board);
    if (seconds < 0) return;
    const auto variances = predicted(seconds);
    const auto at_rate_zero = later(trigger_, nanoseconds_between(board, board_));
    const double measured = static_cast<double>(nanoseconds_between(trigger, at_rate_zero));
    const double offset = offset_ + rate_ * seconds;
    const double gain = variances.offset / (variances.offset + jitter_ * jitter_);
    const double rate_gain = variances.both / (variances.offset + jitter_ * jitter_);
    const double surprise = measured - offset;

    const double settled = offset + gain * surprise;
    rate_ += rate_gain * surprise;
    offset_variance_ = (1 - gain) * variances.offset;
    both_variance_ = (1 - gain) * variances.both;
    rate_variance_ = variances.rate - rate_gain * variances.both;
    board_ = board;
    trigger_ = later(at_rate_zero, whole(settled));
    offset_ = settled - static_cast<double>(whole(settled));
}

ClockTrack ClockTrack::from(BoardTime board) const noexcept {
    ClockTrack earlier(board, to_trigger(board), jitter_);
    earlier.rate_ = rate_;
    earlier.rate_variance_ = rate_variance_;
    return earlier;
}

}  // namespace weir::readout

// SPDX-License-Identifier: Apache-2.0
#include "datagrams/counter_track.hpp"

#include <algorithm>

#include "weir/base/assert.hpp"

namespace weir::readout {

CounterTrack::CounterTrack(std::uint32_t bits, std::uint32_t first) noexcept
    : mask_(bits >= 32 ? ~0U : (1U << bits) - 1),
      jump_least_(bits >= 18 ? 1 << 16 : 1 << (bits - 2)),
      newest_(first - 1),
      base_(first) {
    WEIR_ASSERT(bits >= 8 && bits <= 32);
}

std::uint32_t CounterTrack::extended(std::uint32_t counter) const noexcept {
    auto ahead = (counter - newest_) & mask_;
    if (ahead > mask_ / 2) ahead |= ~mask_;  // behind
    return newest_ + ahead;
}

void CounterTrack::advance(std::uint32_t by) noexcept {
    if (by >= remembered) seen_.reset();
    for (std::uint32_t i = 1; by < remembered && i <= by; ++i) seen_.reset((newest_ + i) % remembered);
    newest_ += by;
}

CounterStep CounterTrack::leap(std::uint32_t value) noexcept {
    const auto on = target_ ? static_cast<std::int32_t>(value - *target_) : 0;
    if (on < 1 || on > static_cast<std::int32_t>(confirmed_within)) {
        target_ = value;
        return CounterStep::jumped;
    }
    const auto first = *target_;
    target_.reset();
    const auto ahead = static_cast<std::int32_t>(value - newest_);
    if (ahead > 0 && ahead < jump_least_) {  // a long loss
        advance(static_cast<std::uint32_t>(ahead));
        lost_ += static_cast<std::uint32_t>(ahead) - 2;  // but this one and the first
    } else {
        ++jumps_;
        seen_.reset();
        base_ = first;
        newest_ = value;
        lost_ += value - first - 1;
    }
    seen_.set(first % remembered);  // it came, and was refused
    seen_.set(value % remembered);
    return CounterStep::fresh;
}

CounterStep CounterTrack::take(std::uint32_t value) noexcept {
    const auto ahead = static_cast<std::int32_t>(value - newest_);
    if (ahead >= static_cast<std::int32_t>(remembered) || ahead >= jump_least_ || ahead <= -jump_least_)
        return leap(value);
    if (ahead > 0) {
        advance(static_cast<std::uint32_t>(ahead));
        lost_ += static_cast<std::uint32_t>(ahead) - 1;
        seen_.set(value % remembered);
        return CounterStep::fresh;
    }
    if (ahead <= -static_cast<std::int32_t>(remembered) || static_cast<std::int32_t>(value - base_) < 0)
        return CounterStep::old;
    if (seen_.test(value % remembered)) return CounterStep::seen;
    seen_.set(value % remembered);
    --lost_;
    ++disordered_;
    return CounterStep::fresh;
}

void CounterTrack::reach(std::uint32_t value) noexcept {
    if (mask_ == ~0U) return;  // it needs no extending; where it is not, it jumped to
    const auto ahead = static_cast<std::int32_t>(value - newest_);
    if (ahead < jump_least_ / 2) return;  // what comes is extended rightly
    advance(static_cast<std::uint32_t>(ahead));
    lost_ += static_cast<std::uint32_t>(ahead);
}

}  // namespace weir::readout

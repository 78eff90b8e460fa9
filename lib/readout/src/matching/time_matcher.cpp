// SPDX-License-Identifier: Apache-2.0
#include "matching/time_matcher.hpp"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

namespace weir::readout {
namespace {

/// The single times of a board scatter by a quarter of it at most: then one in 16,000 is outside.
constexpr double jitter_of_window = 0.25;
constexpr double sigmas = 3;
/// Of the fragments that are laid over the triggers so many may have none: noise, and triggers that were lost.
constexpr std::size_t acquire_triggers = 16'384;  // the last ones, that they are laid over
constexpr std::size_t acquire_misses = TimeMatcher::acquire_from / 4;

TriggerTime moved(TriggerTime time, std::int64_t nanoseconds) noexcept {
    return TriggerTime{
        static_cast<std::int64_t>(static_cast<std::uint64_t>(time) + static_cast<std::uint64_t>(nanoseconds))};
}

std::int64_t apart(TriggerTime a, TriggerTime b) noexcept {
    const auto distance = nanoseconds_between(a, b);
    return distance < 0 ? (distance == INT64_MIN ? INT64_MAX : -distance) : distance;
}

/// Far beyond any counter in use; a larger number would not fit.
std::int64_t bounded(double nanoseconds) noexcept {
    constexpr double limit = 9e18;
    return static_cast<std::int64_t>(std::clamp(nanoseconds, -limit, limit));
}

}  // namespace

TimeMatcher::TimeMatcher(const TimeMatcherOptions& options, const TriggerTimes& triggers)
    : options_(options), triggers_(triggers), window_(std::max<std::int64_t>(options.window.count(), 1)) {}

void TimeMatcher::add(std::uint64_t fragment, BoardTime time, SteadyTime now) {
    waiting_.push_back({fragment, time, now});
}

void TimeMatcher::end_first(Match match, Level1Id event, std::vector<MatchedFragment>& decided) {
    decided.push_back({waiting_.front().fragment, match, event});
    ++counts_.decided[static_cast<std::size_t>(match)];
    waiting_.pop_front();
}

std::optional<SteadyTime> TimeMatcher::step(SteadyTime now, std::vector<MatchedFragment>& decided) {
    while (!waiting_.empty()) {
        const auto& first = waiting_.front();
        if (track_ && !trusted(first.time)) {
            lose();
            if (std::exchange(confirmed_by_, 0) < confirmed_from) --counts_.acquired;  // it was never known well
            else ++counts_.silences;
        }
        if (!track_) {
            if (acquire(decided)) continue;
            // Later fragments may find the clock; this one cannot wait for them for ever.
            const auto until = first.since + options_.unlocked_after;
            if (waiting_.size() <= options_.waiting_max && now < until) return until;
            end_first(Match::unlocked, {}, decided);
            continue;
        }
        const auto at = track_->to_trigger(first.time);
        if (const auto due = settles(first, at); due > now && waiting_.size() <= options_.waiting_max) return due;
        Level1Id event{};
        const auto match = decide(first, at, event);
        end_first(match, event, decided);
    }
    return std::nullopt;
}

void TimeMatcher::finish(SteadyTime now, std::vector<MatchedFragment>& decided) {
    acquire_at_ = 0;
    static_cast<void>(
        step(now + std::max<std::chrono::nanoseconds>(options_.settle, options_.unlocked_after), decided));
    while (!waiting_.empty()) end_first(Match::unlocked, {}, decided);
}

bool TimeMatcher::trusted(BoardTime time) const { return sigmas * track_->sigma(time) < static_cast<double>(window_); }

/// When it is decided, if nothing else comes.
SteadyTime TimeMatcher::settles(const Waiting& first, TriggerTime at) const {
    if (!triggers_.beyond(moved(at, 2 * window_))) {
        const bool found = triggers_.beyond(moved(at, -window_));  // another one may follow it closely
        return first.since +
               (found ? std::min(options_.trigger_settle, options_.unlocked_after) : options_.unlocked_after);
    }
    const bool passed = std::ranges::any_of(
        waiting_, [&](const Waiting& later) { return nanoseconds_between(later.time, first.time) > 2 * window_; });
    return passed ? first.since : first.since + options_.settle;
}

bool TimeMatcher::claimed_by_another(const Waiting& first, TriggerTime trigger) const {
    if (last_claimed_ == trigger) return true;
    for (const auto& other : waiting_) {
        if (&other == &first) continue;
        if (nanoseconds_between(other.time, first.time) > 4 * window_) return false;  // boards send in order, nearly
        if (apart(track_->to_trigger(other.time), trigger) <= window_) return true;
    }
    return false;
}

Match TimeMatcher::decide(const Waiting& first, TriggerTime at, Level1Id& event) {
    const auto guard = moved(at, 2 * window_);
    const TriggerTimes::Trigger* nearest = nullptr;
    std::size_t near = 0;
    for (auto trigger = triggers_.from(moved(at, -2 * window_));
         trigger != triggers_.list().end() && nanoseconds_between(guard, trigger->time) >= 0; ++trigger) {
        ++near;
        if (nearest == nullptr || apart(trigger->time, at) < apart(nearest->time, at)) nearest = &*trigger;
    }
    if (nearest == nullptr || apart(nearest->time, at) > window_) {
        // A fragment from before all that is remembered says nothing of the clock. Misses in a row are noise as long as
        // there were no triggers; else the board's clock has jumped.
        const auto& list = triggers_.list();
        if (!list.empty() && nanoseconds_between(at, list.front().time) < 0) return Match::none;
        if (++misses_ >= misses_max && triggers_.added() - last_matched_number_ >= misses_max) lose();
        return Match::none;
    }
    misses_ = 0;
    const bool claimed = claimed_by_another(first, nearest->time);
    last_claimed_ = nearest->time;
    if (near > 1 || claimed) return Match::ambiguous;
    last_matched_number_ = nearest->number;
    ++confirmed_by_;
    track_->update(first.time, nearest->time);
    event = nearest->event;
    return Match::trigger;
}

// Acquiring the clock.

std::optional<TimeMatcher::Way> TimeMatcher::try_way(std::size_t anchor, TriggerTime trigger, BoardTime last) const {
    Way way{ClockTrack(waiting_[anchor].time, trigger, static_cast<double>(window_) * jitter_of_window), 1, {}};
    std::size_t misses = 0;
    for (std::size_t i = anchor + 1; i < anchor + acquire_from; ++i) {
        const auto time = waiting_[i].time;
        const auto at = way.track.to_trigger(time);
        const auto reach = window_ + static_cast<std::int64_t>(std::min(sigmas * way.track.sigma(time), 1e9));
        const auto found = triggers_.from(moved(at, -reach));
        const auto end = triggers_.list().end();
        if (found == end || nanoseconds_between(found->time, at) > reach) {
            if (++misses > acquire_misses) return std::nullopt;
            continue;
        }
        const auto next = std::next(found);
        if (next != end && nanoseconds_between(next->time, at) <= reach) continue;  // it speaks for neither
        ++way.hits;
        way.track.update(time, found->time);
    }
    if (way.hits < acquire_from - acquire_misses) return std::nullopt;
    way.last = way.track.to_trigger(last);
    way.doubt = sigmas * way.track.sigma(last);
    return way;
}

bool TimeMatcher::acquire(std::vector<MatchedFragment>& decided) {
    const auto& list = triggers_.list();
    if (waiting_.size() < acquire_block || list.size() < acquire_from || triggers_.added() < acquire_at_) return false;
    // All of these are tried: seldom when they are many, and ever more seldom while none fits.
    const auto tried = std::min(list.size(), acquire_triggers);
    const auto seldom = tried > 1024 ? std::min(failures_++, 4U) : 0U;
    acquire_at_ = triggers_.added() + (static_cast<std::uint64_t>(tried / 8 + 1) << seldom);

    // Where the first ones have too much noise, or lie too close to each other, the next ones show the clock. Those
    // before them are given up: the clock is not known well enough yet to go back in time.
    for (std::size_t start = 0; start < acquire_blocks * acquire_block; start += acquire_block) {
        if (waiting_.size() < start + acquire_block) break;
        const auto way = only_way(start, tried);
        if (!way) continue;
        for (std::size_t i = 0; i < start; ++i) end_first(Match::unlocked, {}, decided);
        counts_.passed_over += start;
        lock(*way);
        return true;
    }
    return false;
}

/// The one that fits a block of fragments from `start` on, if there is one and no other.
std::optional<TimeMatcher::Way> TimeMatcher::only_way(std::size_t start, std::size_t tried) const {
    const auto& list = triggers_.list();
    const auto last = waiting_[start + acquire_block - 1].time;
    std::optional<Way> best;
    for (std::size_t anchor = start; anchor < start + anchors; ++anchor) {
        for (const auto& trigger : list | std::views::drop(list.size() - tried)) {
            const auto offset =
                static_cast<double>(number(waiting_[anchor].time)) - static_cast<double>(number(trigger.time));
            if (options_.offset_max.count() > 0 && std::abs(offset) > static_cast<double>(options_.offset_max.count()))
                continue;
            const auto way = try_way(anchor, trigger.time, last);
            if (!way) continue;
            // Other anchors, and triggers close to each other, find the same way, as far as one of them knows it.
            if (best && static_cast<double>(apart(best->last, way->last)) >
                            static_cast<double>(window_) + best->doubt + way->doubt)
                return std::nullopt;
            if (!best || way->hits > best->hits) best = way;
        }
    }
    return best;
}

void TimeMatcher::lose() {
    before_ = track_;
    track_.reset();
    misses_ = 0;
}

void TimeMatcher::lock(const Way& way) {
    const auto first = waiting_.front().time;
    if (before_) {
        const auto moved_by = nanoseconds_between(way.track.to_trigger(first), before_->to_trigger(first));
        const double doubt = sigmas * before_->sigma(first) + 4 * static_cast<double>(window_);
        if (std::abs(static_cast<double>(moved_by)) > doubt) {
            ++counts_.jumps;
            counts_.jump = bounded(-static_cast<double>(moved_by) / (1 + before_->rate() * 1e-9));
        }
        before_.reset();
    }
    track_ = way.track.from(first);
    ++counts_.acquired;
    confirmed_by_ = 0;
    misses_ = 0;
    acquire_at_ = 0;
    failures_ = 0;
    last_matched_number_ = triggers_.added();
}

TimeMatcherCounts TimeMatcher::counts() const {
    auto counts = counts_;
    counts.waiting = waiting_.size();
    counts.locked = track_.has_value();
    counts.rate = track_ ? track_->rate() : 0;
    return counts;
}

}  // namespace weir::readout

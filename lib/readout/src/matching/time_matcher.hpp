// SPDX-License-Identifier: Apache-2.0
// Which trigger a fragment belongs to, by time: for boards that stamp what they send with their own clock and know no
// level-1 id. One TimeMatcher follows one board.
//
//     waiting: fragments in the order in which they came ----> decided: a trigger, none, ambiguous, unlocked
//
// A fragment belongs to the trigger whose time is within the window, when no other trigger lies within twice the window
// and no other fragment of the board claims the same one. So no jitter below the window takes a fragment to a wrong
// trigger: what is not beyond doubt is counted as ambiguous. A fragment waits until later triggers have come, which may
// be held up on their way for long (`unlocked_after`; `trigger_settle` when the last known one is near), and then for
// later fragments of its board, which come soon (`settle`): only then "no other" is known.
//
// The board's clock is followed from these matches (ClockTrack). At first, after a silence in which it may have drifted
// by a window, and after a jump, it is *acquired*: some fragments are laid over the last triggers in every way, and the
// clock is taken when exactly one way fits nearly all of them. Until then fragments wait; those that cannot wait any
// longer are counted as unlocked. Fragments that are lost, or added by noise, shift nothing, since each one is matched
// by its own time.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "matching/clock_track.hpp"
#include "matching/trigger_times.hpp"
#include "weir/base/clock.hpp"

namespace weir::readout {

struct TimeMatcherOptions {
    std::chrono::nanoseconds window{200};
    std::chrono::nanoseconds offset_max{0};  // between the two clocks; 0: any. Periodic triggers need one below half of
                                             // their period, since they fit themselves when moved by a period
    std::chrono::microseconds settle{5000};  // a fragment waits so long for a later one of its board
    std::chrono::milliseconds trigger_settle{1000};  // for another trigger, when the last known one is near
    std::chrono::milliseconds unlocked_after{2000};  // and for a later trigger, or for its board's clock to be known
    std::uint32_t waiting_max = 4096;                // fragments; beyond it the oldest is decided at once
};

enum class Match : std::uint8_t {
    trigger,
    none,       // no trigger is near: noise, or the trigger was lost
    ambiguous,  // more than one trigger, or more than one fragment for the trigger
    unlocked,   // the board's clock was not known while it could wait
};
inline constexpr std::size_t match_count = 4;

struct MatchedFragment {
    std::uint64_t fragment = 0;  // as it was given
    Match match = Match::none;
    Level1Id event{};  // Match::trigger only
};

struct TimeMatcherCounts {
    std::array<std::uint64_t, match_count> decided{};  // by Match; with `waiting` all that were given
    std::uint64_t passed_over = 0;  // of those unlocked: later fragments of their board showed the clock
    std::uint64_t waiting = 0;
    std::uint64_t acquired = 0;  // times that the clock was found, and then known well
    std::uint64_t silences = 0;  // times that it was lost because the board was silent for too long
    std::uint64_t jumps = 0;     // times that it was found elsewhere: the board's counter jumped or wrapped
    std::int64_t jump = 0;       // the last one, in ns of the board
    double rate = 0;             // ns/s, see ClockTrack::rate()
    bool locked = false;
};

/// One thread at a time.
class TimeMatcher {
public:
    static constexpr std::size_t acquire_from = 12;  // fragments that are laid over the triggers
    static constexpr std::size_t anchors = 4;        // one of so many first ones, at least, belongs to a trigger
    static constexpr std::size_t acquire_block = anchors + acquire_from;  // fragments that are looked at together
    static constexpr std::size_t acquire_blocks = 4;                 // of the first ones that wait, one after the other
    static constexpr std::size_t confirmed_from = 4 * acquire_from;  // matches: its rate is known well
    static constexpr std::size_t misses_max = 16;                    // one after the other: the clock has jumped

    /// The triggers outlive the matcher; they are added by their owner, for all boards at once.
    TimeMatcher(const TimeMatcherOptions& options, const TriggerTimes& triggers);

    /// `fragment` is what the caller calls it. When too many wait, the oldest is decided as unlocked by the next step.
    void add(std::uint64_t fragment, BoardTime time, SteadyTime now);

    /// Appends what is decided now. When it has to be called again at the latest, if nothing comes; nothing: not at
    /// all.
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime now, std::vector<MatchedFragment>& decided);

    /// Decides all that waits as far as that is possible now; nothing comes any more.
    void finish(SteadyTime now, std::vector<MatchedFragment>& decided);

    [[nodiscard]] TimeMatcherCounts counts() const;

private:
    struct Waiting {
        std::uint64_t fragment = 0;
        BoardTime time{};
        SteadyTime since{};
    };
    struct Way {  // of laying the fragments over the triggers
        ClockTrack track;
        std::size_t hits = 0;
        TriggerTime last{};  // the triggers' time of the last fragment
        double doubt = 0;    // of that, in ns
    };

    [[nodiscard]] bool trusted(BoardTime time) const;
    [[nodiscard]] SteadyTime settles(const Waiting& first, TriggerTime at) const;
    [[nodiscard]] Match decide(const Waiting& first, TriggerTime at, Level1Id& event);
    [[nodiscard]] bool claimed_by_another(const Waiting& first, TriggerTime trigger) const;
    [[nodiscard]] bool acquire(std::vector<MatchedFragment>& decided);
    [[nodiscard]] std::optional<Way> only_way(std::size_t start, std::size_t tried) const;
    [[nodiscard]] std::optional<Way> try_way(std::size_t anchor, TriggerTime trigger, BoardTime last) const;
    void lose();
    void lock(const Way& way);
    void end_first(Match match, Level1Id event, std::vector<MatchedFragment>& decided);

    const TimeMatcherOptions options_;
    const TriggerTimes& triggers_;
    const std::int64_t window_;  // ns
    std::deque<Waiting> waiting_;
    std::optional<ClockTrack> track_;
    std::optional<ClockTrack> before_;         // the clock before it was lost
    std::optional<TriggerTime> last_claimed_;  // by a fragment, whether it was given to it or not
    std::uint64_t last_matched_number_ = 0;
    std::size_t misses_ = 0;        // since the last match
    std::size_t confirmed_by_ = 0;  // matches since the clock was found
    unsigned failures_ = 0;         // of acquiring, since the clock was known
    std::uint64_t acquire_at_ = 0;  // when there were so many triggers it is worth trying again
    TimeMatcherCounts counts_;
};

}  // namespace weir::readout

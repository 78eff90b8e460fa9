// SPDX-License-Identifier: Apache-2.0
// Fragments that bring a time instead of a level-1 id, on their way into a readout's buffers: each waits here until the
// trigger that it belongs to is known (TimeMatcher, one for each source), and then goes on to the FragmentIntake with
// that trigger's level-1 id. What fits no trigger, or more than one, is refused and counted, and shifts nothing.
//
//     add() ------------> what came --\                         /--> ready, by source --> FragmentIntake
//     add_triggers() ---> what came ---+--> thread: matchers --<
//                                                               \--> refused: no_trigger, ambiguous, clock_unknown
//
// Sources go on independently: one that finds no room in the buffers holds up no other, since the room may be kept for
// that other's older fragments.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

#include "intake/fragment_intake.hpp"
#include "matching/time_matcher.hpp"
#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/report.hpp"
#include "weir/readout/time_matching.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::readout {

/// What became of one source's fragments here.
struct SourceMatching {
    SourceId source{};
    TimeMatcherCounts matcher{};
};

class MatchedIntake {
public:
    /// For the sources of the intake's store. The intake and the clock outlive it.
    /// `unmatched`: takes what is refused because of its time, in the matching's thread, and must not wait.
    MatchedIntake(FragmentIntake& intake, const TimeMatching& options, Reporter report, const Clock& clock,
                  std::function<void(const wire::InputFragment&)> unmatched = {});
    ~MatchedIntake();

    /// A fragment with a time and without a level-1 id, of a source of the store. `stored`: it is copied and waits
    /// here; `full`: as many as its source may have wait already. Any thread.
    [[nodiscard]] IntakeAnswer add(const wire::InputFragment& fragment, SteadyTime now);
    /// Triggers that have happened, in their order. Any thread; does not wait.
    void add_triggers(std::span<const wire::TriggerNotice> triggers);

    /// The thread begins to pass fragments on.
    void start();
    /// Nothing comes any more: what waits is decided as far as that is possible now, and what finds no room is refused.
    /// Once.
    void end_run();

    /// In the order of the store's sources. Any thread.
    [[nodiscard]] std::vector<SourceMatching> counts() const;
    /// Triggers that were not later than the one before them, and so cannot be matched. Any thread.
    [[nodiscard]] std::uint64_t triggers_unordered() const;
    /// Triggers that were forgotten before the matching came to them. Any thread.
    [[nodiscard]] std::uint64_t triggers_dropped() const;

private:
    struct Fragment;  // with its bytes
    struct Source;

    void run(const std::stop_token& stop);
    std::optional<SteadyTime> step(SteadyTime now);
    void take_what_came(SteadyTime now);
    void decide(Source& source, const std::vector<MatchedFragment>& decided, SteadyTime now);
    /// False: the first of those that are ready finds no room.
    bool pass_on(Source& source);
    void release(Source& source, const Fragment& fragment);
    void report_changes(Source& source, const TimeMatcherCounts& before);

    FragmentIntake& intake_;
    const TimeMatching options_;
    const Reporter report_;
    const Clock& clock_;
    const std::function<void(const wire::InputFragment&)> unmatched_;
    const std::size_t share_;  // bytes of each source

    TriggerTimes triggers_;  // the thread's, as is what a Source keeps beside its account
    std::vector<std::unique_ptr<Source>> sources_;
    std::map<SourceId, Source*> places_;

    mutable std::mutex mutex_;  // guards what follows, and the accounts of the sources
    std::condition_variable_any came_;
    std::vector<std::pair<Source*, Fragment>> fragments_;
    std::vector<wire::TriggerNotice> notices_;
    std::uint64_t triggers_unordered_ = 0, triggers_dropped_ = 0;

    NamedThread thread_;
};

}  // namespace weir::readout

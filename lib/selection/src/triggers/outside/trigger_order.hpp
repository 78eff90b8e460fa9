// SPDX-License-Identifier: Apache-2.0
// The level-1 ids of triggers from outside, which count up by one: what comes is compared with what should come. An id
// that never came is lost, with all fragments of its event; one that came before is doubled; one that comes behind a
// later one is out of order, and too late: its event was given up when the later one came. So events are in the order
// of their ids, and none is built twice. A counter that jumps is told from triggers that were lost (NextTrigger).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "triggers/outside/next_trigger.hpp"
#include "weir/base/report.hpp"
#include "weir/selection/trigger_counts.hpp"
#include "weir/service/event_ids.hpp"
#include "weir/wire/event_id_set.hpp"

namespace weir::selection {

class TriggerOrder {
public:
    enum class Verdict : std::uint8_t { good, doubled, out_of_order, too_far_ahead };
    struct Counts {
        std::uint64_t lost = 0, doubled = 0, out_of_order = 0, too_far_ahead = 0;
    };

    /// `who` counts the ids: "the trigger unit".
    explicit TriggerOrder(std::string who) : who_(std::move(who)) {}

    void start_run(Level1Id first);
    /// The next one that came. `good`: it is an event, and the ids between it and the one before never will be.
    [[nodiscard]] Verdict judge(Level1Id id);
    /// The ids that became lost since the last call.
    [[nodiscard]] std::vector<SkippedIds> take_skipped();
    /// Names what was wrong since the last call.
    void report_to(const Reporter& report);

    [[nodiscard]] Level1Id next() const noexcept { return next_.id(); }
    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
    void add_to(TriggerCounts& counts) const noexcept;
    /// Level-1 ids of the run, by what was wrong with them; what is not there did not happen.
    [[nodiscard]] service::StationEvents faults() const;

private:
    /// Ids as the detector counts them, each once; bounded.
    class Ids {
    public:
        void insert(Level1Id first, std::uint32_t count = 1);
        bool erase(Level1Id id) { return ids_.erase(GlobalEventId{number(id)}); }
        void clear() { *this = {}; }
        [[nodiscard]] bool empty() const noexcept { return ids_.empty() && known_; }
        [[nodiscard]] bool known() const noexcept { return known_; }
        [[nodiscard]] service::EventIds events() const;
        [[nodiscard]] std::string text() const { return ranges_text(ids_, 20); }

    private:
        wire::EventIdSet ids_;
        bool known_ = true;  // all of them
    };
    struct Named {
        Ids lost{}, doubled{}, out_of_order{}, too_far_ahead{};
    };

    void skip(Level1Id from, Level1Id to);

    std::string who_;
    NextTrigger next_{Level1Id{1}};
    std::uint64_t passed_ = 0;  // ids from the first of the run up to the next
    Counts counts_;
    Named run_, news_;
    std::vector<SkippedIds> skipped_;
};

}  // namespace weir::selection

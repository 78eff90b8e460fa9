// SPDX-License-Identifier: Apache-2.0
// Fills a store from a maker of fragments, ids in order, as far as there is room; goes on as events are cleared. Or, to
// simulate a detector that needs time: makes an event `latency` after it was asked for.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/readout/rob_store.hpp"
#include "weir/service/source_status.hpp"
#include "weir/workload/fragment_maker.hpp"

namespace weir::readout {

struct EventFeedOptions {
    Level1Id first{1};
    std::optional<std::chrono::nanoseconds> latency{};  // given: events are made on demand, so much later
    std::uint32_t step_max = 64;                        // events of one step
};

class EventFeed {
public:
    /// Both outlive the feed.
    EventFeed(RobStore& store, workload::FragmentMaker& maker, const EventFeedOptions& options);

    struct Step {
        std::uint32_t events = 0;  // that were put; 0: there is nothing to do before `due` or before there is room
        std::optional<SteadyTime> due{};  // the next that was asked for
    };
    /// One thread.
    Step step(SteadyTime now);

    /// A request waits for this event. Any thread. No effect without a latency.
    void ask(Level1Id event, SteadyTime now);

    /// Steps until stop is requested, and sleeps while there is nothing to do. `clock`: that of the callers of ask().
    void run(const std::stop_token& stop, const Clock& clock);

    /// What it put, by source. Any thread.
    [[nodiscard]] std::vector<service::SourceStatus> sources() const;

private:
    struct Put {  // of one source; written by the feeding thread alone, read by any: relaxed
        std::atomic<std::uint64_t> fragments{0}, bytes{0};
    };

    [[nodiscard]] PutResult put(Level1Id event);
    [[nodiscard]] Step step_in_order();
    [[nodiscard]] Step step_on_demand(SteadyTime now);

    RobStore& store_;
    workload::FragmentMaker& maker_;
    const EventFeedOptions options_;
    Level1Id next_;                     // in order
    const std::unique_ptr<Put[]> put_;  // by place of the source in the store

    struct Asked {
        Level1Id event{};
        SteadyTime due{};
    };
    std::mutex mutex_;
    std::condition_variable_any asked_;
    std::deque<Asked> queue_;                // not longer than the store's ring, by due time
    std::vector<std::uint64_t> remembered_;  // by slot of the ring: the id that was asked for last, + 2^32
};

}  // namespace weir::readout

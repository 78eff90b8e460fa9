// SPDX-License-Identifier: Apache-2.0
// Stores each event of a run once, whichever station sends it. A builder may die after its event was recorded and
// before the answer reached it; another builder then builds the event again. Events are known by their global ids. A
// duplicate of an event that is still being written waits for the result: only when the event is durable is the
// duplicate rejected.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "settlement/ledger.hpp"
#include "settlement/partial_copies.hpp"
#include "weir/base/bytes.hpp"
#include "weir/base/ids.hpp"
#include "weir/recovery/marks.hpp"
#include "weir/wire/event_id_set.hpp"

namespace weir::recorder {

/// Any thread.
class UniqueEvents {
public:
    /// An event that came while the same one was in hand. It has no answer yet; its memory is released.
    struct Duplicate {
        std::uint32_t session = 0;
        Sequence sequence{};
        std::vector<Ledger*> ledgers{};  // of its streams
    };
    /// What is stored already of an event that is taken now.
    struct Left {
        PartialCopies::State state{};
        std::uint64_t streams = 0;             // which ones and in which order, as passed to take(); 0: see stored_in
        std::vector<std::string> stored_in{};  // after a restart: these have it
    };
    enum class Found {
        nothing,    // it is taken now; `left` is what of it is there
        in_hand,    // call wait()
        durable,    // a duplicate
        unchecked,  // it is not kept here: the ids take all the memory that they may
    };

    explicit UniqueEvents(Bytes memory_max) : memory_max_(memory_max.count()) {}

    /// Before the first event.
    void restore(recovery::EventHoldings holdings);

    [[nodiscard]] Found take(GlobalEventId event, std::uint64_t streams, Left& left);
    /// The duplicate is answered when the event in hand is durable, is lost or stops. False: it is not in hand any
    /// more, or has stopped already; call take() again.
    [[nodiscard]] bool wait(GlobalEventId event, std::uint64_t streams, Duplicate duplicate);

    // What became of an event that was taken. Each returns the duplicates that have waited for it.

    /// It is stored: the duplicates are rejected.
    [[nodiscard]] std::vector<Duplicate> durable(GlobalEventId event);
    /// It is not stored, or only in part: the duplicates have to be sent again, and the first to come is taken.
    [[nodiscard]] std::vector<Duplicate> lost(GlobalEventId event, std::optional<Left> left = std::nullopt);
    /// It has stopped and stays in hand. The next to come continues it: the event sent again, or a duplicate if its
    /// sender is dead.
    [[nodiscard]] std::vector<Duplicate> stopped(GlobalEventId event, Left left);

    /// Marks of the chunks in which events have become durable since the last call; in the first one also those that
    /// were not marked when they were restored, and chunk 0.
    [[nodiscard]] std::vector<catalogue::SessionMark> take_changed(RunNumber run, const std::string& recorder);
    /// What is durable.
    [[nodiscard]] wire::EventIdSet stored() const;
    [[nodiscard]] std::uint64_t stored_count() const noexcept { return stored_count_.load(std::memory_order_relaxed); }
    /// Of the ids, durable or in hand.
    [[nodiscard]] Bytes memory() const;
    /// Events that were taken without the check.
    [[nodiscard]] std::uint64_t unchecked() const noexcept { return unchecked_.load(std::memory_order_relaxed); }

private:
    [[nodiscard]] std::vector<Duplicate> take_duplicates(GlobalEventId event);
    [[nodiscard]] bool stopped_here(GlobalEventId event, std::uint64_t streams) const;
    void take_left(GlobalEventId event, Left& left);

    const std::size_t memory_max_;
    mutable std::mutex mutex_;
    wire::EventIdSet in_hand_;
    wire::EventIdSet durable_;
    std::map<GlobalEventId, Left> left_;                  // of events that have stopped or are stored in part
    std::multimap<GlobalEventId, Duplicate> duplicates_;  // nearly always empty
    std::set<std::uint64_t> changed_{0};                  // chunks of durable_
    std::atomic<std::uint64_t> unchecked_{0};
    std::atomic<std::uint64_t> stored_count_{0};  // of durable_
};

}  // namespace weir::recorder

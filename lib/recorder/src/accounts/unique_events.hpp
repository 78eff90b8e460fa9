// SPDX-License-Identifier: Apache-2.0
// Each event of a run once, whoever sends it: a builder may die after its event was recorded and before it heard so,
// and another one builds the event again. Kept by global id. An event whose duplicate is on its way to the disk waits
// for that one's end, because only what is durable may be refused for good.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "accounts/ledger.hpp"
#include "accounts/partial_copies.hpp"
#include "weir/base/bytes.hpp"
#include "weir/base/ids.hpp"
#include "weir/recovery/marks.hpp"
#include "weir/wire/event_id_set.hpp"

namespace weir::recorder {

/// Any thread.
class UniqueEvents {
public:
    /// An event whose duplicate is in hand; it has no answer yet and no memory any more.
    struct Duplicate {
        std::uint32_t session = 0;
        Sequence sequence{};
        std::vector<Ledger*> ledgers{};  // of its streams
    };
    /// What is there already of an event that is taken now.
    struct Left {
        PartialCopies::State state{};
        std::uint64_t streams = 0;             // which ones and in which order, as take() was told; 0: see stored_in
        std::vector<std::string> stored_in{};  // after a restart: these have it
    };
    enum class Found {
        nothing,    // it is taken now; `left` says what of it is there
        in_hand,    // call wait()
        durable,    // a duplicate
        unchecked,  // it is not kept here: the ids take all the memory that they may
    };

    explicit UniqueEvents(Bytes memory_max) : memory_max_(memory_max.count()) {}

    /// Before the first event.
    void restore(recovery::EventHoldings holdings);

    [[nodiscard]] Found take(GlobalEventId event, std::uint64_t streams, Left& left);
    /// The duplicate is answered when the event in hand has met its end. False: it is not in hand any more, or has
    /// stopped on the way; take() says anew.
    [[nodiscard]] bool wait(GlobalEventId event, std::uint64_t streams, Duplicate duplicate);

    // The end of what was taken, or a stop on its way. Returned are the duplicates that have waited for it.

    /// They are duplicates.
    [[nodiscard]] std::vector<Duplicate> durable(GlobalEventId event);
    /// It is not there, or not all of it: they have to come again, and one of them is taken.
    [[nodiscard]] std::vector<Duplicate> lost(GlobalEventId event, std::optional<Left> left = std::nullopt);
    /// It stays in hand, and whoever comes first goes on with it: its sender, or, should that be dead, a duplicate.
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
    std::map<GlobalEventId, Left>
        left_;  // of events that stopped on the way, or are taken by halves; nearly always empty
    std::multimap<GlobalEventId, Duplicate> duplicates_;  // nearly always empty
    std::set<std::uint64_t> changed_{0};                  // chunks of durable_
    std::atomic<std::uint64_t> unchecked_{0};
    std::atomic<std::uint64_t> stored_count_{0};  // of durable_
};

}  // namespace weir::recorder

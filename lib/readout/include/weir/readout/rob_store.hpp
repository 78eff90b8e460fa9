// SPDX-License-Identifier: Apache-2.0
// The buffers of one readout: ROBs by level-1 id and source, in a window of level-1 ids that moves on as events are
// cleared. A ring of slots, one an event, each with a lock of its own: feeders, request handlers and clears meet only
// where they mean the same event. Memory has a hard limit; "full" is an answer to the feeder.
//
//     older: cleared | oldest ... the window (ring_size ids) ... | beyond: not yet
//
// Ids are compared over the wrap of their 32 bits (wire::level1_distance).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/event/rob_data.hpp"
#include "weir/readout/rob_ledger.hpp"
#include "weir/service/source_masks.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::readout {

struct RobStoreOptions {
    std::vector<SourceId> sources{};  // all that can be here, each once; answers to "all" keep this order
    std::uint32_t events_max = 4096;  // held at once
    Bytes bytes_max{256ULL << 20};    // of memory for them
    Level1Id first{1};
    std::uint32_t lost_after = 0;  // a ROB whose source has sent one that much newer will not come; 0: wait for ever
    bool placed = true;            // false: begun again in a run, whose present place the first clear says
};

/// One ROB in pieces, which lie one behind the other in it.
struct RobPieces {
    SourceId source{};
    std::span<const ConstData> pieces{};
};

enum class PutResult : std::uint8_t {
    stored,
    full,     // wait for room (wait_for_room), or refuse it; nothing was counted
    refused,  // counted in the ledger with its reason
};

class RobMemory;

class RobStore {
public:
    explicit RobStore(const RobStoreOptions& options);
    ~RobStore();

    // Feeders; any number of threads.

    /// One ROB of an event; others may follow.
    [[nodiscard]] PutResult put(Level1Id event, const event::RobData& rob);
    /// The same for a source outside weir, which may be ahead of the others or count wrongly: it leaves them room, so
    /// that an event is completed before later ones have taken all of it. `why`: of `refused`.
    [[nodiscard]] PutResult put(Level1Id event, const RobPieces& rob, RobReject& why);
    /// All that this readout will ever have of an event: sources that are not among them are lost.
    [[nodiscard]] PutResult put_event(Level1Id event, std::span<const event::RobData> robs);
    /// It will never come. No effect on ROBs that are here, and on events that were cleared. False: there is no room
    /// for its event yet; again when older ones were cleared.
    bool mark_lost(Level1Id event, SourceId source);
    /// Blocks until something was cleared since `seen` (of room_changes()), the deadline, or stop_waiting().
    void wait_for_room(std::uint64_t seen, SteadyTime deadline);
    [[nodiscard]] std::uint64_t room_changes() const noexcept { return room_changes_.load(std::memory_order_seq_cst); }

    // Request handlers; any number of threads.

    struct Answer {
        std::uint32_t here = 0, not_yet = 0;
    };
    /// Appends the state of each ROB that is asked for (none: of every source) to `parts`, and the bytes of those that
    /// are here to `data`. A ROB whose bytes would let `data` grow beyond `data_max` is answered as "not yet".
    Answer read(Level1Id event, std::span<const SourceId> robs, std::vector<wire::RobPart>& parts,
                std::vector<std::byte>& data, std::size_t data_max = wire::dataflow_message_max) const;
    /// Nothing that is asked for is "not yet".
    [[nodiscard]] bool ready(Level1Id event, std::span<const SourceId> robs) const;
    /// Changes whenever the event's slot does: a reason to ask ready() again, without its lock.
    [[nodiscard]] std::uint32_t changes(Level1Id event) const noexcept;
    /// Sleeps until ready(), the deadline, or stop_waiting().
    bool wait_until_ready(Level1Id event, std::span<const SourceId> robs, SteadyTime deadline) const;
    /// It may come before something is cleared: waiting for it makes sense.
    [[nodiscard]] bool within_window(Level1Id event) const noexcept;

    // Clears; any thread.

    void clear(std::span<const Level1Id> events);
    /// Everything older than `oldest` is done with, and the window begins there at the earliest.
    void clear_older(Level1Id oldest);

    /// ROBs of a masked source that are not here count as lost. Any thread.
    void set_masks(const std::vector<service::SourceMask>& masks);
    /// How many changes the last set_masks() had. Any thread.
    [[nodiscard]] std::uint64_t mask_changes() const noexcept { return mask_changes_.load(std::memory_order_relaxed); }
    /// Masks of long ago hold for good; to be called now and then, as level-1 ids wrap.
    void settle_masks() noexcept;

    /// Every wait returns, now and from now on, until reset().
    void stop_waiting();
    /// ROBs that are still held are rejected (not_cleared, made_ahead). No other thread uses the store meanwhile.
    void reset(Level1Id first);

    /// It is known where the run is (RobStoreOptions::placed, or a clear). Any thread.
    [[nodiscard]] bool placed() const noexcept { return placed_.load(std::memory_order_acquire); }
    [[nodiscard]] Level1Id oldest() const noexcept { return Level1Id{oldest_.load(std::memory_order_acquire)}; }
    [[nodiscard]] std::uint32_t ring_size() const noexcept { return ring_size_; }
    [[nodiscard]] const std::vector<SourceId>& sources() const noexcept { return sources_; }
    [[nodiscard]] bool knows(SourceId source) const noexcept { return place_of(source) < sources_.size(); }
    [[nodiscard]] std::size_t largest() const noexcept { return largest_; }  // ROB, or ROBs put together

    [[nodiscard]] RobLedger& ledger() const noexcept { return ledger_; }
    [[nodiscard]] std::uint32_t events_held() const noexcept { return events_held_.load(std::memory_order_relaxed); }
    /// As shares of what may be held; more than 1 is possible for a moment.
    struct Held {
        double events = 0, bytes = 0;
    };
    [[nodiscard]] Held held() const noexcept;
    /// Of memory: whole buffers, which several small ROBs share.
    [[nodiscard]] Bytes bytes_held() const;
    /// Counted afresh, slot by slot: the ledger must agree with it when nothing moves.
    [[nodiscard]] std::uint64_t count_robs() const;
    /// Clears of events so far ahead that nothing could be remembered of them; clear_older will catch up.
    [[nodiscard]] std::uint64_t clears_beyond() const noexcept {
        return clears_beyond_.load(std::memory_order_relaxed);
    }

private:
    struct Slot;

    [[nodiscard]] std::size_t place_of(SourceId source) const noexcept;
    [[nodiscard]] Slot& slot_of(Level1Id event) const noexcept;
    [[nodiscard]] std::int32_t ahead(Level1Id event) const noexcept;  // of the oldest
    [[nodiscard]] wire::RobState state_of(const Slot& slot, Level1Id event, std::size_t place) const noexcept;
    [[nodiscard]] bool ready_locked(const Slot& slot, Level1Id event, std::span<const SourceId> robs) const noexcept;
    [[nodiscard]] bool take_slot(Slot& slot, Level1Id event, bool reserved = false);
    /// How a put came to its end; the reason of `refused`.
    struct Outcome {
        PutResult result;
        RobReject why{};
    };
    [[nodiscard]] Outcome refuse(RobReject reason, std::size_t robs) const;
    template <class Rob>
    [[nodiscard]] Outcome put_robs(Level1Id event, std::span<const Rob> robs, bool whole);
    [[nodiscard]] std::size_t left_for_others(const Slot& slot, std::int32_t distance) const noexcept;
    [[nodiscard]] bool jumped(std::size_t place, Level1Id event, std::int32_t distance) const noexcept;
    [[nodiscard]] MutableData room_in(Slot& slot, std::size_t size, bool whole, std::size_t left);
    void note_newest(std::size_t place, Level1Id event) noexcept;
    void changed(Slot& slot, std::unique_lock<std::mutex>& lock) const;
    struct Emptied;
    void empty(Slot& slot, Emptied& all);
    void emptied(Emptied& all);
    static void free_if_passed(Slot& slot, Level1Id oldest) noexcept;
    void advance(Level1Id from);
    void room_was_made();

    const std::vector<SourceId> sources_;
    std::vector<std::pair<SourceId, std::uint32_t>> places_;  // sorted by source
    const std::uint32_t events_max_;
    const std::uint32_t lost_after_;
    std::uint32_t ring_size_;
    const std::unique_ptr<RobMemory> memory_;
    const std::size_t largest_;  // piece of the memory
    std::unique_ptr<Slot[]> ring_;
    // Per source: the level-1 id from which it is masked + 2^32; 2^33: always; 0: not. Relaxed: an answer that misses a
    // change is "not yet", and comes again.
    std::unique_ptr<std::atomic<std::uint64_t>[]> masked_;
    std::atomic<std::uint64_t> mask_changes_{0};            // relaxed: a count for status
    std::unique_ptr<std::atomic<std::uint64_t>[]> newest_;  // per source: level-1 id + 2^32; 0: none yet
    mutable RobLedger ledger_;

    // Threads that fill write what begins here, those that clear what is behind it.
    alignas(64) std::atomic<std::uint32_t> events_held_{0};

    // Written under window_mutex_, and before the slots that fall out of the window are emptied. A thread that fills a
    // slot reads it under the slot's lock: either it finds that its event is too old, or the slot is emptied after it.
    // clear() empties before: its slots stay `cleared` then, with their event, until the window has passed them.
    alignas(64) std::atomic<std::uint32_t> oldest_;
    std::atomic<bool> placed_;  // ids far beyond the window are refused; before, they wait
    std::mutex window_mutex_;
    std::atomic<std::uint64_t> clears_beyond_{0};
    std::atomic<bool> stopping_{false};

    std::mutex room_mutex_;
    std::condition_variable room_;
    std::atomic<std::uint64_t> room_changes_{0};  // with room_waiters_: a thread that changes one of them then
    std::atomic<std::uint32_t> room_waiters_{0};  // reads the other (seq_cst), so no wake-up is lost
};

}  // namespace weir::readout

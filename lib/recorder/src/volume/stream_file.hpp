// SPDX-License-Identifier: Apache-2.0
// One open data file. A place in it is assigned under a short lock; the bytes are copied there by the
// thread that has them, several at once; the sums of the events are folded into the file's sum in file
// order, which costs nanoseconds an event. So a dominating stream is no bottleneck (Le Goff and Avolio
// split the event instead). Full segments go to the volume's writer by themselves; the sync round
// flushes what is folded and takes the entries for the journal.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "disk/disk_watch.hpp"
#include "settlement/placed_copy.hpp"
#include "settlement/settlement.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/file.hpp"
#include "weir/base/ids.hpp"
#include "weir/datafile/file_sums.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/recorder/block_writer.hpp"
#include "weir/recorder/segment_pool.hpp"

namespace weir::recorder {

/// What a place is assigned for: the entry as far as it is known before the bytes are in place.
struct CopyRequest {
    std::uint64_t length = 0;  // of the event
    GlobalEventId event{};
    Level1Id level1{};
    LumiBlock lumi_block{};
    std::uint16_t copy = 0, copies = 1;
    std::uint64_t received_ns = 0;
    datafile::EarlierStreams earlier{};
    std::shared_ptr<Ticket> ticket;
    Ledger* ledger = nullptr;  // of the stream, which outlives its files
};

/// Where the bytes go, in order: the separator's 16 bytes are in place already, these are the event's.
struct Place {
    std::vector<MutableData> pieces;
    std::uint64_t slot = 0;
};

struct EventSums {
    std::uint32_t adler32 = 1;
    std::uint32_t crc32c = 0;
};

/// All calls from any thread unless stated.
class StreamFile final : public WriteListener {
public:
    /// Of what stands before the first event: it lies in memory that has no segment.
    static constexpr std::size_t start_size_max = SegmentPool::alignment - 1;

    /// `direct`: the file was opened for direct I/O; writes are then aligned and the size is set at close.
    StreamFile(datafile::FileOpened opened, File file, bool direct, bool adler32, SegmentPool& pool,
               BlockWriter& writer, DiskWatch& watch, Settlement& settlement, SteadyTime now);
    ~StreamFile() override;

    /// Assigns the next place, or returns false: there is no memory for it now. After `yes` the caller fills the
    /// pieces and calls complete(), in any order with others.
    [[nodiscard]] bool assign(const CopyRequest& request, Place& place);
    void complete(const Place& place, const EventSums& sums);

    /// No further events: its stream ends it soon. Any thread.
    void stop_taking() noexcept { stopped_taking_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool takes_more() const noexcept { return !stopped_taking_.load(std::memory_order_relaxed); }

    /// Up to where the bytes of folded events reach; their entries are flushing() until they are durable.
    struct Flush {
        std::uint64_t target = 0;
        bool first = false;  // the file's name and its "opened" record are not yet durable
    };

    /// Hands everything folded so far to the writer. Nothing when nothing is new, or when the file has failed. Sync
    /// thread only.
    [[nodiscard]] std::optional<Flush> flush();

    /// What the last flush() took. Sync thread only.
    [[nodiscard]] const std::vector<PlacedCopy>& flushing() const noexcept { return flushing_; }

    /// The flush is on stable storage, data and journal: its copies are moved to `durable`. False when the file
    /// was abandoned in between; then they are lost already.
    bool made_durable(const Flush& flush, std::vector<PlacedCopy>& durable);

    /// The file has failed for good: whatever is not durable is appended to `lost`, now or, what is still being
    /// copied, reported to the settlement later. Its memory is released as soon as it is unused. False when it was
    /// abandoned before.
    bool abandon(const Error& why, std::vector<PlacedCopy>& lost);
    [[nodiscard]] bool abandoned() const;
    /// The error of a write or sync, once one has failed.
    [[nodiscard]] std::optional<Error> failure() const;

    /// Sleeps until no write is in flight: nothing changes the file any more.
    void wait_quiet();

    /// Sleeps until all bytes before `target` are written, or the file has failed.
    [[nodiscard]] Result<> wait_written(std::uint64_t target);

    /// Synced data up to where wait_written() succeeded. A failure is final.
    [[nodiscard]] Result<> sync();

    /// After the last assign: waits for the copies in progress, appends the end record, and returns what
    /// is known of the file. The bytes are not yet written: the next sync round does that. Needs no memory of the pool,
    /// and what the file has of it is released as soon as it is written: files that wait to be closed hold none
    /// (decision 13).
    [[nodiscard]] Result<datafile::FileClosed> finish(
        const std::function<std::vector<std::byte>(std::uint64_t events, std::uint64_t bytes)>& end);

    /// Releases the segment of an idle, fully written file; it takes another when it goes on.
    void release_idle();

    [[nodiscard]] const datafile::FileOpened& opened() const noexcept { return opened_; }
    [[nodiscard]] File& file() noexcept { return file_; }
    [[nodiscard]] SteadyTime opened_at() const noexcept { return opened_at_; }
    [[nodiscard]] bool writes_adler32() const noexcept { return adler32_; }

    struct Counts {
        std::uint64_t events = 0, bytes = 0;  // assigned so far; bytes of event data
        std::uint64_t size = 0;               // of the file
    };
    [[nodiscard]] Counts counts() const;
    /// Of the file, what is assigned and not on stable storage.
    [[nodiscard]] std::uint64_t bytes_not_durable() const;
    /// Of what is on stable storage. Final once the file was abandoned.
    [[nodiscard]] Counts durable() const;

    void written(std::uint64_t offset, ConstData data, Result<> result) noexcept override;

private:
    struct Segment {
        std::byte* memory;
        std::uint64_t begin;
        std::uint64_t written;          // absolute; handed to the writer so far
        std::uint32_t copies_open = 0;  // places in it that are not complete
        std::uint32_t flushes = 0;      // partial writes in flight; the whole must wait for them
        bool submitted = false;
        bool own = false;  // in tail_, not the pool's: only the end of the file lies there
    };
    struct Slot {
        std::uint64_t begin, end;  // of the record, separator included
        PlacedCopy placed;
        bool done = false;
        bool is_event = true;
    };
    struct Write {
        std::uint64_t offset;
        ConstData data;
    };

    [[nodiscard]] std::uint64_t segments_end() const noexcept;  // where the next segment begins
    [[nodiscard]] bool reserve(std::uint64_t size);             // segments up to end_ + size
    void reserve_own(std::uint64_t size);                       // the same for the end record, in tail_
    void pieces_of(std::uint64_t begin, std::uint64_t size, std::vector<MutableData>& pieces);
    void put(std::uint64_t at, ConstData bytes);  // small things, into reserved memory
    std::uint64_t add_slot(std::uint64_t size, Slot slot);
    void fold();
    void collect_full(std::vector<Write>& writes);
    void submit(const std::vector<Write>& writes);
    void preallocate(std::uint64_t target);  // sync thread only
    /// Memory that a file which was abandoned, or is written to its end, does not need any more.
    void take_unused(std::vector<std::byte*>& freed);

    const datafile::FileOpened opened_;
    File file_;
    const bool direct_;
    const bool adler32_;
    SegmentPool& pool_;
    BlockWriter& writer_;
    DiskWatch& watch_;
    Settlement& settlement_;  // is notified of copies that are lost
    const SteadyTime opened_at_;
    std::atomic<bool> stopped_taking_{false};  // a hint; the stream looks at it under its own lock

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Segment> segments_;
    std::deque<Slot> slots_;
    std::uint64_t first_slot_ = 0;  // number of slots_.front()
    std::uint64_t end_ = 0;         // where the next record begins
    std::uint64_t folded_ = 0;      // everything before is in place and in the file's sums
    std::uint64_t flushed_ = 0;     // everything before was handed to the writer
    std::uint64_t events_ = 0;
    std::uint64_t event_bytes_ = 0;
    datafile::FileSums sums_;
    datafile::FileContent content_;
    std::vector<std::uint64_t> outstanding_;  // offsets of writes in flight
    std::vector<PlacedCopy> unsynced_;
    std::vector<PlacedCopy> flushing_;  // changed by the sync thread, with mutex_
    Counts durable_;
    std::vector<std::byte*> taken_;  // scratch of reserve()
    /// Of a released segment: from the last boundary to end_. When the file ends, the place of its end record.
    alignas(SegmentPool::alignment) std::array<std::byte, 2 * SegmentPool::alignment> tail_{};
    bool ended_ = false;  // by finish()
    std::optional<Error> failed_;
    bool abandoned_ = false;
    bool first_flush_ = true;
    std::uint64_t allocated_ = 0;       // sync thread only
    std::uint64_t flushed_before_ = 0;  // sync thread only
};

}  // namespace weir::recorder

// SPDX-License-Identifier: Apache-2.0
// Lock order: mutex_ before the pool's. The writer is never called with mutex_ held, because it may
// wait for one of its threads, and that one may want mutex_ to report how a write ended.
#include "volume/stream_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/event/raw_file.hpp"

namespace weir::recorder {
namespace {

constexpr std::uint64_t block = SegmentPool::alignment;

constexpr std::uint64_t round_down(std::uint64_t offset) noexcept { return offset / block * block; }
constexpr std::uint64_t round_up(std::uint64_t offset) noexcept { return round_down(offset + block - 1); }

}  // namespace

StreamFile::StreamFile(datafile::FileOpened opened, File file, bool direct, bool adler32, SegmentPool& pool,
                       BlockWriter& writer, DiskWatch& watch, Settlement& settlement, SteadyTime now)
    : opened_(std::move(opened)),
      file_(std::move(file)),
      direct_(direct),
      adler32_(adler32),
      pool_(pool),
      writer_(writer),
      watch_(watch),
      settlement_(settlement),
      opened_at_(now),
      sums_(opened_.start, adler32) {
    // The file start needs no segment before the first event comes: it begins life as the tail, which is less than a
    // block.
    WEIR_ASSERT(opened_.start.size() <= start_size_max);
    std::ranges::copy(opened_.start, tail_.begin());
    end_ = folded_ = durable_.size = opened_.start.size();
}

StreamFile::~StreamFile() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return outstanding_.empty(); });
    for (const auto& segment : segments_) {
        if (!segment.own) pool_.release(segment.memory);
    }
}

std::uint64_t StreamFile::segments_end() const noexcept {
    return segments_.empty() ? round_down(end_) : segments_.back().begin + pool_.segment_size();
}

bool StreamFile::reserve(std::uint64_t size) {
    const auto begin = segments_end();
    if (end_ + size <= begin) return true;
    const auto count =
        static_cast<std::size_t>((end_ + size - begin + pool_.segment_size() - 1) / pool_.segment_size());
    taken_.clear();
    if (!pool_.try_take(count, taken_)) return false;
    const bool takes_up_tail = segments_.empty();
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        const auto at = begin + i * pool_.segment_size();
        segments_.push_back({taken_[i], at, std::max(at, std::min(flushed_, end_))});
    }
    if (takes_up_tail) std::memcpy(segments_.front().memory, tail_.data(), end_ - begin);
    return true;
}

void StreamFile::reserve_own(std::uint64_t size) {
    // What is behind the last boundary lies in tail_ already when there is no segment, else tail_ is not used.
    const auto begin = segments_end();
    WEIR_ASSERT(end_ + size <= begin + tail_.size());
    for (auto at = begin; at < end_ + size; at += pool_.segment_size()) {
        Segment segment{tail_.data() + (at - begin), at, std::max(at, std::min(flushed_, end_))};
        segment.own = true;
        segments_.push_back(segment);
    }
}

void StreamFile::pieces_of(std::uint64_t begin, std::uint64_t size, std::vector<MutableData>& pieces) {
    pieces.clear();
    for (auto& segment : segments_) {
        const auto segment_end = segment.begin + pool_.segment_size();
        if (segment_end <= begin) continue;
        if (size == 0) break;
        const auto part = std::min(size, segment_end - begin);
        pieces.push_back({segment.memory + (begin - segment.begin), part});
        begin += part;
        size -= part;
    }
    WEIR_ASSERT(size == 0);
}

void StreamFile::put(std::uint64_t at, ConstData bytes) {
    std::vector<MutableData> pieces;
    pieces_of(at, bytes.size(), pieces);
    for (auto piece : pieces) {
        std::memcpy(piece.data(), bytes.data(), piece.size());
        bytes = bytes.subspan(piece.size());
    }
}

std::uint64_t StreamFile::add_slot(std::uint64_t size, Slot slot) {
    slot.begin = end_;
    slot.end = end_ + size;
    for (auto& segment : segments_) {
        if (segment.begin < slot.end && slot.begin < segment.begin + pool_.segment_size()) ++segment.copies_open;
    }
    end_ += size;
    slots_.push_back(std::move(slot));
    return first_slot_ + slots_.size() - 1;
}

bool StreamFile::assign(const CopyRequest& request, Place& place) {
    const std::scoped_lock lock(mutex_);
    const auto size = event::separator_size_bytes + request.length;
    if (failed_ || !reserve(size)) return false;  // the next round abandons a failed file, then it is left alone

    datafile::StoredCopy copy;
    copy.guid = opened_.guid;
    copy.offset = end_;
    copy.length = request.length;
    copy.block_number = opened_.blocks_before + static_cast<std::uint32_t>(++events_);
    copy.event = request.event;
    copy.level1 = request.level1;
    copy.session = request.ticket->session;
    copy.sequence = request.ticket->sequence;
    copy.copy = request.copy;
    copy.copies = request.copies;
    copy.lumi_block = request.lumi_block;
    copy.received_ns = request.received_ns;
    copy.earlier = request.earlier;
    event_bytes_ += request.length;

    std::array<std::byte, event::separator_size_bytes> separator;
    event::encode_separator(separator, {copy.block_number, static_cast<std::uint32_t>(request.length)});
    put(end_, separator);
    pieces_of(end_ + separator.size(), request.length, place.pieces);
    Slot slot{};
    slot.placed = {copy, request.ticket, request.ledger};
    place.slot = add_slot(size, std::move(slot));
    return true;
}

void StreamFile::fold() {
    while (!slots_.empty() && slots_.front().done) {
        auto& slot = slots_.front();
        if (slot.is_event) {
            auto& copy = slot.placed.entry;
            sums_.add_event(copy);
            content_.add(copy);
            copy.placed_crc32c = datafile::placed_crc32c(copy.guid, copy.offset, copy.crc32c, copy.length);
            unsynced_.push_back(std::move(slot.placed));
        }
        folded_ = slot.end;
        slots_.pop_front();
        ++first_slot_;
    }
}

void StreamFile::collect_full(std::vector<Write>& writes) {
    if (abandoned_) return;
    for (auto& segment : segments_) {
        const auto segment_end = segment.begin + pool_.segment_size();
        if (segment_end > end_) break;
        if (segment.submitted || segment.copies_open > 0 || segment.flushes > 0) continue;
        const auto from = direct_ ? round_down(segment.written) : segment.written;
        segment.submitted = true;
        segment.written = segment_end;
        writes.push_back({from, {segment.memory + (from - segment.begin), segment_end - from}});
        outstanding_.push_back(from);
    }
}

void StreamFile::submit(const std::vector<Write>& writes) {
    for (const auto& write : writes) {
        watch_.begin();
        writer_.submit(file_, write.offset, write.data, *this);
    }
}

void StreamFile::complete(const Place& place, const EventSums& sums) {
    std::vector<Write> writes;
    std::vector<PlacedCopy> lost;
    std::vector<std::byte*> freed;
    {
        const std::scoped_lock lock(mutex_);
        WEIR_ASSERT(place.slot >= first_slot_ && place.slot - first_slot_ < slots_.size());
        auto& slot = slots_[place.slot - first_slot_];
        slot.placed.entry.adler32 = adler32_ ? sums.adler32 : 0;
        slot.placed.entry.crc32c = sums.crc32c;
        slot.done = true;
        for (auto& segment : segments_) {
            if (segment.begin < slot.end && slot.begin < segment.begin + pool_.segment_size()) --segment.copies_open;
        }
        if (abandoned_) {
            if (slot.is_event) lost.push_back(std::move(slot.placed));
            while (!slots_.empty() && slots_.front().done) slots_.pop_front(), ++first_slot_;
            take_unused(freed);
        } else {
            fold();
            collect_full(writes);
        }
        if (slots_.empty()) changed_.notify_all();
    }
    for (auto* segment : freed) pool_.release(segment);
    submit(writes);
    if (!lost.empty()) settlement_.lost(lost);
}

std::optional<StreamFile::Flush> StreamFile::flush() {
    std::vector<Write> writes;
    Flush flush;
    {
        const std::scoped_lock lock(mutex_);
        if (failed_) return std::nullopt;  // the round reads failure(), and abandons it
        if (unsynced_.empty() && folded_ == flushed_) return std::nullopt;
        // The tail is not written yet, and no memory for it now: next round. On a boundary there is no tail.
        if (segments_.empty() && end_ % block != 0 && !reserve(1)) return std::nullopt;
        for (auto& segment : segments_) {
            if (segment.submitted || segment.begin >= folded_) continue;
            const auto upto = std::min(folded_, segment.begin + pool_.segment_size());
            if (segment.written >= upto) continue;
            const auto from = direct_ ? round_down(segment.written) : segment.written;
            const auto to = direct_ ? round_up(upto) : upto;
            // Behind the last event zeros, not what the memory held before: they could be taken for an event.
            if (end_ < to) std::memset(segment.memory + (end_ - segment.begin), 0, to - end_);
            segment.written = upto;
            ++segment.flushes;
            writes.push_back({from, {segment.memory + (from - segment.begin), to - from}});
            outstanding_.push_back(from);
        }
        flush.target = flushed_ = folded_;
        flushing_.insert(flushing_.end(), std::make_move_iterator(unsynced_.begin()),
                         std::make_move_iterator(unsynced_.end()));
        unsynced_.clear();
        flush.first = std::exchange(first_flush_, false);
    }
    preallocate(flush.target);
    submit(writes);
    return flush;
}

bool StreamFile::made_durable(const Flush& flush, std::vector<PlacedCopy>& durable) {
    const std::scoped_lock lock(mutex_);
    if (abandoned_) return false;
    durable_.size = flush.target;
    durable_.events += flushing_.size();
    for (auto& copy : flushing_) {
        durable_.bytes += copy.entry.length;
        durable.push_back(std::move(copy));
    }
    flushing_.clear();
    return true;
}

bool StreamFile::abandon(const Error& why, std::vector<PlacedCopy>& lost) {
    std::vector<std::byte*> freed;
    {
        const std::scoped_lock lock(mutex_);
        if (abandoned_) return false;
        abandoned_ = true;
        stop_taking();
        if (!failed_) failed_ = why;
        // Copied, not moved: the sync thread may be reading them, if the disk lets it go on at all.
        lost.insert(lost.end(), flushing_.begin(), flushing_.end());
        std::ranges::move(unsynced_, std::back_inserter(lost));
        unsynced_.clear();
        for (auto& slot : slots_) {
            if (slot.done && slot.is_event) lost.push_back(std::move(slot.placed));
        }
        while (!slots_.empty() && slots_.front().done) slots_.pop_front(), ++first_slot_;
        take_unused(freed);
        changed_.notify_all();
    }
    for (auto* segment : freed) pool_.release(segment);
    return true;
}

void StreamFile::take_unused(std::vector<std::byte*>& freed) {
    std::erase_if(segments_, [&](const Segment& segment) {
        if (segment.copies_open > 0 || segment.flushes > 0 || segment.submitted) return false;
        if (!segment.own) freed.push_back(segment.memory);
        return true;
    });
}

bool StreamFile::abandoned() const {
    const std::scoped_lock lock(mutex_);
    return abandoned_;
}

std::optional<Error> StreamFile::failure() const {
    const std::scoped_lock lock(mutex_);
    return failed_;
}

void StreamFile::wait_quiet() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return outstanding_.empty(); });
}

StreamFile::Counts StreamFile::durable() const {
    const std::scoped_lock lock(mutex_);
    return durable_;
}

void StreamFile::preallocate(std::uint64_t target) {
    // Writes that extend a file are done one at a time by the file systems that we know (ext4, XFS);
    // inside the size they run side by side. Growing ahead by twice of what came since the last round
    // follows the rate of the stream. What is too much is cut off at close, or by recovery.
    if (!direct_ || target < flushed_before_) return;
    const auto grown = target - std::exchange(flushed_before_, target);
    if (allocated_ >= target + grown) return;
    const auto ahead = std::clamp<std::uint64_t>(2 * grown, 4ULL << 20, 256ULL << 20);
    const auto upto = (target + ahead + pool_.segment_size()) / pool_.segment_size() * pool_.segment_size();
    if (file_.allocate(allocated_, upto - allocated_))
        allocated_ = upto;  // when it fails the writes extend the file themselves, and report the error
}

void StreamFile::written(std::uint64_t offset, ConstData data, Result<> result) noexcept {
    watch_.end();
    std::vector<Write> writes;
    std::vector<std::byte*> freed;
    {
        const std::scoped_lock lock(mutex_);
        if (!result && !failed_) failed_ = result.error();
        const auto segment = std::ranges::find_if(
            segments_, [&](const Segment& s) { return offset >= s.begin && offset < s.begin + pool_.segment_size(); });
        WEIR_ASSERT(segment != segments_.end());
        if (segment->flushes > 0) {
            --segment->flushes;  // while one is in flight the whole is not submitted
            collect_full(writes);
        } else {
            WEIR_ASSERT(segment->submitted && offset + data.size() == segment->begin + pool_.segment_size());
            if (!segment->own) freed.push_back(segment->memory);
            segments_.erase(segment);
        }
        if (abandoned_ || (ended_ && flushed_ == end_)) take_unused(freed);
        // Only now may the destructor go on: nothing of this object is used after the lock is released.
        outstanding_.erase(std::ranges::find(outstanding_, offset));
        if (writes.empty()) {
            auto& pool = pool_;
            changed_.notify_all();
            for (auto* segment_memory : freed) pool.release(segment_memory);
            return;
        }
        changed_.notify_all();
    }
    submit(writes);
}

Result<> StreamFile::wait_written(std::uint64_t target) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
        return failed_.has_value() || std::ranges::none_of(outstanding_, [&](auto begin) { return begin < target; });
    });
    if (failed_) return std::unexpected(*failed_);
    return {};
}

Result<> StreamFile::sync() {
    auto synced = file_.sync_data();
    const std::scoped_lock lock(mutex_);
    if (!synced && !failed_) failed_ = synced.error();
    if (failed_) return std::unexpected(*failed_);
    return {};
}

Result<datafile::FileClosed> StreamFile::finish(
    const std::function<std::vector<std::byte>(std::uint64_t events, std::uint64_t bytes)>& end) {
    datafile::FileClosed closed;
    Place place;
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return slots_.empty(); });
        if (failed_) return std::unexpected(*failed_);
        closed.end = end(events_, event_bytes_);
        reserve_own(closed.end.size());
        put(end_, closed.end);
        Slot slot{};
        slot.is_event = false;
        place.slot = add_slot(closed.end.size(), std::move(slot));
        sums_.add_end(closed.end);
        closed.guid = opened_.guid;
        closed.size = end_;
        closed.adler32 = sums_.adler32();
        closed.crc32c = sums_.crc32c();
        closed.events = events_;
        closed.bytes = event_bytes_;
        closed.content = content_;
        ended_ = true;
    }
    complete(place, {});
    return closed;
}

void StreamFile::release_idle() {
    std::byte* freed = nullptr;
    {
        const std::scoped_lock lock(mutex_);
        if (ended_ || segments_.size() != 1 || !slots_.empty() || !outstanding_.empty() || flushed_ != end_ || failed_)
            return;
        const auto& segment = segments_.front();
        if (segment.submitted || end_ - segment.begin >= pool_.segment_size()) return;
        const auto from = round_down(end_);
        std::memcpy(tail_.data(), segment.memory + (from - segment.begin), end_ - from);
        freed = segment.memory;
        segments_.clear();
    }
    pool_.release(freed);
}

StreamFile::Counts StreamFile::counts() const {
    const std::scoped_lock lock(mutex_);
    return {events_, event_bytes_, end_};
}

std::uint64_t StreamFile::bytes_not_durable() const {
    const std::scoped_lock lock(mutex_);
    return end_ - durable_.size;
}

}  // namespace weir::recorder

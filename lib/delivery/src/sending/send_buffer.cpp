// SPDX-License-Identifier: Apache-2.0
#include "sending/send_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/checksum/crc32c.hpp"

namespace weir::delivery {
namespace {

constexpr std::size_t early_rejections_max = 65'536;  // more than a session of ours ever has

Sequence after(Sequence sequence) noexcept { return Sequence{number(sequence) + 1}; }

Result<std::optional<Sequence>> no_sequence(const Result<bool>& room) {
    if (!room) return std::unexpected(room.error());
    return std::nullopt;
}

}  // namespace

SendBuffer::SendBuffer(const SenderOptions& options)
    : window_(options.window),
      window_events_(options.window_events),
      replays_(options.replays),
      first_(options.first_sequence),
      next_(options.first_sequence),
      highest_sent_(Sequence{number(options.first_sequence) - 1}),
      run_(options.join_run ? std::nullopt : std::optional(options.run)) {}

Result<> SendBuffer::check(const wire::EventMeta& meta, std::uint64_t size) const {
    if (size == 0) return fail(Errc::usage, "an event without payload cannot be sent");
    if (size > wire::payload_size_max)
        return fail(Errc::limit,
                    fmt::format("an event of {} bytes cannot be sent, {} is the most", size, wire::payload_size_max));
    return wire::event_fits(meta);
}

bool SendBuffer::full(std::uint64_t size) const {
    if (held_.empty()) return false;  // one event may always be in flight, however large
    return held_.size() >= window_events_ || stats_.bytes_held + size > window_.count();
}

/// True: there is room now. False: there is none, and `wait` is false.
Result<bool> SendBuffer::wait_for_room(std::unique_lock<std::mutex>& lock, std::uint64_t size, bool wait) {
    if (wait) changed_.wait(lock, [&] { return failed_ || !full(size); });
    if (failed_) return std::unexpected(*failed_);
    if (size > event_size_max_)
        return fail(Errc::limit, fmt::format("an event of {} bytes is larger than the recorder takes ({}); raise "
                                             "its --event-max",
                                             size, event_size_max_));
    return !full(size);
}

Result<std::optional<Sequence>> SendBuffer::add(const EventDescription& event, std::span<const Piece> payload,
                                                bool wait, bool& wake) {
    wake = false;
    Held held{.meta = {.global_id = event.global_id,
                       .level1_id = event.level1_id,
                       .lumi_block = event.lumi_block,
                       .sent_elsewhere = event.sent_elsewhere,
                       .tags = event.tags},
              .payload = {payload.begin(), payload.end(), memory::MigratingAllocator<Piece>(pool_)},
              .head = {}};
    for (const auto& piece : payload) held.size += piece.data.size();
    WEIR_TRY(check(held.meta, held.size));

    std::unique_lock lock(mutex_);
    if (auto room = wait_for_room(lock, held.size, wait); !room || !*room) return no_sequence(room);
    // Summed by the calling thread and without the lock, so that many threads sum at once; not before
    // there is room, so that trying in vain costs little.
    lock.unlock();
    for (const auto& piece : payload) held.meta.payload_crc = checksum::crc32c(piece.data, held.meta.payload_crc);
    lock.lock();
    if (auto room = wait_for_room(lock, held.size, wait); !room || !*room) return no_sequence(room);

    ++stats_.accepted;
    ++stats_.held;
    stats_.bytes_accepted += held.size;
    stats_.bytes_held += held.size;
    ++unreported_;
    held.meta.sequence = Sequence{number(first_) + held_.size()};
    const auto sequence = held.meta.sequence;
    held_.push_back(std::move(held));
    wake = std::exchange(io_sleeps_, false);
    return sequence;
}

Result<bool> SendBuffer::flush(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return failed_ || unreported_ == 0; });
    if (unreported_ == 0 && stats_.withdrawn == 0 && stats_.released == 0) return true;
    if (failed_) return std::unexpected(*failed_);
    return false;
}

void SendBuffer::reported(std::size_t events) {
    if (events == 0) return;
    const std::scoped_lock lock(mutex_);
    unreported_ -= events;
    if (unreported_ == 0) changed_.notify_all();
}

std::optional<RunNumber> SendBuffer::run() const {
    const std::scoped_lock lock(mutex_);
    return run_;
}

Result<std::optional<RunNumber>> SendBuffer::run(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return failed_ || run_; });
    if (!run_ && failed_) return std::unexpected(*failed_);
    return run_;
}

void SendBuffer::joined(RunNumber run) {
    const std::scoped_lock lock(mutex_);
    run_ = run;
    changed_.notify_all();
}

SenderStats SendBuffer::stats() const {
    const std::scoped_lock lock(mutex_);
    auto stats = stats_;
    stats.connected = is_connected();
    return stats;
}

void SendBuffer::set_failure(Error error) {
    const std::scoped_lock lock(mutex_);
    if (!failed_) failed_ = std::move(error);
    changed_.notify_all();
}

std::optional<Error> SendBuffer::failure() const {
    const std::scoped_lock lock(mutex_);
    return failed_;
}

Sequence SendBuffer::oldest_held() const {
    const std::scoped_lock lock(mutex_);
    return first_;
}

void SendBuffer::rewind() {
    const std::scoped_lock lock(mutex_);
    for (auto& event : held_) {
        event.being_sent = false;
        keep_head(event);
        if (event.final) release(event);
    }
    erase_settled_front();
    next_ = first_;
}

SendBuffer::Held* SendBuffer::next(std::uint64_t credit) {
    const std::scoped_lock lock(mutex_);
    while (number(next_) < number(first_) + held_.size() && at(next_).final) next_ = after(next_);
    if (number(next_) >= number(first_) + held_.size()) {
        io_sleeps_ = true;
        return nullptr;
    }
    auto& event = at(next_);
    event.meta.oldest_held = first_;
    if (event.head.capacity() == 0 && !spare_heads_.empty()) {
        event.head = std::move(spare_heads_.back());
        spare_heads_.pop_back();
    }
    event.head.clear();
    event.meta.sent_elsewhere = event.meta.sent_elsewhere || event.sent_before || event.maybe_sent;
    wire::encode(event.meta, event.size, event.head);
    if (event.head.size() + event.size > credit) return nullptr;
    event.being_sent = true;
    next_ = after(next_);
    return &event;
}

void SendBuffer::keep_head(Held& event) {
    if (event.head.capacity() > 0) spare_heads_.push_back(std::move(event.head));
    event.head = {};
}

void SendBuffer::maybe_sent(Held& event) {
    const std::scoped_lock lock(mutex_);
    event.maybe_sent = true;
    highest_sent_ = std::max(highest_sent_, event.meta.sequence);
}

void SendBuffer::sent(Held& event) {
    const std::scoped_lock lock(mutex_);
    event.being_sent = false;
    keep_head(event);
    ++stats_.sent;
    if (std::exchange(event.sent_before, true)) ++stats_.resent;
    highest_sent_ = std::max(highest_sent_, event.meta.sequence);
    if (event.final) {
        release(event);
        erase_settled_front();
    }
}

void SendBuffer::settle(Held& event, std::optional<wire::RejectReason> rejected, std::vector<Settled>& settled) {
    if (std::exchange(event.final, true)) return;
    settled.push_back({event.meta.sequence, rejected});
    if (rejected) ++stats_.rejected[wire::index(*rejected)];
    else ++stats_.acknowledged;
    --stats_.held;
    stats_.bytes_held -= event.size;
    if (!event.being_sent) release(event);
}

void SendBuffer::release(Held& event) {
    std::ranges::move(event.payload, std::back_inserter(released_));
    event.payload.clear();
}

void SendBuffer::release_settled() {
    std::vector<Piece> released;
    const std::scoped_lock lock(mutex_);
    released.swap(released_);
}  // the lock goes first, then the pieces: their owners may do as they like

void SendBuffer::erase_settled_front() {
    while (!held_.empty() && held_.front().final && !held_.front().being_sent) {
        held_.pop_front();
        first_ = after(first_);
    }
    early_rejections_.erase(early_rejections_.begin(), early_rejections_.lower_bound(first_));
    next_ = std::max(next_, first_);
    changed_.notify_all();
}

bool SendBuffer::acknowledge(wire::SequenceRange range, std::vector<Settled>& settled) {
    const std::scoped_lock lock(mutex_);
    if (range.last > highest_sent_ && range.last >= first_) {
        if (!replays_) return false;
        range.last = highest_sent_;
    }
    for (auto sequence = std::max(range.first, first_); sequence <= range.last; sequence = after(sequence)) {
        const auto early = early_rejections_.find(sequence);
        settle(at(sequence), early == early_rejections_.end() ? std::nullopt : std::optional(early->second), settled);
    }
    erase_settled_front();
    return true;
}

bool SendBuffer::reject(Sequence sequence, wire::RejectReason reason, std::vector<Settled>& settled) {
    const std::scoped_lock lock(mutex_);
    if (sequence > highest_sent_ && sequence >= first_) {
        // Of the process before. An ACK that covers it may come before the REJECT that answers our own sending.
        if (!replays_ || early_rejections_.size() >= early_rejections_max) return false;
        early_rejections_.insert_or_assign(sequence, reason);
        return true;
    }
    if (sequence >= first_) settle(at(sequence), reason, settled);
    erase_settled_front();
    return true;
}

bool SendBuffer::answers_due() const {
    const std::scoped_lock lock(mutex_);
    return first_ < next_;
}

bool SendBuffer::was_sent(Sequence sequence) const {
    const std::scoped_lock lock(mutex_);
    return sequence <= highest_sent_ || sequence < first_ || replays_;
}

bool SendBuffer::open(Sequence sequence) const {
    const std::scoped_lock lock(mutex_);
    return sequence >= first_ && number(sequence) - number(first_) < held_.size() &&
           !held_[number(sequence) - number(first_)].final;
}

void SendBuffer::limit_event_size(std::uint64_t event_size_max, std::vector<Settled>& settled) {
    const std::scoped_lock lock(mutex_);
    event_size_max_ = event_size_max;
    for (auto& event : held_) {
        if (event.size > event_size_max && !event.being_sent) settle(event, wire::RejectReason::too_large, settled);
    }
    erase_settled_front();
}

void SendBuffer::connected() {
    const std::scoped_lock lock(mutex_);
    connected_.store(true, std::memory_order_relaxed);
    if (std::exchange(was_connected_, true)) ++stats_.reconnects;
}

void SendBuffer::disconnected(std::string problem) {
    const std::scoped_lock lock(mutex_);
    connected_.store(false, std::memory_order_relaxed);
    if (!problem.empty()) stats_.last_problem = std::move(problem);
}

namespace {

ReturnedEvent returned(SendBuffer::Held& event) {
    return {.description = {.global_id = event.meta.global_id,
                            .level1_id = event.meta.level1_id,
                            .lumi_block = event.meta.lumi_block,
                            .tags = std::move(event.meta.tags),
                            .sent_elsewhere = event.sent_before || event.maybe_sent || event.meta.sent_elsewhere},
            .payload = {std::make_move_iterator(event.payload.begin()), std::make_move_iterator(event.payload.end())}};
}

}  // namespace

std::vector<ReturnedEvent> SendBuffer::withdraw_unsent() {
    std::vector<ReturnedEvent> events;
    const std::scoped_lock lock(mutex_);
    if (is_connected()) return events;
    // Where next_ has passed since the last connection, the I/O thread may use the event.
    while (!held_.empty() && held_.back().meta.sequence >= next_) {
        auto& event = held_.back();
        if (event.sent_before || event.maybe_sent || event.being_sent || event.final || event.meta.sent_elsewhere)
            break;
        stats_.bytes_held -= event.size;
        events.push_back(returned(event));
        held_.pop_back();
    }
    stats_.held -= events.size();
    stats_.withdrawn += events.size();
    unreported_ -= events.size();
    if (!events.empty()) changed_.notify_all();
    std::ranges::reverse(events);
    return events;
}

std::vector<ReturnedEvent> SendBuffer::withdraw() { return take_all(&SenderStats::withdrawn); }

void SendBuffer::release_all() {
    const auto events = take_all(&SenderStats::released);
}  // the events go here, without the lock

std::vector<ReturnedEvent> SendBuffer::take_all(std::uint64_t SenderStats::* counter) {
    std::vector<ReturnedEvent> events;
    std::vector<Piece> released;  // destroyed without the lock: their owners may do as they like
    const std::scoped_lock lock(mutex_);
    for (auto& event : held_) {
        if (event.final) release(event);  // its bytes were still being sent
        else events.push_back(returned(event));
    }
    stats_.*counter += events.size();  // in one step with the next: for flush() none of these is final
    unreported_ = 0;
    stats_.held = 0;
    stats_.bytes_held = 0;
    held_.clear();
    released.swap(released_);
    return events;
}

}  // namespace weir::delivery

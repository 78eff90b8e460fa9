// SPDX-License-Identifier: Apache-2.0
// The events that a sender keeps: put in by any thread, sent and settled by the sender's I/O thread. No
// socket in it. An event is released when it is final and none of its bytes are being written.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "weir/delivery/sender.hpp"
#include "weir/memory/migrating_pool.hpp"
#include "weir/wire/message.hpp"

namespace weir::delivery {

class SendBuffer {
public:
    struct Held {
        wire::EventMeta meta;
        std::vector<Piece, memory::MigratingAllocator<Piece>> payload;
        std::uint64_t size = 0;       // of the payload
        std::vector<std::byte> head;  // header and meta as encoded for this connection
        bool sent_before = false;     // completely, on any connection
        bool maybe_sent = false;      // the same, as far as a connection with TLS lets us know
        bool being_sent = false;      // the I/O thread uses it
        bool final = false;
    };
    struct Settled {
        Sequence sequence;
        std::optional<wire::RejectReason> rejected;
    };

    explicit SendBuffer(const SenderOptions& options);

    // Any thread.
    /// Nothing: the window is full, and `wait` was false. `wake`: the I/O thread sleeps for want of events.
    [[nodiscard]] Result<std::optional<Sequence>> add(const EventDescription& event, std::span<const Piece> payload,
                                                      bool wait, bool& wake);
    [[nodiscard]] Result<bool> flush(std::chrono::milliseconds timeout);
    [[nodiscard]] SenderStats stats() const;
    /// As of Sender; nothing while it is connected.
    [[nodiscard]] std::vector<ReturnedEvent> withdraw_unsent();
    /// The sender has failed for good, or is closed: every wait ends with this error.
    void set_failure(Error error);
    [[nodiscard]] std::optional<Error> failure() const;
    [[nodiscard]] bool is_connected() const noexcept { return connected_.load(std::memory_order_relaxed); }
    /// The run of the session, when it is known.
    [[nodiscard]] std::optional<RunNumber> run() const;
    [[nodiscard]] Result<std::optional<RunNumber>> run(std::chrono::milliseconds timeout);

    // The I/O thread.
    [[nodiscard]] Sequence oldest_held() const;
    /// A new connection: everything that is not final is to be sent again, in order.
    void rewind();
    /// The next event to send, with its head encoded, if it costs at most `credit` bytes. It stays where
    /// it is until sent() or rewind(). Nothing: none is there (the next add() wakes) or credit is short.
    [[nodiscard]] Held* next(std::uint64_t credit);
    /// Its bytes are given to TLS, which confirms them many at once: it may be answered from now
    /// on.
    void maybe_sent(Held& event);
    void sent(Held& event);
    /// False: the recorder answers what was never sent; nothing was changed. Settled events are appended.
    /// (When the session is replayed, an earlier process has sent it: it is answered again after it was sent again.)
    [[nodiscard]] bool acknowledge(wire::SequenceRange range, std::vector<Settled>& settled);
    [[nodiscard]] bool reject(Sequence sequence, wire::RejectReason reason, std::vector<Settled>& settled);
    /// Something was begun on this connection and is not final.
    [[nodiscard]] bool answers_due() const;
    /// It was sent completely, on any connection; with TLS: perhaps.
    [[nodiscard]] bool was_sent(Sequence sequence) const;
    /// It is held and not final.
    [[nodiscard]] bool open(Sequence sequence) const;
    /// The owner of these many settled events knows what became of them.
    void reported(std::size_t events);
    /// WELCOME of a session that joins: its run from now on.
    void joined(RunNumber run);
    /// WELCOME: from now on larger events are refused; those that are held already are settled.
    void limit_event_size(std::uint64_t event_size_max, std::vector<Settled>& settled);
    void connected();
    void disconnected(std::string problem);
    /// Releases the payloads of settled events, without a lock: call it now and then.
    void release_settled();

    // After the I/O thread has ended.
    [[nodiscard]] std::vector<ReturnedEvent> withdraw();
    void release_all();

private:
    [[nodiscard]] Result<> check(const wire::EventMeta& meta, std::uint64_t size) const;
    void settle(Held& event, std::optional<wire::RejectReason> rejected, std::vector<Settled>& settled);
    void erase_settled_front();
    void keep_head(Held& event);
    void release(Held& event);
    [[nodiscard]] std::vector<ReturnedEvent> take_all(std::uint64_t SenderStats::* counter);
    [[nodiscard]] Result<bool> wait_for_room(std::unique_lock<std::mutex>& lock, std::uint64_t size, bool wait);
    [[nodiscard]] bool full(std::uint64_t size) const;
    [[nodiscard]] Held& at(Sequence sequence) { return held_[number(sequence) - number(first_)]; }

    const Bytes window_;
    const std::uint32_t window_events_;
    const bool replays_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;  // room in the window, all final and reported, the run known, or failed
    memory::MigratingPool pool_{{.chunk = 128_KiB}};  // of what add() makes in any thread and the I/O thread frees
    // Of consecutive sequences, from first_ on.
    std::deque<Held, memory::MigratingAllocator<Held>> held_{memory::MigratingAllocator<Held>(pool_)};
    std::vector<std::vector<std::byte>> spare_heads_;  // as many as were sent at once: encoding asks for no memory
    Sequence first_;
    Sequence next_;  // to be sent
    std::map<Sequence, wire::RejectReason>
        early_rejections_;          // received before they are sent again, on a replayed session
    Sequence highest_sent_;         // completely, on any connection; with TLS: perhaps
    std::optional<RunNumber> run_;  // nothing: to be joined, and not known yet
    std::uint64_t unreported_ = 0;  // accepted, and not final or not reported as final
    std::uint64_t event_size_max_ = wire::payload_size_max;
    std::vector<Piece> released_;  // of settled events, to be destroyed without the lock
    bool io_sleeps_ = false;
    std::atomic<bool> connected_{false};  // relaxed: nothing else follows from it
    bool was_connected_ = false;
    std::optional<Error> failed_;
    SenderStats stats_;
};

}  // namespace weir::delivery

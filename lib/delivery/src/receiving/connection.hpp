// SPDX-License-Identifier: Apache-2.0
// One sender's connection on the receiver's side. It does a bounded amount per call and never waits: when
// memory or the sink is full it is "parked" and its thread resumes it later. Used by its thread only.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "receiving/context.hpp"
#include "receiving/mailbox.hpp"
#include "weir/transport/event_loop.hpp"
#include "weir/transport/socket.hpp"
#include "weir/wire/frame_assembler.hpp"

namespace weir::delivery {

/// Bytes that events of one connection gave back; asks for an ACK when a quarter of the window came together.
class CreditAccount final : public CreditHold::Account {
public:
    CreditAccount(std::shared_ptr<Mailbox> thread, ConnectionId connection, std::uint64_t window)
        : thread_(std::move(thread)), connection_(connection), window_(window) {}

    void return_credit(std::uint64_t bytes) noexcept override;

    /// Window and returned bytes: what the sender may have begun to send in all.
    [[nodiscard]] std::uint64_t credit() const noexcept { return window_ + returned_.load(); }
    /// The credit that was announced last; one thread writes it.
    [[nodiscard]] std::uint64_t announced() const noexcept { return announced_.load(std::memory_order_relaxed); }
    void announce(std::uint64_t credit) noexcept {
        announced_.store(credit, std::memory_order_relaxed);
        asked_.store(false);  // return_credit() may notify again
    }
    /// Called once more after announce(), or else a return in between would never be announced: hence the sequentially
    /// consistent order of returned_ and asked_ in both.
    [[nodiscard]] bool worth_announcing() const noexcept { return credit() - announced() >= window_ / 4; }

private:
    const std::shared_ptr<Mailbox> thread_;  // shared with the thread, which may end before the last event
    const ConnectionId connection_;
    const std::uint64_t window_;
    std::atomic<std::uint64_t> returned_{0};
    std::atomic<std::uint64_t> announced_{0};
    std::atomic<bool> asked_{false};
};

class Connection {
public:
    enum class State { greeting, running, closing, ended };
    enum class Parked { no, for_share, for_memory, for_sink };

    static constexpr std::size_t staging_size = 32 * 1024;  // per read, and kept at most while parked
    static constexpr std::size_t chunk_size = 256 * 1024;   // of a payload per turn; summed while in cache

    /// `memory_wanted`: another connection of the thread is parked for memory.
    Connection(Context& context, std::shared_ptr<Mailbox> thread, const bool& memory_wanted, ConnectionId id,
               transport::Socket socket, SteadyTime now);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // What happened, from the thread's loop. Afterwards look at state(), parked(), interest(), deadline().
    // A turn ends with the read that reaches chunk_size, or when nothing more has come: what has is answered together.
    void readable(MutableData staging, SteadyTime now);
    void writable(SteadyTime now);
    void gone(SteadyTime now);          // reset by the peer, or both directions shut
    void resume(SteadyTime now);        // parked, and there may be room now
    void send_answers(SteadyTime now);  // ACK, REJECT, REFUSED or credit wait to be sent
    void deadline_passed(SteadyTime now);

    /// BYE, then reading on for a short while so that the peer gets it.
    void close(wire::ByeReason reason, std::string text, SteadyTime now);
    /// No new events from here on; what is incomplete or not passed on will be sent again elsewhere.
    void stop_reading();

    [[nodiscard]] ConnectionId id() const noexcept { return id_; }
    [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] Parked parked() const noexcept { return parked_; }
    /// How many times it was parked so far: distinguishes "still parked" from "parked again".
    [[nodiscard]] std::uint64_t stalls() const noexcept { return stalls_; }
    [[nodiscard]] transport::Interest interest() const noexcept;
    /// Bytes of it wait where epoll does not see them (TLS), and it may read: call readable() again.
    [[nodiscard]] bool unread() const noexcept {
        return reading_ && parked_ == Parked::no && state_ != State::ended && socket_.unread();
    }
    /// Reading waits for room to write (a handshake): call readable() when it is writable.
    [[nodiscard]] bool reads_when_writable() const noexcept { return socket_.secure(); }
    [[nodiscard]] std::optional<SteadyTime> deadline() const;
    /// Since when it has sent no event and has none without an answer; nothing while it has.
    [[nodiscard]] std::optional<SteadyTime> idle_since() const;
    [[nodiscard]] std::optional<RunNumber> run() const {
        return session_ ? std::optional(session_->key.run) : std::nullopt;
    }

    // Kept by the thread for each of its connections.
    transport::Interest watched{.read = true};
    bool listed_unread = false;
    std::optional<SteadyTime> timer;  // when its entry in the timer queue is due

private:
    /// The event whose payload is being received.
    struct Incoming {
        wire::EventMeta meta;
        memory::Buffer buffer;
        ReceptionMemory::Hold hold;    // until the event is whole
        ReceptionMemory::Place place;  // while it waits for it
        std::uint64_t message_size = 0;
        bool duplicate = false;
        std::optional<wire::RejectReason> rejected;
        std::string reject_text;
    };

    void consume(ConstData input, SteadyTime now);
    void message(SteadyTime now);
    void hello(SteadyTime now);
    void event_begins(SteadyTime now);
    void decide(SteadyTime now);
    [[nodiscard]] Parked take_memory(bool others_wait, SteadyTime now);
    void event_ends(SteadyTime now);
    void deliver();
    void reject(wire::RejectReason reason, std::string text);
    void beat(SteadyTime now);
    [[nodiscard]] bool allowed(std::string_view sender) const;
    [[nodiscard]] std::optional<SteadyTime> message_deadline() const;
    /// How many bytes came, where there may be more; else 0.
    std::size_t read_once(MutableData staging, SteadyTime now);
    void broken(const Error& error);
    void malformed(std::string text, SteadyTime now, wire::ByeReason reason = wire::ByeReason::malformed);
    void discard_unfinished();
    void flush(SteadyTime now);
    void unpin(const Session& session);
    void end();
    [[nodiscard]] std::string who() const;

    Context& context_;
    const std::shared_ptr<Mailbox> thread_;
    const bool& memory_wanted_;
    const ConnectionId id_;
    transport::Socket socket_;
    const std::string peer_;
    State state_ = State::greeting;
    Parked parked_ = Parked::no;
    std::uint64_t stalls_ = 0;
    bool reading_ = true;
    bool sending_done_ = false;

    wire::FrameAssembler assembler_;
    std::vector<std::byte> rest_;  // read, and not looked at because the connection is parked
    std::vector<std::byte> out_;
    std::size_t out_sent_ = 0;

    std::shared_ptr<Session> session_;        // shared with the registry
    std::shared_ptr<CreditAccount> account_;  // shared with the events in flight
    wire::EventFormat format_ = wire::EventFormat::opaque;
    std::uint64_t received_ = 0;  // bytes of EVENT messages begun
    Sequence previous_{0};
    Sequence oldest_held_{1};
    Incoming incoming_;
    IncomingEvent waiting_;  // complete; the sink was full

    // Nothing: no heartbeat is asked for, and this sender may be silent.
    std::optional<SteadyTime> beat_;  // when to check whether both sides sent something since the last
    bool sent_since_beat_ = false, received_since_beat_ = false;
    unsigned silent_beats_ = 0;

    SteadyTime last_event_;  // or HELLO
    SteadyTime began_;       // this greeting, header, payload or farewell
    SteadyTime last_byte_;
};

}  // namespace weir::delivery

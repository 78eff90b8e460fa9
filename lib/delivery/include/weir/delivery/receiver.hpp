// SPDX-License-Identifier: Apache-2.0
// The receiving end of the delivery protocol: accepts thousands of senders, checks every byte, hands
// complete events to a sink, recognises duplicates, and answers each event once it is final.
// A slow, silent or hostile sender delays no other one. Memory is the pool's and bounded by it.
//
// Threads: each receiver thread owns its connections; sessions are shared and have a lock each. Calls of
// this class may be made from any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/delivery/event_sink.hpp"
#include "weir/memory/buffer_pool.hpp"
#include "weir/transport/socket.hpp"
#include "weir/transport/tls.hpp"
#include "weir/wire/message.hpp"

namespace weir::delivery {

struct ReceiverOptions {
    transport::HostPort listen{"127.0.0.1", 0};  // port 0: any free one, see Receiver::port()
    std::string name{};                          // of the recorder, for its senders; a valid_sender_name, or empty
    unsigned threads = 0;                        // 0: min(4, cores)
    std::uint32_t connections_max = 4096;
    std::uint32_t sessions_max = 100'000;
    Bytes event_size_max{64ULL << 20};                   // larger events are rejected (too_large)
    Bytes credit_max{64ULL << 20};                       // of one connection, see docs/formats/delivery-protocol.md
    std::uint32_t session_intervals_max = 65'536;        // a session's sequences may be this scattered, and have this
                                                         // many rejections that its sender has not seen
    std::chrono::milliseconds header_deadline{10'000};   // for HELLO, and to finish a header once begun
    std::chrono::milliseconds payload_idle_max{10'000};  // without a single byte of a payload
    Bytes payload_rate_min{64ULL << 10};                 // per second, on average over a payload; 0: no minimum
    std::chrono::milliseconds farewell{500};             // how long a peer may take to read a BYE
    std::chrono::milliseconds heartbeat{10'000};  // each side sends something this often; three times nothing ends the
                                                  // connection. 0: never
    std::chrono::milliseconds idle_when_full{10'000};  // when all connections are taken, those without an event for so
                                                       // long make room
    bool verify_payload = true;                        // false only to measure what it costs: payloads are not checked
    transport::SocketOptions socket{};
    transport::TlsFiles tls{};  // when named, senders must speak TLS and show a certificate of the authority
    bool tls_any_name = false;  // false: a sender's name must be one that its certificate is made out to, or begin with
                                // one of them and '-', '.', '_' or ':'. Parts (TlsFiles::unit) may have any name
    transport::TlsFiles tls_of_parts{};  // beside `tls`, with its unit: for senders that are parts of our own system
};

struct ReceiverStats {
    using ByReject = std::array<std::uint64_t, wire::reject_reason_count>;  // by wire::index(reason)
    using ByBye = std::array<std::uint64_t, wire::bye_reason_count>;

    // received = passed_on + duplicates + sum(rejected_here) + discarded + waiting
    std::uint64_t received = 0;    // complete EVENT messages
    std::uint64_t passed_on = 0;   // taken by the sink
    std::uint64_t duplicates = 0;  // final or in hand already
    ByReject rejected_here{};      // by the receiver itself
    std::uint64_t discarded = 0;   // complete, but the connection ended before the sink took it; sent again
    std::uint64_t waiting = 0;     // complete, the sink is full
    std::uint64_t held = 0;        // of duplicates and rejected_here: the sink has not let their answers go

    // passed_on = acknowledged + sum(rejected_by_sink) + returned + in_hand
    std::uint64_t acknowledged = 0;
    std::uint64_t returned = 0;  // the sink lost them before they were final; their senders send them again
    ByReject rejected_by_sink{};
    std::uint64_t in_hand = 0;

    std::uint64_t copies = 0;         // tags of the events passed on
    std::uint64_t bytes = 0;          // payload bytes of the events passed on
    std::uint64_t bytes_skipped = 0;  // payload bytes that were read and not kept
    std::uint64_t partial = 0;        // events that were cut off by the end of their connection
    std::uint64_t gaps = 0;           // sequences skipped by senders

    std::uint64_t connections = 0;  // open now
    std::uint64_t connections_accepted = 0;
    std::uint64_t waits_for_memory = 0;    // times that a connection was parked for the pool
    std::uint64_t waiting_for_others = 0;  // events that wait now for memory that others hold which are not whole
    std::optional<SteadyTime> waiting_for_others_since;  // the first of them, by the receiver's clock
    std::uint64_t waits_for_sink = 0;
    ByBye closed{};              // connections that we ended, by reason
    std::uint64_t insecure = 0;  // connections that ended because of TLS: no or a wrong certificate, other bytes
    std::uint64_t sessions = 0;
};

struct Answer {
    SessionId session{};
    Sequence sequence{};
};

class Receiver {
public:
    /// Takes the port; no sender can connect before listen(). Pool, sink and clock outlive the receiver.
    /// `report` is called from receiver threads: of connections that were refused or closed, and (alarm "sequence gap")
    /// of sequences that were skipped. Each report is counted in the stats as well.
    [[nodiscard]] static Result<std::unique_ptr<Receiver>> open(const ReceiverOptions& options,
                                                                memory::BufferPool& pool, EventSink& sink,
                                                                Reporter report = {},
                                                                const Clock& clock = default_clock());
    ~Receiver();  // stops at once

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// Before start(): what is durable already of a session that an earlier process has received.
    SessionId restore(const wire::SessionKey& session, const wire::SequenceSet& durable);
    /// From now on senders can connect; they are answered from start() on. Error: another program took the port.
    [[nodiscard]] Result<> listen();
    /// listen(), unless that was done; then it must not fail.
    void start();

    /// When our own certificate ends; nothing without TLS.
    [[nodiscard]] std::optional<WallTime> certificate_ends() const;
    [[nodiscard]] std::optional<WallTime> certificate_ends_soon() const;  // from when on it does, see TlsContext

    /// The events are on stable storage. Cheap; made in batches. Answers for events that are not in
    /// hand are ignored.
    void acknowledge(std::span<const Answer> events);
    /// A block was taken, but for these records (ascending, at most wire::refusals_max).
    void acknowledge(Answer block, std::vector<wire::Refusal> refused);
    /// The event will never be stored here; the sender is given the reason.
    void reject(Answer event, wire::RejectReason reason, std::string text);
    /// Answers events of which the sink was notified by not_passed_on(), when these are answered later.
    void answer(std::span<const Answer> not_passed_on);
    /// The sink has lost these events before they were final: they are returned to their senders, whose connections
    /// end, so that they send again every event that is not final.
    void send_again(std::span<const Answer> events);
    /// The sink has room again.
    void retry();

    [[nodiscard]] std::optional<wire::SessionKey> session_key(SessionId session) const;
    /// Which sequences are final (acknowledged or rejected); empty for an unknown session.
    [[nodiscard]] wire::SequenceSet final_sequences(SessionId session) const;

    /// Ends every connection of a run; answers for its events in hand are still taken.
    void disconnect(RunNumber run, wire::ByeReason reason, std::string text);
    /// Closes the sessions of a run that have no connection and nothing in hand; returns how many. Only
    /// for a run whose connections the sink refuses from now on.
    std::size_t close_sessions(RunNumber run);

    /// No new connections, no new events; answers for events in hand go out until none is left or the
    /// deadline passes; then BYE to all. Always ends; true when nothing was left in hand.
    bool stop(std::chrono::milliseconds deadline);

    [[nodiscard]] ReceiverStats stats() const;

    [[nodiscard]] static const Clock& default_clock();

private:
    class Station;
    explicit Receiver(std::unique_ptr<Station> station);
    std::unique_ptr<Station> station_;
};

}  // namespace weir::delivery

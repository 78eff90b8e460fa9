// SPDX-License-Identifier: Apache-2.0
// The data flow manager (DFM): assigns accepted events to builders that have credit, receives their outcomes, sends the
// readouts the ids of events that they can clear, in groups, and reassigns the events of a builder that died. Events
// are cleared when they are final downstream, never before, so a builder that is lost costs nothing but time.
//
// Logic only: messages and time come in, messages go out through a MessageSender. One thread makes all calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/duration_histogram.hpp"
#include "weir/base/report.hpp"
#include "weir/messaging/messages.hpp"
#include "weir/service/event_ids.hpp"
#include "weir/service/station.hpp"
#include "weir/wire/dataflow.hpp"
#include "weir/wire/peer.hpp"
#include "weir/wire/sequence_set.hpp"

namespace weir::building {

struct AssignerOptions {
    std::uint32_t events_max = 2048;               // decided by the supervisor and not final: what it has credit for
    std::uint32_t clear_group = 100;               // events in one message to a readout, or
    std::chrono::milliseconds clear_interval{20};  // as many as there are after this time
    Level1Id first_level1{1};                      // of a run: everything older was never there
    std::uint32_t builds_max = 5;                  // times that one event is assigned before it counts as failed
};

/// Received: what the supervisor decided. Stored: final and well. Rejected: "level 2", and the reasons of builders.
class Assigner final : public messaging::MessageHandler {
public:
    struct Counts {
        std::uint64_t accepted = 0, rejected = 0;  // by the supervisor
        std::uint64_t stored = 0, incomplete = 0;  // incomplete ones are stored, and counted in both
        std::uint64_t not_selected = 0, refused = 0, failed = 0, unfinished = 0;
        std::uint64_t reassigned = 0, clears_sent = 0, unexpected = 0, malformed = 0, repeated = 0;
        std::uint64_t waiting = 0, assigned = 0;  // in hand
    };
    struct BuilderCounts {
        wire::StationId id{};
        std::uint64_t credit = 0, assigned = 0, in_hand = 0;
    };

    Assigner(const AssignerOptions& options, messaging::MessageSender& messages, Reporter report = {});

    /// The builders, readouts and supervisor of the partition. Events of a builder that is not among them any more are
    /// reassigned.
    void set_peers(const std::vector<Peer>& peers, SteadyTime now);
    void start_run();

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override;
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) override;
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime now) override;

    /// Rejects every event in hand, and counts it as unfinished: the run has to end.
    void reject_unfinished();

    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
    /// From the supervisor's word on an event to that of its builder: it is stored, and so acknowledged, or not wanted.
    [[nodiscard]] Durations durations() const noexcept { return durations_.durations(); }
    [[nodiscard]] std::vector<BuilderCounts> builders() const;
    [[nodiscard]] service::StationLedger ledger() const;
    /// The ids of the run's events. Events in hand and stored events are among the accepted only.
    struct Events {
        service::EventIds accepted{}, rejected{}, refused{}, failed{}, unfinished{};
    };
    [[nodiscard]] const Events& events() const noexcept { return events_; }
    /// Nothing is in hand, and every reachable readout was sent every id to clear.
    [[nodiscard]] bool idle() const noexcept;

private:
    struct Builder {
        std::uint64_t credit = 0;    // in all, of its epoch
        std::uint64_t assigned = 0;  // in all, to its epoch
        bool alive = false;          // reachable, or it has sent credit since
        bool full = false;           // no more messages to it are taken in this step
    };
    struct Assigned {
        wire::EventTicket ticket{};
        SteadyTime accepted{};
        wire::StationId builder{};
        std::uint32_t builds = 0;
    };
    struct Waiting {
        wire::EventTicket ticket{};
        SteadyTime accepted{};
        std::uint32_t builds = 0;
    };
    struct Readout {
        std::vector<Level1Id> to_clear{};
        std::optional<SteadyTime> since{};  // of the first of them
        std::uint64_t oldest_sent = 0;      // as in oldest()
        bool silent = false;                // gone: a stop does not wait for it
        bool lost_its_place = false;        // a new process, which needs the oldest event of the run
    };

    void accept(const wire::Accept& message, SteadyTime now);
    void built(wire::StationId from, const wire::Built& message, SteadyTime now);
    void unassign(wire::StationId builder, const char* why, SteadyTime now);
    void assign_what_can_be();
    void send_clears(SteadyTime now);
    void send_credit();
    void done_with(Level1Id id, SteadyTime now);
    [[nodiscard]] Sequence place(Level1Id id) noexcept;  // in the run, from 1 on, over wraps of the counter

    const AssignerOptions options_;
    messaging::MessageSender& messages_;
    const Reporter report_;  // a builder was lost, an event failed
    Counts counts_;
    DurationHistogram durations_;
    std::optional<wire::StationId> supervisor_;
    std::uint64_t accept_credit_sent_ = 0;
    std::uint64_t decided_by_supervisor_ = 0;  // of its epoch
    std::deque<Waiting> waiting_;
    std::unordered_map<std::uint64_t, Assigned> assigned_;  // by global id
    std::map<wire::StationId, Builder> builders_;
    std::map<wire::StationId, Readout> readouts_;
    wire::SequenceSet done_;          // places of the events that are done with
    std::uint64_t newest_place_ = 0;  // seen so far
    Events events_;
    std::vector<std::byte> buffer_;  // of the message that is being made
    wire::Accept accept_;
    wire::Built built_;
};

}  // namespace weir::building

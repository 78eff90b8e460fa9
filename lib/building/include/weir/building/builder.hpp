// SPDX-License-Identifier: Apache-2.0
// The event builder (SFI): requests the fragments of its assigned events from the readouts, re-requests what got lost,
// builds the events, and sends the DFM their outcomes. A fragment that stays lost becomes an empty ROB with status
// bits, never a gap. A window bounds the bytes in flight (request_window.hpp).
//
// Logic only: messages and time come in, messages go out through a MessageSender. One thread makes all calls.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/building/built_event.hpp"
#include "weir/building/request_window.hpp"
#include "weir/event/check.hpp"
#include "weir/event/format.hpp"
#include "weir/messaging/messages.hpp"
#include "weir/messaging/round_trip.hpp"
#include "weir/service/station.hpp"
#include "weir/wire/dataflow.hpp"
#include "weir/wire/peer.hpp"

namespace weir::building {

struct BuilderOptions {
    event::Format format = event::Format::event_5_0;
    event::RodRules rules{};      // how sources count their level-1 ids
    SourceId source{0x00790000};  // of the event: an SFI
    // In hand: asked for, complete, or not final downstream. Its credit at the DFM. Those that downstream has had for
    // `lingering_after` do not count, up to as many again: their recorder is lost, and others can take events.
    std::uint32_t events_max = 128;
    std::chrono::milliseconds lingering_after{3'000};
    std::uint32_t building_max =
        32;  // of these, requested at once; those that wait only for lost fragments do not count
    RequestWindow::Limits window{};
    std::uint32_t source_requests_max = 32;            // events that one readout is asked for at once
    std::uint32_t request_events = 8;                  // in one message
    std::chrono::milliseconds event_deadline{10'000};  // then missing fragments are lost
    std::chrono::milliseconds suspect_deadline{
        200};  // of a readout that has let an event run out of time, until it answers
    std::chrono::milliseconds reask_min{10};
    std::chrono::milliseconds reask_max{500};
    std::chrono::microseconds not_yet_wait{500};  // before the first repetition; doubles
};

/// The best MessageLoopOptions::gather for a builder: it has many answers in flight, and none of them is urgent.
inline constexpr std::chrono::microseconds answers_gather{50};

class Builder final : public messaging::MessageHandler {
public:
    struct Counts {
        std::uint64_t received = 0;  // events assigned to us = stored + rejected + failed + unfinished + in hand
        std::uint64_t stored = 0, failed = 0, unfinished = 0;
        std::map<std::string, std::uint64_t> rejected{};  // downstream, by reason
        std::uint64_t incomplete = 0;                     // of those built
        std::uint64_t built = 0, bytes_built = 0;
        std::uint64_t requests = 0, asked = 0;  // messages; events asked for in them
        std::uint64_t answers = 0, bytes_received = 0;
        std::uint64_t re_requested = 0, not_yet = 0;
        std::uint64_t late_or_double = 0, unexpected = 0, malformed = 0, no_memory = 0;
        std::uint64_t robs_lost = 0, robs_bad = 0, level1_mismatches = 0;
        std::uint64_t in_hand = 0, window = 0, in_flight = 0;
        std::optional<Level1Id> newest{};  // of the events that have begun
        std::uint64_t mask_changes = 0;    // in the last set_masks()
    };

    /// Messages, pool and sink outlive the builder.
    Builder(const BuilderOptions& options, messaging::MessageSender& messages, memory::BufferPool& pool,
            BuiltSink& sink, Reporter report = {});
    ~Builder() override;

    /// The DFM, and the readouts with their ROBs; also while events are being built.
    void set_peers(const std::vector<Peer>& peers, SteadyTime now);
    void start_run(RunNumber run);
    /// Error: they count, but an event of a new one had begun already.
    [[nodiscard]] Result<> set_masks(const std::vector<service::SourceMask>& masks);

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override;
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) override;
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime now) override;

    /// The outcome of an event that the sink took. `reason` names a rejection.
    void ended(const wire::EventTicket& ticket, bool incomplete, wire::EventOutcome outcome, const std::string& reason);
    /// The sink has room again, or a socket overflowed.
    void overflowed() noexcept { window_.overflowed(); }

    /// Rejects every event that is not final, and counts it as unfinished.
    void reject_unfinished();

    [[nodiscard]] Counts counts() const;
    [[nodiscard]] service::StationLedger ledger() const;
    /// What the events had that were built, by source.
    [[nodiscard]] std::vector<service::SourceStatus> sources() const;

private:
    static constexpr std::uint32_t tries_least = 8, tries_most = 1024;
    static constexpr std::uint32_t reordering_least = 3;  // as TCP's duplicate acknowledgements (RFC 5681)

    enum class SlotState : std::uint8_t { wanted, asked, resting, done };
    /// One readout's part of one event.
    struct Slot {
        SlotState state = SlotState::wanted;
        std::uint8_t tries = 0;
        std::uint8_t not_yet = 0;           // answers so far with this state
        bool repeated = false;              // re-requested, because it seemed lost
        std::uint32_t booked = 0;           // bytes in the window
        std::uint64_t request = 0;          // the latest
        SteadyTime at{};                    // of the last request, or of the next one
        std::chrono::nanoseconds before{};  // asked the time before, if it was repeated: see ran_
        std::uint64_t request_before = 0;   // then
        std::uint32_t overtaken = 0;        // then: see Ask
    };
    struct Assembly {
        std::uint32_t generation = 0;  // raised when it is used for another event
        bool active = false;
        wire::EventTicket ticket{};
        SteadyTime begun{};
        std::uint32_t missing = 0;  // slots that are not done
        std::uint32_t first_time =
            0;  // of these, not repeated; as long as there are any, the event counts for building_max
        std::uint32_t lost = 0, bad = 0;
        bool level1_mismatch = false;
        std::vector<Slot> slots{};      // by readout
        std::vector<bool> masked{};     // by position; empty: no source is
        std::vector<ConstData> robs{};  // by position of its source; empty: not there
        // Likewise, not checked: they were there when others of their readout were not yet. Empty: none was.
        std::vector<ConstData> early{};
        std::unique_ptr<BuiltEvent> event{};
    };
    struct Ask {
        std::uint32_t assembly = 0, generation = 0;
        std::uint64_t request = 0;
        std::chrono::nanoseconds ran{};  // when it was asked: see ran_
        std::uint32_t overtaken = 0;     // answers to later requests to the readout that came first
    };
    /// How much later other things were asked for that had been answered before: in time and in requests, to all
    /// readouts.
    struct Lag {
        std::chrono::nanoseconds time{};
        std::uint64_t requests = 0;
        [[nodiscard]] bool beyond(const Lag& other) const noexcept {
            return time > other.time && requests > other.requests;
        }
    };
    struct Readout {
        wire::StationId id{};
        std::string name{};
        std::uint32_t first = 0;  // position of its first source
        std::vector<SourceId> sources{};
        std::deque<Ask> to_ask{};
        std::deque<Ask> asked{};    // in the order of asking
        std::deque<Ask> resting{};  // answered "not yet"
        std::uint32_t outstanding = 0;
        bool queued = false;  // stands in ready_
        bool suspect = false;
        std::uint64_t answer_size = 0;                // smoothed; 0: none has come
        messaging::RoundTrip trip{};                  // from asking to the last answer of a request
        std::uint64_t timed_request = 0;              // the latest of which answers came
        std::chrono::nanoseconds timed_trip{};        // of its last answer so far; 0: it is not to be taken
        std::chrono::nanoseconds answered{};          // the last answer to something asked for: see ran_
        Lag lag{};                                    // about the longest of its last answers
        std::uint32_t reordering = reordering_least;  // as many later answers before one mean that it is lost
    };

    /// Of one source, in the events that were built.
    struct Tally {
        std::uint64_t expected = 0, missing = 0, masked = 0;
    };

    void assigned(const wire::Assign& message, SteadyTime now);
    void begin_events(SteadyTime now);
    void begin(wire::EventTicket ticket, SteadyTime now);
    void run_on(SteadyTime now);
    [[nodiscard]] std::chrono::nanoseconds least_wait() const noexcept;
    void time_trip(Readout& readout, const Slot& slot, std::uint64_t request, SteadyTime now);
    void note_answer(Readout& readout, const Slot& slot) noexcept;
    void note_order(Readout& readout, const Slot& slot, std::uint32_t assembly, std::uint64_t request);
    [[nodiscard]] Lag lag_behind(std::chrono::nanoseconds asked, std::uint64_t request) const noexcept;
    [[nodiscard]] Lag patience(const Readout& readout, unsigned repetitions) const noexcept;
    [[nodiscard]] bool was_overtaken(const Readout& readout, const Ask& ask, unsigned repetitions) const noexcept;
    [[nodiscard]] bool is_silent(const Readout& readout, const Ask& ask, unsigned repetitions) const noexcept;
    void ask(SteadyTime now);
    std::size_t ask_one(Readout& readout, std::uint32_t index, SteadyTime now);
    void queue(std::uint32_t readout);
    void answered(const messaging::IncomingMessage& message, SteadyTime now);
    [[nodiscard]] bool store(Assembly& assembly, Readout& readout, const messaging::IncomingMessage& message);
    template <class Each>
    void each_rob(const Assembly& assembly, const Readout& readout, ConstData robs, Each each);
    void keep_early(Assembly& assembly, const Readout& readout);
    void take_early(Assembly& assembly, const Readout& readout);
    void check(Assembly& assembly, std::uint32_t position, SourceId source, ConstData rob);
    [[nodiscard]] bool masked(const Assembly& assembly, const Readout& readout, SourceId source) const noexcept;
    void mask(Assembly& assembly);
    void slot_done(Assembly& assembly, std::uint32_t readout);
    void end_asking(Readout& readout, Slot& slot);
    void look_for_losses(std::uint32_t readout, SteadyTime now);
    void lost_on_the_way(std::uint32_t readout, const Ask& ask);
    void end_first_time(Assembly& assembly) noexcept;
    void close(std::uint32_t assembly);
    void look_at_deadlines(SteadyTime now);
    void run_out(Assembly& assembly, SteadyTime now, bool suspects_only);
    void complete(std::uint32_t assembly);
    void abandon(std::uint32_t assembly);
    void release(Assembly& assembly, std::uint32_t readout, bool lost);
    void offer();
    [[nodiscard]] std::uint64_t credit(SteadyTime now);
    void send_outcomes(SteadyTime now);
    [[nodiscard]] Slot* find(const Ask& ask, std::uint32_t readout) noexcept;
    [[nodiscard]] std::uint64_t expected_size(const Readout& readout) const noexcept;
    [[nodiscard]] std::uint64_t next_request_bytes(const Readout& readout) const noexcept;
    [[nodiscard]] bool may_begin() noexcept;

    const BuilderOptions options_;
    messaging::MessageSender& messages_;
    memory::BufferPool& pool_;
    BuiltSink& sink_;
    const Reporter report_;  // a readout is silent, an event cannot be built
    Counts counts_;
    RunNumber run_{};
    std::optional<wire::StationId> dfm_;
    std::vector<Readout> readouts_;
    std::vector<std::uint32_t> readout_of_;  // by station; no_readout: it is none
    std::vector<SourceId> sources_;          // by position
    std::vector<Tally> tallies_;             // by position
    std::vector<event::SourceRule> rules_;   // by position
    service::SourceMasks masks_;
    std::vector<service::SourceMask> changes_;  // in it
    std::deque<std::uint32_t> ready_;           // readouts that can be asked
    RequestWindow window_;
    std::deque<wire::EventTicket> tickets_;  // not begun
    std::vector<Assembly> assemblies_;
    std::vector<std::uint32_t> free_;
    std::uint32_t building_ = 0;                                  // events that count for building_max
    bool refilling_ = true;                                       // building_max was not reached since some ended
    std::deque<Ask> begun_;                                       // in the order of beginning, for deadlines
    std::unordered_map<std::uint32_t, std::uint32_t> by_level1_;  // of the active ones
    std::deque<std::unique_ptr<BuiltEvent>> complete_;            // the sink was full
    std::vector<wire::EventEnd> ended_;                           // outcomes not sent
    std::uint64_t credit_sent_ = 0, ended_count_ = 0;
    std::uint64_t held_ = 0;  // by the sink
    std::unordered_map<GlobalEventId, SteadyTime> held_since_;
    std::uint64_t lingering_ = 0;  // of these, as of the last count
    SteadyTime next_count_{}, stepped_{};
    std::uint64_t next_request_ = 1;
    std::uint32_t turn_ = 0;               // which readout an event begins with
    std::uint64_t largest_answer_ = 0;     // about that of the last thousand, of all readouts
    std::uint64_t event_size_ = 64 << 10;  // smoothed, for the chunks of its memory
    std::uint32_t suspects_ = 0;
    SteadyTime next_look_{};
    // For how long the builder has run. Time in which its thread stood still does not count: what came meanwhile was
    // not read, so no answer is missing because of it.
    std::chrono::nanoseconds ran_{};
    // About the longest trip of the last second, of all readouts: they share a line and its queue, and what is in that
    // is slow, not lost.
    std::chrono::nanoseconds longest_trip_{};
    // When the latest asked of all that was answered had been asked for, and which request it was. This is the clock by
    // which answers are missed: it stands still while no readout answers, be it that the line, the machine or this
    // builder is busy.
    std::chrono::nanoseconds newest_answered_{};
    std::uint64_t newest_request_ = 0;
    Lag longest_lag_{};  // about that of the last quarter of a second
    // Of all readouts: the last answer, and the first after a pause (see ran_); how many may be re-requested for
    // silence, and when some were.
    std::chrono::nanoseconds last_answer_{}, resumed_{}, tried_at_{};
    std::uint32_t tries_left_ = tries_least;
    SteadyTime last_step_{};
    std::vector<Ask> lost_asks_;  // of one look
    std::vector<std::byte> buffer_;
    wire::DataView data_;
    wire::Assign assign_;
    wire::DataRequest request_;
};

}  // namespace weir::building

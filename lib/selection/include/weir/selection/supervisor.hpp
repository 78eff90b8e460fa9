// SPDX-License-Identifier: Apache-2.0
// The level-2 supervisor (L2SV): makes tickets of triggers, in their order, gives each to a processing unit that has
// room, and sends their decisions to the DFM. A unit that dies or falls silent costs no event: its events are given to
// another, or accepted without a decision. Without units everything is accepted. An event that was accepted without a
// judgement has an empty level-2 result: the supervisor sends it to the pseudo readout, so that no builder waits for
// one that never comes.
//
// Logic only: messages and time come in, messages go out through a MessageSender. One thread makes all calls. Memory is
// bounded by credit: a ticket is made when the DFM has room for its decision and a unit has room for its event. While
// one of them has none, or a readout is busy, triggers of the clock do not happen: how long, and because of whom, is
// counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/duration_histogram.hpp"
#include "weir/base/report.hpp"
#include "weir/messaging/messages.hpp"
#include "weir/selection/region_rules.hpp"
#include "weir/selection/trigger_counts.hpp"
#include "weir/selection/trigger_spec.hpp"
#include "weir/service/event_ids.hpp"
#include "weir/service/station.hpp"
#include "weir/wire/dataflow.hpp"
#include "weir/wire/peer.hpp"

namespace weir::selection {

/// The treatment of an event whose unit gives no decision in time, or is gone.
enum class LostDecision : std::uint8_t { accept, reassign };

class BusyAccount;
class FirstTriggers;
class TriggerNotices;
class TriggerSource;

struct SupervisorOptions {
    std::uint64_t events = 0;  // of a run; 0: until it is stopped
    TriggerSpec triggers{};
    GlobalEventId first_global{1};
    Level1Id first_level1{1};
    std::chrono::milliseconds lumi_block_length{60'000};  // 0: the format has none, all events are of block 0
    std::uint32_t regions = 2;  // ROBs that a unit looks at for each event, drawn from all; 0: all of them
    RegionRule regions_of{};    // names them instead; an event on which it fails gets all
    std::uint64_t seed = 1;     // of the drawing
    std::chrono::milliseconds decision_timeout{5000};
    LostDecision lost_decision = LostDecision::accept;
    std::uint32_t gives_max = 3;  // times that an event is given; then it is accepted
    std::uint32_t in_hand_max = 16'384;
    std::uint32_t batch = 64;                  // events in one message
    std::vector<wire::EventTicket> headers{};  // from the headers of recorded events, in turn; empty: made up
};

/// Received: tickets made. Stored: accepted. Rejected: by level 2.
class Supervisor final : public messaging::MessageHandler {
public:
    struct Counts {
        std::uint64_t made = 0, accepted = 0, rejected = 0;  // decided ones are counted when they are sent to the DFM
        std::uint64_t forced = 0;                            // accepted without a decision; `accepted` counts them too
        std::uint64_t reassigned = 0, timed_out = 0, units_lost = 0;
        std::uint64_t late_verdicts = 0;   // of events that were decided in another way
        std::uint64_t empty_results = 0;   // sent to the pseudo readout in place of a unit
        std::uint64_t resent = 0;          // decisions repeated to a DFM that was started again
        std::uint64_t regions_failed = 0;  // events on which options.regions_of failed
        std::uint64_t skipped = 0;         // ids without a trigger, of which the DFM knows
        std::uint64_t unexpected = 0, malformed = 0;
        std::uint64_t in_hand = 0, at_units = 0;
        std::uint64_t waits_for_units = 0, waits_for_assigner = 0;  // steps that made no ticket because of them
        double latency_seconds = 0;                                 // smoothed: from giving to the verdict
    };
    struct UnitCounts {
        wire::StationId id{};
        bool alive = false;
        std::uint64_t credit = 0, given = 0, in_hand = 0;
    };

    /// With the source of triggers that the options name, which goes by the clock.
    Supervisor(const SupervisorOptions& options, messaging::MessageSender& messages, const Clock& clock,
               Reporter report = {});
    /// With a source that outlives it.
    Supervisor(const SupervisorOptions& options, messaging::MessageSender& messages, TriggerSource& triggers,
               Reporter report = {});
    ~Supervisor() override;

    /// DFM, processing units and the sources of the readouts. Events of a unit that is no longer there are given again.
    void set_peers(const std::vector<Peer>& peers, SteadyTime now);
    /// From the first ids on.
    void start_run(SteadyTime now);
    void pause(SteadyTime now);
    void resume(SteadyTime now);
    /// No more tickets; events in hand are still decided.
    void stop(SteadyTime now);
    /// Accepts every undecided event now, by force, so that its decision can be sent.
    void force_all(SteadyTime now);

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override;
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) override;
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime now) override;

    [[nodiscard]] Counts counts() const;
    /// From giving an event to a unit to its verdict.
    [[nodiscard]] Durations durations() const noexcept { return durations_.durations(); }
    [[nodiscard]] TriggerCounts triggers() const;
    /// Level-1 ids of triggers of the run with which something was wrong, by what it was.
    [[nodiscard]] service::StationEvents trigger_faults() const;
    /// Triggers of which a readout that needs them was not notified: it was silent, or started again.
    [[nodiscard]] std::uint64_t triggers_not_sent() const;
    /// Of the run up to the last step, in seconds: while triggers were wanted, while there was no room for one, and by
    /// cause: "units", or the name of the DFM or of a busy readout.
    struct BusyTimes {
        double running = 0;
        std::optional<double> dead{};  // nothing: the triggers have no times of their own, and wait
        std::map<std::string, double> by_cause{};
    };
    [[nodiscard]] BusyTimes busy_times() const;
    [[nodiscard]] std::vector<UnitCounts> units() const;
    [[nodiscard]] service::StationLedger ledger() const;
    /// The accepted events that were sent to the DFM.
    [[nodiscard]] const service::EventIds& accepted() const noexcept { return accepted_ids_; }
    /// As many as a run has; never where it goes on until it is stopped.
    [[nodiscard]] bool all_made() const noexcept { return options_.events != 0 && counts_.made >= options_.events; }
    /// Every event of the run was made and decided, and its decision was sent (see Endpoint::reliable_in_flight).
    [[nodiscard]] bool finished() const noexcept;
    [[nodiscard]] bool idle() const noexcept { return open_.empty() && nothing_to_send(); }
    /// The pseudo readout, and whether every empty result was sent to it.
    [[nodiscard]] std::optional<wire::StationId> results_to() const noexcept { return results_to_; }
    [[nodiscard]] std::optional<wire::StationId> assigner() const noexcept { return assigner_; }
    /// A readout that is filled from outside serves the source that events begin with, or none is needed.
    [[nodiscard]] bool has_first_source() const noexcept { return first_ == nullptr || !first_from_.empty(); }
    [[nodiscard]] bool results_sent() const noexcept { return no_result_.empty(); }

private:
    struct Judged {  // accepted by a unit, which sent its result at the same time
        SteadyTime at{};
        Level1Id level1_id{};
        GlobalEventId global_id{};
    };
    struct Open {
        wire::EventTicket ticket{};
        wire::StationId unit{};  // 0: it waits to be given
        SteadyTime since{};
        std::uint32_t gives = 0;
    };
    struct Unit {
        std::string name{};
        bool alive = true;                        // not silent
        bool full = false;                        // no more messages to it are taken until the next step
        std::uint64_t credit = 0;                 // in all, of its epoch
        std::uint64_t given = 0;                  // in all, to its epoch
        std::deque<Judged> judged{};              // the latest: their results may be lost with it
        std::unordered_set<std::uint64_t> has{};  // global ids, until it answers or is unassigned
    };
    struct Readout {
        std::string name{};
        bool busy = false;
        std::uint32_t hold_above = 0;  // events in hand: with fewer it is not obeyed
        std::uint64_t change = 0;      // number of its message that said so: an earlier one that comes later is ignored
    };
    struct Deadline {
        SteadyTime at{};
        std::uint64_t id = 0;
        std::uint32_t gives = 0;
    };
    struct SentDecision {
        wire::EventTicket ticket{};
        bool accepted = false;
    };

    [[nodiscard]] static std::uint64_t room(const Unit& unit) noexcept;
    [[nodiscard]] bool pass() const noexcept { return units_.empty(); }
    [[nodiscard]] bool wants_triggers() const noexcept;
    [[nodiscard]] bool assigner_has_room() const noexcept;
    [[nodiscard]] std::uint64_t rooms_of_units() const noexcept;
    [[nodiscard]] std::uint64_t in_hand() const noexcept;
    [[nodiscard]] bool holds(const Readout& readout) const noexcept;
    [[nodiscard]] bool held_by_readouts() const noexcept;
    [[nodiscard]] std::uint64_t room_beside_busy() const noexcept;
    [[nodiscard]] bool nothing_to_send() const noexcept {
        return accepted_.empty() && rejected_.empty() && skipped_.empty();
    }
    [[nodiscard]] std::size_t room_for_triggers() const noexcept;
    void make(SteadyTime now);
    void make_ticket(SteadyTime now);
    void account_busy(SteadyTime now);
    void take_busy(const wire::ReadoutBusy& message, wire::StationId from);
    void give(SteadyTime now);
    [[nodiscard]] bool give_to(wire::StationId id, Unit& unit, std::size_t events, SteadyTime now);
    void find_regions(const wire::EventTicket& event, std::vector<SourceId>& regions);
    void draw_regions(GlobalEventId id, std::uint32_t count, std::vector<SourceId>& regions) const;
    void decided(const wire::Level2Decision& message, wire::StationId from, SteadyTime now);
    void decide(std::uint64_t id, bool accepted, bool forced);
    void accept_unjudged(std::uint64_t id, bool forced);
    void give_empty_result(Level1Id level1_id, GlobalEventId global_id);
    void lost(std::uint64_t id, SteadyTime now);  // no decision will come for it
    void unassign(wire::StationId id, Unit& unit, const char* why, SteadyTime now);
    void look_at_deadlines(SteadyTime now);
    void send_decisions();
    void send_results();
    void resend_decisions();
    [[nodiscard]] bool send_skipped();
    void remember(const wire::EventTicket& ticket, bool accepted);

    const SupervisorOptions options_;
    messaging::MessageSender& messages_;
    const Reporter report_;  // a unit was lost
    Counts counts_;
    DurationHistogram durations_;
    std::unique_ptr<TriggerSource> own_triggers_;
    TriggerSource* const triggers_;
    FirstTriggers* first_ = nullptr;        // the same, when events begin with a fragment
    std::set<wire::StationId> first_from_;  // readouts of its source
    std::unique_ptr<BusyAccount> busy_;
    std::unique_ptr<TriggerNotices> notices_;
    std::vector<wire::StationId> causes_;  // that there is no room now
    bool makes_ = false;
    SteadyTime began_{};  // of the run
    std::optional<wire::StationId> assigner_, results_to_;
    std::string assigner_name_;
    std::uint64_t assigner_credit_ = 0, assigner_sent_ = 0;  // of its epoch
    std::uint32_t window_ = 0;  // decisions that the DFM may have in hand: its first credit
    std::map<wire::StationId, Unit> units_;
    std::map<wire::StationId, Readout> readouts_;  // that may be busy
    std::vector<SourceId> sources_;
    std::unordered_map<std::uint64_t, Open> open_;  // made and not decided, by global id
    std::deque<std::uint64_t> to_give_;
    std::deque<Deadline> deadlines_;
    std::deque<wire::EventTicket> accepted_;  // not sent
    std::deque<wire::EventTicket> rejected_;
    std::deque<SkippedIds> skipped_;            // not sent
    std::deque<SkippedIds> sent_skipped_;       // the latest
    std::deque<wire::Level2Result> no_result_;  // not sent
    service::EventIds accepted_ids_;            // of the run
    std::deque<SentDecision> sent_;             // the latest `window_`
    std::vector<std::byte> buffer_;
    wire::Level2Task task_;
    wire::Level2Decision decision_;
    wire::Accept accept_;
    wire::AcceptCredit credit_;
    wire::ReadoutBusy readout_busy_;
    wire::FragmentSeen seen_;
};

}  // namespace weir::selection

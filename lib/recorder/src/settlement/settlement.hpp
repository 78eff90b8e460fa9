// SPDX-License-Identifier: Apache-2.0
// Decides once how each event ends: acknowledged, rejected or returned, when each of its copies is durable, late or
// lost. The thread that has the last copy settles it. An answer whose rejected copies have to be counted for good first
// is held for the next journal commit (HeldAnswers). Knows sessions, ids and ledgers; files and volumes stand on it:
// they call durable() or lost().
//
//     begin() -> placed() or late(), for each copy -> end()        the receiving thread, or the stream's
//                                                  -> stop()       memory ran out: the event comes again
//     durable(), lost()                                            sync rounds, and volumes that fail
//     held(), answer()                                             sync rounds: what waits for a journal
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/operator_reports.hpp"
#include "settlement/durable_sessions.hpp"
#include "settlement/held_answers.hpp"
#include "settlement/ledger.hpp"
#include "settlement/partial_copies.hpp"
#include "settlement/placed_copy.hpp"
#include "settlement/unique_events.hpp"
#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/duration_histogram.hpp"
#include "weir/delivery/receiver.hpp"

namespace weir::recorder {

/// Where the answers go: the receiver, or a test. Called from any thread; must not wait.
class AnswerTarget {
public:
    virtual ~AnswerTarget() = default;
    virtual void acknowledge(std::span<const delivery::Answer> events) = 0;
    virtual void reject(delivery::Answer event, wire::RejectReason reason, std::string text) = 0;
    virtual void not_passed_on(std::span<const delivery::Answer> events) = 0;
    virtual void send_again(std::span<const delivery::Answer> events) = 0;
    /// There is room again for an event that found none.
    virtual void retry() = 0;
};

struct SettlementOptions {
    std::string recorder{};
    std::uint64_t copies_in_hand_max = 0;  // so that small events have a bound too
    bool unique_events = false;
    Bytes unique_memory_max{};
    const Clock* clock = nullptr;  // outlives it; nothing: times to an acknowledgement are not taken
};

/// Any thread.
class Settlement {
public:
    Settlement(SettlementOptions options, AnswerTarget& target, const OperatorReports& reports);

    // Before the first event ----------------------------------------------------------------------

    /// `known`: the ledgers of the run so far; `patience` as of HeldAnswers.
    void begin_run(RunNumber run, std::size_t patience, std::span<const catalogue::LedgerRow> known);
    void restore(delivery::SessionId session, const wire::SessionKey& key, const wire::SequenceSet& durable);
    /// Of an event some copies are durable.
    void restore(delivery::Answer event, std::uint64_t taken);
    void restore(recovery::EventHoldings events);

    // Sessions ------------------------------------------------------------------------------------

    void declare(delivery::SessionId session, const wire::SessionKey& key);
    void forget(delivery::SessionId session) { sessions_.forget(number(session)); }
    [[nodiscard]] datafile::SessionDeclared declaration(std::uint32_t session) const {
        return sessions_.declaration(session);
    }

    // An event that comes -------------------------------------------------------------------------

    /// False: too many copies are in hand, and AnswerTarget::retry() is called when that has passed.
    [[nodiscard]] bool has_room();

    /// What is to be done of an event.
    struct Taking {
        PartialCopies::State state{};  // which copies need no place (any more), and the ticket of all
        std::uint64_t streams = 0;     // as Ticket::streams
        delivery::Answer event{};
        GlobalEventId id{};

        [[nodiscard]] bool needs(std::uint16_t copy) const { return (state.taken >> copy & 1) == 0; }
        /// The copies that are, or will be, in files.
        [[nodiscard]] std::uint64_t stored() const {
            return state.taken & ~state.ticket->late.load(std::memory_order_relaxed);
        }
    };
    /// `ledgers`: of the event's streams, in the order of its tags. Nothing: it is a duplicate, was moved from, and is
    /// answered in its time.
    [[nodiscard]] std::optional<Taking> begin(delivery::IncomingEvent& event, std::span<Ledger* const> ledgers);
    /// A copy has its place; durable() or lost() follows.
    void placed(Ledger& ledger);
    /// A copy that no file takes any more. An answer that is held takes the credit.
    void late(Ledger& ledger, Ticket& ticket, std::uint16_t copy, delivery::CreditHold* credit = nullptr);
    /// Every copy was placed, is late, or is with the thread of its stream.
    void end(const Taking& taking, delivery::CreditHold& credit);
    /// There is no memory for the rest now: the event stays with its receiver and is begun again.
    void stop(Taking taking);

    // Events that are not stored ------------------------------------------------------------------

    /// The event is moved from, and answered when its counts are durable. `ledgers`: of its streams, as far as there
    /// are any, and unplaced() for each that is not.
    void reject(delivery::IncomingEvent& event, std::span<Ledger* const> ledgers, wire::RejectReason reason,
                std::string text);
    /// The receiver has discarded the event itself.
    void not_passed_on(delivery::Answer event, GlobalEventId id, std::span<Ledger* const> ledgers,
                       wire::RejectReason reason, delivery::CreditHold& credit);

    // What becomes of placed copies ---------------------------------------------------------------

    void durable(std::span<const PlacedCopy> copies);
    void lost(std::span<const PlacedCopy> copies);
    /// Answers that wait for a commit of a journal. A round that is taken is answered, or not_written().
    [[nodiscard]] HeldAnswers& held() noexcept { return held_; }
    /// The counts of the round are durable.
    void answer(HeldAnswers::Round& round);

    // What is known -------------------------------------------------------------------------------

    /// Of copies that were rejected before they had a stream.
    [[nodiscard]] const Ledger& unplaced() const noexcept { return unplaced_; }
    [[nodiscard]] Ledger& unplaced() noexcept { return unplaced_; }
    /// Rejected copies that are in a journal, or about to be.
    [[nodiscard]] HeldAnswers::Counts counted(const Ledger& ledger) const { return held_.taken(ledger); }
    /// Marks of sessions, and of ids with unique_events, that have changed since the last call.
    [[nodiscard]] std::vector<catalogue::SessionMark> take_changed_marks();
    [[nodiscard]] const UniqueEvents& unique() const noexcept { return unique_; }
    /// From the arrival of a whole event to its acknowledgement, of one in 64: reading the clock for each would cost.
    [[nodiscard]] Durations durations() const noexcept { return durations_.durations(); }
    /// Of the last event that was rejected for another reason than being a duplicate.
    [[nodiscard]] std::uint64_t last_rejected() const noexcept {
        return last_rejected_.load(std::memory_order_relaxed);
    }

private:
    enum class Fate { durable, late, lost };
    /// Answers that nothing holds.
    struct Settled {
        std::vector<delivery::Answer> acknowledged, again;
    };

    void count_rejected(GlobalEventId id, std::span<Ledger* const> ledgers, wire::RejectReason reason);
    void hold_rejection(delivery::Answer event, wire::RejectReason reason, std::string text,
                        delivery::CreditHold credit = {});
    static void mark(Ticket& ticket, std::uint16_t copy, Fate fate);
    /// One more of the event's copies has met its fate, or it is taken as a whole.
    void settle(Ticket& ticket, Settled& settled, delivery::CreditHold* credit = nullptr);
    void send(const Settled& settled);
    void settle_and_answer(Ticket& ticket, delivery::CreditHold* credit);
    void no_longer_in_hand(std::uint64_t copies);
    // settlement_duplicates.cpp
    [[nodiscard]] bool is_duplicate(delivery::IncomingEvent& event, std::span<Ledger* const> ledgers,
                                    std::uint64_t& streams, UniqueEvents::Left& left);
    void reject_duplicates(const std::vector<UniqueEvents::Duplicate>& duplicates);
    void return_duplicates(const std::vector<UniqueEvents::Duplicate>& duplicates,
                           std::vector<delivery::Answer>& again);

    const SettlementOptions options_;
    AnswerTarget& target_;
    const OperatorReports& reports_;
    RunNumber run_{};
    Ledger unplaced_;
    DurableSessions sessions_;
    PartialCopies partial_;
    UniqueEvents unique_;
    HeldAnswers held_;
    DurationHistogram durations_;
    std::atomic<std::uint64_t> copies_in_hand_{0};  // with event_waits_: has_room(), no_longer_in_hand()
    std::atomic<bool> event_waits_{false};
    std::atomic<bool> unchecked_reported_{false};
    std::atomic<std::uint64_t> last_rejected_{0};  // global id
};

}  // namespace weir::recorder

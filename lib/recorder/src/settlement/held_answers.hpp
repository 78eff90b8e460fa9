// SPDX-License-Identifier: Apache-2.0
// Answers to events of which copies are rejected, until the counts of these copies are on stable storage: the next
// round of a journal takes both. So the counts are right after a crash too, at the price of a record in a commit that
// is made anyway (or one commit a round, when nothing else comes).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "settlement/ledger.hpp"
#include "weir/catalogue/rows.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/delivery/receiver.hpp"

namespace weir::recorder {

/// Any thread.
class HeldAnswers {
public:
    enum class Kind { not_passed_on, reject, acknowledge };  // what is called of the receiver
    struct Held {
        delivery::Answer event;
        Kind kind = Kind::not_passed_on;
        wire::RejectReason reason{};  // of reject
        std::string text{};
        delivery::CreditHold credit{};  // bounds how many can wait
    };
    /// What one round takes: the counts are to be in its journal before any answer is sent.
    struct Round {
        std::vector<Held> answers;
        std::vector<datafile::RejectedCopies> counts;
        std::vector<const Ledger*> ledgers;
    };

    /// Before anything is counted. Of several journals, one that has events to write takes what is held: `patience`
    /// rounds without events pass it over first. `known`: the ledgers of the run so far.
    void begin(RunNumber run, std::string recorder, std::size_t patience, std::span<const catalogue::LedgerRow> known);

    /// First the copies, then the answer: so no answer goes before its counts. The ledger outlives this.
    void count(const Ledger& ledger, wire::RejectReason reason, std::uint64_t copies = 1);
    void hold(Held answer);

    /// By a round without events. False: something was passed over often enough, and this round is to take it.
    [[nodiscard]] bool pass_over();
    /// Each is followed by one of the next two.
    [[nodiscard]] Round take();
    void written(const Round& round);
    /// Its journal could not be written: another round takes it.
    void not_written(Round round);

    /// What rounds have taken since begin().
    using Counts = std::array<std::uint64_t, wire::reject_reason_count>;
    [[nodiscard]] Counts taken(const Ledger& ledger) const;

private:
    using StreamName = std::pair<std::string, std::string>;  // type and name
    [[nodiscard]] datafile::RejectedCopies total(const Ledger& ledger) const;

    mutable std::mutex mutex_;
    RunNumber run_{};
    std::string recorder_;
    std::size_t patience_ = 0, passed_over_ = 0;
    std::map<StreamName, std::map<std::string, std::uint64_t>> before_;  // by reason
    std::map<const Ledger*, Counts> waiting_, taken_;
    std::multiset<const Ledger*>
        writing_;  // taken; a round that meanwhile answers others of them writes their totals too
    std::set<const Ledger*> not_written_;  // taken, and held again
    std::vector<Held> held_;
};

}  // namespace weir::recorder

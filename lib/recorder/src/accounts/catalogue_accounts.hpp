// SPDX-License-Identifier: Apache-2.0
// What a recorder keeps in the catalogue beside its files, and in its log: the ledger of rejected copies, the marks of
// sessions and ids, the lumi blocks that are over, and now and then one line about rejected events. What is stored
// comes into the ledger with each closed file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "accounts/lumi_blocks.hpp"
#include "reports/operator_reports.hpp"
#include "settlement/ledger.hpp"
#include "settlement/settlement.hpp"
#include "weir/base/clock.hpp"
#include "weir/catalogue/catalogue.hpp"

namespace weir::recorder {

/// step() and report_rejections() belong to one thread at a time; write_ledger() may be called from any thread.
class CatalogueAccounts {
public:
    static constexpr std::chrono::seconds ledger_interval{1}, rejections_interval{10};

    struct Sources {
        std::function<std::vector<const Ledger*>()> ledgers;  // of all streams
        /// Events by reason, since the beginning.
        std::function<std::map<std::string, std::uint64_t>()> events_rejected;
    };

    CatalogueAccounts(RunNumber run, std::string recorder, catalogue::Catalogue& catalogue, Settlement& settlement,
                      LumiBlocks& blocks, Sources sources, const OperatorReports& reports, const Clock& clock);

    /// What is due by time. Waits for the catalogue.
    void step(SteadyTime now);

    enum class RunEnd { no, yes };
    /// Of rejected copies, those that are in a journal, or about to be: no more than a crash leaves. `yes`: copies that
    /// are in hand are counted as received and nothing else.
    [[nodiscard]] Result<> write_ledger(RunEnd end = RunEnd::no);
    /// Only while no file is being closed: a closer that has taken marks may not have written them yet, and newer marks
    /// must not come before older ones.
    [[nodiscard]] Result<> write_marks();
    /// One line for all events since the last, so that a sender whose every event is rejected does not fill the log.
    /// Those that are stored already, or come again, are counted without a line.
    void report_rejections(SteadyTime now);

private:
    void close_blocks(SteadyTime now);

    const RunNumber run_;
    const std::string recorder_;
    catalogue::Catalogue& catalogue_;
    Settlement& settlement_;
    LumiBlocks& blocks_;
    const Sources sources_;
    const OperatorReports& reports_;
    const Clock& clock_;  // wall time, for rows

    std::mutex ledger_mutex_;
    std::map<const Ledger*, Ledger::Counts> written_;  // to the catalogue; with ledger_mutex_
    SteadyTime ledger_due_{}, rejections_due_{};
    std::map<std::string, std::uint64_t> rejections_reported_;
};

}  // namespace weir::recorder

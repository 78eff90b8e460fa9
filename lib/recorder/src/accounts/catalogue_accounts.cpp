// SPDX-License-Identifier: Apache-2.0
#include "accounts/catalogue_accounts.hpp"

#include <fmt/format.h>

#include <utility>

#include "accounts/ledger_change.hpp"

namespace weir::recorder {

CatalogueAccounts::CatalogueAccounts(RunNumber run, std::string recorder, catalogue::Catalogue& catalogue,
                                     Settlement& settlement, LumiBlocks& blocks, Sources sources,
                                     const OperatorReports& reports, const Clock& clock)
    : run_(run),
      recorder_(std::move(recorder)),
      catalogue_(catalogue),
      settlement_(settlement),
      blocks_(blocks),
      sources_(std::move(sources)),
      reports_(reports),
      clock_(clock) {}

void CatalogueAccounts::step(SteadyTime now) {
    if (now >= ledger_due_) {
        ledger_due_ = now + ledger_interval;
        if (const auto written = write_ledger(); !written) reports_.alarm("catalogue", written.error().message());
        if (now >= rejections_due_) report_rejections(now);
    }
    close_blocks(now);
}

Result<> CatalogueAccounts::write_ledger(RunEnd end) {
    const std::scoped_lock lock(ledger_mutex_);
    auto ledgers = sources_.ledgers();
    ledgers.insert(ledgers.begin(), &settlement_.unplaced());
    for (const auto* ledger : ledgers) {
        auto counts = ledger->counts();
        const auto lost = end == RunEnd::yes ? counts.in_hand() : 0;
        counts.rejected = settlement_.counted(*ledger);
        auto& written = written_[ledger];
        auto row = ledger_change(counts, written, lost);
        if (!row) continue;
        row->run = run_;
        row->recorder = recorder_;
        row->stream_type = ledger->stream_type();
        row->stream_name = ledger->stream_name();
        WEIR_TRY(catalogue_.add_to_ledger(*row));
        written = counts;
    }
    return {};
}

Result<> CatalogueAccounts::write_marks() { return catalogue_.set_marks(settlement_.take_changed_marks()); }

void CatalogueAccounts::close_blocks(SteadyTime now) {
    auto closed = blocks_.take_closed(now);
    if (!closed) return;
    closed->run = run_;
    closed->recorder = recorder_;
    closed->at = clock_.wall();
    if (const auto written = catalogue_.lumi_blocks_closed(*closed); !written) {
        blocks_.not_written(*closed);
        reports_.alarm("catalogue", written.error().message());
    }
}

void CatalogueAccounts::report_rejections(SteadyTime now) {
    auto rejected = sources_.events_rejected();
    for (const auto* normal : {"duplicate", Ledger::returned_name, "discarded"}) rejected.erase(normal);
    std::uint64_t events = 0;
    std::string reasons;
    for (const auto& [reason, count] : rejected) {
        const auto more = count - rejections_reported_[reason];
        if (more == 0) continue;
        events += more;
        reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", reason, more);
    }
    if (events == 0) return;
    rejections_reported_ = std::move(rejected);
    rejections_due_ = now + rejections_interval;
    reports_.warning(fmt::format(
        "run {}: {} events were rejected ({}), the last with global id {}; their senders have the reason of each",
        number(run_), events, reasons, settlement_.last_rejected()));
}

}  // namespace weir::recorder

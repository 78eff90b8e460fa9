// SPDX-License-Identifier: Apache-2.0
// How the recorder's counts and its closed lumi blocks come into the catalogue.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "accounts/ledger_change.hpp"
#include "recording.hpp"

namespace weir::recorder {

/// Of rejected copies, those that are in a journal, or about to be: no more than a crash leaves.
Result<> Recording::tell_ledger(bool at_the_end) {
    const std::scoped_lock telling(ledger_mutex_);
    std::vector<const Ledger*> ledgers{&unplaced_};
    {
        const std::shared_lock lock(streams_mutex_);  // not while the catalogue writes: events wait for it
        for (const auto& [key, entry] : streams_) ledgers.push_back(&entry.stream->ledger());
    }
    for (const auto* ledger : ledgers) {
        auto counts = ledger->counts();
        const auto lost = at_the_end ? counts.in_hand() : 0;
        counts.rejected = held_.taken(*ledger);
        auto& told = ledger_told_[ledger];
        auto row = ledger_change(counts, told, lost);
        if (!row) continue;
        row->run = run_;
        row->recorder = options_.recorder;
        row->stream_type = ledger->stream_type();
        row->stream_name = ledger->stream_name();
        WEIR_TRY(catalogue_->add_to_ledger(*row));
        told = counts;
    }
    return {};
}

void Recording::tell_ledger_now_and_then() {
    constexpr std::chrono::seconds interval{1};
    if (const auto now = clock_.now(); now >= ledger_due_) {
        ledger_due_ = now + interval;
        if (const auto told = tell_ledger(false); !told) reports_.alarm("catalogue", told.error().message());
        report_rejections(false);
    }
}

void Recording::close_blocks() {
    auto closed = blocks_.take_closed(clock_.now());
    if (!closed) return;
    closed->run = run_;
    closed->recorder = options_.recorder;
    closed->at = clock_.wall();
    if (const auto told = catalogue_->lumi_blocks_closed(*closed); !told) {
        blocks_.put_back(*closed);
        reports_.alarm("catalogue", told.error().message());
    }
}

/// One line for all events since the last, so that a sender whose every event is rejected does not fill the log. Those
/// that are stored already, or come again, are counted without a line.
void Recording::report_rejections(bool at_the_end) {
    constexpr std::chrono::seconds interval{10};
    const auto now = clock_.now();
    if (!at_the_end && now < rejections_due_) return;
    auto rejected = events_rejected(receiver_->stats());
    for (const auto* normal : {"duplicate", Ledger::given_back_name, "discarded"}) rejected.erase(normal);
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
    rejections_due_ = now + interval;
    reports_.warning(fmt::format(
        "run {}: {} events were rejected ({}), the last with global id {}; their senders have the reason of each",
        number(run_), events, reasons, last_rejected_.load(std::memory_order_relaxed)));
}

}  // namespace weir::recorder

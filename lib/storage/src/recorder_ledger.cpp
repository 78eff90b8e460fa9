// SPDX-License-Identifier: Apache-2.0
// How the recorder's counts and its closed lumi blocks come into the catalogue.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "ledger_change.hpp"
#include "weir/storage/recorder.hpp"

namespace weir::storage {

std::optional<catalogue::LedgerRow> ledger_change(const Ledger::Counts& now, const Ledger::Counts& told,
                                                  std::uint64_t lost) {
    catalogue::LedgerRow row;
    row.received = now.rejected_total() - told.rejected_total();
    for (const auto reason : wire::reject_reasons) {
        if (const auto n = now.rejected[wire::index(reason)] - told.rejected[wire::index(reason)]; n > 0)
            row.rejected[wire::name(reason)] = n;
    }
    if (now.given_back > told.given_back) row.rejected[Ledger::given_back_name] = now.given_back - told.given_back;
    row.received += lost;
    return row.received == 0 ? std::nullopt : std::optional(std::move(row));
}

Result<> enter_rejected(std::span<const RejectedCopies> totals, catalogue::Catalogue& catalogue) {
    std::map<std::tuple<RunNumber, std::string, std::string, std::string>, std::map<std::string, std::uint64_t>> highest;
    for (const auto& total : totals) {
        auto& known = highest[{total.run, total.recorder, total.stream_type, total.stream_name}];
        for (const auto& [reason, copies] : total.copies) known[reason] = std::max(known[reason], copies);
    }
    for (const auto& [key, rejected] : highest) {
        catalogue::LedgerRow missing;
        std::tie(missing.run, missing.recorder, missing.stream_type, missing.stream_name) = key;
        const auto runs = catalogue.runs(missing.run);
        if (!runs) return std::unexpected(runs.error());
        // A run of which nothing else is left has no ledger.
        if (std::ranges::find(*runs, missing.recorder, &catalogue::RunRow::recorder) == runs->end()) continue;
        const auto rows = catalogue.ledgers(missing.run);
        if (!rows) return std::unexpected(rows.error());
        const auto row = std::ranges::find_if(*rows, [&](const catalogue::LedgerRow& r) {
            return std::tie(r.run, r.recorder, r.stream_type, r.stream_name) == key;
        });
        for (const auto& [reason, copies] : rejected) {
            const auto told = row == rows->end() || !row->rejected.contains(reason) ? 0 : row->rejected.at(reason);
            if (copies <= told) continue;
            missing.rejected[reason] = copies - told;
            missing.received += copies - told;
        }
        if (missing.received == 0) continue;
        if (auto added = catalogue.add_to_ledger(missing); !added) return added;
    }
    return {};
}

/// Of rejected copies, those that are in a journal, or about to be: no more than a crash leaves.
Result<> Recorder::tell_ledger(bool at_the_end) {
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
        if (auto added = catalogue_->add_to_ledger(*row); !added) return added;
        told = counts;
    }
    return {};
}

void Recorder::tell_ledger_now_and_then() {
    constexpr std::chrono::seconds interval{1};
    if (const auto now = clock_.now(); now >= ledger_due_) {
        ledger_due_ = now + interval;
        if (const auto told = tell_ledger(false); !told) alarm("catalogue", told.error().message());
        report_rejections(false);
    }
}

void Recorder::close_blocks() {
    auto closed = blocks_.take_closed(clock_.now());
    if (!closed) return;
    closed->run = run_;
    closed->recorder = options_.recorder;
    closed->at = clock_.wall();
    if (const auto told = catalogue_->lumi_blocks_closed(*closed); !told) {
        blocks_.put_back(*closed);
        alarm("catalogue", told.error().message());
    }
}

std::map<std::string, std::uint64_t> events_rejected(const delivery::ReceiverStats& stats) {
    std::map<std::string, std::uint64_t> rejected;
    const auto add = [&](const char* reason, std::uint64_t count) {
        if (count > 0) rejected[reason] += count;
    };
    for (std::size_t i = 0; i < wire::reject_reason_count; ++i)
        add(wire::name(static_cast<wire::RejectReason>(i)), stats.rejected_here[i] + stats.rejected_by_sink[i]);
    add(wire::name(wire::RejectReason::duplicate), stats.duplicates);
    add(Ledger::given_back_name, stats.given_back);
    add("discarded", stats.discarded);
    return rejected;
}

/// One line for all events since the last, so that a sender whose every event is rejected does not fill the log. Those
/// that are stored already, or come again, are counted without a line.
void Recorder::report_rejections(bool at_the_end) {
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
    say(RecorderReport::Severity::warning,
        fmt::format("run {}: {} events were rejected ({}), the last with global id {}; their senders have the reason of each",
                    number(run_), events, reasons, last_rejected_.load(std::memory_order_relaxed)));
}

}  // namespace weir::storage

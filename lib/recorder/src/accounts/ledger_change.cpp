// SPDX-License-Identifier: Apache-2.0
#include "accounts/ledger_change.hpp"

#include <utility>

namespace weir::recorder {

std::optional<catalogue::LedgerRow> ledger_change(const Ledger::Counts& now, const Ledger::Counts& written,
                                                  std::uint64_t lost) {
    catalogue::LedgerRow row;
    row.received = now.rejected_total() - written.rejected_total();
    for (const auto reason : wire::reject_reasons) {
        if (const auto n = now.rejected[wire::index(reason)] - written.rejected[wire::index(reason)]; n > 0)
            row.rejected[wire::name(reason)] = n;
    }
    if (now.returned > written.returned) row.rejected[Ledger::returned_name] = now.returned - written.returned;
    row.received += lost;
    return row.received == 0 ? std::nullopt : std::optional(std::move(row));
}

std::map<std::string, std::uint64_t> events_rejected(const delivery::ReceiverStats& stats) {
    std::map<std::string, std::uint64_t> rejected;
    const auto add = [&](const char* reason, std::uint64_t count) {
        if (count > 0) rejected[reason] += count;
    };
    for (std::size_t i = 0; i < wire::reject_reason_count; ++i)
        add(wire::name(static_cast<wire::RejectReason>(i)), stats.rejected_here[i] + stats.rejected_by_sink[i]);
    add(wire::name(wire::RejectReason::duplicate), stats.duplicates);
    add(Ledger::returned_name, stats.returned);
    add("discarded", stats.discarded);
    return rejected;
}

}  // namespace weir::recorder

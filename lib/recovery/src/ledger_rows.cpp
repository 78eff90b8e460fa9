// SPDX-License-Identifier: Apache-2.0
#include "weir/recovery/ledger_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

namespace weir::recovery {

catalogue::LedgerRow ledger_of_file(const datafile::FileOpened& opened, const datafile::FileClosed& closed,
                                    const std::string& recorder) {
    catalogue::LedgerRow row;
    row.run = opened.run;
    row.recorder = recorder;
    row.stream_type = opened.stream_type;
    row.stream_name = opened.stream_name;
    row.received = row.stored = closed.events;
    return row;
}

Result<> enter_rejected(std::span<const datafile::RejectedCopies> totals, catalogue::Catalogue& catalogue) {
    std::map<std::tuple<RunNumber, std::string, std::string, std::string>, std::map<std::string, std::uint64_t>>
        highest;
    for (const auto& total : totals) {
        auto& known = highest[{total.run, total.recorder, total.stream_type, total.stream_name}];
        for (const auto& [reason, copies] : total.copies) known[reason] = std::max(known[reason], copies);
    }
    for (const auto& [key, rejected] : highest) {
        catalogue::LedgerRow missing;
        std::tie(missing.run, missing.recorder, missing.stream_type, missing.stream_name) = key;
        const auto runs = WEIR_TRY(catalogue.runs(missing.run));
        // A run of which nothing else remains has no ledger.
        if (std::ranges::find(runs, missing.recorder, &catalogue::RunRow::recorder) == runs.end()) continue;
        const auto rows = WEIR_TRY(catalogue.ledgers(missing.run));
        const auto row = std::ranges::find_if(rows, [&](const catalogue::LedgerRow& r) {
            return std::tie(r.run, r.recorder, r.stream_type, r.stream_name) == key;
        });
        for (const auto& [reason, copies] : rejected) {
            const auto known = row == rows.end() || !row->rejected.contains(reason) ? 0 : row->rejected.at(reason);
            if (copies <= known) continue;
            missing.rejected[reason] = copies - known;
            missing.received += copies - known;
        }
        if (missing.received == 0) continue;
        WEIR_TRY(catalogue.add_to_ledger(missing));
    }
    return {};
}

}  // namespace weir::recovery

// SPDX-License-Identifier: Apache-2.0
// Copies of files at destinations.
#include <fmt/format.h>

#include "sql/sql_catalogue.hpp"
#include "weir/catalogue/file_sums.hpp"

namespace weir::catalogue {
namespace {

constexpr std::string_view select_transfers =
    "SELECT guid, destination, state, attempts, next_try_us, bytes, algorithm, checksum, url, error, first_try_us, "
    "changed_us, verified_us FROM transfers WHERE TRUE";

TransferRow read_transfer_row(sql::Rows& rows) {
    TransferRow row;
    row.guid = rows.guid(0);
    row.destination = rows.text(1);
    row.state = rows.word(2, &parse_copy_state);
    row.attempts = rows.u32(3);
    row.next_try = rows.optional_time(4);
    row.bytes = rows.u64(5);
    row.algorithm = rows.text(6);
    row.checksum = rows.text(7);
    row.url = rows.text(8);
    row.error = rows.text(9);
    row.first_try = rows.time(10);
    row.changed = rows.time(11);
    row.verified = rows.optional_time(12);
    return row;
}

/// The row as it is kept: the sum in its normal form.
Result<TransferRow> normal(TransferRow row) {
    WEIR_TRY(check_text("the name of the destination", row.destination, word_size_max));
    if (!row.url.empty()) WEIR_TRY(check_text("the place of the copy", row.url, path_size_max));
    if (!row.error.empty()) WEIR_TRY(check_text("the error of a transfer", row.error, path_size_max));
    if (!sql::fits(row.bytes))
        return fail(Errc::limit, fmt::format("a copy of {} bytes is larger than the catalogue can hold", row.bytes));
    if (row.algorithm.empty() != row.checksum.empty())
        return fail(Errc::usage, "a transfer has an algorithm and its checksum, or neither");
    if (row.algorithm.empty()) return row;
    WEIR_TRY(check_text("the name of the algorithm", row.algorithm, word_size_max));
    row.checksum = WEIR_TRY(normal_sum(row.algorithm, row.checksum));
    return row;
}

}  // namespace

Result<> SqlCatalogue::set_transfer(const TransferRow& given) {
    const auto row = WEIR_TRY(normal(given));
    return change([&]() -> Result<> {
        const auto file = WEIR_TRY(known_file(row.guid));
        const auto refused = [&](std::string_view why) {
            return fail(Errc::refused, fmt::format("file {}/{} {}", file.volume, file.name, why));
        };
        if (file.file_state == FileState::opened) return refused("cannot be handed over: it is not CLOSED");
        if (row.state != CopyState::transferred) {
            const auto done = WEIR_TRY(database_.number_of(
                "SELECT count(*) FROM transfers WHERE guid = ? AND destination = ? AND state = 'TRANSFERRED'",
                {row.guid, row.destination}));
            if (done != 0U) return refused(fmt::format("is TRANSFERRED to {} already", row.destination));
        }
        WEIR_TRY(database_.execute(
            "INSERT INTO transfers (guid, destination, state, attempts, next_try_us, bytes, algorithm, checksum, url, "
            "error, "
            "first_try_us, changed_us, verified_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (guid, destination) DO UPDATE SET state = excluded.state, attempts = excluded.attempts, "
            "next_try_us = excluded.next_try_us, bytes = excluded.bytes, algorithm = excluded.algorithm, "
            "checksum = excluded.checksum, url = excluded.url, error = excluded.error, first_try_us = "
            "excluded.first_try_us, "
            "changed_us = excluded.changed_us, verified_us = excluded.verified_us",
            {row.guid, row.destination, name(row.state), row.attempts, row.next_try, row.bytes, row.algorithm,
             row.checksum, row.url, row.error, row.first_try, row.changed, row.verified}));
        return {};
    });
}

Result<std::vector<TransferRow>> SqlCatalogue::transfers(const TransferQuery& query) {
    std::string text(select_transfers);
    std::vector<sql::Value> values;
    if (query.guid) text.append(" AND guid = ?"), values.emplace_back(*query.guid);
    if (query.destination) text.append(" AND destination = ?"), values.emplace_back(*query.destination);
    if (query.state) text.append(" AND state = ?"), values.emplace_back(name(*query.state));
    const std::lock_guard lock(mutex_);
    auto rows = WEIR_TRY(database_.query(text.append(" ORDER BY guid, destination"), values));
    std::vector<TransferRow> found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        auto row = read_transfer_row(rows);
        WEIR_TRY(rows.row_ok());
        if (found.size() == rows_max_)
            return fail(Errc::limit,
                        fmt::format("more than {} transfers match in catalogue {}; ask for a destination or a state",
                                    rows_max_, database_.name()));
        found.push_back(std::move(row));
    }
}

}  // namespace weir::catalogue

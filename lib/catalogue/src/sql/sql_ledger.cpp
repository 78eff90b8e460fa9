// SPDX-License-Identifier: Apache-2.0
// Marks of sessions, ledgers of copies, overlaps of streams, states of readers.
#include <fmt/format.h>

#include "sql/sql_catalogue.hpp"

namespace weir::catalogue {

Result<> SqlCatalogue::write_marks(std::span<const SessionMark> marks) {
    for (const auto& mark : marks) {
        WEIR_TRY(check_text("the name of the recorder", mark.recorder, word_size_max));
        WEIR_TRY(check_text("the name of the sender", mark.sender, word_size_max));
        WEIR_TRY(check_text("the incarnation of the sender", mark.incarnation, word_size_max));
        if (!mark.durable.empty()) WEIR_TRY(check_text("the durable sequences", mark.durable, long_text_size_max));
        WEIR_TRY(database_.execute(
            "INSERT INTO lane_marks (recorder, run, sender, incarnation, connection, durable) VALUES (?, ?, ?, ?, ?, "
            "?) "
            "ON CONFLICT (recorder, run, sender, incarnation, connection) DO UPDATE SET durable = excluded.durable",
            {mark.recorder, mark.run, mark.sender, mark.incarnation, mark.connection, mark.durable}));
    }
    return {};
}

Result<> SqlCatalogue::set_marks(std::span<const SessionMark> marks) {
    return change([&]() -> Result<> {
        WEIR_TRY(write_marks(marks));
        return {};
    });
}

Result<std::vector<SessionMark>> SqlCatalogue::marks(RunNumber run) {
    const std::lock_guard lock(mutex_);
    auto rows =
        WEIR_TRY(database_.query("SELECT recorder, run, sender, incarnation, connection, durable FROM lane_marks "
                                 "WHERE run = ? ORDER BY recorder, sender, incarnation, connection",
                                 {run}));
    std::vector<SessionMark> found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        SessionMark mark{rows.text(0), rows.run(1), rows.text(2), rows.text(3), rows.u32(4), rows.text(5)};
        WEIR_TRY(rows.row_ok());
        found.push_back(std::move(mark));
    }
}

Result<> SqlCatalogue::write_ledger(const LedgerRow& row, bool add) {
    WEIR_TRY(check_text("the name of the recorder", row.recorder, word_size_max));
    WEIR_TRY(check_text("the stream type", row.stream_type, word_size_max));
    WEIR_TRY(check_text("the stream name", row.stream_name, word_size_max));
    bool fits = sql::fits(row.received) && sql::fits(row.stored);
    for (const auto& [reason, copies] : row.rejected) {
        WEIR_TRY(check_text("the reason of a rejection", reason, word_size_max));
        fits = fits && sql::fits(copies);
    }
    if (!fits)
        return fail(Errc::limit, fmt::format("a count of stream {}_{} in run {} is larger than the catalogue can hold",
                                             row.stream_type, row.stream_name, number(row.run)));
    if (!add) {
        WEIR_TRY(database_.execute(
            "DELETE FROM ledgers WHERE run = ? AND recorder = ? AND stream_type = ? AND stream_name = ?",
            {row.run, row.recorder, row.stream_type, row.stream_name}));
    }
    WEIR_TRY(database_.execute(
        "INSERT INTO ledgers (run, recorder, stream_type, stream_name, received, stored) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (run, recorder, stream_type, stream_name) DO UPDATE SET received = ledgers.received + "
        "excluded.received, stored = ledgers.stored + excluded.stored",
        {row.run, row.recorder, row.stream_type, row.stream_name, row.received, row.stored}));
    for (const auto& [reason, copies] : row.rejected) {
        WEIR_TRY(database_.execute(
            "INSERT INTO ledger_rejections (run, recorder, stream_type, stream_name, reason, copies) "
            "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (run, recorder, stream_type, stream_name, reason) DO UPDATE SET "
            "copies = ledger_rejections.copies + excluded.copies",
            {row.run, row.recorder, row.stream_type, row.stream_name, reason, copies}));
    }
    return {};
}

Result<> SqlCatalogue::set_ledger(const LedgerRow& row) {
    return change([&]() -> Result<> {
        WEIR_TRY(write_ledger(row, false));
        return {};
    });
}

Result<> SqlCatalogue::add_to_ledger(const LedgerRow& row) {
    return change([&]() -> Result<> {
        WEIR_TRY(write_ledger(row, true));
        return {};
    });
}

Result<std::vector<LedgerRow>> SqlCatalogue::ledgers(RunNumber run) {
    const std::lock_guard lock(mutex_);
    auto rows = WEIR_TRY(database_.query(
        "SELECT l.run, l.recorder, l.stream_type, l.stream_name, l.received, l.stored, r.reason, r.copies FROM ledgers "
        "l "
        "LEFT JOIN ledger_rejections r ON r.run = l.run AND r.recorder = l.recorder AND r.stream_type = l.stream_type "
        "AND "
        "r.stream_name = l.stream_name WHERE l.run = ? ORDER BY l.recorder, l.stream_type, l.stream_name, r.reason",
        {run}));
    std::vector<LedgerRow> found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        LedgerRow row{rows.run(0), rows.text(1), rows.text(2), rows.text(3), rows.u64(4), rows.u64(5), {}};
        std::optional<std::pair<std::string, std::uint64_t>> rejection;  // one row per reason
        if (!rows.is_null(6)) rejection.emplace(rows.text(6), rows.u64(7));
        WEIR_TRY(rows.row_ok());
        const bool same = !found.empty() && found.back().recorder == row.recorder &&
                          found.back().stream_type == row.stream_type && found.back().stream_name == row.stream_name;
        if (!same) found.push_back(std::move(row));
        if (rejection) found.back().rejected.insert(std::move(*rejection));
    }
}

Result<std::vector<StreamOverlap>> SqlCatalogue::overlaps(RunNumber run) {
    const std::lock_guard lock(mutex_);
    auto rows =
        WEIR_TRY(database_.query("SELECT run, first_stream, second_stream, events_first, events_second, events_both "
                                 "FROM reader_overlaps WHERE run = ? ORDER BY first_stream, second_stream",
                                 {run}));
    std::vector<StreamOverlap> found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        StreamOverlap row{rows.run(0), rows.text(1), rows.text(2), rows.u64(3), rows.u64(4), rows.u64(5)};
        WEIR_TRY(rows.row_ok());
        found.push_back(std::move(row));
    }
}

Result<std::vector<ReaderState>> SqlCatalogue::reader_states() {
    constexpr std::string_view all =
        "SELECT run, recorder, '' AS stream_type, '' AS stream_name, NULL AS lumi_block, NULL AS guid, reader_state "
        "FROM runs "
        "WHERE reader_state <> '' UNION ALL "
        "SELECT run, recorder, stream_type, stream_name, lumi_block, NULL, reader_state FROM lumi_blocks "
        "WHERE reader_state <> '' UNION ALL "
        "SELECT run, recorder, stream_type, stream_name, NULL, guid, reader_state FROM files WHERE reader_state <> ''";
    const std::lock_guard lock(mutex_);
    auto rows = WEIR_TRY(database_.query(all));
    std::vector<ReaderState> found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        if (found.size() == rows_max_)
            return fail(Errc::limit,
                        fmt::format("catalogue {} holds more than {} states of readers", database_.name(), rows_max_));
        ReaderState row;
        row.run = rows.run(0);
        row.recorder = rows.text(1);
        row.stream_type = rows.text(2);
        row.stream_name = rows.text(3);
        if (!rows.is_null(4)) row.lumi_block = LumiBlock{rows.u32(4)};
        if (!rows.is_null(5)) row.file = rows.guid(5);
        row.state = rows.text(6);
        WEIR_TRY(rows.row_ok());
        found.push_back(std::move(row));
    }
}

Result<> SqlCatalogue::set_reader_state(const ReaderState& state) {
    if (!state.state.empty()) WEIR_TRY(check_text("the state of a reader", state.state, word_size_max));
    return change([&]() -> Result<> {
        if (state.file) {
            WEIR_TRY(database_.execute("UPDATE files SET reader_state = ? WHERE guid = ?", {state.state, *state.file}));
        } else if (state.lumi_block) {
            WEIR_TRY(database_.execute(
                "UPDATE lumi_blocks SET reader_state = ? WHERE run = ? AND recorder = ? AND "
                "stream_type = ? AND stream_name = ? AND lumi_block = ?",
                {state.state, state.run, state.recorder, state.stream_type, state.stream_name, *state.lumi_block}));
        } else {
            WEIR_TRY(database_.execute("UPDATE runs SET reader_state = ? WHERE run = ? AND recorder = ?",
                                       {state.state, state.run, state.recorder}));
        }
        return {};
    });
}

}  // namespace weir::catalogue

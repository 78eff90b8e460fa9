// SPDX-License-Identifier: Apache-2.0
// Files, their sums and states.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sql/sql_catalogue.hpp"
#include "weir/catalogue/file_sums.hpp"

namespace weir::catalogue {
namespace {

constexpr std::string_view select_files =
    "SELECT f.guid, f.volume, f.name, f.run, f.recorder, f.stream_type, f.stream_name, f.lumi_block, f.sequence, "
    "f.format, f.events, f.bytes, f.first_event, f.last_event, f.file_state, f.transfer_state, f.file_health, "
    "f.opened_us, f.closed_us, s.algorithm, s.value, f.event_bytes "
    "FROM files f LEFT JOIN file_sums s ON s.guid = f.guid WHERE ";
constexpr std::string_view in_order =
    " ORDER BY f.run, f.recorder, f.stream_type, f.stream_name, f.lumi_block, f.sequence, f.guid, s.algorithm";

FileRow read_file_row(sql::Rows& rows) {
    FileRow row;
    row.guid = rows.guid(0);
    row.volume = rows.text(1);
    row.name = rows.text(2);
    row.run = rows.run(3);
    row.recorder = rows.text(4);
    row.stream_type = rows.text(5);
    row.stream_name = rows.text(6);
    row.lumi_block = LumiBlock{rows.u32(7)};
    row.sequence = rows.u32(8);
    row.format = rows.text(9);
    row.events = rows.u64(10);
    row.bytes = rows.u64(11);
    row.first_event = rows.optional_event(12);
    row.last_event = rows.optional_event(13);
    row.file_state = rows.word(14, &parse_file_state);
    row.transfer_state = rows.word(15, &parse_transfer_state);
    row.file_health = rows.word(16, &parse_file_health);
    row.opened = rows.time(17);
    row.closed = rows.optional_time(18);
    row.event_bytes = rows.u64(21);
    return row;
}

Result<> check_amounts(std::uint64_t events, std::uint64_t bytes) {
    if (sql::fits(events) && sql::fits(bytes)) return {};
    return fail(Errc::limit,
                fmt::format("a file of {} events and {} bytes is larger than the catalogue can hold", events, bytes));
}

Result<std::vector<FileSum>> normal_sums(const std::vector<FileSum>& sums) {
    std::vector<FileSum> normal;
    for (const auto& sum : sums) {
        WEIR_TRY(check_text("the name of the algorithm", sum.algorithm, word_size_max));
        auto value = WEIR_TRY(normal_sum(sum.algorithm, sum.value));
        normal.push_back({sum.algorithm, std::move(value)});
    }
    std::ranges::sort(normal, {}, &FileSum::algorithm);
    const auto same = std::ranges::adjacent_find(normal, {}, &FileSum::algorithm);
    if (same != normal.end())
        return fail(Errc::usage, fmt::format("a file has one {} only, two were given", same->algorithm));
    return normal;
}

Result<> check_names(const FileRow& file) {
    WEIR_TRY(check_text("the volume of the file", file.volume, path_size_max));
    WEIR_TRY(check_text("the name of the file", file.name, path_size_max));
    WEIR_TRY(check_text("the name of the recorder", file.recorder, word_size_max));
    WEIR_TRY(check_text("the stream type", file.stream_type, word_size_max));
    WEIR_TRY(check_text("the stream name", file.stream_name, word_size_max));
    WEIR_TRY(check_text("the format of the file", file.format, word_size_max));
    return check_amounts(file.events, std::max(file.bytes, file.event_bytes));
}

std::unexpected<Error> refused(const FileRow& file, std::string_view why) {
    return fail(Errc::refused, fmt::format("file {}/{} {}", file.volume, file.name, why));
}

}  // namespace

Result<std::vector<FileRow>> SqlCatalogue::files_in_lock(std::string_view where, std::span<const sql::Value> values) {
    auto rows = WEIR_TRY(database_.query(std::string(select_files).append(where).append(in_order), values));
    std::vector<FileRow> found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        auto row = read_file_row(rows);  // one row per sum: the same file comes several times in sequence
        std::optional<FileSum> sum;
        if (!rows.is_null(19)) sum = FileSum{rows.text(19), rows.text(20)};
        WEIR_TRY(rows.row_ok());
        if (found.empty() || found.back().guid != row.guid) {
            if (found.size() == rows_max_)
                return fail(Errc::limit,
                            fmt::format("more than {} files match in catalogue {}; ask for a run or a stream",
                                        rows_max_, database_.name()));
            found.push_back(std::move(row));
        }
        if (sum) found.back().sums.push_back(std::move(*sum));
    }
}

Result<FileRow> SqlCatalogue::known_file(const Guid& guid) {
    const std::array<sql::Value, 1> values{guid};
    auto found = WEIR_TRY(files_in_lock("f.guid = ?", values));
    if (found.empty())
        return fail(Errc::refused, fmt::format("file {} is not in catalogue {}", to_string(guid), database_.name()));
    return std::move(found.front());
}

Result<std::optional<FileRow>> SqlCatalogue::file(const Guid& guid) {
    const std::lock_guard lock(mutex_);
    const std::array<sql::Value, 1> values{guid};
    auto found = WEIR_TRY(files_in_lock("f.guid = ?", values));
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

Result<std::vector<FileRow>> SqlCatalogue::files(const FileQuery& query) {
    std::string where = "TRUE";
    std::vector<sql::Value> values;
    const auto also = [&](const char* column, const auto& wanted) {
        if (!wanted) return;
        where.append(" AND f.").append(column).append(" = ?");
        if constexpr (requires { name(*wanted); }) {
            values.emplace_back(name(*wanted));
        } else {
            values.emplace_back(*wanted);
        }
    };
    also("run", query.run);
    also("recorder", query.recorder);
    also("stream_type", query.stream_type);
    also("stream_name", query.stream_name);
    also("volume", query.volume);
    also("lumi_block", query.lumi_block);
    also("file_state", query.file_state);
    also("transfer_state", query.transfer_state);
    also("file_health", query.file_health);
    const std::lock_guard lock(mutex_);
    return files_in_lock(where, values);
}

Result<> SqlCatalogue::write_stream_and_block(const FileRow& file) {
    // A new row takes the state of its run, so that a rebuilt catalogue has no open stream in a closed run.
    WEIR_TRY(
        database_.execute("INSERT INTO streams SELECT run, recorder, ?, ?, state FROM runs WHERE run = ? AND "
                          "recorder = ? ON CONFLICT DO NOTHING",
                          {file.stream_type, file.stream_name, file.run, file.recorder}));
    WEIR_TRY(database_.execute(
        "INSERT INTO lumi_blocks (run, recorder, stream_type, stream_name, lumi_block, state, closed_us) "
        "SELECT run, recorder, ?, ?, ?, state, ended_us FROM runs WHERE run = ? AND "
        "recorder = ? ON CONFLICT DO NOTHING",
        {file.stream_type, file.stream_name, file.lumi_block, file.run, file.recorder}));
    return {};
}

Result<> SqlCatalogue::write_file(const FileRow& file) {
    WEIR_TRY(database_.execute(
        "INSERT INTO files (guid, volume, name, run, recorder, stream_type, stream_name, lumi_block, sequence, format, "
        "events, bytes, event_bytes, first_event, last_event, file_state, transfer_state, file_health, opened_us, "
        "closed_us) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        {file.guid,
         file.volume,
         file.name,
         file.run,
         file.recorder,
         file.stream_type,
         file.stream_name,
         file.lumi_block,
         file.sequence,
         file.format,
         file.events,
         file.bytes,
         file.event_bytes,
         file.first_event,
         file.last_event,
         name(file.file_state),
         name(file.transfer_state),
         name(file.file_health),
         file.opened,
         file.closed}));
    return {};
}

Result<> SqlCatalogue::write_sums(const Guid& guid, const std::vector<FileSum>& sums) {
    WEIR_TRY(database_.execute("DELETE FROM file_sums WHERE guid = ?", {guid}));
    for (const auto& sum : sums) {
        WEIR_TRY(database_.execute("INSERT INTO file_sums (guid, algorithm, value) VALUES (?, ?, ?)",
                                   {guid, sum.algorithm, sum.value}));
    }
    return {};
}

Result<> SqlCatalogue::write_shared(const Guid& guid, const SharedEvents& shared) {
    if (shared.empty()) return {};
    WEIR_TRY(database_.execute("DELETE FROM file_shares WHERE guid = ?", {guid}));
    for (const auto& [stream, events] : shared) {
        WEIR_TRY(check_text("the stream that shares events", stream, word_size_max));
        WEIR_TRY(check_amounts(events, 0));
        WEIR_TRY(database_.execute("INSERT INTO file_shares (guid, stream, events) VALUES (?, ?, ?)",
                                   {guid, stream, events}));
    }
    return {};
}

Result<SharedEvents> SqlCatalogue::shared_events(const Guid& guid) {
    const std::lock_guard lock(mutex_);
    auto rows = WEIR_TRY(database_.query("SELECT stream, events FROM file_shares WHERE guid = ?", {guid}));
    SharedEvents found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        auto stream = rows.text(0);
        const auto events = rows.u64(1);
        WEIR_TRY(rows.row_ok());
        found.emplace(std::move(stream), events);
    }
}

Result<> SqlCatalogue::file_opened(const FileRow& file) {
    WEIR_TRY(check_names(file));
    const std::lock_guard lock(mutex_);
    const bool alone = !in_change_;
    if (alone) WEIR_TRY(database_.sync_commits(false));
    auto done = change([&]() -> Result<> {
        const auto known = WEIR_TRY(runs_in_lock(file.run));
        const auto mine = std::ranges::find(known, file.recorder, &RunRow::recorder);
        if (mine == known.end() || mine->state != OpenState::opened)
            return refused(file,
                           fmt::format("cannot be opened: run {} is not open at {}", number(file.run), file.recorder));
        const auto there =
            WEIR_TRY(database_.number_of("SELECT count(*) FROM files WHERE guid = ? OR (volume = ? AND name = ?)",
                                         {file.guid, file.volume, file.name}));
        if (there != 0U)
            return refused(file, fmt::format("is in the catalogue already (GUID {})", to_string(file.guid)));

        WEIR_TRY(write_stream_and_block(file));
        // A file that comes late opens its stream and its lumi block again.
        WEIR_TRY(database_.execute(
            "UPDATE streams SET state = 'OPENED' WHERE run = ? AND recorder = ? AND stream_type = ? AND "
            "stream_name = ?",
            {file.run, file.recorder, file.stream_type, file.stream_name}));
        WEIR_TRY(
            database_.execute("UPDATE lumi_blocks SET state = 'OPENED', closed_us = NULL WHERE run = ? AND recorder = "
                              "? AND stream_type = ? "
                              "AND stream_name = ? AND lumi_block = ?",
                              {file.run, file.recorder, file.stream_type, file.stream_name, file.lumi_block}));
        auto row = file;
        row.file_state = FileState::opened;
        row.transfer_state = TransferState::on_disk;
        row.file_health = FileHealth::sane;
        row.closed.reset();
        WEIR_TRY(write_file(row));
        return {};
    });
    if (alone) static_cast<void>(database_.sync_commits(true));  // else the next transaction does, or does not begin
    return done;
}

Result<> SqlCatalogue::file_closed(const FileClose& file, std::span<const SessionMark> marks,
                                   std::span<const LedgerRow> ledgers) {
    WEIR_TRY(check_text("the volume of the file", file.volume, path_size_max));
    WEIR_TRY(check_text("the name of the file", file.name, path_size_max));
    WEIR_TRY(check_amounts(file.events, std::max(file.bytes, file.event_bytes)));
    const auto sums = WEIR_TRY(normal_sums(file.sums));
    return change([&]() -> Result<> {
        const auto known = WEIR_TRY(known_file(file.guid));

        if (known.file_state == FileState::opened) {
            WEIR_TRY(
                database_.execute("UPDATE files SET volume = ?, name = ?, events = ?, bytes = ?, event_bytes = ?, "
                                  "first_event = ?, last_event = ?, "
                                  "file_health = ?, file_state = 'CLOSED', closed_us = ? WHERE guid = ?",
                                  {file.volume, file.name, file.events, file.bytes, file.event_bytes, file.first_event,
                                   file.last_event, name(file.file_health), file.at, file.guid}));
            WEIR_TRY(write_sums(file.guid, sums));
            WEIR_TRY(write_shared(file.guid, file.shared));
            for (const auto& row : ledgers) WEIR_TRY(write_ledger(row, true));
        } else if (known.events != file.events || known.bytes != file.bytes || known.event_bytes != file.event_bytes ||
                   known.sums != sums) {
            return refused(known,
                           fmt::format("was closed already with other content ({} events, {} bytes; now {} and {})",
                                       known.events, known.bytes, file.events, file.bytes));
        }
        WEIR_TRY(write_marks(marks));
        return {};
    });
}

Result<> SqlCatalogue::change_file(const Guid& guid, std::string_view assignment,
                                   std::initializer_list<sql::Value> values) {
    std::vector<sql::Value> all(values);
    all.emplace_back(guid);
    WEIR_TRY(database_.execute(fmt::format("UPDATE files SET {} WHERE guid = ?", assignment), all));
    return {};
}

Result<> SqlCatalogue::file_transferred(const Guid& guid) {
    return change([&]() -> Result<> {
        const auto known = WEIR_TRY(known_file(guid));
        if (known.file_state != FileState::closed) return refused(known, "cannot be handed over: it is not CLOSED");
        if (known.file_health == FileHealth::quarantined)
            return refused(known, "cannot be handed over: it is QUARANTINED");
        WEIR_TRY(change_file(guid, "transfer_state = 'TRANSFERRED'", {}));
        return {};
    });
}

Result<> SqlCatalogue::file_deleted(const Guid& guid, const std::string& volume, const std::string& file_name) {
    return change([&]() -> Result<> {
        const auto known = WEIR_TRY(known_file(guid));
        if (known.transfer_state != TransferState::transferred)
            return refused(known, "cannot be deleted: no copy of it was verified yet");
        if (known.volume != volume || known.name != file_name)
            return refused(known, fmt::format("is not what was deleted, {}/{}: it was moved", volume, file_name));
        WEIR_TRY(change_file(guid, "file_state = 'DELETED'", {}));
        return {};
    });
}

Result<> SqlCatalogue::set_file_health(const Guid& guid, FileHealth health) {
    return change([&]() -> Result<> {
        WEIR_TRY(known_file(guid));
        WEIR_TRY(change_file(guid, "file_health = ?", {name(health)}));
        return {};
    });
}

Result<> SqlCatalogue::file_moved(const Guid& guid, const std::string& volume, const std::string& new_name) {
    WEIR_TRY(check_text("the volume of the file", volume, path_size_max));
    WEIR_TRY(check_text("the name of the file", new_name, path_size_max));
    return change([&]() -> Result<> {
        const auto known = WEIR_TRY(known_file(guid));
        if (known.file_state != FileState::closed)
            return refused(known,
                           fmt::format("cannot become {}/{}: it is {}", volume, new_name, name(known.file_state)));
        const auto taken = WEIR_TRY(database_.number_of(
            "SELECT count(*) FROM files WHERE volume = ? AND name = ? AND guid <> ?", {volume, new_name, guid}));
        if (taken != 0U)
            return refused(known, fmt::format("cannot become {}/{}: another file has that name", volume, new_name));
        WEIR_TRY(change_file(guid, "volume = ?, name = ?", {volume, new_name}));
        return {};
    });
}

Result<> SqlCatalogue::remove_opened_file(const Guid& guid) {
    return change([&]() -> Result<> {
        const auto known = WEIR_TRY(known_file(guid));
        if (known.file_state != FileState::opened)
            return refused(known, "cannot be removed from the catalogue: it was closed");
        WEIR_TRY(database_.execute("DELETE FROM files WHERE guid = ?", {guid}));
        WEIR_TRY(database_.execute("DELETE FROM file_shares WHERE guid = ?", {guid}));
        return {};
    });
}

Result<std::string> SqlCatalogue::reader_state_of(const Guid& guid) {
    auto rows = WEIR_TRY(database_.query("SELECT reader_state FROM files WHERE guid = ?", {guid}));
    const auto more = WEIR_TRY(rows.next());
    if (!more) return std::string{};
    auto state = rows.text(0);
    WEIR_TRY(rows.row_ok());
    return state;
}

Result<> SqlCatalogue::put_file(const FileRow& file, const SharedEvents& shared) {
    WEIR_TRY(check_names(file));
    const auto sums = WEIR_TRY(normal_sums(file.sums));
    return change([&]() -> Result<> {
        const auto run_known = WEIR_TRY(
            database_.number_of("SELECT count(*) FROM runs WHERE run = ? AND recorder = ?", {file.run, file.recorder}));
        if (run_known == 0U)
            return refused(file, fmt::format("belongs to run {} of {}, which is not in the catalogue", number(file.run),
                                             file.recorder));
        const std::array<sql::Value, 1> guid{file.guid};
        const auto known = WEIR_TRY(files_in_lock("f.guid = ?", guid));
        auto row = file;
        if (!known.empty() && known.front().bytes == file.bytes) {
            const auto& before = known.front();
            row.file_health = std::max(row.file_health, before.file_health);
            if (row.file_state == FileState::closed)
                row.transfer_state = std::max(row.transfer_state, before.transfer_state);
        }
        const auto reader_state = WEIR_TRY(reader_state_of(file.guid));
        WEIR_TRY(database_.execute("DELETE FROM files WHERE guid = ?", {file.guid}));
        const auto taken = WEIR_TRY(
            database_.number_of("SELECT count(*) FROM files WHERE volume = ? AND name = ?", {file.volume, file.name}));
        if (taken != 0U) return refused(file, "is in the catalogue already, with another GUID");
        WEIR_TRY(write_stream_and_block(row));
        WEIR_TRY(write_file(row));
        WEIR_TRY(write_sums(file.guid, sums));
        WEIR_TRY(write_shared(file.guid, shared));
        if (!reader_state.empty())
            WEIR_TRY(database_.execute("UPDATE files SET reader_state = ? WHERE guid = ?", {reader_state, file.guid}));
        return {};
    });
}

}  // namespace weir::catalogue

// SPDX-License-Identifier: Apache-2.0
// Runs, their parameters, streams and lumi blocks.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sql/sql_catalogue.hpp"

namespace weir::catalogue {
namespace {

std::string utc(WallTime time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

/// "a" and "b" become "a, b"; what is already there is not repeated.
std::string joined(const std::string& had, const std::string& more) {
    if (more.empty() || (", " + had + ", ").contains(", " + more + ", ")) return had;
    return had.empty() ? more : had + ", " + more;
}

}  // namespace

Result<std::vector<RunRow>> SqlCatalogue::runs_in_lock(std::optional<RunNumber> run) {
    constexpr std::string_view all =
        "SELECT run, recorder, state, mode, relaxations, started_us, ended_us, blocks_closed_below FROM runs "
        "ORDER BY run, recorder";
    constexpr std::string_view one =
        "SELECT run, recorder, state, mode, relaxations, started_us, ended_us, blocks_closed_below FROM runs "
        "WHERE run = ? ORDER BY recorder";
    auto rows = WEIR_TRY(run ? database_.query(one, {*run}) : database_.query(all));
    std::vector<RunRow> found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        if (found.size() == rows_max_)
            return fail(Errc::limit,
                        fmt::format("catalogue {} holds more than {} runs; ask for one", database_.name(), rows_max_));
        RunRow row;
        row.run = rows.run(0);
        row.recorder = rows.text(1);
        row.state = rows.word(2, &parse_open_state);
        row.mode = rows.text(3);
        row.relaxations = rows.text(4);
        row.started = rows.time(5);
        row.ended = rows.optional_time(6);
        row.blocks_closed_below = rows.u64(7);
        WEIR_TRY(rows.row_ok());
        found.push_back(std::move(row));
    }
}

Result<std::vector<RunRow>> SqlCatalogue::runs(std::optional<RunNumber> run) {
    const std::lock_guard lock(mutex_);
    return runs_in_lock(run);
}

Result<RunNumber> SqlCatalogue::free_run_in_lock() {
    const auto highest = WEIR_TRY(database_.number_of(
        "SELECT max(run) FROM (SELECT run FROM runs UNION ALL SELECT run FROM files UNION ALL SELECT run FROM "
        "lane_marks) "
        "AS known"));
    if (!highest) return RunNumber{1};
    if (*highest >= std::numeric_limits<std::uint32_t>::max())
        return fail(Errc::limit, fmt::format("catalogue {} holds the highest run number there is, {}; give a number",
                                             database_.name(), *highest));
    return RunNumber{static_cast<std::uint32_t>(*highest + 1)};
}

Result<RunNumber> SqlCatalogue::next_free_run() {
    const std::lock_guard lock(mutex_);
    return free_run_in_lock();
}

Result<RunOpening> SqlCatalogue::open_run(const RunStart& start) {
    auto opening = RunOpening::fresh;
    auto changed = change([&]() -> Result<> {
        opening = WEIR_TRY(write_run_start(start));
        return {};
    });
    if (!changed) return std::unexpected(std::move(changed.error()));
    return opening;
}

Result<RunNumber> SqlCatalogue::open_free_run(const RunStart& start) {
    RunNumber run{};
    auto changed = change([&]() -> Result<> {
        const auto free = WEIR_TRY(free_run_in_lock());
        auto with_number = start;
        with_number.run = run = free;
        WEIR_TRY(write_run_start(with_number));
        return {};
    });
    if (!changed) return std::unexpected(std::move(changed.error()));
    return run;
}

Result<RunOpening> SqlCatalogue::write_run_start(const RunStart& start) {
    WEIR_TRY(check_text("the name of the recorder", start.recorder, word_size_max));
    WEIR_TRY(check_text("the mode of the run", start.mode, word_size_max));
    if (!start.relaxations.empty())
        WEIR_TRY(check_text("the relaxations of the run", start.relaxations, word_size_max));
    const auto known = WEIR_TRY(runs_in_lock(start.run));

    const auto mine = std::ranges::find(known, start.recorder, &RunRow::recorder);
    const auto closed = [](const RunRow& row) { return row.state == OpenState::closed; };
    const bool over = mine != known.end() ? closed(*mine) : !known.empty() && std::ranges::all_of(known, closed);
    if (over && !(start.again && mine != known.end())) {
        const auto& row = mine != known.end() ? *mine : known.front();
        const auto free = free_run_in_lock();
        return fail(Errc::refused, fmt::format("run {} was closed on {}; choose another number{}", number(start.run),
                                               utc(row.ended.value_or(row.started)),
                                               free ? fmt::format(", the next free one is {}", number(*free)) : ""));
    }
    if (mine == known.end()) {
        // Blocks that were closed when this recorder joined stay complete: it has had nothing of them.
        WEIR_TRY(database_.execute(
            "INSERT INTO runs (run, recorder, state, mode, relaxations, started_us, blocks_closed_below) "
            "VALUES (?, ?, 'OPENED', ?, ?, ?, "
            "(SELECT coalesce(max(r.blocks_closed_below), 0) FROM runs r WHERE r.run = ?))",
            {start.run, start.recorder, start.mode, start.relaxations, start.at, start.run}));
        return RunOpening::fresh;
    }
    if (closed(*mine)) {
        WEIR_TRY(
            database_.execute("UPDATE streams SET state = 'OPENED' WHERE run = ? AND recorder = ? AND state = 'CLOSED'",
                              {start.run, start.recorder}));
        WEIR_TRY(database_.execute("UPDATE runs SET state = 'OPENED', ended_us = NULL WHERE run = ? AND recorder = ?",
                                   {start.run, start.recorder}));
    }
    WEIR_TRY(database_.execute(
        "UPDATE runs SET mode = ?, relaxations = ? WHERE run = ? AND recorder = ?",
        {joined(mine->mode, start.mode), joined(mine->relaxations, start.relaxations), start.run, start.recorder}));
    return RunOpening::continued;
}

Result<> SqlCatalogue::refuse_open_files(RunNumber run, const std::string& recorder) {
    const auto open = WEIR_TRY(database_.number_of(
        "SELECT count(*) FROM files WHERE run = ? AND recorder = ? AND file_state = 'OPENED'", {run, recorder}));
    if (open == 0U) return {};
    return fail(Errc::refused,
                fmt::format("run {} cannot be closed at {}: files of it are still open ({}); close them first",
                            number(run), recorder, open.value_or(0)));
}

Result<> SqlCatalogue::close_run(RunNumber run, const std::string& recorder, WallTime at) {
    return change([&]() -> Result<> {
        const auto known = WEIR_TRY(runs_in_lock(run));
        const auto mine = std::ranges::find(known, recorder, &RunRow::recorder);
        if (mine == known.end())
            return fail(Errc::refused,
                        fmt::format("run {} was never opened at {}; look at the list of runs", number(run), recorder));
        if (mine->state == OpenState::closed) return {};
        WEIR_TRY(refuse_open_files(run, recorder));
        WEIR_TRY(database_.execute(
            "UPDATE lumi_blocks SET state = 'CLOSED', closed_us = ? WHERE run = ? AND recorder = ? AND "
            "state = 'OPENED'",
            {at, run, recorder}));
        WEIR_TRY(
            database_.execute("UPDATE streams SET state = 'CLOSED' WHERE run = ? AND recorder = ?", {run, recorder}));
        WEIR_TRY(database_.execute("UPDATE runs SET state = 'CLOSED', ended_us = ? WHERE run = ? AND recorder = ?",
                                   {at, run, recorder}));
        return {};
    });
}

Result<> SqlCatalogue::put_run(const RunRow& row) {
    WEIR_TRY(check_text("the name of the recorder", row.recorder, word_size_max));
    return change([&]() -> Result<> {
        WEIR_TRY(database_.execute(
            "INSERT INTO runs (run, recorder, state, mode, relaxations, started_us, ended_us) VALUES (?, ?, ?, ?, ?, "
            "?, ?) "
            "ON CONFLICT (run, recorder) DO UPDATE SET state = excluded.state, mode = excluded.mode, "
            "relaxations = excluded.relaxations, started_us = excluded.started_us, ended_us = excluded.ended_us",
            {row.run, row.recorder, name(row.state), row.mode, row.relaxations, row.started, row.ended}));
        return {};
    });
}

Result<> SqlCatalogue::set_run_parameter(RunNumber run, const std::string& name, const std::string& value) {
    WEIR_TRY(check_text("the name of the parameter", name, word_size_max));
    if (!value.empty()) WEIR_TRY(check_text("the value of the parameter", value, long_text_size_max));
    return change([&]() -> Result<> {
        WEIR_TRY(
            database_.execute("INSERT INTO run_parameters (run, name, value) VALUES (?, ?, ?) "
                              "ON CONFLICT (run, name) DO UPDATE SET value = excluded.value",
                              {run, name, value}));
        return {};
    });
}

Result<std::map<std::string, std::string>> SqlCatalogue::run_parameters(RunNumber run) {
    const std::lock_guard lock(mutex_);
    auto rows = WEIR_TRY(database_.query("SELECT name, value FROM run_parameters WHERE run = ?", {run}));
    std::map<std::string, std::string> found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        auto key = rows.text(0);
        auto value = rows.text(1);
        WEIR_TRY(rows.row_ok());
        found.emplace(std::move(key), std::move(value));
    }
}

Result<std::vector<StreamRow>> SqlCatalogue::streams(RunNumber run) {
    const std::lock_guard lock(mutex_);
    auto rows =
        WEIR_TRY(database_.query("SELECT run, recorder, stream_type, stream_name, state FROM streams WHERE run = ? "
                                 "ORDER BY recorder, stream_type, stream_name",
                                 {run}));
    std::vector<StreamRow> found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        StreamRow row{rows.run(0), rows.text(1), rows.text(2), rows.text(3), rows.word(4, &parse_open_state)};
        WEIR_TRY(rows.row_ok());
        found.push_back(std::move(row));
    }
}

Result<std::vector<LumiBlockRow>> SqlCatalogue::lumi_blocks(RunNumber run) {
    const std::lock_guard lock(mutex_);
    auto rows =
        WEIR_TRY(database_.query("SELECT run, recorder, stream_type, stream_name, lumi_block, state FROM lumi_blocks "
                                 "WHERE run = ? ORDER BY recorder, stream_type, stream_name, lumi_block",
                                 {run}));
    std::vector<LumiBlockRow> found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        LumiBlockRow row{rows.run(0),  rows.text(1),           rows.text(2),
                         rows.text(3), LumiBlock{rows.u32(4)}, rows.word(5, &parse_open_state)};
        WEIR_TRY(rows.row_ok());
        found.push_back(std::move(row));
    }
}

Result<> SqlCatalogue::lumi_blocks_closed(const BlocksClosed& closed) {
    if (!sql::fits(closed.below))
        return fail(Errc::limit, fmt::format("there is no lumi block below {}", closed.below));
    return change([&]() -> Result<> {
        for (const auto& block : closed.blocks) {
            WEIR_TRY(database_.execute(
                "UPDATE lumi_blocks SET state = 'CLOSED', closed_us = ? WHERE run = ? AND recorder = ? AND stream_type "
                "= ? AND "
                "stream_name = ? AND lumi_block = ? AND state = 'OPENED' AND NOT EXISTS (SELECT 1 FROM files f WHERE "
                "f.run = lumi_blocks.run AND f.recorder = lumi_blocks.recorder AND f.stream_type = "
                "lumi_blocks.stream_type AND "
                "f.stream_name = lumi_blocks.stream_name AND f.lumi_block = lumi_blocks.lumi_block AND f.file_state = "
                "'OPENED')",
                {closed.at, closed.run, closed.recorder, block.stream_type, block.stream_name, block.lumi_block}));
        }
        WEIR_TRY(
            database_.execute("UPDATE runs SET blocks_closed_below = ? WHERE run = ? AND recorder = ? AND "
                              "blocks_closed_below < ?",
                              {closed.below, closed.run, closed.recorder, closed.below}));
        return {};
    });
}

Result<std::vector<BlockProgress>> SqlCatalogue::block_progress(std::optional<RunNumber> run) {
    constexpr std::string_view select =
        "SELECT run, stream_type, stream_name, lumi_block, state, files, events, bytes FROM reader_blocks";
    constexpr std::string_view in_order = " ORDER BY run, stream_type, stream_name, lumi_block";
    const std::lock_guard lock(mutex_);
    auto rows = WEIR_TRY(run ? database_.query(fmt::format("{} WHERE run = ?{}", select, in_order), {*run})
                             : database_.query(fmt::format("{}{}", select, in_order)));
    std::vector<BlockProgress> found;
    while (true) {
        const auto more = WEIR_TRY(rows.next());
        if (!more) return found;
        if (found.size() == rows_max_)
            return fail(Errc::limit, fmt::format("catalogue {} holds more than {} lumi blocks; ask for one run",
                                                 database_.name(), rows_max_));
        BlockProgress row{
            rows.run(0), rows.text(1), rows.text(2), LumiBlock{rows.u32(3)}, rows.word(4, &parse_progress),
            rows.u64(5), rows.u64(6),  rows.u64(7)};
        WEIR_TRY(rows.row_ok());
        found.push_back(std::move(row));
    }
}

}  // namespace weir::catalogue

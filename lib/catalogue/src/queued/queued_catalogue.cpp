// SPDX-License-Identifier: Apache-2.0
#include "queued/queued_catalogue_backend.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::catalogue {
namespace {

constexpr std::int64_t batch = 100;  // changes that are carried before the file deletes them

/// In the file of a catalogue that is shared. Numbers are never given twice, also when the table was empty between.
constexpr const char* sharing_tables = R"sql(
CREATE TABLE shared (
    writer TEXT NOT NULL,
    catalogue TEXT NOT NULL
) STRICT;
CREATE TABLE outbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    change TEXT NOT NULL
) STRICT;
CREATE TABLE outbox_refused (
    number INTEGER PRIMARY KEY,
    change TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;
)sql";

Result<std::string> text_of(sql::Database& database, std::string_view statement) {
    auto rows = WEIR_TRY(database.query(statement));
    const auto more = WEIR_TRY(rows.next());
    if (!more) return std::string{};
    auto text = rows.text(0);
    WEIR_TRY(rows.row_ok());
    return text;
}

}  // namespace

Result<bool> is_shared(SqlCatalogue& own) {
    bool shared = false;
    auto looked = own.look([&]() -> Result<> {
        const auto found =
            WEIR_TRY(own.database().number_of("SELECT count(*) FROM sqlite_schema WHERE name = 'outbox'"));
        shared = found != 0U;
        return {};
    });
    if (!looked) return std::unexpected(std::move(looked.error()));
    return shared;
}

Result<> begin_sharing(SqlCatalogue& own) {
    return own.change([&]() -> Result<> {
        auto& database = own.database();
        const auto shared = WEIR_TRY(is_shared(own));  // under the lock: another process may have been first
        if (shared) return {};
        const auto runs = WEIR_TRY(database.number_of("SELECT count(*) FROM runs"));
        if (runs != 0U)
            return fail(Errc::refused,
                        fmt::format("catalogue {} has runs that no shared catalogue knows; record into another "
                                    "directory, or move it away with its files",
                                    database.name()));
        WEIR_TRY(database.script(sharing_tables));
        WEIR_TRY(database.execute("INSERT INTO shared (writer, catalogue) VALUES (?, '')", {Guid::random()}));
        return {};
    });
}

Result<std::unique_ptr<QueuedCatalogue>> QueuedCatalogue::open(std::unique_ptr<SqlCatalogue> own, std::string uri,
                                                               QueuedCatalogueOptions options) {
    std::string writer;
    auto read = own->look([&]() -> Result<> {
        writer = WEIR_TRY(text_of(own->database(), "SELECT writer FROM shared"));
        return {};
    });
    if (!read) return std::unexpected(std::move(read.error()));
    if (writer.empty()) return std::unexpected(own->database().damaged("it does not name its writer"));
    return std::unique_ptr<QueuedCatalogue>(
        new QueuedCatalogue(std::move(own), std::move(uri), std::move(writer), std::move(options)));
}

QueuedCatalogue::QueuedCatalogue(std::unique_ptr<SqlCatalogue> own, std::string uri, std::string writer,
                                 QueuedCatalogueOptions options)
    : own_(std::move(own)), uri_(std::move(uri)), writer_(std::move(writer)), options_(std::move(options)) {
    if (!uri_.empty()) thread_ = std::jthread([this](const std::stop_token& stop) { carry_on(stop); });
}

Result<> QueuedCatalogue::make(const CatalogueChange& change) {
    const auto text = encode(change);
    auto made = own_->change([&]() -> Result<> {
        WEIR_TRY(apply_change(change, *own_));
        WEIR_TRY(own_->database().execute("INSERT INTO outbox (change) VALUES (?)", {text}));
        return {};
    });
    if (made) wake();
    return made;
}

Result<> QueuedCatalogue::together(const std::function<Result<>()>& work) {
    auto made = own_->change(work);
    if (made) wake();
    return made;
}

void QueuedCatalogue::wake() {
    const std::lock_guard lock(state_mutex_);
    ++wanted_;
    changed_.notify_all();
}

Result<std::uint64_t> QueuedCatalogue::changes_waiting() {
    std::uint64_t waiting = 0;
    auto counted = own_->look([&]() -> Result<> {
        const auto found = WEIR_TRY(own_->database().number_of("SELECT count(*) FROM outbox"));
        waiting = found.value_or(0);
        return {};
    });
    if (!counted) return std::unexpected(std::move(counted.error()));
    return waiting;
}

Result<> QueuedCatalogue::reach_shared() {
    if (shared_ != nullptr) return {};
    if (uri_.empty())
        return fail(Errc::io, fmt::format("catalogue {} is carried over into a shared one; name that with --catalogue",
                                          own_->database().name()));
    auto opened = WEIR_TRY(open_postgres(uri_, options_.shared));
    // Changes must never reach another catalogue than those before them.
    std::string theirs, known;
    WEIR_TRY(opened->look([&]() -> Result<> {
        auto id = text_of(opened->database(), "SELECT id FROM weir_catalogue");
        if (!id) return std::unexpected(std::move(id.error()));
        theirs = std::move(*id);
        return {};
    }));
    WEIR_TRY(own_->change([&]() -> Result<> {
        auto id = text_of(own_->database(), "SELECT catalogue FROM shared");
        if (!id) return std::unexpected(std::move(id.error()));
        known = std::move(*id);
        if (!known.empty()) return {};
        auto kept = own_->database().execute("UPDATE shared SET catalogue = ?", {theirs});
        if (!kept) return std::unexpected(std::move(kept.error()));
        return {};
    }));
    if (!known.empty() && known != theirs)
        return fail(
            Errc::io,
            fmt::format("catalogue {} is not the one that {} belongs to ({} is, this is {}); name the right one",
                        opened->database().name(), own_->database().name(), known, theirs));
    shared_ = std::move(opened);
    return {};
}

Result<std::vector<QueuedCatalogue::Note>> QueuedCatalogue::next_notes() {
    std::vector<Note> notes;
    auto read = own_->look([&]() -> Result<> {
        notes.clear();
        auto rows =
            WEIR_TRY(own_->database().query("SELECT number, change FROM outbox ORDER BY number LIMIT ?", {batch}));
        while (true) {
            const auto more = WEIR_TRY(rows.next());
            if (!more) return {};
            Note note{rows.u64(0), rows.text(1)};
            WEIR_TRY(rows.row_ok());
            notes.push_back(std::move(note));
        }
    });
    if (!read) return std::unexpected(std::move(read.error()));
    return notes;
}

Result<> QueuedCatalogue::set_aside(const Note& note, const Error& why) {
    WEIR_TRY(own_->change([&]() -> Result<> {
        auto kept = own_->database().execute(
            "INSERT INTO outbox_refused (number, change, reason) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            {note.number, note.change, why.message()});
        if (!kept) return std::unexpected(std::move(kept.error()));
        return {};
    }));
    options_.report.warning(
        fmt::format("the shared catalogue refused a change ({}); it is kept as number {} in table outbox_refused of {}",
                    why.message(), note.number, own_->database().name()));
    return {};
}

Result<> QueuedCatalogue::carry_all() {
    const std::lock_guard lock(carry_mutex_);
    WEIR_TRY(reach_shared());
    while (true) {
        const auto notes = WEIR_TRY(next_notes());
        if (notes.empty()) return {};
        Result<> carried;
        std::uint64_t last = 0;
        for (const auto& note : notes) {
            const auto change = decode_change(note.change);
            if (!change && change.error().code == Errc::unsupported) return std::unexpected(change.error());
            carried = change ? shared_->once({writer_, note.number}, [&] { return apply_change(*change, *shared_); })
                             : Result<>(std::unexpected(change.error()));
            // What the world refuses is tried again; what the catalogue refuses would be refused for ever.
            if (!carried && carried.error().code != Errc::io) carried = set_aside(note, carried.error());
            if (!carried) break;
            last = note.number;
        }
        if (last != 0) {
            WEIR_TRY(own_->change([&]() -> Result<> {
                auto deleted = own_->database().execute("DELETE FROM outbox WHERE number <= ?", {last});
                if (!deleted) return std::unexpected(std::move(deleted.error()));
                return {};
            }));
        }
        if (!carried) return carried;
    }
}

void QueuedCatalogue::carry_on(const std::stop_token& stop) {
    std::uint64_t seen = 0;
    bool away = false;
    while (!stop.stop_requested()) {
        std::uint64_t wanted = 0;
        {
            const std::lock_guard lock(state_mutex_);
            wanted = wanted_;
        }
        const auto carried = carry_all();
        if (!carried && !away)
            options_.report.warning(fmt::format("{}; until then changes are kept in {}", carried.error().message(),
                                                own_->database().name()));
        if (carried && away)
            options_.report.information(
                fmt::format("catalogue {} is back and knows everything", shared_->database().name()));
        away = !carried;
        std::unique_lock lock(state_mutex_);
        seen = std::max(seen, wanted);
        done_ = seen;
        changed_.notify_all();
        changed_.wait_for(lock, stop, options_.retry, [&] { return away ? settling_ > seen : wanted_ != seen; });
    }
}

Result<bool> QueuedCatalogue::settle(std::chrono::milliseconds deadline) {
    if (!uri_.empty()) {
        std::unique_lock lock(state_mutex_);
        const auto mine = settling_ = ++wanted_;
        changed_.notify_all();
        static_cast<void>(changed_.wait_for(lock, deadline, [&] { return done_ >= mine; }));
    }
    const auto left = WEIR_TRY(changes_waiting());
    return left == 0;
}

/// The name of a recorder belongs to one directory: another recorder of the same name would write into its rows.
Result<> QueuedCatalogue::claim(const std::string& recorder) {
    auto& database = shared_->database();
    WEIR_TRY(database.execute("INSERT INTO recorders (recorder, writer) VALUES (?, ?) ON CONFLICT DO NOTHING",
                              {recorder, writer_}));
    const auto mine = WEIR_TRY(
        database.number_of("SELECT count(*) FROM recorders WHERE recorder = ? AND writer = ?", {recorder, writer_}));
    if (mine == 1U) return {};
    return fail(Errc::refused,
                fmt::format("another recorder, with other directories, has the name {} in catalogue {}; give this "
                            "one a name of its own (--recorder)",
                            recorder, database.name()));
}

/// Those that were closed when this recorder joined: both catalogues have the same.
Result<> QueuedCatalogue::blocks_closed_below(const RunStart& start, std::uint64_t& below) {
    const auto found = WEIR_TRY(shared_->database().number_of(
        "SELECT blocks_closed_below FROM runs WHERE run = ? AND recorder = ?", {start.run, start.recorder}));
    below = found.value_or(0);
    return {};
}

Result<RunOpening> QueuedCatalogue::open_run(const RunStart& start) {
    const auto rows = WEIR_TRY(own_->runs(start.run));
    const auto mine = std::ranges::find(rows, start.recorder, &RunRow::recorder);
    const bool continues = mine != rows.end() && (mine->state == OpenState::opened || start.again);
    if (mine != rows.end() && !continues) return own_->open_run(start);  // refused, and why
    auto asked = carry_all();                                            // so that it knows what we know
    std::uint64_t closed_below = 0;
    if (asked) {
        asked = shared_->change([&]() -> Result<> {
            WEIR_TRY(claim(start.recorder));
            WEIR_TRY(apply_change(OpenRun{start}, *shared_));
            return blocks_closed_below(start, closed_below);
        });
    }
    if (asked) {
        auto opened = own_->open_run(start);
        if (opened) WEIR_TRY(own_->lumi_blocks_closed({start.run, start.recorder, closed_below, {}, start.at}));
        return opened;
    }
    if (asked.error().code != Errc::io) return std::unexpected(std::move(asked.error()));
    if (!continues)
        return std::unexpected(Error{Errc::io, asked.error().os_errno,
                                     fmt::format("run {} cannot be opened without the shared catalogue: {}",
                                                 number(start.run), asked.error().context)});
    WEIR_TRY(make(OpenRun{start}));
    return RunOpening::continued;
}

Result<RunNumber> QueuedCatalogue::open_free_run(const RunStart& start) {
    WEIR_TRY(carry_all());
    auto with_number = start;
    auto given = shared_->change([&]() -> Result<> {
        WEIR_TRY(claim(start.recorder));
        with_number.run = WEIR_TRY(shared_->open_free_run(start));
        return {};
    });
    if (!given) return std::unexpected(std::move(given.error()));
    WEIR_TRY(own_->open_run(with_number));
    return with_number.run;
}

Result<RunNumber> QueuedCatalogue::next_free_run() {
    WEIR_TRY(carry_all());
    return shared_->next_free_run();
}

Result<std::unique_ptr<Catalogue>> open_queued_catalogue(const std::filesystem::path& path, const std::string& uri,
                                                         QueuedCatalogueOptions options) {
    if (!uri.empty() && !is_postgres_uri(uri))
        return fail(
            Errc::usage,
            fmt::format("\"{}\" is no shared catalogue; write it as postgresql://USER@HOST:PORT/DATABASE", uri));
    auto own = WEIR_TRY(open_sqlite(path, {.create = options.begin, .rows_max = options.shared.rows_max}));
    if (!uri.empty() && options.begin) WEIR_TRY(begin_sharing(*own));
    if (!options.begin) {
        const auto shared = WEIR_TRY(is_shared(*own));
        if (!shared)
            return fail(Errc::refused,
                        fmt::format("catalogue {} is not carried over into a shared one; omit --catalogue, "
                                    "as its recorder does",
                                    path.native()));
    }
    return QueuedCatalogue::open(std::move(own), uri, std::move(options));
}

}  // namespace weir::catalogue

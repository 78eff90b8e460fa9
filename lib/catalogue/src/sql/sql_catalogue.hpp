// SPDX-License-Identifier: Apache-2.0
// The catalogue in an SQL database, once for SQLite and PostgreSQL: one connection behind one mutex. Commits
// are synced, so threads of a recorder would wait for the same disk anyway; other processes meet at the lock
// that begin() takes. Its methods stand in sql_runs.cpp, sql_files.cpp, sql_transfers.cpp and sql_ledger.cpp.
#pragma once

#include <functional>
#include <mutex>

#include "sql/sql.hpp"
#include "weir/catalogue/catalogue.hpp"

namespace weir::catalogue {

/// Identifies a change: its writer, and the number that the writer gave it. The database keeps the last one of each
/// writer, written in the transaction of the change itself; so it is known whether a change was made.
struct ChangeId {
    std::string writer;
    std::uint64_t number = 0;  // from 1, rising
};

class SqlCatalogue final : public Catalogue {
public:
    using Change = std::function<Result<>()>;

    SqlCatalogue(std::unique_ptr<sql::Database> database, std::size_t rows_max, const Clock& clock)
        : owned_(std::move(database)), database_(*owned_), rows_max_(rows_max), clock_(clock) {}
    ~SqlCatalogue() override;

    /// Several calls of the methods below as one transaction: all of them or none. The body may run more than
    /// once; the values of its variables are those of its last run.
    Result<> change(const Change& body);

    /// The same. Does nothing when this change, or a later one of the same writer, was made already.
    Result<> once(const ChangeId& id, const Change& body);

    /// Uses the database directly while no other thread can. Not a transaction.
    Result<> look(const Change& body);

    [[nodiscard]] sql::Database& database() noexcept { return database_; }  // inside one of the three only

    Result<> together(const std::function<Result<>()>& work) override { return change(work); }
    void on_no_space(std::function<bool()> make_room) override {
        const std::lock_guard lock(mutex_);
        make_room_ = std::move(make_room);
    }
    Result<RunOpening> open_run(const RunStart& start) override;
    Result<RunNumber> open_free_run(const RunStart& start) override;
    Result<RunNumber> next_free_run() override;
    Result<> close_run(RunNumber run, const std::string& recorder, WallTime at) override;
    Result<std::vector<RunRow>> runs(std::optional<RunNumber> run) override;
    Result<> put_run(const RunRow& row) override;
    Result<> set_run_parameter(RunNumber run, const std::string& name, const std::string& value) override;
    Result<std::map<std::string, std::string>> run_parameters(RunNumber run) override;

    Result<std::vector<StreamRow>> streams(RunNumber run) override;
    Result<std::vector<LumiBlockRow>> lumi_blocks(RunNumber run) override;
    Result<> lumi_blocks_closed(const BlocksClosed& closed) override;
    Result<std::vector<BlockProgress>> block_progress(std::optional<RunNumber> run) override;
    Result<std::vector<StreamOverlap>> overlaps(RunNumber run) override;
    Result<std::vector<ReaderState>> reader_states() override;
    Result<> set_reader_state(const ReaderState& state) override;

    Result<> file_opened(const FileRow& file) override;
    Result<> file_closed(const FileClose& file, std::span<const SessionMark> marks,
                         std::span<const LedgerRow> ledgers) override;
    Result<std::optional<FileRow>> file(const Guid& guid) override;
    Result<SharedEvents> shared_events(const Guid& guid) override;
    Result<std::vector<FileRow>> files(const FileQuery& query) override;
    Result<> file_transferred(const Guid& guid) override;
    Result<> file_deleted(const Guid& guid, const std::string& volume, const std::string& name) override;
    Result<> set_file_health(const Guid& guid, FileHealth health) override;
    Result<> file_moved(const Guid& guid, const std::string& volume, const std::string& name) override;
    Result<> remove_opened_file(const Guid& guid) override;
    Result<> put_file(const FileRow& file, const SharedEvents& shared) override;

    Result<> set_transfer(const TransferRow& row) override;
    Result<std::vector<TransferRow>> transfers(const TransferQuery& query) override;

    Result<> set_marks(std::span<const SessionMark> marks) override;
    Result<std::vector<SessionMark>> marks(RunNumber run) override;
    Result<> set_ledger(const LedgerRow& row) override;
    Result<> add_to_ledger(const LedgerRow& row) override;
    Result<std::vector<LedgerRow>> ledgers(RunNumber run) override;

    Result<> check() override;
    Result<bool> restore_name() override;

private:
    Result<> transact(const ChangeId* id, const Change& body);
    Result<> attempt_change(const ChangeId* id, const Change& body);

    // The steps below run inside the caller's lock; those that write, inside its transaction too.
    Result<RunOpening> write_run_start(const RunStart& start);
    Result<RunNumber> free_run_in_lock();
    Result<std::vector<RunRow>> runs_in_lock(std::optional<RunNumber> run);
    Result<std::vector<FileRow>> files_in_lock(std::string_view where, std::span<const sql::Value> values);
    Result<FileRow> known_file(const Guid& guid);
    Result<> refuse_open_files(RunNumber run, const std::string& recorder);
    Result<> write_stream_and_block(const FileRow& file);
    Result<> write_file(const FileRow& file);
    Result<> write_sums(const Guid& guid, const std::vector<FileSum>& sums);
    Result<> write_shared(const Guid& guid, const SharedEvents& shared);
    Result<std::string> reader_state_of(const Guid& guid);
    Result<> write_marks(std::span<const SessionMark> marks);
    Result<> write_ledger(const LedgerRow& row, bool add);
    Result<> change_file(const Guid& guid, std::string_view assignment, std::initializer_list<sql::Value> values);

    std::recursive_mutex mutex_;
    std::unique_ptr<sql::Database> owned_;
    sql::Database& database_;
    const std::size_t rows_max_;
    const Clock& clock_;
    const std::string writer_ = "handle " + to_string(Guid::random());
    std::uint64_t changes_ = 0;
    bool in_change_ = false;
    std::function<bool()> make_room_;
};

/// Errc::usage when a text cannot be kept: longer than `size_max`, with a zero byte in it, or empty.
[[nodiscard]] Result<> check_text(std::string_view what, std::string_view text, std::size_t size_max);

inline constexpr std::size_t word_size_max = 255;           // recorder, stream, sender, algorithm, reason, ...
inline constexpr std::size_t path_size_max = 4096;          // volume, name
inline constexpr std::size_t long_text_size_max = 4 << 20;  // value of a parameter, durable sequences

}  // namespace weir::catalogue

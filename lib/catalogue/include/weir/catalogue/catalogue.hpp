// SPDX-License-Identifier: Apache-2.0
// The catalogue: which runs, streams and files there are and in which state. It is the place where a
// run number is given out only once, where a closed file's sums are kept, and where a recorder finds,
// after a crash, what it had already promised to its senders. An interface, because one recorder
// keeps it in SQLite and several share a PostgreSQL; both have the tables of docs/formats/catalogue.md.
//
// Every method may be called from any thread and by several processes. Every change is one
// transaction and is on stable storage when the method returns. Nothing here is on the data path.
#pragma once

#include <functional>
#include <span>

#include "weir/base/result.hpp"
#include "weir/catalogue/rows.hpp"
#include "weir/catalogue/transfers.hpp"

namespace weir::catalogue {

enum class RunOpening { fresh, continued };

class Catalogue {
public:
    virtual ~Catalogue() = default;

    /// Makes all changes that `work` makes, with calls of this catalogue, one transaction: all or, when it returns an
    /// error, none. It may be called again when a connection was lost.
    [[nodiscard]] virtual Result<> together(const std::function<Result<>()>& work) = 0;

    /// `make_room` is called when there is no space to write here; when it returns that there is more now, the change
    /// is made once more. Called by the thread that makes a change, one at a time. Empty: it is not called any more,
    /// once this returns.
    virtual void on_no_space(std::function<bool()> make_room) = 0;

    // Runs ------------------------------------------------------------------------------------------

    /// Fresh, or continued when this recorder left the run open. Errc::refused when the run was closed;
    /// the text names the next free number. A relaxation of a continued run is added to what it had.
    [[nodiscard]] virtual Result<RunOpening> open_run(const RunStart& start) = 0;

    /// Opens the next free number, whatever `start` has for one: no two recorders are given the same.
    [[nodiscard]] virtual Result<RunNumber> open_free_run(const RunStart& start) = 0;

    /// One above every run of the catalogue, and of its files. Errc::limit when there is none left.
    [[nodiscard]] virtual Result<RunNumber> next_free_run() = 0;

    /// Closes the run at this recorder, with its streams and lumi blocks. Errc::refused while one of its
    /// files is still OPENED. Closing twice is the same as closing once.
    [[nodiscard]] virtual Result<> close_run(RunNumber run, const std::string& recorder, WallTime at) = 0;

    /// Every run, or the rows of one.
    [[nodiscard]] virtual Result<std::vector<RunRow>> runs(std::optional<RunNumber> run = std::nullopt) = 0;

    /// Writes a row as it is, when the catalogue is rebuilt from the files.
    [[nodiscard]] virtual Result<> put_run(const RunRow& row) = 0;

    [[nodiscard]] virtual Result<> set_run_parameter(RunNumber run, const std::string& name,
                                                     const std::string& value) = 0;
    [[nodiscard]] virtual Result<std::map<std::string, std::string>> run_parameters(RunNumber run) = 0;

    // Streams and lumi blocks: known from the first file on -----------------------------------------

    [[nodiscard]] virtual Result<std::vector<StreamRow>> streams(RunNumber run) = 0;
    [[nodiscard]] virtual Result<std::vector<LumiBlockRow>> lumi_blocks(RunNumber run) = 0;

    /// Closes blocks at this recorder. A block with an OPENED file stays OPENED, and a file that comes later opens its
    /// block again.
    [[nodiscard]] virtual Result<> lumi_blocks_closed(const BlocksClosed& closed) = 0;

    /// Of every run, or of one, by run, stream, block. Errc::limit when there are more rows than may be held in memory.
    [[nodiscard]] virtual Result<std::vector<BlockProgress>> block_progress(std::optional<RunNumber> run) = 0;

    /// By pair. Summed over the files: two streams that share no event have no row.
    [[nodiscard]] virtual Result<std::vector<StreamOverlap>> overlaps(RunNumber run) = 0;

    /// What readers wrote into their column, where it is not empty; and writing it. A row that is not there is nothing
    /// to write to. It is kept here only: readers of a shared catalogue write into that.
    [[nodiscard]] virtual Result<std::vector<ReaderState>> reader_states() = 0;
    [[nodiscard]] virtual Result<> set_reader_state(const ReaderState& state) = 0;

    // Files -----------------------------------------------------------------------------------------

    /// A new file in an open run of this recorder; its stream and lumi block become known. State, health,
    /// sums and the time of closing are not taken from `file`. Errc::refused: closed or unknown run,
    /// GUID or name already there. Not synced: until the next change a power cut may undo it. Recovery
    /// enters the file then, with all its fields.
    [[nodiscard]] virtual Result<> file_opened(const FileRow& file) = 0;

    /// Closes a file and, in the same transaction, replaces the marks of sessions and adds to ledgers: after
    /// a crash either all of it happened or nothing. Closing again with the same content changes marks
    /// only (ledgers were added already); with other content it is Errc::refused.
    [[nodiscard]] virtual Result<> file_closed(const FileClose& file, std::span<const SessionMark> marks = {},
                                               std::span<const LedgerRow> ledgers = {}) = 0;

    [[nodiscard]] virtual Result<std::optional<FileRow>> file(const Guid& guid) = 0;
    [[nodiscard]] virtual Result<SharedEvents> shared_events(const Guid& guid) = 0;

    /// By run, stream, lumi block, sequence. Errc::limit when there are more rows than may be held in memory.
    [[nodiscard]] virtual Result<std::vector<FileRow>> files(const FileQuery& query = {}) = 0;

    /// Errc::refused when the file is not CLOSED, or when it is QUARANTINED.
    [[nodiscard]] virtual Result<> file_transferred(const Guid& guid) = 0;

    /// The bytes that were at this place are gone. Errc::refused unless the file was TRANSFERRED and lies there: one
    /// that was moved meanwhile is whole elsewhere.
    [[nodiscard]] virtual Result<> file_deleted(const Guid& guid, const std::string& volume,
                                                const std::string& name) = 0;

    [[nodiscard]] virtual Result<> set_file_health(const Guid& guid, FileHealth health) = 0;

    /// The file lies on another volume now, or has another name. Errc::refused when it is not CLOSED: one that was
    /// deleted meanwhile stays deleted.
    [[nodiscard]] virtual Result<> file_moved(const Guid& guid, const std::string& volume, const std::string& name) = 0;

    /// Takes out an OPENED file that never held an event.
    [[nodiscard]] virtual Result<> remove_opened_file(const Guid& guid) = 0;

    /// Writes a row as it is, with its stream and lumi block, when the catalogue is rebuilt from the files. What is
    /// known of the same file already (its copies elsewhere, TRANSFERRED, a worse health, the state of its reader)
    /// stays. An empty `shared` keeps what is known.
    [[nodiscard]] virtual Result<> put_file(const FileRow& file, const SharedEvents& shared = {}) = 0;

    // Copies elsewhere ------------------------------------------------------------------------------

    /// Replaces the row of the same file and destination. Errc::refused: the file is unknown or OPENED,
    /// or the row is TRANSFERRED already and would become something else.
    [[nodiscard]] virtual Result<> set_transfer(const TransferRow& row) = 0;

    /// By file, then destination. Errc::limit when there are more rows than may be held in memory.
    [[nodiscard]] virtual Result<std::vector<TransferRow>> transfers(const TransferQuery& query = {}) = 0;

    // What was promised to senders, and what became of the copies ------------------------------------

    /// Replaces the marks of the same recorder, run, sender, incarnation and connection; all or none.
    [[nodiscard]] virtual Result<> set_marks(std::span<const SessionMark> marks) = 0;
    [[nodiscard]] virtual Result<std::vector<SessionMark>> marks(RunNumber run) = 0;

    [[nodiscard]] virtual Result<> set_ledger(const LedgerRow& row) = 0;
    [[nodiscard]] virtual Result<> add_to_ledger(const LedgerRow& row) = 0;
    [[nodiscard]] virtual Result<std::vector<LedgerRow>> ledgers(RunNumber run) = 0;

    // The catalogue itself --------------------------------------------------------------------------

    /// Reads everything. Errc::corrupt names the file and what is wrong.
    [[nodiscard]] virtual Result<> check() = 0;

    /// Whether its file was removed or renamed while it is open: then it is written again from what is open,
    /// under its name. Other processes that have it open do not see what is written from then on.
    [[nodiscard]] virtual Result<bool> restore_name() { return false; }

    /// Whether the other recorders of a run, if it has several, are here too. Not in the file of one that shares a
    /// catalogue.
    [[nodiscard]] virtual bool knows_other_recorders() const { return true; }

    /// Changes that were made here and have not reached the shared catalogue yet; none where there is no other.
    [[nodiscard]] virtual Result<std::uint64_t> changes_waiting() { return 0; }

    /// Waits until no change is waiting any more. False: the deadline has come, or the shared catalogue is away.
    [[nodiscard]] virtual Result<bool> settle(std::chrono::milliseconds) { return true; }
};

}  // namespace weir::catalogue

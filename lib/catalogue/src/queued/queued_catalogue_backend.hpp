// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "opening.hpp"
#include "queued/catalogue_change.hpp"
#include "queued/queued_catalogue.hpp"

namespace weir::catalogue {

/// Whether changes of this file are carried elsewhere.
[[nodiscard]] Result<bool> is_shared(SqlCatalogue& own);
/// From now on they are. Errc::refused when the file has runs already.
[[nodiscard]] Result<> begin_sharing(SqlCatalogue& own);

class QueuedCatalogue final : public Catalogue {
public:
    /// `own` is shared already. With an empty `uri` nothing is carried, only noted.
    [[nodiscard]] static Result<std::unique_ptr<QueuedCatalogue>> open(std::unique_ptr<SqlCatalogue> own,
                                                                       std::string uri, QueuedCatalogueOptions options);

    Result<> together(const std::function<Result<>()>& work) override;
    void on_no_space(std::function<bool()> make_room) override { own_->on_no_space(std::move(make_room)); }

    // Runs: here the shared catalogue decides.
    Result<RunOpening> open_run(const RunStart& start) override;
    Result<RunNumber> open_free_run(const RunStart& start) override;
    Result<RunNumber> next_free_run() override;

    // Changes: made here, carried over later.
    Result<> close_run(RunNumber run, const std::string& recorder, WallTime at) override {
        return make(CloseRun{run, recorder, at});
    }
    Result<> put_run(const RunRow& row) override { return make(PutRun{row}); }
    Result<> set_run_parameter(RunNumber run, const std::string& name, const std::string& value) override {
        return make(SetRunParameter{run, name, value});
    }
    Result<> lumi_blocks_closed(const BlocksClosed& closed) override { return make(CloseBlocks{closed}); }
    Result<> file_opened(const FileRow& file) override { return make(FileOpening{file}); }
    Result<> file_closed(const FileClose& file, std::span<const SessionMark> marks,
                         std::span<const LedgerRow> ledgers) override {
        return make(FileClosing{file, {marks.begin(), marks.end()}, {ledgers.begin(), ledgers.end()}});
    }
    Result<> file_transferred(const Guid& guid) override { return make(FileTransferred{guid}); }
    Result<> file_deleted(const Guid& guid, const std::string& volume, const std::string& name) override {
        return make(FileDeleted{guid, volume, name});
    }
    Result<> set_file_health(const Guid& guid, FileHealth health) override { return make(SetFileHealth{guid, health}); }
    Result<> file_moved(const Guid& guid, const std::string& volume, const std::string& name) override {
        return make(FileMoved{guid, volume, name});
    }
    Result<> remove_opened_file(const Guid& guid) override { return make(RemoveOpenedFile{guid}); }
    Result<> put_file(const FileRow& file, const SharedEvents& shared) override { return make(PutFile{file, shared}); }
    Result<> set_transfer(const TransferRow& row) override { return make(SetTransfer{row}); }
    Result<> set_marks(std::span<const SessionMark> marks) override {
        return make(SetMarks{{marks.begin(), marks.end()}});
    }
    Result<> set_ledger(const LedgerRow& row) override { return make(SetLedger{row}); }
    Result<> add_to_ledger(const LedgerRow& row) override { return make(AddToLedger{row}); }

    // Reading: what this recorder knows.
    Result<std::vector<RunRow>> runs(std::optional<RunNumber> run) override { return own_->runs(run); }
    Result<std::map<std::string, std::string>> run_parameters(RunNumber run) override {
        return own_->run_parameters(run);
    }
    Result<std::vector<StreamRow>> streams(RunNumber run) override { return own_->streams(run); }
    Result<std::vector<LumiBlockRow>> lumi_blocks(RunNumber run) override { return own_->lumi_blocks(run); }
    Result<std::vector<BlockProgress>> block_progress(std::optional<RunNumber> run) override {
        return own_->block_progress(run);
    }
    Result<std::vector<StreamOverlap>> overlaps(RunNumber run) override { return own_->overlaps(run); }
    Result<std::vector<ReaderState>> reader_states() override { return own_->reader_states(); }
    Result<> set_reader_state(const ReaderState& state) override { return own_->set_reader_state(state); }
    Result<SharedEvents> shared_events(const Guid& guid) override { return own_->shared_events(guid); }
    Result<std::optional<FileRow>> file(const Guid& guid) override { return own_->file(guid); }
    Result<std::vector<FileRow>> files(const FileQuery& query) override { return own_->files(query); }
    Result<std::vector<TransferRow>> transfers(const TransferQuery& query) override { return own_->transfers(query); }
    Result<std::vector<SessionMark>> marks(RunNumber run) override { return own_->marks(run); }
    Result<std::vector<LedgerRow>> ledgers(RunNumber run) override { return own_->ledgers(run); }
    Result<> check() override { return own_->check(); }
    Result<bool> restore_name() override { return own_->restore_name(); }

    bool knows_other_recorders() const override { return false; }
    Result<std::uint64_t> changes_waiting() override;
    Result<bool> settle(std::chrono::milliseconds deadline) override;

private:
    struct Note {
        std::uint64_t number = 0;
        std::string change;
    };

    QueuedCatalogue(std::unique_ptr<SqlCatalogue> own, std::string uri, std::string writer,
                    QueuedCatalogueOptions options);
    Result<> make(const CatalogueChange& change);
    void wake();
    Result<> carry_all();
    void carry_on(const std::stop_token& stop);
    Result<> claim(const std::string& recorder);
    Result<> blocks_closed_below(const RunStart& start, std::uint64_t& below);

    // The caller holds carry_mutex_.
    Result<> reach_shared();
    Result<std::vector<Note>> next_notes();
    Result<> set_aside(const Note& note, const Error& why);

    const std::unique_ptr<SqlCatalogue> own_;
    const std::string uri_;
    const std::string writer_;  // names this file to the shared catalogue for ever
    const QueuedCatalogueOptions options_;

    std::mutex carry_mutex_;                // who carries; notes go over in their order
    std::unique_ptr<SqlCatalogue> shared_;  // once it was reached; never replaced

    std::mutex state_mutex_;
    std::condition_variable_any changed_;
    std::uint64_t wanted_ = 0;    // counts what there was to carry, and the calls of settle()
    std::uint64_t settling_ = 0;  // a call waits for this one: no pause before it is tried
    std::uint64_t done_ = 0;      // tried up to here
    std::jthread thread_;         // the last member: it stops before what it uses is gone
};

}  // namespace weir::catalogue

// SPDX-License-Identifier: Apache-2.0
// One directory that a recorder writes into (usually one disk): its lock, its open files, its journal,
// and the thread that syncs them. A sync round: everything folded is written, the data synced, new
// names synced, the indexes written, the journal entries written and synced; only then are the events durable.
//
// A failed file is abandoned: what was not durable in it is lost, and returned to its senders; what was durable is
// closed up. A volume whose files fail again and again, or whose directory or journal fails, is taken out of use, and
// tried again from time to time. One that is full pauses, and goes on by itself when there is space.
// The reasons are in decision 7. What others do to the names of its files and to the directory is noticed in each round
// (what is about to be acknowledged) and once a second (the rest): nothing is acknowledged into a file that cannot be
// found.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "disk/disk_watch.hpp"
#include "disk/space_reserve.hpp"
#include "reports/operator_reports.hpp"
#include "settlement/settlement.hpp"
#include "volume/stream_file.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/duration_histogram.hpp"
#include "weir/base/file.hpp"
#include "weir/datafile/directory_lock.hpp"
#include "weir/datafile/disk_fault.hpp"
#include "weir/datafile/index_writer.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/recorder/block_writer.hpp"
#include "weir/recorder/direct_io.hpp"
#include "weir/recorder/recorder_summary.hpp"
#include "weir/recorder/segment_pool.hpp"

namespace weir::recorder {

struct VolumeOptions {
    std::filesystem::path directory;
    RunNumber run{};  // and recorder: whose journals these are
    std::string recorder{};
    Guid id{};                                    // of the directory's marker; zeros: it has none
    DirectIo direct = DirectIo::automatic;        // automatic: where the file system is known to do it well
    unsigned queue_depth = 32;                    // writes in flight
    unsigned write_threads = 2;                   // when io_uring is not used
    std::chrono::milliseconds sync_interval{50};  // the longest that an event waits for a round to begin
    bool sync = true;                             // false: acknowledged without being on stable storage; loud
    Bytes reserve = 0_B;                          // kept to close what is open; 0: by the size of the volume
    Bytes headroom = 0_B;                         // with less free besides the reserve it pauses; 0: the write memory
    std::chrono::milliseconds retry_first{100}, retry_last{10'000};  // between tries of a volume that failed
};

class Volume {
public:
    static constexpr std::uint32_t failures_max = 3;           // files that fail before the volume is out of use ...
    static constexpr std::chrono::minutes failure_counts{10};  // ... each within this time of the one before

    struct Callbacks {
        /// An event that waits for a place may find one now. Any thread.
        std::function<void()> changed;
        /// Recovers the directory of a volume that failed and can be written again, through its watched(). When it
        /// hangs there, what the callback uses may be gone when the call returns. Sync thread.
        std::function<Result<>(Volume& volume)> recover;
    };

    [[nodiscard]] static Result<std::unique_ptr<Volume>> open(const VolumeOptions& options,
                                                              datafile::DirectoryLock lock, SegmentPool& pool,
                                                              Settlement& settlement, OperatorReports& reports,
                                                              Callbacks callbacks, const Clock& clock,
                                                              FileSystem& system = real_file_system());
    /// As stop().
    ~Volume();
    /// Begins the sync thread, which calls step() after each sync interval, or sooner for sync_now(). Once, before
    /// other threads use the volume. Without it the caller of sync_now() runs the round: a test goes step by step.
    void start();
    /// A round; or, of a volume that failed, a try to use it again when it is time. Sync thread, or instead of it.
    void step(SteadyTime now);
    Volume(const Volume&) = delete;
    Volume& operator=(const Volume&) = delete;

    /// Creates `<name>.writing`; Error with EEXIST when that name or `.data` is taken. Any thread. When it
    /// fails the volume draws its own conclusions (it is full, or out of use).
    [[nodiscard]] Result<std::shared_ptr<StreamFile>> create(const datafile::FileOpened& opened, bool adler32);
    /// Removes a file that was just created and never used.
    void discard(const std::shared_ptr<StreamFile>& file);

    /// A file after StreamFile::finish(), and what became of its close.
    struct FileToClose {
        std::shared_ptr<StreamFile> file;
        datafile::FileClosed closed;
        Result<> done{};
    };
    /// Waits until everything of the files is durable, writes the indexes, the attributes, renames and syncs the
    /// directory: many files in one call share its syncs. The caller commits to the catalogue and then forgets.
    /// When the error of a file may pass (may_pass()), calling again goes on where it stopped; after any other the file
    /// was abandoned.
    void close(std::span<FileToClose> files);

    /// Of a file that was abandoned: cuts it behind its last durable event, ends it, reads it back, renames it.
    /// Nothing: there was no durable event, and it was removed (unless `also_empty`).
    [[nodiscard]] Result<std::optional<datafile::FileClosed>> close_up(const std::shared_ptr<StreamFile>& file,
                                                                       bool also_empty);

    /// The catalogue knows the closed (or removed) files.
    [[nodiscard]] Result<> forget(std::span<const Guid> guids);
    /// The catalogue knows all copies that were rejected so far.
    void forget_rejected();
    /// The file stays as it is, for recovery.
    void leave(const Guid& guid);

    /// Runs a round for everything that was folded before the call. The error: the volume has failed.
    [[nodiscard]] Result<> sync_now();

    [[nodiscard]] VolumeState state() const;
    [[nodiscard]] std::optional<Error> failure() const;
    /// Files that failed lately.
    [[nodiscard]] std::uint32_t failures() const;
    /// It does not answer: its threads and memory are lost for good, and this object can never be destroyed.
    [[nodiscard]] bool hangs() const;
    /// Runs `work`, which uses this volume, on a thread of its own, and returns its result; or, when the volume turns
    /// out to hang, an error without it: so `work` owns what it uses.
    [[nodiscard]] Result<> unless_it_hangs(std::function<Result<>()> work);
    /// The file system, such that a call in which the disk hangs is noticed.
    [[nodiscard]] FileSystem& watched() noexcept { return system_; }
    /// Takes the volume out of use when it has been silent for so long. Any thread.
    void check_silence(std::chrono::nanoseconds longest);

    /// Ends the sync thread, if start() began one, after its last round, and waits for writes in flight; removes the
    /// journal when nothing is open. Of a volume that hangs, or turns out to, everything stays as it is. Called again
    /// it does nothing.
    void stop();

    [[nodiscard]] const std::filesystem::path& directory() const noexcept { return options_.directory; }
    [[nodiscard]] std::string description() const;
    [[nodiscard]] bool direct() const noexcept { return direct_; }
    /// As the sync thread saw it last.
    [[nodiscard]] Bytes free_space() const noexcept { return Bytes{free_.load(std::memory_order_relaxed)}; }
    /// What events may still fill before the volume pauses.
    [[nodiscard]] Bytes usable_space() const noexcept;
    /// How busy it is: files that are not closed, and calls in flight.
    [[nodiscard]] std::size_t work_in_hand() const;
    /// For another writer that finds no space on the disk: releases the reserve, and pauses. False when it was released
    /// before.
    bool make_room(const Error& error);

    struct Stats {
        std::uint64_t rounds = 0;
        std::chrono::nanoseconds syncing{0};  // spent in rounds
        std::chrono::nanoseconds slowest{0};
        Durations durations{};            // of rounds
        std::uint64_t syncs = 0;          // of files in rounds
        std::uint64_t closing_steps = 0;  // of files
    };
    [[nodiscard]] Stats stats() const;

private:
    enum class CloseStep { data, names, directory };  // what close() does next
    struct OpenFile {
        std::shared_ptr<StreamFile> file;
        datafile::IndexWriter index;
        std::uint32_t idle_rounds = 0;
        bool closing = false;              // with files_mutex_: the index is the closing thread's
        CloseStep next = CloseStep::data;  // closing thread only
        bool index_named = false;          // closing thread only: what has the index's final name may be ours
    };
    struct FileInRound {
        std::shared_ptr<OpenFile> open;
        StreamFile::Flush flush;
        std::optional<Error> error;
    };

    Volume(const VolumeOptions& options, datafile::DirectoryLock lock, SegmentPool& pool, Settlement& settlement,
           OperatorReports& reports, Callbacks callbacks, const Clock& clock, FileSystem& system);
    void run(const std::stop_token& stop);
    bool round();  // true when there was something to do
    void sync_files(std::vector<FileInRound>& batch);
    void close_data(std::span<FileToClose> files, std::span<const std::shared_ptr<OpenFile>> open);
    /// Of a file that does not begin. What cannot be removed now is removed before the next file begins, or at the
    /// stop. Both with unbegun_mutex_.
    void remove_unbegun(const std::string& name);
    void remove_all_unbegun();
    [[nodiscard]] Result<> end_data(OpenFile& open, const datafile::FileClosed& closed);
    void close_names(std::span<FileToClose> files, std::span<const std::shared_ptr<OpenFile>> open);
    [[nodiscard]] Result<> close_failed(const std::shared_ptr<StreamFile>& file, Result<> result);
    /// Not synced before the file is closed: it serves where the journal is damaged, and after a power cut the journal
    /// is what counts.
    void write_index(std::vector<FileInRound>& batch);
    [[nodiscard]] Result<> commit_journal();
    [[nodiscard]] datafile::JournalWriter::SessionNames session_names() const;
    [[nodiscard]] std::optional<std::vector<datafile::RejectedCopies>> begin_held_round();
    [[nodiscard]] std::optional<HeldAnswers::Round> end_held_round();
    void abandon(const std::shared_ptr<StreamFile>& file, const Error& error);
    void take_out_of_use(const Error& error, bool hangs);
    void note(const Error& error);  // of a call that concerns no open file
    void pause(const Error* error);
    void check_space(SteadyTime now);
    void try_again(SteadyTime now);
    // Names that others take away: volume_names.cpp
    [[nodiscard]] bool leads_to(const std::filesystem::path& path, const File& file);
    [[nodiscard]] std::filesystem::path path_of(const StreamFile& file, const char* ending) const;
    [[nodiscard]] bool is_taken(const std::filesystem::path& path);
    [[nodiscard]] bool is_in_place();
    [[nodiscard]] Error not_in_place() const;
    [[nodiscard]] bool was_discarded(const StreamFile& file) const;
    [[nodiscard]] std::optional<Error> lost_name(StreamFile& file);
    void look_at_names(SteadyTime now);
    [[nodiscard]] bool take_place();
    template <class Writer>
    [[nodiscard]] Result<> restore_name(Writer& writer);
    [[nodiscard]] Result<> keep_journal();
    [[nodiscard]] Result<> keep_index(OpenFile& open);
    [[nodiscard]] Result<> make_way(const std::filesystem::path& path, const std::filesystem::path& ours);
    [[nodiscard]] Result<> save(StreamFile& file);
    [[nodiscard]] Result<> probe();
    [[nodiscard]] std::vector<std::shared_ptr<OpenFile>> open_files() const;

    const VolumeOptions options_;
    datafile::DirectoryLock lock_;
    File place_;  // the directory itself, however it is called now
    SegmentPool& pool_;
    Settlement& settlement_;
    OperatorReports& reports_;
    const Callbacks callbacks_;
    const Clock& clock_;
    DiskWatch system_;
    SpaceReserve reserve_;
    const Bytes headroom_;
    bool direct_ = false;
    std::unique_ptr<BlockWriter> writer_;
    std::atomic<std::uint64_t> free_{0};
    std::atomic<std::uint64_t> syncs_{0}, closing_steps_{0};
    SteadyTime next_look_{};  // at the names; sync thread

    mutable std::mutex files_mutex_;
    std::map<Guid, std::shared_ptr<OpenFile>> files_;

    std::mutex journal_mutex_;  // a round, and forgetting
    std::optional<datafile::JournalWriter> journal_;

    std::optional<HeldAnswers::Round> held_round_;  // whose counts the journal is just given; with rounds_mutex_
    std::mutex unbegun_mutex_;
    std::vector<std::string> unbegun_;  // files that did not begin and could not be removed; nearly always empty
    mutable std::mutex rounds_mutex_;
    std::condition_variable_any rounds_changed_;
    std::uint64_t rounds_wanted_ = 0;
    std::uint64_t rounds_begun_ = 0;
    std::uint64_t rounds_done_ = 0;
    VolumeState state_ = VolumeState::good;
    std::uint32_t times_failed_ = 0;
    std::uint32_t failures_ = 0;
    std::optional<Error> failure_;
    bool hangs_ = false;                      // for good; then failure_ has the reason
    bool ended_ = false;                      // the sync thread
    bool started_ = false, stopped_ = false;  // by the owner: start(), stop()
    SteadyTime next_try_{}, last_trouble_{}, last_failure_{};
    std::chrono::milliseconds retry_;
    Stats stats_;
    DurationHistogram round_durations_;
    std::jthread thread_;  // the last member: it stops before what it uses is gone
};

}  // namespace weir::recorder

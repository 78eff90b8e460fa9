// SPDX-License-Identifier: Apache-2.0
// Opens and closes the data files of a run: names, sequence numbers, volumes, the catalogue. Closing
// takes syncs and commits, so it is done by a thread of its own while recording goes on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/catalogue/catalogue.hpp"
#include "weir/event/format.hpp"
#include "weir/storage/lumi_blocks.hpp"
#include "weir/storage/recorder_options.hpp"
#include "weir/storage/volume.hpp"

namespace weir::storage {

/// Where the next file of a sequence (run, stream, lumi block, recorder) goes on.
struct SequenceState {
    std::uint32_t next_number = 1;
    std::uint64_t events = 0;  // so far
    std::uint64_t blocks = 0;  // data block numbers so far; a crash may leave some of them without an event
    std::uint64_t bytes = 0;   // of event data
    bool cut = false;          // a file of it lost what was not acknowledged
};

/// What a closed file adds to the ledger of its stream: so the ledger says what the files say, also after a crash.
[[nodiscard]] LedgerRow ledger_of_file(const FileOpened& opened, const FileClosed& closed, const std::string& recorder);

class FileKeeper {
public:
    struct Callbacks {
        /// Marks of lanes to be written with the next close.
        std::function<std::vector<LaneMark>()> marks;
        /// Something to be latched by its name, and (warn) a name that was taken.
        std::function<void(const std::string& alarm, const std::string& text)> alarm;
        std::function<void(const std::string&)> warn;
        /// Called every now and then from the closing thread: what became due by time.
        std::function<void()> tick;
    };

    FileKeeper(const RecorderOptions& options, RunNumber run, Catalogue& catalogue,
               std::vector<std::unique_ptr<Volume>>& volumes, LumiBlocks& blocks, Callbacks callbacks, const Clock& clock);

    /// Tells where sequences and lumi blocks of a continued run stand. Before the first open_next().
    [[nodiscard]] Result<> load_sequences();

    /// The next file of the sequence; it goes to the volume with the most room among those that have not failed
    /// lately. Nothing: no volume takes a file now, or the catalogue cannot be told; both were reported.
    [[nodiscard]] std::shared_ptr<StreamFile> open_next(const StreamTag& stream, LumiBlock lumi_block,
                                                        event::Format format);

    /// No further event goes into the file. Its sequence is moved on at once, so that the next file can
    /// be opened before this one is closed. Returns at once.
    void close_later(std::shared_ptr<StreamFile> file, bool last_of_sequence);

    /// Ends the thread when everything handed over is closed, or cannot be closed within `patience`: then it is left for recovery.
    void stop(std::chrono::milliseconds patience = std::chrono::seconds{5});

    [[nodiscard]] std::uint64_t files_closed() const noexcept { return files_closed_.load(std::memory_order_relaxed); }

private:
    using SequenceKey = std::pair<std::string, LumiBlock>;
    struct Closing {
        std::shared_ptr<StreamFile> file;
        bool last_of_sequence;
        bool counted_whole;  // the sequence has gone on behind all of its events, whatever becomes of them
        std::optional<FileClosed> closed{};  // the end is assigned
        bool named = false;                  // on the disk all is done; the catalogue has to hear of it
        bool removed = false;                // it held nothing, and is gone
        FileHealth health = FileHealth::sane;
        std::optional<std::vector<LaneMark>> marks{};  // taken once, told until the catalogue has heard
    };

    void run(const std::stop_token& stop);
    /// One try. The error: try again later.
    [[nodiscard]] Result<> close(Closing& closing);
    [[nodiscard]] Result<> close_up(Closing& closing, Volume& volume);
    [[nodiscard]] Result<> leave(const StreamFile& file, Volume& volume);
    [[nodiscard]] Result<> restore_blocks(const std::vector<FileRow>& files);
    [[nodiscard]] Result<> tell_catalogue(Closing& closing, Volume& volume);
    [[nodiscard]] Volume* best(const std::vector<const Volume*>& without) const;
    [[nodiscard]] FileRow row_of(const FileOpened& opened, const Volume& volume) const;
    [[nodiscard]] Result<> describe(FileOpened& opened, const StreamTag& stream) const;
    [[nodiscard]] Volume& volume_of(const Guid& guid);

    const RecorderOptions& options_;
    const RunNumber run_;
    Catalogue& catalogue_;
    std::vector<std::unique_ptr<Volume>>& volumes_;
    LumiBlocks& blocks_;
    const Callbacks callbacks_;
    const Clock& clock_;

    std::mutex sequences_mutex_;
    std::map<SequenceKey, SequenceState> sequences_;
    std::map<Guid, Volume*> volume_of_;  // of open files; with sequences_mutex_

    std::mutex queue_mutex_;
    std::condition_variable_any queue_changed_;
    std::deque<Closing> queue_;
    std::atomic<std::uint64_t> files_closed_{0};
    SteadyTime give_up_at_{};  // with queue_mutex_
    std::jthread thread_;  // the last member: it stops before what it uses is gone
};

}  // namespace weir::storage

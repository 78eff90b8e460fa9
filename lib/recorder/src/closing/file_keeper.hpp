// SPDX-License-Identifier: Apache-2.0
// Opens the data files of a run, and has them closed: names, sequence numbers, volumes, the catalogue.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "accounts/lumi_blocks.hpp"
#include "closing/file_closer.hpp"
#include "reports/operator_reports.hpp"
#include "volume/volume.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/catalogue/catalogue.hpp"
#include "weir/event/format.hpp"
#include "weir/recorder/recorder_options.hpp"

namespace weir::recorder {

/// Where the next file of a sequence (run, stream, lumi block, recorder) goes on.
struct SequenceState {
    std::uint32_t next_number = 1;
    std::uint64_t events = 0;  // so far
    std::uint64_t blocks = 0;  // data block numbers so far; a crash may leave some of them without an event
    std::uint64_t bytes = 0;   // of event data
    bool cut = false;          // a file of it lost what was not acknowledged
};

/// Any thread, but for load_sequences(), start() and stop(), which belong to the owner, and step(), which is called
/// instead of start().
class FileKeeper {
public:
    /// `closed` is called when fewer files wait to be closed: may_open() may be true now. Any thread.
    FileKeeper(const RecorderOptions& options, RunNumber run, catalogue::Catalogue& catalogue,
               std::vector<std::unique_ptr<Volume>>& volumes, LumiBlocks& blocks, Settlement& settlement,
               const OperatorReports& reports, std::function<void()> closed, const Clock& clock);

    /// Reads where sequences and lumi blocks of a continued run stand. Before the first open_next().
    [[nodiscard]] Result<> load_sequences();

    /// False while on each good volume as many files wait to be closed as may: then no event goes into a new file, its
    /// sender waits. A volume that cannot close its files does not hold up the others.
    [[nodiscard]] bool may_open() const;

    using Files = std::vector<std::shared_ptr<StreamFile>>;

    /// How many files of a stream and lumi block are open at once: what is asked for, but no more than there are
    /// volumes.
    [[nodiscard]] std::size_t files_per_stream() const noexcept { return files_per_stream_; }

    /// Whether there is a volume that may take a further file of a stream, beside the open ones: it has none of them,
    /// may open one and has not failed lately.
    [[nodiscard]] bool may_open_beside(const Files& open) const;

    /// The next file of the sequence; it goes to the volume with the least work for its room among those that may open
    /// one, have none of the `open` files of the stream and have not failed lately. Nothing: no volume takes a file
    /// now, or the catalogue cannot be written; both were reported. With `open` files only the first such volume is
    /// tried.
    [[nodiscard]] std::shared_ptr<StreamFile> open_next(const StreamTag& stream, LumiBlock lumi_block,
                                                        event::Format format, const Files& open = {});

    /// No further event goes into the file. Its sequence is moved on at once, so that the next file can
    /// be opened before this one is closed. `last_of_sequence`: no file of the sequence is opened any more; the one
    /// with the highest number is marked as its last. Returns at once.
    void close_later(std::shared_ptr<StreamFile> file, bool last_of_sequence);

    /// Begins the closing threads. Once. Without them step() closes.
    void start();
    /// Tries to close a group of each volume's files.
    void step();

    /// Ends the closing threads when everything handed over is closed, at `deadline`, or when for `patience` nothing
    /// was left but what cannot be closed now: what is not closed then is left for recovery. Returns how many files
    /// that are.
    std::size_t stop(SteadyTime deadline, std::chrono::milliseconds patience = std::chrono::seconds{5});

    [[nodiscard]] std::uint64_t files_closed() const noexcept {
        return closing_.closed.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::size_t files_waiting() const noexcept {
        return closing_.waiting.load(std::memory_order_relaxed);
    }
    /// Of groups of files to be closed. It rises while any file waits, unless closing hangs.
    [[nodiscard]] std::uint64_t attempts() const noexcept { return closing_.attempts.load(std::memory_order_relaxed); }

private:
    using SequenceKey = std::pair<std::string, LumiBlock>;

    [[nodiscard]] Result<> restore_blocks(const std::vector<catalogue::FileRow>& files);
    [[nodiscard]] bool has_room(const Volume& volume) const;
    [[nodiscard]] Volume* best(const std::vector<const Volume*>& without) const;
    [[nodiscard]] std::vector<const Volume*> volumes_of(const Files& open) const;
    [[nodiscard]] catalogue::FileRow row_of(const datafile::FileOpened& opened, const Volume& volume) const;
    [[nodiscard]] Result<> describe(datafile::FileOpened& opened, const StreamTag& stream) const;

    const RecorderOptions& options_;
    const std::size_t files_per_stream_;
    const RunNumber run_;
    catalogue::Catalogue& catalogue_;
    std::vector<std::unique_ptr<Volume>>& volumes_;
    LumiBlocks& blocks_;
    const OperatorReports& reports_;
    const Clock& clock_;

    mutable std::mutex sequences_mutex_;
    std::map<SequenceKey, SequenceState> sequences_;
    std::map<Guid, Volume*> volume_of_;  // of open files; with sequences_mutex_

    ClosingAccount closing_;
    std::map<const Volume*, std::unique_ptr<FileCloser>> closers_;  // the last member: their threads use all the others
};

}  // namespace weir::recorder

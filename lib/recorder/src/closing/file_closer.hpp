// SPDX-License-Identifier: Apache-2.0
// Closes the files of one volume, on a thread of its own while recording goes on. Closing takes syncs and a commit of
// the catalogue, so what waits is closed in groups that share them: one round, one sync of the directory for each step,
// one commit. A file that waits holds no write memory, and closing needs none (decision 13).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "accounts/lumi_blocks.hpp"
#include "reports/operator_reports.hpp"
#include "volume/volume.hpp"
#include "weir/base/clock.hpp"
#include "weir/catalogue/catalogue.hpp"

namespace weir::recorder {

/// What the closers of all volumes share.
struct ClosingAccount {
    std::atomic<std::size_t> waiting{0};        // files that wait to be closed, or are being closed
    std::atomic<std::uint64_t> closed{0};       // files
    std::atomic<std::uint64_t> attempts{0};     // of groups that have ended, well or not: one that hangs makes none
    std::mutex marks_mutex;                     // held while they are written: newer marks never come before older
    std::vector<catalogue::SessionMark> marks;  // taken, and the catalogue does not have them yet
};

class FileCloser {
public:
    static constexpr std::size_t group_max = 128;  // files that are closed together

    struct Callbacks {
        /// The row of an open file, for the catalogue.
        std::function<catalogue::FileRow(const datafile::FileOpened& opened, const Volume& volume)> row_of;
        /// Fewer files wait now.
        std::function<void()> closed;
    };

    FileCloser(Volume& volume, catalogue::Catalogue& catalogue, LumiBlocks& blocks, std::string recorder,
               ClosingAccount& account, Settlement& settlement, const OperatorReports& reports, Callbacks callbacks,
               const Clock& clock);

    /// Begins the closing thread, which calls step(). Once.
    void start();
    /// Tries to close one group of what waits. Closing thread, or instead of it.
    void step();

    /// `counted_whole`: its sequence has gone on behind all of its events, whatever becomes of them. Returns at once.
    void close_later(std::shared_ptr<StreamFile> file, bool last_of_sequence, bool counted_whole);

    /// Requests that the thread ends when everything handed over is closed, at `deadline`, or when for `patience`
    /// nothing was left but what cannot be closed now. What is not closed then is left for recovery. Returns at once.
    void request_stop(SteadyTime deadline, std::chrono::milliseconds patience);
    void join();

    [[nodiscard]] const Volume& volume() const noexcept { return volume_; }
    /// Files of this volume that wait to be closed, or are being closed.
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

private:
    struct Closing {
        std::shared_ptr<StreamFile> file;
        bool last_of_sequence;
        bool counted_whole;
        std::optional<datafile::FileClosed> closed{};  // the end is assigned
        bool named = false;                            // on the disk all is done; not yet in the catalogue
        bool removed = false;                          // it held nothing, and is gone
        bool done = false;                             // nothing is left to do
        catalogue::FileHealth health = catalogue::FileHealth::sane;

        [[nodiscard]] bool to_write() const noexcept { return !done && (named || removed); }
    };
    using Group = std::vector<Closing>;

    void run(const std::stop_token& stop);
    [[nodiscard]] bool ends(SteadyTime now);
    /// One try. What is not done is tried again later.
    void close(Group& group);
    void finish(Group& group);
    void close_on_disk(Group& group);
    void close_up(Closing& closing);
    [[nodiscard]] Result<> leave(const StreamFile& file);
    void write_to_catalogue(Group& group);
    [[nodiscard]] Result<> write_row(const Closing& closing, std::span<const catalogue::SessionMark> marks);
    void forget(Group& group);

    Volume& volume_;
    catalogue::Catalogue& catalogue_;
    LumiBlocks& blocks_;
    const std::string recorder_;
    ClosingAccount& account_;
    Settlement& settlement_;  // whose marks are written with each close
    const OperatorReports& reports_;
    const Callbacks callbacks_;
    const Clock& clock_;

    std::atomic<std::size_t> waiting_{0};
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Closing> queue_;
    SteadyTime deadline_{};                          // with mutex_
    std::chrono::milliseconds patience_{};           // with mutex_
    Group again_;                                    // what could not be closed; closing thread only
    std::optional<SteadyTime> only_failures_since_;  // closing thread only
    std::jthread thread_;                            // the last member: it stops before what it uses is gone
};

}  // namespace weir::recorder

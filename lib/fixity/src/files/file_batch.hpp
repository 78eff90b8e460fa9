// SPDX-License-Identifier: Apache-2.0
// Files that one thread reads block by block in turn, so that their md5, sha1 and sha256 share the lanes of
// vector instructions (weir/digest/many_sums.hpp). At any moment one file is read: to its device it is one reader.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "files/file_work.hpp"
#include "reading/piece_cursor.hpp"
#include "weir/digest/many_sums.hpp"
#include "weir/digest/summer.hpp"

namespace weir::fixity {

class FileBatch {
public:
    /// Those algorithms of the job that are faster for many files at once than for one, in the order of
    /// digest::algorithms; jobs with the same ones can share a batch. Empty: the file is read alone.
    [[nodiscard]] static std::vector<digest::Algorithm> lanes_of(const Job& job, const Reading& how);
    /// Whether the file, now that it is open, is one to wait for as little as possible. Not a stream, and not cold
    /// data that a thread of its own should read ahead.
    [[nodiscard]] static bool takes(const FileWork& work, const Reading& how);

    /// At most `files_max` at once, and no more than fill the lanes.
    FileBatch(std::vector<digest::Algorithm> lanes, std::size_t files_max, const Reading& how);

    [[nodiscard]] const std::vector<digest::Algorithm>& lanes() const noexcept { return lanes_; }
    [[nodiscard]] std::size_t size() const noexcept { return used_.size(); }
    [[nodiscard]] std::size_t room() const noexcept { return free_.size(); }

    /// takes(work) holds, and there is room. Returns the file's place, which is its own until it has ended.
    std::size_t add(FileWork work);
    using Ended = std::function<void(std::size_t place, FileWork work, ReadOutcome outcome)>;
    /// Reads and sums the next block of each file; removes and returns those that ended, in any way.
    void step(const Ended& ended);

private:
    struct File {
        File(FileWork of, std::span<const digest::Algorithm> without_lanes, const Reading& how)
            : work(std::move(of)), cursor(*work.file, 0, work.file->stamp().size, how), others(without_lanes) {
            if (work.block > 0) blocks.emplace(work.block);
        }

        FileWork work;
        PieceCursor cursor;     // in work.file: a File is never moved
        digest::SumSet others;  // algorithms without lanes
        std::optional<BlockSummer> blocks;
        std::uint64_t look_again_at = PieceCursor::window;  // whether the next bytes are in the page cache
        std::optional<Failure> failure;
    };

    void read_block(std::size_t place);
    [[nodiscard]] ReadOutcome outcome_of(std::size_t place);

    const std::vector<digest::Algorithm> lanes_;
    const Reading& how_;
    std::vector<digest::ManySums> sums_;  // one for each of lanes_; a file's stream is its place
    std::vector<std::unique_ptr<File>> files_;
    std::vector<std::size_t> free_, used_;
    std::unique_ptr<std::byte[]> buffers_;
    std::vector<digest::ManySums::Part> parts_;  // of the step in progress
};

}  // namespace weir::fixity

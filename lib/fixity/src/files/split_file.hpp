// SPDX-License-Identifier: Apache-2.0
// One large file read by several threads at once: each takes the next range, and the sums of the ranges
// are put together. Only for algorithms that can be made of such ranges: adler32, the CRCs and blake3.
#pragma once

#include <atomic>
#include <mutex>

#include "files/file_work.hpp"
#include "weir/digest/split_sum.hpp"

namespace weir::fixity {

class SplitFile {
public:
    /// Whether it pays (from `size_min` bytes on) and is possible with this range: blake3 wants 2^k KiB, also when
    /// the range was made a multiple of the block.
    [[nodiscard]] static bool fits(const FileWork& work, std::uint64_t size_min, std::uint64_t range);

    /// `range` bytes at a time, made a multiple of the block.
    SplitFile(FileWork work, std::uint64_t range);

    /// There is a range that was not begun.
    [[nodiscard]] bool has_more() const noexcept { return next_.load(std::memory_order_relaxed) < ranges_; }
    /// Reads ranges until none is left. True for the one thread that finished the last: it calls take().
    [[nodiscard]] bool help(PieceReader& reader);
    [[nodiscard]] ReadOutcome take_outcome();
    [[nodiscard]] FileWork take_work() { return std::move(work_); }

private:
    void read_range(std::uint64_t index, PieceReader& reader);

    FileWork work_;
    const std::uint64_t size_, range_, ranges_;
    std::atomic<std::uint64_t> next_{0};  // a ticket; what the threads share is under the mutex
    std::mutex mutex_;
    std::uint64_t finished_ = 0;
    std::uint64_t bytes_ = 0;
    std::vector<digest::SplitSum> sums_;  // as work_.algorithms
    std::vector<std::uint32_t> block_sums_;
    std::optional<Failure> failure_;   // the one at the lowest offset
    std::uint64_t end_;                // where the file ended: before size_ when it shrank
    std::atomic<bool> failed_{false};  // hint: further ranges need not be read
};

}  // namespace weir::fixity

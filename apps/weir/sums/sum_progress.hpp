// SPDX-License-Identifier: Apache-2.0
// How far a sum of many files is: bytes, rate, and the remaining time once the amount is known. On a terminal only;
// there a second thread goes through the names ahead of the work and adds up their sizes.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "cli/progress.hpp"
#include "weir/fixity/sum_many.hpp"

namespace weir::app {

class SumProgress {
public:
    /// `names` gives the same files as the work will; none: the amount stays unknown.
    SumProgress(const Clock& clock, std::string what, fixity::JobSource names);

    void add_bytes(std::uint64_t bytes) noexcept { bytes_.fetch_add(bytes, std::memory_order_relaxed); }  // any thread
    void add_file() noexcept { ++files_; }
    void show();
    /// Before anything else is printed.
    void clear() { line_.clear(); }

private:
    [[nodiscard]] std::string text() const;

    const Clock& clock_;
    const std::string what_;
    const SteadyTime begin_;
    std::atomic<std::uint64_t> bytes_{0};
    std::uint64_t files_ = 0;
    // Written by the thread below; `counted_` last (release), read first (acquire).
    std::atomic<std::uint64_t> bytes_total_{0}, files_total_{0};
    std::atomic<bool> counted_{false};
    ProgressLine line_;
    std::jthread counter_;  // the last member: it stops before what it uses is gone
};

}  // namespace weir::app

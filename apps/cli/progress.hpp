// SPDX-License-Identifier: Apache-2.0
// One line on a terminal that shows how far the work is, at what rate, and how long it will still take.
// On stderr only, so that stdout stays clean; nothing at all when stderr is not a terminal.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {

/// A line that is rewritten in place, at most five times a second, and gone at the end. Any thread.
class ProgressLine {
public:
    explicit ProgressLine(const Clock& clock, std::FILE* terminal = stderr);
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// There is a terminal, and the last line is old enough. Ask before making the text.
    [[nodiscard]] bool due() const;
    /// Cut to the width of the terminal.
    void show(std::string_view text);
    /// Before anything else is printed.
    void clear();
    /// The same, and keeps the line away until `print` has returned.
    template <class Print>
    void print_above(const Print& print) {
        const std::scoped_lock lock(mutex_);
        wipe();
        print();
    }

private:
    void wipe();

    const Clock& clock_;
    std::FILE* const terminal_;  // null: not one
    mutable std::mutex mutex_;   // of what follows, and of the terminal
    SteadyTime shown_at_;
    bool visible_ = false;
};

/// Bytes done of a known amount: "verify  12.3 of 40.0 GB (31 %), 2.1 GB/s, 13 s left". Any thread.
class ByteProgress {
public:
    ByteProgress(const Clock& clock, std::string what, Bytes total, std::FILE* terminal = stderr);

    void add(std::uint64_t bytes);
    /// Before anything else is printed.
    void clear();

    /// The line at this moment, as it would be shown.
    [[nodiscard]] std::string text() const;

private:
    const Clock& clock_;
    const std::string what_;
    const Bytes total_;
    const SteadyTime begin_;
    std::atomic<std::uint64_t> done_{0};
    std::mutex mutex_;  // of the line
    ProgressLine line_;
};

}  // namespace weir::app

// SPDX-License-Identifier: Apache-2.0
// Options that sum, check and scrub share: which algorithms, how to read, how many at once.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/process/signals.hpp"
#include "weir/fixity/rate_limit.hpp"
#include "weir/fixity/sum_many.hpp"

namespace weir::app {

/// "adler32,crc32c" or "all".
struct AlgorithmList {
    std::vector<digest::Algorithm> values;
};
[[nodiscard]] Result<> read_value(std::string_view text, AlgorithmList& to);
[[nodiscard]] std::string shown_value(const AlgorithmList& list);

struct ReadSettings {
    std::optional<unsigned> threads;
    std::optional<Bytes> per_second;
    bool direct = false;
    bool no_cache = false;
    bool paranoid = false;
    bool idle = false;
};
void add_read_options(CLI::App& command, ReadSettings& settings);

/// What sum_many needs, made from the settings; errors are usage errors.
class ReadPlan {
public:
    ReadPlan(const ReadSettings& settings, const Clock& clock);

    [[nodiscard]] static Result<> check(const ReadSettings& settings);
    [[nodiscard]] fixity::Reading& reading() noexcept { return reading_; }
    [[nodiscard]] const fixity::Parallel& parallel() const noexcept { return parallel_; }
    /// When the work is over: reports that the system had fewer threads for it than were wanted.
    void warn_of_threads(std::string_view command) const;

private:
    std::optional<fixity::RateLimit> limit_;
    fixity::Reading reading_;
    fixity::Parallel parallel_;
    std::atomic<bool> thread_refused_{false};  // set by any thread, read when they are joined
};

/// With --idle, this process and its threads to come use the processors and disks that no other program wants. What the
/// system refuses is reported, and the work goes on.
void become_idle(std::string_view command, const ReadSettings& settings);

/// The known-answer tests of this machine's kernels of these algorithms: an error means "do not go on".
[[nodiscard]] Result<> sums_are_right(std::span<const digest::Algorithm> of = digest::algorithms);

/// SIGINT or SIGTERM has come and stays pending, blocked; waits for it at most so long. Any thread.
[[nodiscard]] bool stop_is_pending(std::chrono::nanoseconds at_most = {}) noexcept;

/// While it lives, these signals are only asked for. Made before any thread; at the end they are taken, so that
/// the command ends with its own exit code.
class Interruptible {
public:
    Interruptible() = default;
    ~Interruptible() {
        while (signals_.wait({})) {
        }
    }
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

private:
    Signals signals_;
};

}  // namespace weir::app

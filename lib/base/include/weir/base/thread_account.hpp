// SPDX-License-Identifier: Apache-2.0
// Where the time of every thread goes: running, waiting for something to do, or blocked although there is something to
// do, each by its cause. A thread enters the accounts by name (see NamedThread); after that any library that waits
// marks the wait with a ScopedWait, which does nothing in a thread that entered none.
//
//     ThreadAccounts accounts;
//     ThreadAccounts::Entry entry(accounts, "input");   // in the thread
//     { const ScopedWait wait(WaitCause::network); ::epoll_wait(...); }
//
// The times may be read from any thread at any moment. With `spans_max` each thread also keeps its latest spans, to be
// written as a timeline (thread_trace.hpp).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/clock.hpp"

namespace weir {

enum class WaitCause : std::uint8_t { network, timer, pool, queue, lock, disk, data, peer };
inline constexpr std::size_t wait_cause_count = 8;

/// "network", "pool", ...
[[nodiscard]] const char* name(WaitCause cause) noexcept;

/// There was work to do, and something of our own machine stood in its way; else the thread had nothing to do.
[[nodiscard]] constexpr bool blocks(WaitCause cause) noexcept {
    return cause == WaitCause::pool || cause == WaitCause::lock || cause == WaitCause::disk;
}

/// One span of a thread's timeline. What lies between spans is running.
struct ThreadSpan {
    const char* what = nullptr;  // lives as long as the program
    bool wait = false;           // else it is named work
    SteadyTime began{};
    SteadyTime ended{};
};

/// Written by its thread, read by any.
class ThreadAccount {
public:
    using enum WaitCause;

    ThreadAccount(std::string thread_name, std::size_t spans_max);
    ThreadAccount(const ThreadAccount&) = delete;
    ThreadAccount& operator=(const ThreadAccount&) = delete;

    struct Times {
        std::string thread;
        std::uint32_t threads = 1;  // of this name: those that ended are added up
        bool ended = false;
        std::chrono::nanoseconds running{0};                              // on a processor, or ready to be
        std::chrono::nanoseconds processor{0};                            // on a processor
        std::array<std::chrono::nanoseconds, wait_cause_count> waited{};  // by cause
        std::array<std::uint64_t, wait_cause_count> waits{};
        [[nodiscard]] std::chrono::nanoseconds of(WaitCause cause) const noexcept {
            return waited[static_cast<std::size_t>(cause)];
        }
    };
    [[nodiscard]] const std::string& thread() const noexcept { return thread_; }
    [[nodiscard]] Times times(SteadyTime now) const;

    /// The latest spans, oldest first. While the thread runs, the oldest of them may be left out.
    [[nodiscard]] std::vector<ThreadSpan> spans() const;
    [[nodiscard]] SteadyTime began() const noexcept { return began_; }

private:
    friend class ScopedWait;
    friend class ScopedWork;
    friend class ThreadAccounts;

    void begin_wait(WaitCause cause, SteadyTime now) noexcept;
    void end_wait(SteadyTime now) noexcept;
    void keep_span(const char* what, bool wait, SteadyTime began, SteadyTime ended) noexcept;
    void end(SteadyTime now) noexcept;  // of the thread, by itself

    struct Slot {
        std::atomic<const char*> what{nullptr};
        std::atomic<std::int64_t> began{0}, ended{0};
        std::atomic<bool> wait{false};
    };
    using Total = std::atomic<std::int64_t>;

    const std::string thread_;
    const SteadyTime began_;
    const clockid_t processor_clock_;
    bool waiting_ = false;  // of the thread itself: an inner wait belongs to the outer
    WaitCause cause_{};

    // A reader takes what it saw only if `version_` was even and the same before and after (a sequence lock whose
    // fields are atomics: stored with release, loaded with acquire).
    std::atomic<std::uint64_t> version_{0};
    Total waiting_since_{0};  // 0: runs
    std::atomic<std::uint8_t> waiting_for_{0};
    std::array<Total, wait_cause_count> waited_{};
    std::array<std::atomic<std::uint64_t>, wait_cause_count> waits_{};
    std::atomic<std::int64_t> ended_{0};
    std::atomic<std::int64_t> processor_at_end_{0};

    // The latest totals that were read: a thread that ends a wait has read the clock a moment before it marks the end,
    // and a reader in between has counted on. A total never falls. Waited by cause; the last is running.
    mutable std::array<Total, wait_cause_count + 1> reported_{};

    std::vector<Slot> ring_;
    std::atomic<std::uint64_t> span_count_{0};
};

/// The accounts of a process. Outlives the threads that enter.
class ThreadAccounts {
public:
    /// `spans_max`: spans kept of each thread for a timeline; 0: none.
    explicit ThreadAccounts(std::size_t spans_max = 0) : spans_max_(spans_max) {}
    ThreadAccounts(const ThreadAccounts&) = delete;
    ThreadAccounts& operator=(const ThreadAccounts&) = delete;

    /// While it lives, the thread that made it is accounted for. A thread enters one account at a time.
    class [[nodiscard]] Entry {
    public:
        Entry(ThreadAccounts& accounts, std::string thread_name);
        ~Entry();
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;

    private:
        ThreadAccounts& accounts_;
        std::shared_ptr<ThreadAccount> account_;  // shared with the accounts, where it stays for a timeline
        ThreadAccounts* outer_accounts_;
        ThreadAccount* outer_account_;
    };

    /// Those that the calling thread has entered; none: nullptr.
    [[nodiscard]] static ThreadAccounts* of_this_thread() noexcept;

    /// Threads that run, in the order in which they came, then those that ended, added up by name.
    [[nodiscard]] std::vector<ThreadAccount::Times> times() const;
    /// Threads whose spans are still there, also ended ones (the first `ended_max` of them).
    [[nodiscard]] std::vector<std::shared_ptr<const ThreadAccount>> accounts() const;
    [[nodiscard]] bool traces() const noexcept { return spans_max_ > 0; }

    static constexpr std::size_t ended_max = 256;

private:
    void remove(const std::shared_ptr<ThreadAccount>& account);
    const std::size_t spans_max_;
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<ThreadAccount>> running_;
    std::vector<std::shared_ptr<ThreadAccount>> ended_;        // kept for their spans
    std::map<std::string, ThreadAccount::Times> ended_times_;  // bounded: further names are added to "other"
};

namespace detail {
extern constinit thread_local ThreadAccount* thread_account;
}

/// This thread waits, for as long as the object lives. Inside another wait it does nothing: the outer cause counts.
class [[nodiscard]] ScopedWait {
public:
    explicit ScopedWait(WaitCause cause) noexcept : account_(detail::thread_account) {
        if (account_ != nullptr) begin(cause);
    }
    ~ScopedWait() {
        if (account_ != nullptr) end();
    }
    ScopedWait(const ScopedWait&) = delete;
    ScopedWait& operator=(const ScopedWait&) = delete;

private:
    void begin(WaitCause cause) noexcept;
    void end() noexcept;
    ThreadAccount* account_;  // of this thread; nullptr: none, or an outer wait counts
};

/// Work with a name, for the timeline only: "configure", "assemble". `what` is a literal.
class [[nodiscard]] ScopedWork {
public:
    explicit ScopedWork(const char* what) noexcept;
    ~ScopedWork();
    ScopedWork(const ScopedWork&) = delete;
    ScopedWork& operator=(const ScopedWork&) = delete;

private:
    ThreadAccount* account_;  // nullptr: no account is kept
    const char* what_;
    SteadyTime began_{};
};

/// A lock that is usually free costs nothing more than the lock; waiting for it is accounted for.
template <class Mutex>
[[nodiscard]] std::unique_lock<Mutex> accounted_lock(Mutex& mutex) {
    std::unique_lock<Mutex> lock(mutex, std::try_to_lock);
    if (!lock.owns_lock()) {
        const ScopedWait wait(WaitCause::lock);
        lock.lock();
    }
    return lock;
}

}  // namespace weir

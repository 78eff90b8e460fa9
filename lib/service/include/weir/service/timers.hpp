// SPDX-License-Identifier: Apache-2.0
// Periodic actions of a station: they check something now and then, and report. All run on one thread (or in a test,
// by step()), one after the other, and so must be short. An action that is late runs once, not several times.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "weir/base/clock.hpp"
#include "weir/base/named_thread.hpp"

namespace weir::service {

class Timers {
public:
    /// No thread yet: step() does the work, or start().
    explicit Timers(const Clock& clock) : clock_(clock) {}
    ~Timers();
    Timers(const Timers&) = delete;
    Timers& operator=(const Timers&) = delete;

    /// Until it ends, the action runs every so often. Its end waits for an action that runs (so not from inside it).
    /// The timers outlive it.
    class [[nodiscard]] Periodic {
    public:
        Periodic() = default;
        Periodic(Periodic&& other) noexcept;
        Periodic& operator=(Periodic&& other) noexcept;
        ~Periodic() { cancel(); }

        void cancel();

    private:
        friend class Timers;
        Periodic(Timers& timers, std::uint64_t id) : timers_(&timers), id_(id) {}
        Timers* timers_ = nullptr;
        std::uint64_t id_ = 0;
    };

    /// First after one interval. From any thread.
    Periodic every(std::chrono::nanoseconds interval, std::function<void()> action);

    /// Runs what is due; returns when it wants to be called again.
    std::optional<SteadyTime> step(SteadyTime now);

    /// A thread "timers" calls step() from now on.
    void start();

private:
    struct Entry {
        std::chrono::nanoseconds interval;
        SteadyTime due;
        std::function<void()> action;
    };
    void run(const std::stop_token& stop);

    const Clock& clock_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<std::uint64_t, Entry> entries_;
    std::uint64_t last_id_ = 0;
    std::uint64_t acting_ = 0;  // the id of the action that runs now, without the lock; 0: none
    NamedThread thread_;        // the last member: it ends before what it uses is gone
};

}  // namespace weir::service

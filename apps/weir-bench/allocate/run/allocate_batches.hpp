// SPDX-License-Identifier: Apache-2.0
// What one worker of `weir bench allocate` measures: rates of batches in which every thread really ran, and memory
// through time, watched by a thread that otherwise sleeps.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "allocate/run/time_windows.hpp"
#include "weir/base/bytes.hpp"

namespace weir::app {

struct AllocateWork {
    unsigned threads = 1;
    std::chrono::nanoseconds time{std::chrono::milliseconds(500)};
    Bytes memory_max = 2_GiB;  // a pool that leaks is stopped there
};

struct MemoryAt {
    double seconds = 0;
    double bytes = 0;  // more than at the start
};

struct AllocateFigures {
    std::vector<double> rates;  // operations/s of the batches that count
    std::uint64_t batches = 0;  // those that do not included; the warm-up is not
    std::vector<MemoryAt> memory;
    bool memory_max_reached = false;
    std::uint64_t corrections = 0;  // of MigratingPool
    double line_trip = 0;           // s; see CacheLineTrip; of two threads that hand over
};

/// Batches of equal work on every thread. They are short, less than a turn at the processor: threads that take turns at
/// one processor do not overlap then. Made before the threads; next() is called by one of them while the others wait,
/// window() by each for itself.
class Batches {
public:
    Batches(const AllocateWork& work, const std::atomic<bool>& stop);

    void next() noexcept;
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] std::uint64_t events_per_thread() const noexcept { return events_; }
    /// When all begin: a moment after they met, so that each has woken up.
    [[nodiscard]] SteadyTime begin() const noexcept { return begin_; }
    void window(unsigned thread, const TimeWindow& window) noexcept { windows_[thread] = window; }

    /// When all threads are gone.
    void give(AllocateFigures& figures) const;

private:
    void judge() noexcept;

    const std::atomic<bool>& stop_;  // relaxed: it only ends the work
    const SteadyTime warm_;
    std::uint64_t events_ = 0;
    bool ended_ = false;
    SteadyTime begin_;
    std::vector<TimeWindow> windows_;
    std::vector<double> rates_;
    std::uint64_t batches_ = 0;
};

/// A look at two threads of which neither gets on without the other.
struct Look {
    SteadyTime time;
    std::uint64_t events = 0;                                // so far
    std::array<std::chrono::nanoseconds, 2> no_processor{};  // so far; see ProcessorWait
};

/// What lies between two looks is a batch. It counts when no thread lacked a processor for more than a tenth of it.
/// Such a wait is known only when it has ended, so it may have begun as much earlier. The first look ends the warm-up.
void add_batches(AllocateFigures& figures, std::span<const Look> looks);

inline constexpr std::chrono::milliseconds look_interval{5};

/// Looks at the memory and calls `look` with the time; sets `stop` at the end of the work, or when there is too much
/// memory.
void watch(const AllocateWork& work, std::uint64_t start_bytes, std::atomic<bool>& stop, AllocateFigures& figures,
           const std::function<void(SteadyTime)>& look = {});

}  // namespace weir::app

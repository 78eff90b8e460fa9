// SPDX-License-Identifier: Apache-2.0
// Where callers meet the workers of a pool. Each worker has a slot, one cache line, that it watches. A caller
// writes a task there; the worker does it and leaves the result in the same place. A task that no worker has begun
// when the caller's own share is done is withdrawn, so a call is never much slower than alone.
//
// The cost of a hand-over is the number of times that the line travels between two cores. So no other line is fetched,
// and both sides request it for writing: it travels once to the worker with the task, and once back with the result.
//
// A worker without tasks for a while sleeps. Waking it costs the caller some microseconds and takes
// longer than most events, so a sleeping worker is passed over, unless the work is so long that waking
// pays at once, or it follows so closely on the one before that a worker, once awake, will stay so.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

#include "weir/checksum/workers.hpp"

namespace weir::checksum {

/// The state of a slot. The thread that changes it is the only one to write to the slot until the next change.
enum class SlotState : std::uint32_t {
    open,     // the next caller's, who moves it on to `taken`
    taken,    // by a caller who writes a task
    offered,  // partner: the worker, who moves it on to `begun`, or the caller, who withdraws the task: `open`
    begun,    // by the worker
    done,     // the result is there for the caller, who moves it on to `open`
};

struct alignas(64) TaskSlot {
    using Run = void(void* task) noexcept;

    std::atomic<SlotState> state{SlotState::open};
    std::atomic<bool> asleep{false};  // seq_cst with `offered`: one side always sees the other
    Run* run = nullptr;
    alignas(8) std::array<std::byte, 40> task;

    alignas(64) std::mutex mutex;
    std::condition_variable woken;
    int cpu = -1;  // where it fell asleep; guarded by the mutex
    std::thread worker;
};

/// The workers and their slots. Not for a child of fork().
class TaskSlots {
public:
    explicit TaskSlots(const WorkerOptions& options);
    ~TaskSlots();
    TaskSlots(const TaskSlots&) = delete;
    TaskSlots& operator=(const TaskSlots&) = delete;

    [[nodiscard]] unsigned workers() const noexcept { return static_cast<unsigned>(workers_); }
    [[nodiscard]] unsigned pins_refused() const noexcept { return pins_refused_; }

private:
    friend class Helpers;

    std::span<TaskSlot> with_worker() noexcept { return std::span(slots_).first(workers_); }
    void work(TaskSlot& slot) noexcept;
    void sleep(TaskSlot& slot) noexcept;
    static void wake(TaskSlot& slot) noexcept;

    const std::chrono::nanoseconds spin_;
    std::atomic<std::chrono::steady_clock::rep> last_end_{0};  // of a call that met a sleeper; only a hint
    std::atomic<bool> stopping_{false};
    unsigned pins_refused_ = 0;
    std::vector<TaskSlot> slots_;
    std::size_t workers_ = 0;  // slots with a worker, from the first; fewer than asked for when threads ran out
};

/// The workers that one call can ask, awake ones first. Lives as long as the call.
class Helpers {
public:
    /// At most `most`. `lasts`: the whole is worth waking for (Workers::worth_waking).
    Helpers(TaskSlots& slots, std::size_t most, bool lasts) noexcept;
    ~Helpers();
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// Writes a task to the slot of helper i, once, and wakes it if it sleeps and waking pays. The worker calls
    /// task.run() on a copy.
    template <class Task>
    void offer(std::size_t i, const Task& task) noexcept {
        static_assert(std::is_trivially_copyable_v<Task> && sizeof(Task) <= sizeof(TaskSlot::task) &&
                      alignof(Task) <= 8);
        if (!take(i)) return;
        TaskSlot& slot = *helpers_[i];
        slot.run = [](void* at) noexcept { static_cast<Task*>(at)->run(); };
        ::new (slot.task.data()) Task(task);
        publish(slot);
    }

    /// After offer(i), once. True: no worker has begun the task and none will, it is the caller's again. False:
    /// finished(i) has to follow.
    [[nodiscard]] bool withdraw(std::size_t i) noexcept;

    /// Waits for the worker, and returns the task as run() left it.
    template <class Task>
    [[nodiscard]] Task finished(std::size_t i) noexcept {
        TaskSlot& slot = *helpers_[i];
        wait(slot);
        const Task task = *std::launder(reinterpret_cast<const Task*>(slot.task.data()));
        slot.state.store(SlotState::open, std::memory_order_release);
        return task;
    }

private:
    [[nodiscard]] bool take(std::size_t i) noexcept;
    void publish(TaskSlot& slot) noexcept;
    static void wait(const TaskSlot& slot) noexcept;
    [[nodiscard]] bool follows_closely() const noexcept;

    TaskSlots& slots_;
    std::array<TaskSlot*, WorkerOptions::threads_max> helpers_;  // the first count_; null: another caller was first
    std::size_t count_ = 0;
    bool met_sleeper_ = false;
    bool waking_pays_;
};

}  // namespace weir::checksum

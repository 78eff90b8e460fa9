// SPDX-License-Identifier: Apache-2.0
#include "parallel/task_slots.hpp"

#include <sched.h>

#include <optional>

#include "parallel/spin.hpp"
#include "parallel/worker_threads.hpp"
#include "weir/base/assert.hpp"

namespace weir::checksum {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// From `offered`: exactly one of worker and caller gets the task.
bool move_on(TaskSlot& slot, SlotState from, SlotState to, std::memory_order order) noexcept {
    return slot.state.compare_exchange_strong(from, to, order, std::memory_order_relaxed);
}

/// Requests the line of a slot for writing, so that it is not requested a second time.
void fetch_to_write(const TaskSlot& slot) noexcept {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(slot.state));
#else
    __builtin_prefetch(&slot, 1);
#endif
}

SteadyClock::rep now() noexcept { return SteadyClock::now().time_since_epoch().count(); }

}  // namespace

TaskSlots::TaskSlots(const WorkerOptions& options) : spin_(options.spin), slots_(options.threads) {
    WEIR_ASSERT(options.threads <= WorkerOptions::threads_max);
    const auto cpus = options.pin ? worker_cpus(options.threads, options.cpus) : std::vector<int>();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        TaskSlot& slot = slots_[i];
        if (!start_thread(slot.worker, [this, &slot] { work(slot); })) break;
        ++workers_;
        if (!cpus.empty() && !pin_thread(slot.worker.native_handle(), cpus[i])) ++pins_refused_;
    }
}

TaskSlots::~TaskSlots() {
    stopping_.store(true, std::memory_order_seq_cst);
    for (auto& slot : with_worker()) wake(slot);
    for (auto& slot : with_worker()) slot.worker.join();
}

void TaskSlots::work(TaskSlot& slot) noexcept {
    auto last_seen = SteadyClock::now();
    while (true) {
        for (unsigned look = 0; look < 64 * looks_a_pause; ++look) {
            fetch_to_write(slot);
            if (slot.state.load(std::memory_order_relaxed) == SlotState::offered &&
                move_on(slot, SlotState::offered, SlotState::begun, std::memory_order_acquire)) {
                slot.run(slot.task.data());
                slot.state.store(SlotState::done, std::memory_order_release);
                last_seen = SteadyClock::now();
                look = 0;
            }
            if (look % looks_a_pause == 0) pause_processor();
        }
        if (stopping_.load(std::memory_order_relaxed)) return;
        if (SteadyClock::now() - last_seen < spin_) continue;
        sleep(slot);
        last_seen = SteadyClock::now();
    }
}

/// A worker that is woken stays awake for a while, also when its task was withdrawn by then: the next will follow soon.
void TaskSlots::sleep(TaskSlot& slot) noexcept {
    std::unique_lock lock(slot.mutex);
    slot.cpu = ::sched_getcpu();
    slot.asleep.store(true, std::memory_order_seq_cst);
    slot.woken.wait(lock, [&] {
        return !slot.asleep.load(std::memory_order_relaxed) ||
               slot.state.load(std::memory_order_seq_cst) == SlotState::offered ||
               stopping_.load(std::memory_order_seq_cst);
    });
    slot.asleep.store(false, std::memory_order_relaxed);
}

void TaskSlots::wake(TaskSlot& slot) noexcept {
    std::optional<KeptAway> kept_away;
    {
        const std::lock_guard lock(slot.mutex);  // a worker between its last look and its sleep is asleep now
        if (slot.cpu == ::sched_getcpu()) kept_away.emplace(slot.worker.native_handle(), slot.cpu);
        slot.asleep.store(false, std::memory_order_relaxed);
    }
    slot.woken.notify_one();
}

Helpers::Helpers(TaskSlots& slots, std::size_t most, bool lasts) noexcept : slots_(slots), waking_pays_(lasts) {
    std::array<TaskSlot*, WorkerOptions::threads_max> sleepers;
    std::size_t sleeping = 0;
    for (auto& slot : slots.with_worker()) {
        if (count_ == most) return;
        fetch_to_write(slot);
        if (slot.state.load(std::memory_order_relaxed) != SlotState::open) continue;  // another caller's
        (slot.asleep.load(std::memory_order_relaxed) ? sleepers[sleeping++] : helpers_[count_++]) = &slot;
    }
    met_sleeper_ = sleeping != 0;
    if (!met_sleeper_) return;
    waking_pays_ = lasts || follows_closely();
    if (!waking_pays_) return;
    for (std::size_t i = 0; i < sleeping && count_ < most; ++i) helpers_[count_++] = sleepers[i];
}

Helpers::~Helpers() {
    if (met_sleeper_) slots_.last_end_.store(now(), std::memory_order_relaxed);
}

bool Helpers::take(std::size_t i) noexcept {
    if (move_on(*helpers_[i], SlotState::open, SlotState::taken, std::memory_order_acquire)) return true;
    helpers_[i] = nullptr;
    return false;
}

void Helpers::publish(TaskSlot& slot) noexcept {
    slot.state.store(SlotState::offered, std::memory_order_seq_cst);
    if (slot.asleep.load(std::memory_order_seq_cst) && waking_pays_) TaskSlots::wake(slot);
}

bool Helpers::withdraw(std::size_t i) noexcept {
    return helpers_[i] == nullptr ||
           move_on(*helpers_[i], SlotState::offered, SlotState::open, std::memory_order_relaxed);
}

void Helpers::wait(const TaskSlot& slot) noexcept {
    spin_until([&] { return slot.state.load(std::memory_order_acquire) == SlotState::done; });
}

/// On another call that met a sleeper: then a worker, once awake, will have something to do.
bool Helpers::follows_closely() const noexcept {
    return SteadyClock::duration(now() - slots_.last_end_.load(std::memory_order_relaxed)) < slots_.spin_ / 2;
}

}  // namespace weir::checksum

// SPDX-License-Identifier: Apache-2.0
#include "allocate/run/allocate_batches.hpp"

#include <algorithm>
#include <thread>

#include "allocate/run/allocate_objects.hpp"
#include "allocate/run/resident_memory.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds batch_time = 1ms;
constexpr std::chrono::nanoseconds wake_time = 50us;

}  // namespace

Batches::Batches(const AllocateWork& work, const std::atomic<bool>& stop)
    : stop_(stop), warm_(std::chrono::steady_clock::now() + work.time / 10), windows_(work.threads) {
    // As many as there may be: no batch allocates anything but events, nor does what is done between two of them.
    rates_.reserve(static_cast<std::size_t>(work.time / batch_time) * 4 + 64);
}

void Batches::next() noexcept {
    if (events_ == 0) {
        events_ = 64;
    } else {
        judge();
    }
    begin_ = std::chrono::steady_clock::now() + wake_time;
    ended_ = stop_.load(std::memory_order_relaxed);
}

void Batches::judge() noexcept {
    const auto whole = whole_of(windows_);
    const std::chrono::duration<double> seconds = whole.end - whole.begin;
    if (whole.begin >= warm_ && rates_.size() < rates_.capacity()) {
        ++batches_;
        if (overlap_of(windows_) >= overlap_that_counts)
            rates_.push_back(static_cast<double>(events_ * windows_.size() * operations_per_event) / seconds.count());
    }
    const double longer = std::clamp(std::chrono::duration<double>(batch_time) / seconds, 0.5, 2.0);
    events_ = std::max<std::uint64_t>(static_cast<std::uint64_t>(static_cast<double>(events_) * longer), 64);
}

void Batches::give(AllocateFigures& figures) const {
    figures.rates = rates_;
    figures.batches = batches_;
}

void add_batches(AllocateFigures& figures, std::span<const Look> looks) {
    if (looks.size() < 2) return;
    std::vector<bool> disturbed(looks.size() - 1);
    for (std::size_t batch = 0; batch < disturbed.size(); ++batch) {
        const auto length = looks[batch + 1].time - looks[batch].time;
        for (std::size_t thread = 0; thread < 2; ++thread) {
            const auto waited = looks[batch + 1].no_processor[thread] - looks[batch].no_processor[thread];
            if (waited <= length / 10) continue;
            for (std::size_t i = batch + 1; i-- > 0 && looks[i + 1].time > looks[batch].time - waited;)
                disturbed[i] = true;
        }
    }
    for (std::size_t batch = 0; batch < disturbed.size(); ++batch) {
        ++figures.batches;
        if (disturbed[batch]) continue;
        const std::chrono::duration<double> seconds = looks[batch + 1].time - looks[batch].time;
        const auto events = looks[batch + 1].events - looks[batch].events;
        figures.rates.push_back(static_cast<double>(events * operations_per_event) / seconds.count());
    }
}

void watch(const AllocateWork& work, std::uint64_t start_bytes, std::atomic<bool>& stop, AllocateFigures& figures,
           const std::function<void(SteadyTime)>& look) {
    const auto interval = std::clamp<std::chrono::nanoseconds>(work.time / 50, look_interval, 250ms);
    figures.memory.reserve(static_cast<std::size_t>(work.time / interval) + 2);
    const ResidentMemory memory;
    const auto begin = std::chrono::steady_clock::now();
    for (auto due = begin, memory_due = begin; !stop.load(std::memory_order_relaxed);) {
        due = std::max(due + look_interval, std::chrono::steady_clock::now());
        std::this_thread::sleep_until(due);
        const auto now = std::chrono::steady_clock::now();
        if (look) look(now);
        const auto bytes = static_cast<double>(memory.now()) - static_cast<double>(start_bytes);
        figures.memory_max_reached = bytes > static_cast<double>(work.memory_max.count());
        if (figures.memory_max_reached || now >= begin + work.time) stop.store(true, std::memory_order_relaxed);
        if (now < memory_due && !figures.memory_max_reached) continue;
        memory_due += interval;
        figures.memory.push_back({std::chrono::duration<double>(now - begin).count(), bytes});
    }
}

}  // namespace weir::app

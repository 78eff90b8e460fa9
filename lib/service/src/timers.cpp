// SPDX-License-Identifier: Apache-2.0
#include "weir/service/timers.hpp"

#include <algorithm>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::service {

Timers::Periodic::Periodic(Periodic&& other) noexcept
    : timers_(std::exchange(other.timers_, nullptr)), id_(other.id_) {}

Timers::Periodic& Timers::Periodic::operator=(Periodic&& other) noexcept {
    if (this == &other) return *this;
    cancel();
    timers_ = std::exchange(other.timers_, nullptr);
    id_ = other.id_;
    return *this;
}

void Timers::Periodic::cancel() {
    if (timers_ == nullptr) return;
    auto& timers = *std::exchange(timers_, nullptr);
    std::unique_lock lock(timers.mutex_);
    timers.entries_.erase(id_);
    timers.changed_.wait(lock, [&] { return timers.acting_ != id_; });
}

Timers::~Timers() {
    thread_ = {};
    WEIR_ASSERT(entries_.empty());
}

Timers::Periodic Timers::every(std::chrono::nanoseconds interval, std::function<void()> action) {
    const std::scoped_lock lock(mutex_);
    entries_.emplace(++last_id_, Entry{interval, clock_.now() + interval, std::move(action)});
    changed_.notify_all();
    return Periodic(*this, last_id_);
}

std::optional<SteadyTime> Timers::step(SteadyTime now) {
    std::unique_lock lock(mutex_);
    for (std::uint64_t id = 1; id <= last_id_;) {
        const auto entry = entries_.lower_bound(id);
        if (entry == entries_.end()) break;
        id = entry->first + 1;
        if (entry->second.due > now) continue;
        entry->second.due = now + entry->second.interval;
        acting_ = entry->first;
        const auto action = entry->second.action;  // the entry may be cancelled meanwhile
        lock.unlock();
        action();
        lock.lock();
        acting_ = 0;
        changed_.notify_all();
    }
    std::optional<SteadyTime> next;
    for (const auto& [id, entry] : entries_) next = next ? std::min(*next, entry.due) : entry.due;
    return next;
}

void Timers::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        step(clock_.now());
        std::unique_lock lock(mutex_);
        std::optional<SteadyTime> next;
        for (const auto& [id, entry] : entries_) next = next ? std::min(*next, entry.due) : entry.due;
        const auto last = last_id_;
        const ScopedWait wait(WaitCause::timer);
        const auto woken = [&] { return last_id_ != last; };  // a new one may be due sooner
        if (next) {
            changed_.wait_for(lock, stop, std::max(*next - clock_.now(), std::chrono::nanoseconds{0}), woken);
        } else {
            changed_.wait(lock, stop, woken);
        }
    }
}

void Timers::start() {
    if (!thread_.joinable()) thread_ = NamedThread("timers", [this](const std::stop_token& stop) { run(stop); });
}

}  // namespace weir::service

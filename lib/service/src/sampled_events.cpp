// SPDX-License-Identifier: Apache-2.0
#include "weir/service/sampled_events.hpp"

namespace weir::service {

bool SampledEvents::offer(std::span<const ConstData> pieces, SteadyTime now) {
    if (!due(now)) return false;
    if (copying_.exchange(true, std::memory_order_acquire)) return false;
    std::size_t size = 0;
    for (const auto& piece : pieces) size += piece.size();
    bool kept = false;
    if (size <= event_max_.count()) {
        auto copy = std::make_shared<std::vector<std::byte>>();
        copy->reserve(size);
        for (const auto& piece : pieces) copy->insert(copy->end(), piece.begin(), piece.end());
        std::shared_ptr<const std::vector<std::byte>> old = std::move(copy);
        if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock()) {
            latest_.swap(old);  // the old one is freed after the lock
            kept = true;
        }
    }
    if (kept) {
        next_.store((now + interval_).time_since_epoch().count(), std::memory_order_relaxed);
        taken_.fetch_add(1, std::memory_order_relaxed);
    }
    copying_.store(false, std::memory_order_release);
    return kept;
}

std::shared_ptr<const std::vector<std::byte>> SampledEvents::latest() const {
    const std::scoped_lock lock(mutex_);
    return latest_;
}

void SampledEvents::clear() {
    std::shared_ptr<const std::vector<std::byte>> old;
    const std::scoped_lock lock(mutex_);
    latest_.swap(old);
    next_.store(0, std::memory_order_relaxed);
}

}  // namespace weir::service

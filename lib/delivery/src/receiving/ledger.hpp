// SPDX-License-Identifier: Apache-2.0
// The counts of a receiver. Every change of an event's state is one update under one lock, so that the
// sums of ReceiverStats hold in every snapshot, not only when nothing moves. One uncontended lock per
// event is about 20 ns.
#pragma once

#include <mutex>

#include "weir/delivery/receiver.hpp"

namespace weir::delivery {

class Ledger {
public:
    template <class Change>
    void update(Change&& change) {
        const std::scoped_lock lock(mutex_);
        change(stats_);
    }

    [[nodiscard]] ReceiverStats snapshot() const {
        const std::scoped_lock lock(mutex_);
        return stats_;
    }
    /// Events that a stop waits for.
    [[nodiscard]] std::uint64_t unanswered() const {
        const std::scoped_lock lock(mutex_);
        return stats_.in_hand + stats_.held;
    }

private:
    mutable std::mutex mutex_;
    ReceiverStats stats_;
};

}  // namespace weir::delivery

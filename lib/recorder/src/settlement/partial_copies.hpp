// SPDX-License-Identifier: Apache-2.0
// Events of several copies of which some, not all, are taken: because memory ran out in between, or
// because the recorder died in between, or a file of one copy failed. When such an event comes again, only what is
// missing is stored: so every copy exists exactly once. Nearly always empty, and then it costs one load.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "settlement/ticket.hpp"

namespace weir::recorder {

class PartialCopies {
public:
    struct State {
        std::uint64_t taken = 0;         // bit n: copy n (events have at most 64 tags)
        std::shared_ptr<Ticket> ticket;  // of the copies in hand; none after a crash, or when one was lost
        bool any_stored = true;          // of those taken
        std::uint64_t late = 0;          // of those taken, when there is no ticket: no file has them
    };

    [[nodiscard]] std::optional<State> find(std::uint32_t session, Sequence sequence) const {
        if (count_.load(std::memory_order_acquire) == 0) return std::nullopt;
        const std::scoped_lock lock(mutex_);
        const auto found = states_.find({session, sequence});
        return found == states_.end() ? std::nullopt : std::optional(found->second);
    }

    void keep(std::uint32_t session, Sequence sequence, State state) {
        const std::scoped_lock lock(mutex_);
        states_.insert_or_assign({session, sequence}, std::move(state));
        count_.store(states_.size(), std::memory_order_release);
    }

    void drop(std::uint32_t session, Sequence sequence) {
        if (count_.load(std::memory_order_acquire) == 0) return;
        const std::scoped_lock lock(mutex_);
        states_.erase({session, sequence});
        count_.store(states_.size(), std::memory_order_release);
    }

private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::uint32_t, Sequence>, State> states_;
    std::atomic<std::size_t> count_{0};
};

}  // namespace weir::recorder

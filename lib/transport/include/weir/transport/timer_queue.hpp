// SPDX-License-Identifier: Apache-2.0
// Deadlines of many things, earliest first. A deadline that moves later is not moved here: the owner
// keeps one entry per thing and, when it is due, sees that there is time left and sets it again. So a
// connection that receives a million messages a second costs nothing here.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "weir/base/clock.hpp"

namespace weir::transport {

class TimerQueue {
public:
    void set(SteadyTime when, std::uint64_t token) { heap_.push({when, token}); }

    [[nodiscard]] std::optional<SteadyTime> next() const {
        return heap_.empty() ? std::nullopt : std::optional(heap_.top().when);
    }

    /// The token of one entry that is due, which leaves the queue.
    [[nodiscard]] std::optional<std::uint64_t> take_due(SteadyTime now) {
        if (heap_.empty() || heap_.top().when > now) return std::nullopt;
        const auto token = heap_.top().token;
        heap_.pop();
        return token;
    }

    [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

private:
    struct Entry {
        SteadyTime when;
        std::uint64_t token;
        bool operator>(const Entry& other) const noexcept { return when > other.when; }
    };
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace weir::transport

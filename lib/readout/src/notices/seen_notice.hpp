// SPDX-License-Identifier: Apache-2.0
// Reports to the supervisor the fragments with which its events begin. They are at most as many as the buffers hold,
// because nothing is cleared before its event was made.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/messaging/messages.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::readout {

class SeenNotice {
public:
    static constexpr std::chrono::milliseconds look_interval{2};

    /// Of a run. The messages outlive this.
    SeenNotice(messaging::MessageSender& messages, wire::StationId supervisor, SourceId source)
        : messages_(messages), supervisor_(supervisor) {
        message_.source = source;
    }

    /// Any thread.
    void seen(Level1Id event, std::optional<std::int64_t> time_ns) {
        const std::scoped_lock lock(mutex_);
        seen_.push_back({event, time_ns});
    }
    /// By the loop's thread. When to call it again at the latest.
    [[nodiscard]] SteadyTime step(SteadyTime now) {
        while (true) {
            if (message_.fragments.empty() && !take()) break;
            buffer_.clear();
            wire::encode(message_, buffer_);
            const ConstData piece(buffer_);
            if (!messages_.send_reliably(supervisor_, wire::DataflowType::fragment_seen, std::span(&piece, 1))) break;
            message_.first += message_.fragments.size();
            message_.fragments.clear();
        }
        return now + look_interval;
    }

private:
    bool take() {
        const std::scoped_lock lock(mutex_);
        const auto count = static_cast<std::ptrdiff_t>(std::min(seen_.size(), wire::fragments_seen_max));
        message_.fragments.assign(seen_.begin(), seen_.begin() + count);
        seen_.erase(seen_.begin(), seen_.begin() + count);
        return count > 0;
    }

    messaging::MessageSender& messages_;
    const wire::StationId supervisor_;
    wire::FragmentSeen message_;  // that is sent next, or was not taken
    std::vector<std::byte> buffer_;
    std::mutex mutex_;
    std::deque<wire::SeenFragment> seen_;
};

}  // namespace weir::readout

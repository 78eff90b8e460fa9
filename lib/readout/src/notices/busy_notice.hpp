// SPDX-License-Identifier: Apache-2.0
// Sends the supervisor when the buffers of a readout that is filled from outside are above a mark, and when they are
// below another again. The loop's thread makes all calls but busy().
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/messaging/messages.hpp"
#include "weir/readout/rob_store.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::readout {

struct BusyMarks {
    double high = 0.5;  // shares of the events and of the memory that may be held
    double low = 0.25;
};

class BusyNotice {
public:
    static constexpr std::chrono::milliseconds look_interval{5};

    /// `supervisor`: nothing: there is none. Store and messages outlive this.
    BusyNotice(const RobStore& store, messaging::MessageSender& messages, const BusyMarks& marks,
               std::optional<wire::StationId> supervisor)
        : store_(store), messages_(messages), marks_(marks), supervisor_(supervisor) {}

    /// When to call it again at the latest.
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime now) {
        if (!supervisor_) return std::nullopt;
        const auto held = store_.held();
        auto cause = wire::BusyCause::none;
        const auto mark = state_.busy ? marks_.low : marks_.high;
        if (held.events >= mark) cause = wire::BusyCause::events;
        else if (held.bytes >= mark) cause = wire::BusyCause::memory;
        if (const bool busy = cause != wire::BusyCause::none; busy != state_.busy) {
            state_ = {
                .change = state_.change + 1, .busy = busy, .cause = cause, .hold_above = busy ? half_of_low_mark() : 0};
            busy_.store(busy, std::memory_order_relaxed);
            sent_ = false;
        }
        if (!sent_) send();
        return now + look_interval;
    }
    /// A supervisor that was started again knows of nothing.
    void on_peer(wire::StationId peer, messaging::PeerChange change) {
        if (peer != supervisor_ || change == messaging::PeerChange::silent || state_.change == 0) return;
        ++state_.change;
        sent_ = false;
    }

    /// Any thread.
    [[nodiscard]] bool busy() const noexcept { return busy_.load(std::memory_order_relaxed); }

private:
    /// If so few of the events that it holds are in the supervisor's hand, it will not fall below the low mark by them.
    [[nodiscard]] std::uint32_t half_of_low_mark() const noexcept {
        if (marks_.high <= 0) return 0;
        return static_cast<std::uint32_t>(store_.events_held() * marks_.low / marks_.high / 2);
    }
    void send() {
        buffer_.clear();
        wire::encode(state_, buffer_);
        const ConstData piece(buffer_);
        sent_ = messages_.send_reliably(*supervisor_, wire::DataflowType::readout_busy, std::span(&piece, 1));
    }

    const RobStore& store_;
    messaging::MessageSender& messages_;
    const BusyMarks marks_;
    const std::optional<wire::StationId> supervisor_;
    wire::ReadoutBusy state_;
    std::atomic<bool> busy_{false};  // a copy for the status
    bool sent_ = true;
    std::vector<std::byte> buffer_;
};

}  // namespace weir::readout

// SPDX-License-Identifier: Apache-2.0
// The events that a sender has in flight, by sequence. An answer may come before the thread that sent the
// event knows its sequence: the second of both calls ends the event. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "weir/base/ids.hpp"
#include "weir/wire/reject_reason.hpp"

namespace weir::delivery {

struct InFlightEvent {
    std::shared_ptr<const void> owner{};
    std::uint64_t size = 0;  // of the payload
};

class InFlightEvents {
public:
    struct Ended {
        InFlightEvent event{};
        std::optional<wire::RejectReason> rejected{};  // nothing: acknowledged
    };
    /// Nothing: its answer has not come.
    [[nodiscard]] std::optional<Ended> sent(Sequence sequence, InFlightEvent event) {
        return fill(sequence, [&](Slot& slot) {
            slot.event = std::move(event);
            slot.is_sent = true;
        });
    }
    /// Nothing: sent() has not been called for it.
    [[nodiscard]] std::optional<Ended> answered(Sequence sequence, std::optional<wire::RejectReason> rejected) {
        return fill(sequence, [&](Slot& slot) {
            slot.rejected = rejected;
            slot.is_answered = true;
        });
    }
    /// The last ones were withdrawn: later events get their sequences. sent() was called for each.
    void withdrawn(std::size_t events) {
        const std::scoped_lock lock(mutex_);
        slots_.resize(slots_.size() - events);
    }

private:
    struct Slot : Ended {
        bool is_sent = false, is_answered = false;
    };
    std::optional<Ended> fill(Sequence sequence, const auto& with) {
        const std::scoped_lock lock(mutex_);
        const auto place = number(sequence) - first_;
        if (slots_.size() <= place) slots_.resize(place + 1);
        auto& slot = slots_[place];
        with(slot);
        if (!slot.is_sent || !slot.is_answered) return std::nullopt;
        std::optional<Ended> ended(std::move(slot));
        for (; !slots_.empty() && slots_.front().is_sent && slots_.front().is_answered; ++first_) slots_.pop_front();
        return ended;
    }

    std::mutex mutex_;
    std::deque<Slot> slots_;
    std::uint64_t first_ = 1;  // sequence of the first slot
};

}  // namespace weir::delivery

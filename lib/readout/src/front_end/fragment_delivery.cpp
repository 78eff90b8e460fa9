// SPDX-License-Identifier: Apache-2.0
#include "front_end/fragment_delivery.hpp"

#include <fmt/format.h>

#include "weir/base/system_clock.hpp"
#include "weir/base/thread_account.hpp"

namespace weir::readout {
namespace {

/// How late a wait for room notices that it shall stop.
constexpr std::chrono::milliseconds stop_check{20};

/// Refused because of how the run goes, not because of a mistake of the front-end.
bool is_ordinary(RobReject reason) noexcept {
    return reason == RobReject::late || reason == RobReject::cleared ||
           reason == RobReject::level1_mismatch;  // has its own
}

}  // namespace

bool FragmentDelivery::deliver(const wire::InputFragment& fragment, const std::stop_token& stop) {
    fragments_.store(fragments_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    while (true) {
        const auto seen = store_.room_changes();
        const auto now = clock_.now();
        const auto answer = intake_.take(fragment, now);
        if (answer.result == IntakeResult::stored) return true;
        if (answer.result == IntakeResult::refused) {
            // Once the run stops, those behind one without room are far ahead of what is here.
            refused(fragment, answer.reason, answer.reason == RobReject::too_far_ahead && stop.stop_requested());
            return true;
        }
        if (stop.stop_requested()) {
            intake_.refuse(fragment.source, RobReject::stopping, now);
            refused_.fetch_add(1, std::memory_order_relaxed);
            return false;
        }
        const ScopedWait wait(WaitCause::pool);
        store_.wait_for_room(seen, system_clock().now() + stop_check);  // in real time
        busy_ns_.fetch_add((clock_.now() - now).count(), std::memory_order_relaxed);
    }
}

void FragmentDelivery::lose(Level1Id event) {
    triggers_lost_.fetch_add(1, std::memory_order_relaxed);
    for (const auto source : store_.sources()) store_.mark_lost(event, source);
}

void FragmentDelivery::refused(const wire::InputFragment& fragment, RobReject reason, bool ordinary) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    if (ordinary || is_ordinary(reason)) return;
    report_({.severity = Severity::error,
             .what = "a fragment of a front-end was refused",
             .where = front_end_,
             .why = fmt::format("{}: source 0x{:06x}, level-1 id {}, {} bytes", name(reason), number(fragment.source),
                                fragment.level1_id ? fmt::to_string(number(*fragment.level1_id)) : "none",
                                fragment.payload.size()),
             .advice = "compare what the front-end sends with sources = [...] of its readout and with the triggers",
             .key = fmt::format("front_end_refused {}", name(reason)),
             .alarm = "front_end_refused"});
}

FragmentDelivery::Stats FragmentDelivery::stats() const noexcept {
    return {.fragments = fragments_.load(std::memory_order_relaxed),
            .refused = refused_.load(std::memory_order_relaxed),
            .triggers_lost = triggers_lost_.load(std::memory_order_relaxed),
            .busy = std::chrono::nanoseconds(busy_ns_.load(std::memory_order_relaxed))};
}

}  // namespace weir::readout

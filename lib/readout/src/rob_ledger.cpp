// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/rob_ledger.hpp"

#include <numeric>

namespace weir::readout {

const char* name(RobReject reason) noexcept {
    switch (reason) {
        case RobReject::late: return "late";
        case RobReject::cleared: return "cleared";
        case RobReject::duplicate: return "duplicate";
        case RobReject::unknown_source: return "unknown_source";
        case RobReject::malformed: return "malformed";
        case RobReject::level1_mismatch: return "level1_mismatch";
        case RobReject::too_large: return "too_large";
        case RobReject::full: return "full";
        case RobReject::not_cleared: return "not_cleared";
        case RobReject::no_level1_id: return "no_level1_id";
        case RobReject::too_far_ahead: return "too_far_ahead";
        case RobReject::stopping: return "stopping";
        case RobReject::made_ahead: return "made_ahead";
        case RobReject::no_trigger: return "no_trigger";
        case RobReject::ambiguous: return "ambiguous";
        case RobReject::clock_unknown: return "clock_unknown";
    }
    return "?";
}

std::uint64_t RobCounts::rejected_in_all() const noexcept {
    return std::accumulate(rejected.begin(), rejected.end(), std::uint64_t{0});
}

void RobLedger::arrive(std::uint64_t robs) noexcept { received_.fetch_add(robs, std::memory_order_relaxed); }

void RobLedger::refuse(RobReject reason, std::uint64_t robs) noexcept {
    arrive(robs);
    reject(reason, robs);
}

void RobLedger::clear(std::uint64_t robs) noexcept { stored_.fetch_add(robs, std::memory_order_release); }

void RobLedger::reject(RobReject reason, std::uint64_t robs) noexcept {
    rejected_[static_cast<std::size_t>(reason)].fetch_add(robs, std::memory_order_release);
}

RobCounts RobLedger::counts() const noexcept {
    RobCounts counts;
    for (std::size_t i = 0; i < rob_reject_count; ++i)
        counts.rejected[i] = rejected_[i].load(std::memory_order_acquire);
    counts.stored = stored_.load(std::memory_order_acquire);
    counts.received = received_.load(std::memory_order_relaxed);
    counts.in_hand = counts.received - counts.stored - counts.rejected_in_all();
    return counts;
}

}  // namespace weir::readout

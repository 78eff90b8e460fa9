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

void RobLedger::arrive(std::uint64_t robs) noexcept {
    const std::scoped_lock lock(mutex_);
    counts_.received += robs;
    counts_.in_hand += robs;
}

void RobLedger::refuse(RobReject reason, std::uint64_t robs) noexcept {
    const std::scoped_lock lock(mutex_);
    counts_.received += robs;
    counts_.rejected[static_cast<std::size_t>(reason)] += robs;
}

void RobLedger::clear(std::uint64_t robs) noexcept {
    const std::scoped_lock lock(mutex_);
    counts_.in_hand -= robs;
    counts_.stored += robs;
}

void RobLedger::reject(RobReject reason, std::uint64_t robs) noexcept {
    const std::scoped_lock lock(mutex_);
    counts_.in_hand -= robs;
    counts_.rejected[static_cast<std::size_t>(reason)] += robs;
}

RobCounts RobLedger::counts() const noexcept {
    const std::scoped_lock lock(mutex_);
    return counts_;
}

}  // namespace weir::readout

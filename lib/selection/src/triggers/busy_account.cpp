// SPDX-License-Identifier: Apache-2.0
#include "triggers/busy_account.hpp"

namespace weir::selection {

void BusyAccount::start_run(SteadyTime now) {
    *this = {};
    since_ = now;
}

void BusyAccount::count(SteadyTime now) {
    const auto passed = now - since_;
    since_ = now;
    if (!runs_) return;
    running_ += passed;
    if (!causes_.empty()) dead_ += passed;
    for (const auto cause : causes_) busy_[cause] += passed;
}

void BusyAccount::set(SteadyTime now, bool runs, const std::vector<Cause>& causes) {
    count(now);
    runs_ = runs;
    causes_ = causes;
}

}  // namespace weir::selection

// SPDX-License-Identifier: Apache-2.0
#include "weir/service/source_masks.hpp"

#include "weir/wire/dataflow.hpp"

namespace weir::service {

void SourceMasks::set(const std::vector<SourceMask>& changes) {
    by_source_.clear();
    for (const auto& change : changes) by_source_[change.source].push_back({change.masked, change.from});
}

bool SourceMasks::masked(SourceId source, Level1Id event) const noexcept {
    const auto found = by_source_.find(source);
    if (found == by_source_.end()) return false;
    bool masked = false;
    for (const auto& change : found->second) {
        if (!change.from || wire::level1_distance(event, *change.from) >= 0) masked = change.masked;
    }
    return masked;
}

void SourceMasks::settle(Level1Id event) noexcept {
    constexpr std::int32_t long_before = 1 << 30;
    for (auto& [source, changes] : by_source_) {
        for (auto& change : changes) {
            if (change.from && wire::level1_distance(event, *change.from) >= long_before) change.from.reset();
        }
    }
}

}  // namespace weir::service

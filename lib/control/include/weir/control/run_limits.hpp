// SPDX-License-Identifier: Apache-2.0
// How much may be missing in a run before it is a bad one, and before a source is masked; as texts of the partition
// file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/result.hpp"

namespace weir::control {

/// A share of the events, or so many of them, whichever is larger: "0.1% or 10", "1%", "100".
struct IncompleteLimit {
    double share = 0.001;
    std::uint64_t events = 10;

    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool passed(std::uint64_t incomplete, std::uint64_t of) const noexcept {
        return incomplete > events && static_cast<double>(incomplete) > share * static_cast<double>(of);
    }
};
[[nodiscard]] Result<IncompleteLimit> parse_incomplete_limit(std::string_view text);

/// When run control masks a source by itself: "100 events", built one after the other without it; "30s", in which it
/// was silent; "" for never.
struct MaskRule {
    std::uint64_t events = 0;           // 0: not by events
    std::chrono::milliseconds time{0};  // 0: not by time

    bool operator==(const MaskRule&) const = default;
};
[[nodiscard]] Result<MaskRule> parse_mask_rule(std::string_view text);

}  // namespace weir::control

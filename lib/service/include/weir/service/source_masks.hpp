// SPDX-License-Identifier: Apache-2.0
// Sources that are masked: nothing waits for their fragments, and none of them is counted as missing. A mask begins and
// ends at an event, so that every builder masks the same events, whenever it is informed.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "weir/base/ids.hpp"

namespace weir::service {

/// One change, in the order in which they were made.
struct SourceMask {
    SourceId source{};
    bool masked = true;
    std::optional<Level1Id> from{};  // the first event of the change; nothing: all

    bool operator==(const SourceMask&) const = default;
};

class SourceMasks {
public:
    void set(const std::vector<SourceMask>& changes);

    [[nodiscard]] bool empty() const noexcept { return by_source_.empty(); }
    [[nodiscard]] bool masked(SourceId source, Level1Id event) const noexcept;
    /// Changes of long before this event count for all events: level-1 ids wrap.
    void settle(Level1Id event) noexcept;

private:
    struct Change {
        bool masked = true;
        std::optional<Level1Id> from{};
    };
    std::map<SourceId, std::vector<Change>> by_source_;
};

}  // namespace weir::service

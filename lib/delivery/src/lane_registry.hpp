// SPDX-License-Identifier: Apache-2.0
// All lanes of a receiver, by key and by id. A lane is pinned while a connection uses it and is never
// forgotten before. Ids are not used again.
#pragma once

#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "lane.hpp"

namespace weir::delivery {

class LaneRegistry {
public:
    LaneRegistry(std::size_t lanes_max, std::size_t intervals_max)
        : lanes_max_(lanes_max), intervals_max_(intervals_max) {}

    /// The lane, pinned; made when it is new. Nothing when there are too many.
    [[nodiscard]] std::shared_ptr<Lane> enter(const wire::LaneKey& key) { return find_or_make(key, true); }
    /// The same, without a pin and without a limit: from the recorder's own journal.
    [[nodiscard]] std::shared_ptr<Lane> restore(const wire::LaneKey& key) { return find_or_make(key, false); }
    /// Takes one pin away. `forget`: and the lane, if nothing was ever received on it.
    void leave(const Lane& lane, bool forget);

    [[nodiscard]] std::shared_ptr<Lane> find(LaneId id) const;
    std::size_t forget(RunNumber run);
    [[nodiscard]] std::size_t size() const;

private:
    struct Entry {
        std::shared_ptr<Lane> lane;  // shared with its connections
        unsigned pins = 0;
    };
    std::shared_ptr<Lane> find_or_make(const wire::LaneKey& key, bool pin);

    mutable std::shared_mutex mutex_;
    const std::size_t lanes_max_;
    const std::size_t intervals_max_;
    std::uint32_t next_id_ = 1;
    std::unordered_map<wire::LaneKey, LaneId, wire::LaneKeyHash> ids_;
    std::unordered_map<LaneId, Entry> lanes_;
};

}  // namespace weir::delivery

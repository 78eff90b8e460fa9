// SPDX-License-Identifier: Apache-2.0
#include "lane_registry.hpp"

#include <mutex>

#include "weir/base/assert.hpp"

namespace weir::delivery {

std::shared_ptr<Lane> LaneRegistry::find_or_make(const wire::LaneKey& key, bool pin) {
    const std::scoped_lock lock(mutex_);
    auto known = ids_.find(key);
    if (known == ids_.end()) {
        if (pin && lanes_.size() >= lanes_max_) return nullptr;
        const LaneId id{next_id_++};
        known = ids_.emplace(key, id).first;
        lanes_.emplace(id, Entry{std::make_shared<Lane>(id, key, intervals_max_)});
    }
    auto& entry = lanes_.at(known->second);
    if (pin) ++entry.pins;
    return entry.lane;
}

void LaneRegistry::leave(const Lane& lane, bool forget) {
    const std::scoped_lock lock(mutex_);
    const auto at = lanes_.find(lane.id);
    WEIR_ASSERT(at != lanes_.end() && at->second.pins > 0);
    if (--at->second.pins > 0 || !forget || lane.anything_in_hand() || !lane.final_sequences().empty()) return;
    ids_.erase(lane.key);
    lanes_.erase(at);
}

std::shared_ptr<Lane> LaneRegistry::find(LaneId id) const {
    const std::shared_lock lock(mutex_);
    const auto at = lanes_.find(id);
    return at == lanes_.end() ? nullptr : at->second.lane;
}

std::size_t LaneRegistry::forget(RunNumber run) {
    const std::scoped_lock lock(mutex_);
    const auto forget_key = [this](const wire::LaneKey& key) { ids_.erase(key); };
    return std::erase_if(lanes_, [&](const auto& item) {
        const auto& [id, entry] = item;
        if (entry.lane->key.run != run || entry.pins > 0 || entry.lane->anything_in_hand()) return false;
        forget_key(entry.lane->key);
        return true;
    });
}

std::size_t LaneRegistry::size() const {
    const std::shared_lock lock(mutex_);
    return lanes_.size();
}

}  // namespace weir::delivery

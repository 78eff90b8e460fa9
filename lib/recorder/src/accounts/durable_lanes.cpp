// SPDX-License-Identifier: Apache-2.0
#include "accounts/durable_lanes.hpp"

#include <utility>

#include "weir/recovery/marks.hpp"

namespace weir::recorder {

void DurableLanes::declare(std::uint32_t lane, const wire::LaneKey& key) {
    const std::scoped_lock lock(mutex_);
    lanes_.try_emplace(lane, Lane{key, {}, false});
}

void DurableLanes::restore(std::uint32_t lane, const wire::LaneKey& key, const wire::SequenceSet& durable) {
    const std::scoped_lock lock(mutex_);
    lanes_.insert_or_assign(lane, Lane{key, durable, true});  // written again: files may be deleted before the next change
}

void DurableLanes::add(std::uint32_t lane, Sequence sequence) {
    const std::scoped_lock lock(mutex_);
    auto& known = lanes_.at(lane);
    known.durable.insert(sequence);
    known.changed = true;
}

datafile::LaneDeclared DurableLanes::declaration(std::uint32_t lane) const {
    const std::scoped_lock lock(mutex_);
    const auto& key = lanes_.at(lane).key;
    return {lane, key.incarnation, key.connection, key.run, key.sender};
}

std::vector<catalogue::LaneMark> DurableLanes::take_changed_marks(const std::string& recorder) {
    const std::scoped_lock lock(mutex_);
    std::vector<catalogue::LaneMark> marks;
    for (auto& [number, lane] : lanes_) {
        if (std::exchange(lane.changed, false)) marks.push_back(recovery::mark_of(lane.key, lane.durable, recorder));
    }
    return marks;
}

}  // namespace weir::recorder

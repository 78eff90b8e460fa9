// SPDX-License-Identifier: Apache-2.0
#include "weir/storage/durable_lanes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::storage {

catalogue::LaneMark mark_of(const wire::LaneKey& key, const wire::SequenceSet& durable, const std::string& recorder) {
    catalogue::LaneMark mark;
    mark.recorder = recorder;
    mark.run = key.run;
    mark.sender = key.sender;
    mark.incarnation = fmt::format("{:016x}", key.incarnation);
    mark.connection = key.connection;
    mark.durable = wire::to_string(durable);
    return mark;
}

Result<std::pair<wire::LaneKey, wire::SequenceSet>> lane_of(const catalogue::LaneMark& mark) {
    wire::LaneKey key{mark.sender, 0, mark.connection, mark.run};
    const auto* end = mark.incarnation.data() + mark.incarnation.size();
    const auto read = std::from_chars(mark.incarnation.data(), end, key.incarnation, 16);
    if (read.ec != std::errc{} || read.ptr != end)
        return fail(Errc::corrupt, fmt::format("incarnation \"{}\" of sender {} in the catalogue is not a number",
                                               mark.incarnation, mark.sender));
    auto durable = wire::parse_sequence_set(mark.durable);
    if (!durable) return std::unexpected(durable.error());
    return std::pair(std::move(key), std::move(*durable));
}

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

LaneDeclared DurableLanes::declaration(std::uint32_t lane) const {
    const std::scoped_lock lock(mutex_);
    const auto& key = lanes_.at(lane).key;
    return {lane, key.incarnation, key.connection, key.run, key.sender};
}

std::vector<catalogue::LaneMark> DurableLanes::take_changed_marks(const std::string& recorder) {
    const std::scoped_lock lock(mutex_);
    std::vector<catalogue::LaneMark> marks;
    for (auto& [number, lane] : lanes_) {
        if (std::exchange(lane.changed, false)) marks.push_back(mark_of(lane.key, lane.durable, recorder));
    }
    return marks;
}

}  // namespace weir::storage

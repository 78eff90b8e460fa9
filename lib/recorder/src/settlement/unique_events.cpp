// SPDX-License-Identifier: Apache-2.0
#include "settlement/unique_events.hpp"

#include <utility>

namespace weir::recorder {
void UniqueEvents::restore(recovery::EventHoldings holdings) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [number, chunk] : holdings.durable.chunks()) {
        const auto* marked = holdings.marked.chunk(number);
        if (marked == nullptr || !(*marked == chunk)) changed_.insert(number);
    }
    durable_ = std::move(holdings.durable);
    stored_count_.store(durable_.count(), std::memory_order_relaxed);
    for (auto& [event, some] : holdings.some)
        left_.insert_or_assign(event, Left{{some.copies_found, nullptr, true}, 0, std::move(some.streams)});
}

void UniqueEvents::take_left(GlobalEventId event, Left& left) {
    if (left_.empty()) return;
    const auto found = left_.find(event);
    if (found == left_.end()) return;
    left = std::move(found->second);
    left_.erase(found);
}

UniqueEvents::Found UniqueEvents::take(GlobalEventId event, std::uint64_t streams, Left& left) {
    const std::scoped_lock lock(mutex_);
    if (durable_.contains(event)) return Found::durable;
    if (in_hand_.contains(event)) {
        if (!stopped_here(event, streams)) return Found::in_hand;
    } else if (in_hand_.memory() + durable_.memory() < memory_max_ ||
               left_.contains(event)) {  // some of it is stored: checked always
        in_hand_.insert(event);
    } else {
        unchecked_.fetch_add(1, std::memory_order_relaxed);
        return Found::unchecked;
    }
    take_left(event, left);
    return Found::nothing;
}

bool UniqueEvents::stopped_here(GlobalEventId event, std::uint64_t streams) const {
    const auto found = left_.find(event);
    return found != left_.end() && found->second.streams == streams;
}

bool UniqueEvents::wait(GlobalEventId event, std::uint64_t streams, Duplicate duplicate) {
    const std::scoped_lock lock(mutex_);
    if (!in_hand_.contains(event) || stopped_here(event, streams)) return false;
    duplicates_.emplace(event, std::move(duplicate));
    return true;
}

std::vector<UniqueEvents::Duplicate> UniqueEvents::take_duplicates(GlobalEventId event) {
    std::vector<Duplicate> duplicates;
    if (duplicates_.empty()) return duplicates;
    const auto [begin, end] = duplicates_.equal_range(event);
    for (auto at = begin; at != end; ++at) duplicates.push_back(std::move(at->second));
    duplicates_.erase(begin, end);
    return duplicates;
}

std::vector<UniqueEvents::Duplicate> UniqueEvents::durable(GlobalEventId event) {
    const std::scoped_lock lock(mutex_);
    in_hand_.erase(event);
    if (durable_.insert(event)) stored_count_.fetch_add(1, std::memory_order_relaxed);
    changed_.insert(wire::EventIdSet::chunk_of(event));
    return take_duplicates(event);
}

std::vector<UniqueEvents::Duplicate> UniqueEvents::lost(GlobalEventId event, std::optional<Left> left) {
    const std::scoped_lock lock(mutex_);
    in_hand_.erase(event);
    if (left) left_.insert_or_assign(event, std::move(*left));
    return take_duplicates(event);
}

std::vector<UniqueEvents::Duplicate> UniqueEvents::stopped(GlobalEventId event, Left left) {
    const std::scoped_lock lock(mutex_);
    left_.insert_or_assign(event, std::move(left));
    return take_duplicates(event);
}

wire::EventIdSet UniqueEvents::stored() const {
    const std::scoped_lock lock(mutex_);
    return durable_;
}

Bytes UniqueEvents::memory() const {
    const std::scoped_lock lock(mutex_);
    return Bytes{in_hand_.memory() + durable_.memory()};
}

std::vector<catalogue::SessionMark> UniqueEvents::take_changed(RunNumber run, const std::string& recorder) {
    const std::scoped_lock lock(mutex_);
    std::vector<catalogue::SessionMark> marks;
    for (const auto chunk : std::exchange(changed_, {}))
        marks.push_back(recovery::mark_of_events(durable_, chunk, run, recorder));
    return marks;
}

}  // namespace weir::recorder

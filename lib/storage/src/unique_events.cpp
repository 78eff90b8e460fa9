// SPDX-License-Identifier: Apache-2.0
#include "weir/storage/unique_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::storage {
namespace {

constexpr const char* no_sender = "*";  // senders have letters, digits and `-_.:`
constexpr std::size_t chunk_memory_max = 2 * wire::EventIdSet::chunk_overhead + wire::EventIdChunk::size / 8;

}  // namespace

catalogue::LaneMark mark_of_events(const wire::EventIdSet& durable, std::uint64_t chunk, RunNumber run,
                                   const std::string& recorder) {
    catalogue::LaneMark mark;
    mark.recorder = recorder;
    mark.run = run;
    mark.sender = no_sender;
    mark.incarnation = fmt::format("{:012x}", chunk);
    mark.durable = to_text(durable, chunk);
    return mark;
}

std::vector<catalogue::LaneMark> marks_of_events(const EventHoldings& holdings, RunNumber run,
                                                 const std::string& recorder) {
    std::vector<catalogue::LaneMark> marks{mark_of_events(holdings.durable, 0, run, recorder)};
    for (const auto& [number, chunk] : holdings.durable.chunks()) {
        const auto* marked = holdings.marked.chunk(number);
        if (number != 0 && (marked == nullptr || !(*marked == chunk))) marks.push_back(mark_of_events(holdings.durable, number, run, recorder));
    }
    return marks;
}

bool is_mark_of_events(const catalogue::LaneMark& mark) noexcept { return mark.sender == no_sender; }

Result<wire::EventIdSet> events_of(const catalogue::LaneMark& mark) {
    auto ids = wire::parse_event_ids(mark.durable, chunk_memory_max);
    if (!ids) return ids;
    for (const auto& [number, chunk] : ids->chunks()) {
        if (fmt::format("{:012x}", number) != mark.incarnation)
            return fail(Errc::corrupt, fmt::format("the mark of events {} of recorder {} in the catalogue names ids of chunk {:012x}",
                                                   mark.incarnation, mark.recorder, number));
    }
    return ids;
}

void UniqueEvents::restore(EventHoldings holdings) {
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
    } else if (in_hand_.memory() + durable_.memory() < memory_max_ || left_.contains(event)) {  // some of it is stored: checked always
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

bool UniqueEvents::wait(GlobalEventId event, std::uint64_t streams, Twin twin) {
    const std::scoped_lock lock(mutex_);
    if (!in_hand_.contains(event) || stopped_here(event, streams)) return false;
    twins_.emplace(event, std::move(twin));
    return true;
}

std::vector<UniqueEvents::Twin> UniqueEvents::take_twins(GlobalEventId event) {
    std::vector<Twin> twins;
    if (twins_.empty()) return twins;
    const auto [begin, end] = twins_.equal_range(event);
    for (auto at = begin; at != end; ++at) twins.push_back(std::move(at->second));
    twins_.erase(begin, end);
    return twins;
}

std::vector<UniqueEvents::Twin> UniqueEvents::durable(GlobalEventId event) {
    const std::scoped_lock lock(mutex_);
    in_hand_.erase(event);
    if (durable_.insert(event)) stored_count_.fetch_add(1, std::memory_order_relaxed);
    changed_.insert(wire::EventIdSet::chunk_of(event));
    return take_twins(event);
}

std::vector<UniqueEvents::Twin> UniqueEvents::lost(GlobalEventId event, std::optional<Left> left) {
    const std::scoped_lock lock(mutex_);
    in_hand_.erase(event);
    if (left) left_.insert_or_assign(event, std::move(*left));
    return take_twins(event);
}

std::vector<UniqueEvents::Twin> UniqueEvents::stopped(GlobalEventId event, Left left) {
    const std::scoped_lock lock(mutex_);
    left_.insert_or_assign(event, std::move(left));
    return take_twins(event);
}

wire::EventIdSet UniqueEvents::stored() const {
    const std::scoped_lock lock(mutex_);
    return durable_;
}

Bytes UniqueEvents::memory() const {
    const std::scoped_lock lock(mutex_);
    return Bytes{in_hand_.memory() + durable_.memory()};
}

std::vector<catalogue::LaneMark> UniqueEvents::take_changed(RunNumber run, const std::string& recorder) {
    const std::scoped_lock lock(mutex_);
    std::vector<catalogue::LaneMark> marks;
    for (const auto chunk : std::exchange(changed_, {})) marks.push_back(mark_of_events(durable_, chunk, run, recorder));
    return marks;
}

}  // namespace weir::storage

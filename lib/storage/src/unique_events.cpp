// SPDX-License-Identifier: Apache-2.0
#include "weir/storage/unique_events.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::storage {
namespace {

constexpr const char* no_sender = "*";  // senders have letters, digits and `-_.:`
constexpr std::size_t intervals_read_max = std::size_t{1} << 22;

}  // namespace

LaneMark mark_of_events(const wire::SequenceSet& durable, RunNumber run, const std::string& recorder) {
    LaneMark mark;
    mark.recorder = recorder;
    mark.run = run;
    mark.sender = no_sender;
    mark.incarnation = "0";
    mark.durable = wire::to_string(durable);
    return mark;
}

bool is_mark_of_events(const LaneMark& mark) noexcept { return mark.sender == no_sender; }

Result<wire::SequenceSet> events_of(const LaneMark& mark) { return wire::parse_sequence_set(mark.durable, intervals_read_max); }

wire::SequenceSet united(const wire::SequenceSet& a, const wire::SequenceSet& b) {
    std::vector<wire::SequenceRange> all;
    all.reserve(a.intervals().size() + b.intervals().size());
    std::ranges::merge(a.intervals(), b.intervals(), std::back_inserter(all));
    wire::SequenceSet set;
    for (const auto& range : all) set.insert(range);
    return set;
}

void UniqueEvents::restore(EventHoldings holdings) {
    const std::scoped_lock lock(mutex_);
    taken_ = durable_ = std::move(holdings.durable);
    stored_count_.store(durable_.count(), std::memory_order_relaxed);
    for (auto& [event, some] : holdings.some)
        left_.insert_or_assign(event, Left{{some.copies_found, nullptr, true}, 0, std::move(some.streams)});
}

UniqueEvents::Found UniqueEvents::take(GlobalEventId event, std::uint64_t streams, Left& left) {
    if (!can_be_unique(event)) {
        unchecked_.fetch_add(1, std::memory_order_relaxed);
        return Found::unchecked;
    }
    const auto id = as_sequence(event);
    const std::scoped_lock lock(mutex_);
    const auto intervals = taken_.intervals().size();
    if (taken_.insert(id)) {
        if (taken_.intervals().size() > std::max<std::size_t>(intervals, intervals_max_)) {
            taken_.erase(id);
            unchecked_.fetch_add(1, std::memory_order_relaxed);
            return Found::unchecked;
        }
        if (left_.empty()) return Found::nothing;
        if (const auto found = left_.find(event); found != left_.end()) {
            left = std::move(found->second);
            left_.erase(found);
        }
        return Found::nothing;
    }
    if (durable_.contains(id)) return Found::durable;
    if (!stopped_here(event, streams)) return Found::in_hand;
    const auto found = left_.find(event);
    left = std::move(found->second);
    left_.erase(found);
    return Found::nothing;
}

bool UniqueEvents::stopped_here(GlobalEventId event, std::uint64_t streams) const {
    const auto found = left_.find(event);
    return found != left_.end() && found->second.streams == streams;
}

bool UniqueEvents::wait(GlobalEventId event, std::uint64_t streams, Twin twin) {
    const auto id = as_sequence(event);
    const std::scoped_lock lock(mutex_);
    if (!taken_.contains(id) || durable_.contains(id) || stopped_here(event, streams)) return false;
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
    if (durable_.insert(as_sequence(event))) stored_count_.fetch_add(1, std::memory_order_relaxed);
    changed_ = true;
    return take_twins(event);
}

std::vector<UniqueEvents::Twin> UniqueEvents::lost(GlobalEventId event, std::optional<Left> left) {
    const std::scoped_lock lock(mutex_);
    taken_.erase(as_sequence(event));
    if (left) left_.insert_or_assign(event, std::move(*left));
    return take_twins(event);
}

std::vector<UniqueEvents::Twin> UniqueEvents::stopped(GlobalEventId event, Left left) {
    const std::scoped_lock lock(mutex_);
    left_.insert_or_assign(event, std::move(left));
    return take_twins(event);
}

wire::SequenceSet UniqueEvents::stored() const {
    const std::scoped_lock lock(mutex_);
    return durable_;
}

std::optional<wire::SequenceSet> UniqueEvents::take_changed() {
    std::optional<wire::SequenceSet> set;
    {
        const std::scoped_lock lock(mutex_);
        if (!std::exchange(changed_, false)) return std::nullopt;
        set = durable_;
    }
    // More intervals than that are of what is in hand just now: those files are not closed, and the newest.
    if (set->intervals().size() > intervals_most)
        set->erase({set->intervals()[intervals_most].first, Sequence{wire::sequence_max}});
    return set;
}

}  // namespace weir::storage

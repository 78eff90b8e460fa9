// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/event_id_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::wire {
namespace {

using Id = EventIdChunk::Id;

constexpr Id within(GlobalEventId id) noexcept { return static_cast<Id>(number(id) % EventIdChunk::size); }

template <class Combine>
EventIdChunk combined(const EventIdChunk& a, const EventIdChunk& b, Combine combine) {
    auto bits = a.bits();
    const auto other = b.bits();
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = combine(bits[i], other[i]);
    return EventIdChunk::of(bits);
}

}  // namespace

/// Ids come nearly in order: it is the newest chunk nearly always.
const EventIdChunk* EventIdSet::chunk(std::uint64_t number) const noexcept {
    if (chunks_.empty()) return nullptr;
    const auto newest = std::prev(chunks_.end());
    if (newest->first == number) return &newest->second;
    if (newest->first < number) return nullptr;
    const auto found = chunks_.find(number);
    return found == chunks_.end() ? nullptr : &found->second;
}

EventIdChunk& EventIdSet::chunk_for(std::uint64_t number) {
    if (!chunks_.empty()) {
        const auto newest = std::prev(chunks_.end());
        if (newest->first == number) return newest->second;
        if (newest->first < number) return chunks_.try_emplace(chunks_.end(), number)->second;
    }
    return chunks_[number];
}

template <class Change>
auto EventIdSet::change(EventIdChunk& chunk, Change work) {
    memory_ -= chunk.memory();
    count_ -= chunk.count();
    auto result = work(chunk);
    count_ += chunk.count();
    memory_ += chunk.memory();
    return result;
}

bool EventIdSet::insert(GlobalEventId id) {
    return change(chunk_for(chunk_of(id)), [&](EventIdChunk& chunk) { return chunk.insert(within(id)); });
}

void EventIdSet::insert(EventIdRange range) {
    WEIR_ASSERT(range.first <= range.last);
    for (auto number = chunk_of(range.first); number <= chunk_of(range.last); ++number) {
        const Id first = number == chunk_of(range.first) ? within(range.first) : Id{0};
        const Id last = number == chunk_of(range.last) ? within(range.last) : static_cast<Id>(EventIdChunk::size - 1);
        change(chunk_for(number), [&](EventIdChunk& chunk) {
            chunk.insert(first, last);
            return true;
        });
    }
}

bool EventIdSet::erase(GlobalEventId id) {
    const auto found = chunks_.find(chunk_of(id));
    if (found == chunks_.end()) return false;
    const bool erased = change(found->second, [&](EventIdChunk& chunk) { return chunk.erase(within(id)); });
    if (found->second.empty()) {
        memory_ -= found->second.memory();
        chunks_.erase(found);
    }
    return erased;
}

bool EventIdSet::contains(GlobalEventId id) const noexcept {
    const auto* in = chunk(chunk_of(id));
    return in != nullptr && in->contains(within(id));
}

void EventIdSet::put(std::uint64_t number, const EventIdChunk& ids) {
    if (ids.empty()) return;
    change(chunk_for(number), [&](EventIdChunk& ours) {
        if (ours.empty() || ids.full()) ours = ids;
        else if (!ours.full()) ours = combined(ours, ids, [](auto a, auto b) { return a | b; });
        return true;
    });
}

EventIdSet& EventIdSet::operator|=(const EventIdSet& other) {
    for (const auto& [number, theirs] : other.chunks_) put(number, theirs);
    return *this;
}

EventIdSet& EventIdSet::operator&=(const EventIdSet& other) {
    for (auto at = chunks_.begin(); at != chunks_.end();) {
        const auto* theirs = other.chunk(at->first);
        change(at->second, [&](EventIdChunk& ours) {
            if (theirs == nullptr) ours = {};
            else if (ours.full()) ours = *theirs;
            else if (!theirs->full()) ours = combined(ours, *theirs, [](auto a, auto b) { return a & b; });
            return true;
        });
        at = at->second.empty() ? chunks_.erase(at) : std::next(at);
    }
    return *this;
}

EventIdSet& EventIdSet::operator-=(const EventIdSet& other) {
    for (auto at = chunks_.begin(); at != chunks_.end();) {
        const auto* theirs = other.chunk(at->first);
        if (theirs == nullptr) {
            ++at;
            continue;
        }
        change(at->second, [&](EventIdChunk& ours) {
            if (theirs->full()) ours = {};
            else ours = combined(ours, *theirs, [](auto a, auto b) { return a & ~b; });
            return true;
        });
        at = at->second.empty() ? chunks_.erase(at) : std::next(at);
    }
    return *this;
}

std::vector<EventIdRange> EventIdSet::ranges(std::size_t at_most) const {
    std::vector<EventIdRange> all;
    for (const auto& [number, chunk] : chunks_) {
        const auto base = number * EventIdChunk::size;
        const bool more = chunk.for_each_run([&](Id first, Id last) {
            if (!all.empty() && weir::number(all.back().last) + 1 == base + first) {
                all.back().last = GlobalEventId{base + last};
            } else if (all.size() == at_most) {
                return false;
            } else {
                all.push_back({GlobalEventId{base + first}, GlobalEventId{base + last}});
            }
            return true;
        });
        if (!more) break;
    }
    return all;
}

}  // namespace weir::wire

// SPDX-License-Identifier: Apache-2.0
#include "datagrams/fragment_assembler.hpp"

#include <algorithm>
#include <utility>

namespace weir::readout {

const char* name(DatagramFate fate) noexcept {
    constexpr std::array names{"whole", "part",   "unknown_source", "no_counter", "duplicate",
                               "late",  "jumped", "contradictory",  "too_large"};
    static_assert(names.size() == datagram_fate_count);
    return names[static_cast<std::size_t>(fate)];
}

FragmentAssembler::FragmentAssembler(FragmentAssemblerOptions options, Events events)
    : options_(std::move(options)),
      events_(std::move(events)),
      share_(options_.memory.count() / std::max<std::size_t>(options_.sources.size(), 1)) {
    for (const auto& source : options_.sources)
        sources_.push_back({.offset = static_cast<std::uint32_t>(source.offset),
                            .track = CounterTrack(options_.header.bits(),
                                                  number(options_.first) + static_cast<std::uint32_t>(source.offset)),
                            .counts = {.source = source.id}});
    std::ranges::sort(sources_, {}, [](const Source& source) { return source.counts.source; });
}

FragmentAssembler::Source* FragmentAssembler::find(SourceId id) noexcept {
    const auto found =
        std::ranges::lower_bound(sources_, id, {}, [](const Source& source) { return source.counts.source; });
    return found == sources_.end() || found->counts.source != id ? nullptr : &*found;
}

std::expected<DatagramFate, DatagramFault> FragmentAssembler::take(ConstData datagram, SteadyTime now) {
    ++counts_.datagrams;
    counts_.bytes += datagram.size();
    const auto part = parse(options_.header, datagram);
    if (!part) {
        ++counts_.faults[static_cast<std::size_t>(part.error())];
        return std::unexpected(part.error());
    }
    auto* const source = find(part->source);
    const auto fate = source == nullptr ? DatagramFate::unknown_source : take(*source, *part, now);
    ++counts_.fates[static_cast<std::size_t>(fate)];
    if (source != nullptr) {
        ++source->counts.datagrams;
        if (fate == DatagramFate::duplicate && part->parts > 1) ++source->counts.duplicate_parts;
    }
    if (part->parts == 1 && fate != DatagramFate::whole && events_.refused) events_.refused(part->source, fate);
    return fate;
}

/// What its counter says of a datagram. Values that it passes over are waited for.
CounterStep FragmentAssembler::count(Source& source, std::uint32_t counter, SteadyTime now) {
    auto from = source.track.newest();
    const auto jumps = source.track.jumps();
    const auto step = source.track.take(counter);
    if (source.track.jumps() != jumps) {
        while (!source.gaps.empty()) close_gap(source);
        if (events_.jumped) events_.jumped(source.counts.source, Level1Id{from}, Level1Id{source.track.first()});
        from = source.track.first() - 1;
    }
    if (const auto passed = static_cast<std::int32_t>(source.track.newest() - from); passed > 1) {
        source.gaps.push_back({now, from + 1, source.track.newest() - 1});
        if (source.gaps.size() > options_.gaps_max) close_gap(source);
    }
    return step;
}

/// Of its oldest gap: what has not come is lost.
void FragmentAssembler::close_gap(Source& source) {
    const auto gap = source.gaps.front();
    source.gaps.pop_front();
    if (events_.never_came) events_.never_came(source.counts.source, Level1Id{gap.first}, Level1Id{gap.last});
}

DatagramFate FragmentAssembler::take(Source& source, const DatagramPart& part, SteadyTime now) {
    if (!part.counter) {
        if (part.parts > 1) return DatagramFate::no_counter;
        deliver(source, part, std::nullopt, part.payload);
        return DatagramFate::whole;
    }
    const auto counter = source.track.extended(*part.counter);
    const auto counted = count(source, counter, now);
    switch (counted) {
        case CounterStep::old: return DatagramFate::late;
        case CounterStep::jumped: return DatagramFate::jumped;
        case CounterStep::fresh:
        case CounterStep::seen: break;
    }
    const bool seen = counted == CounterStep::seen;
    if (part.parts > 1) return take_part(source, part, counter, seen, now);
    if (std::ranges::find(source.unfinished, counter, &Unfinished::counter) != source.unfinished.end())
        return DatagramFate::contradictory;
    if (seen) return DatagramFate::duplicate;
    deliver(source, part, counter, part.payload);
    return DatagramFate::whole;
}

DatagramFate FragmentAssembler::take_part(Source& source, const DatagramPart& part, std::uint32_t counter, bool seen,
                                          SteadyTime now) {
    auto found = std::ranges::find(source.unfinished, counter, &Unfinished::counter);
    if (found == source.unfinished.end()) {
        if (seen) return DatagramFate::duplicate;
        Unfinished fresh{
            .counter = counter, .began = now, .time_ns = part.time_ns, .kind = part.kind, .missing = part.parts};
        if (part.parts * sizeof(fresh.parts[0]) + part.payload.size() > share_) {
            ++source.counts.unfinished;
            if (events_.never_came) events_.never_came(part.source, Level1Id{counter}, Level1Id{counter});
            return DatagramFate::too_large;
        }
        while (source.unfinished.size() >= options_.unfinished_max) give_up(source, source.unfinished.begin());
        fresh.parts.resize(part.parts);
        source.held += fresh.cost();
        source.unfinished.push_back(std::move(fresh));
        found = std::prev(source.unfinished.end());
    } else if (found->parts.size() != part.parts || found->kind != part.kind) {
        return DatagramFate::contradictory;
    }
    if (found->parts[part.part]) return DatagramFate::duplicate;
    if (found->cost() + part.payload.size() > share_) {
        give_up(source, found);
        return DatagramFate::too_large;
    }
    found->parts[part.part].emplace(part.payload.begin(), part.payload.end());
    found->payload_bytes += part.payload.size();
    source.held += part.payload.size();
    if (--found->missing > 0) {
        // Room comes from the oldest of the others; this one fits alone.
        while (source.held > share_) {
            const auto oldest = source.unfinished.begin();
            give_up(source, oldest->counter == counter ? std::next(oldest) : oldest);
        }
        return DatagramFate::part;
    }
    const auto done = std::move(*found);
    source.held -= done.cost();
    source.unfinished.erase(found);
    whole_.clear();
    for (const auto& bytes : done.parts) whole_.insert(whole_.end(), bytes->begin(), bytes->end());
    auto head = part;
    head.time_ns = done.time_ns;
    deliver(source, head, counter, whole_);
    return DatagramFate::whole;
}

void FragmentAssembler::deliver(Source& source, const DatagramPart& part, std::optional<std::uint32_t> counter,
                                ConstData payload) {
    ++source.counts.fragments;
    wire::InputFragment fragment{.source = part.source, .time_ns = part.time_ns, .kind = part.kind, .payload = payload};
    if (counter) fragment.level1_id = Level1Id{*counter};
    if (events_.whole) events_.whole(fragment);
}

void FragmentAssembler::give_up(Source& source, std::deque<Unfinished>::iterator which) {
    const auto counter = which->counter;
    source.held -= which->cost();
    source.unfinished.erase(which);
    ++source.counts.unfinished;
    if (events_.never_came) events_.never_came(source.counts.source, Level1Id{counter}, Level1Id{counter});
}

std::optional<SteadyTime> FragmentAssembler::step(SteadyTime now) {
    std::optional<SteadyTime> next;
    const auto later = [&](SteadyTime began) {
        const auto due = began + options_.wait;
        if (due > now) next = next ? std::min(*next, due) : due;
        return due > now;
    };
    for (auto& source : sources_) {
        while (!source.unfinished.empty() && !later(source.unfinished.front().began))
            give_up(source, source.unfinished.begin());
        while (!source.gaps.empty() && !later(source.gaps.front().since)) close_gap(source);
    }
    return next;
}

void FragmentAssembler::reach(Level1Id oldest) noexcept {
    for (auto& source : sources_) {
        if (source.counts.datagrams == 0)
            source.track = CounterTrack(options_.header.bits(), number(oldest) + source.offset);
        else if (source.counts.datagrams == source.datagrams_before)  // what it sends says itself where it is
            source.track.reach(number(oldest) + source.offset - 1);
        source.datagrams_before = source.counts.datagrams;
    }
}

void FragmentAssembler::finish() {
    for (auto& source : sources_) {
        while (!source.unfinished.empty()) give_up(source, source.unfinished.begin());
        while (!source.gaps.empty()) close_gap(source);
    }
}

std::vector<AssembledSourceCounts> FragmentAssembler::sources() const {
    std::vector<AssembledSourceCounts> all;
    for (const auto& source : sources_) {
        auto counts = source.counts;
        counts.lost = source.track.lost();
        counts.disordered = source.track.disordered();
        counts.jumps = source.track.jumps();
        all.push_back(counts);
    }
    return all;
}

std::size_t FragmentAssembler::bytes_held() const noexcept {
    std::size_t held = 0;
    for (const auto& source : sources_) held += source.held;
    return held;
}

}  // namespace weir::readout

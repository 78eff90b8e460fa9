// SPDX-License-Identifier: Apache-2.0
// Answers become an event: which parts are kept, how each ROB is checked, and what replaces those that are
// lost.
#include <fmt/format.h>

#include <algorithm>

#include "weir/base/assert.hpp"
#include "weir/building/builder.hpp"
#include "weir/event/event_builder.hpp"
#include "weir/event/fragment.hpp"
#include "weir/event/rob_builder.hpp"

namespace weir::building {

using wire::RobState;

/// It is final already: it was reassigned meanwhile, and the other builder was faster.
void Builder::abandon(std::uint32_t index) {
    auto& assembly = assemblies_[index];
    ++counts_.failed;
    ended_.push_back({.global_id = assembly.ticket.global_id, .outcome = wire::EventOutcome::failed});
    ++ended_count_;
    for (std::uint32_t i = 0; i < readouts_.size(); ++i) release(assembly, i, false);
    close(index);
}

/// Its place is free for another event.
void Builder::close(std::uint32_t index) {
    auto& assembly = assemblies_[index];
    by_level1_.erase(number(assembly.ticket.level1_id));
    if (std::exchange(assembly.first_time, 0) > 0) --building_;
    assembly.event.reset();
    assembly.active = false;
    ++assembly.generation;
    free_.push_back(index);
}

/// The ROBs that the answer has, of sources of the readout that are not masked. `robs`: its bytes behind the head.
template <class Each>
void Builder::each_rob(const Assembly& assembly, const Readout& readout, ConstData robs, Each each) {
    std::size_t at = 0;
    std::uint32_t guess = 0;  // answers come in the order of the sources
    for (const auto& part : data_.head.robs) {
        const auto rob = robs.subspan(at, part.size);
        at += part.size;
        const auto count = static_cast<std::uint32_t>(readout.sources.size());
        std::uint32_t i = guess;
        if (i >= count || readout.sources[i] != part.source)
            i = static_cast<std::uint32_t>(std::ranges::find(readout.sources, part.source) - readout.sources.begin());
        if (i >= count) {
            ++counts_.unexpected;
            continue;
        }
        guess = i + 1;
        if (part.state == RobState::here && !masked(assembly, readout, part.source))
            each(readout.first + i, part.source, rob);
    }
}

/// Takes the ROBs of the readout's sources from the answer; those that should be there and are not are lost.
bool Builder::store(Assembly& assembly, Readout& readout, const messaging::IncomingMessage& message) {
    std::size_t at = message.body.size() - data_.data.size();  // of the ROB in the message
    ConstData bytes = message.body;
    if (message.memory != nullptr && *message.memory) {
        assembly.event->memory.keep(std::move(*message.memory));
    } else {
        const auto copy = assembly.event->memory.copy(data_.data);
        if (!copy) return false;
        bytes = *copy;
        at = 0;
    }
    each_rob(assembly, readout, bytes.subspan(at),
             [&](std::uint32_t position, SourceId source, ConstData rob) { check(assembly, position, source, rob); });
    return true;
}

/// Of an answer in which others are not there yet: a copy of what is, once, for an event that runs out of time. Whole
/// answers must find memory, so there are none when half of it is in use.
void Builder::keep_early(Assembly& assembly, const Readout& readout) {
    const auto memory = pool_.stats();
    if (data_.data.empty() || memory.in_use.count() > memory.limit.count() / 2) return;
    if (assembly.early.empty()) assembly.early.resize(sources_.size());
    each_rob(assembly, readout, data_.data, [&](std::uint32_t position, SourceId, ConstData rob) {
        if (!assembly.early[position].empty()) return;
        if (const auto copy = assembly.event->memory.copy(rob)) assembly.early[position] = *copy;
    });
}

/// The event has run out of time: it gets what was there of this readout.
void Builder::take_early(Assembly& assembly, const Readout& readout) {
    if (assembly.early.empty()) return;
    for (std::uint32_t i = 0; i < readout.sources.size(); ++i) {
        const auto rob = assembly.early[readout.first + i];
        if (!rob.empty()) check(assembly, readout.first + i, readout.sources[i], rob);
    }
}

/// A ROB that is none is lost; one of another event than asked for is kept, counted and marked.
void Builder::check(Assembly& assembly, std::uint32_t position, SourceId source, ConstData rob) {
    const auto view = event::FragmentView::parse(rob, event::Level::rob, options_.format);
    if (!view || view->bytes().size() != rob.size() || view->source() != source) {
        ++counts_.robs_bad;
        ++assembly.bad;
        return;
    }
    assembly.robs[position] = rob;
    const auto& rule = rules_[position];
    if (rule.exempt) return;
    const auto rod = event::RodView::parse(view->payload(), view->payload_offset());
    if (!rod) {
        ++counts_.robs_bad;
        ++assembly.bad;
        assembly.robs[position] = {};
        return;
    }
    const auto expected = number(assembly.ticket.level1_id) + static_cast<std::uint32_t>(rule.level1_offset);
    if (number(rod->level1_id()) == expected) return;
    if (counts_.level1_mismatches++ == 0 || !assembly.level1_mismatch)
        report_(
            {.severity = Severity::warning,
             .what = fmt::format(
                 "source 0x{:06x} counts level-1 id {} in event {}, where {} is expected; give it a level1_offset, or "
                 "look at its electronics",
                 number(source), number(rod->level1_id()), number(assembly.ticket.level1_id), expected),
             .key = fmt::format("level-1 id of 0x{:06x}", number(source))});
    assembly.level1_mismatch = true;
}

bool Builder::masked(const Assembly& assembly, const Readout& readout, SourceId source) const noexcept {
    if (assembly.masked.empty()) return false;
    const auto i = std::ranges::find(readout.sources, source) - readout.sources.begin();
    const auto position = readout.first + static_cast<std::size_t>(i);
    return i < std::ssize(readout.sources) && assembly.masked[position];
}

/// Which sources the event is built without; readouts that have no other are not asked.
void Builder::mask(Assembly& assembly) {
    assembly.masked.clear();
    if (masks_.empty()) return;
    const auto event = assembly.ticket.level1_id;
    masks_.settle(event);
    for (const auto source : sources_) assembly.masked.push_back(masks_.masked(source, event));
    for (std::uint32_t i = 0; i < readouts_.size(); ++i) {
        const auto& readout = readouts_[i];
        bool all = true;
        for (std::size_t s = 0; s < readout.sources.size(); ++s) all = all && assembly.masked[readout.first + s];
        if (all) slot_done(assembly, i);
    }
}

void Builder::slot_done(Assembly& assembly, std::uint32_t readout) {
    auto& slot = assembly.slots[readout];
    if (slot.state == SlotState::done) return;
    slot.state = SlotState::done;
    --assembly.missing;
    if (!slot.repeated) end_first_time(assembly);
}

void Builder::complete(std::uint32_t index) {
    auto& assembly = assemblies_[index];
    auto& event = *assembly.event;
    const auto& ticket = assembly.ticket;
    std::vector<ConstData> robs(assembly.robs);
    const auto is_masked = [&](std::uint32_t i) { return !assembly.masked.empty() && assembly.masked[i]; };
    bool any_masked = false;
    for (std::uint32_t i = 0; i < robs.size(); ++i) {
        if (!robs[i].empty() && !is_masked(i)) continue;
        std::vector<std::byte> empty;
        const auto level1 = number(ticket.level1_id) + static_cast<std::uint32_t>(rules_[i].level1_offset);
        const event::RodFields rod{.source = sources_[i],
                                   .run = run_,
                                   .level1_id = Level1Id{level1},
                                   .bunch_crossing_id = ticket.bunch_crossing_id,
                                   .trigger_type = ticket.trigger_type};
        const auto made = is_masked(i) ? event::append_masked_rob(empty, rod, {.format = options_.format})
                                       : event::append_lost_rob(empty, rod, {.format = options_.format});
        WEIR_ASSERT(made.has_value());
        const auto room = event.memory.copy(empty);
        if (!room) {  // the pool is full: once more when there is room
            tickets_.push_back(ticket);
            return close(index);
        }
        robs[i] = *room;
        if (is_masked(i)) any_masked = true;
        else ++event.robs_lost;
    }
    for (std::uint32_t i = 0; i < robs.size(); ++i) {
        if (is_masked(i)) {
            ++tallies_[i].masked;
            continue;
        }
        ++tallies_[i].expected;
        if (assembly.robs[i].empty()) ++tallies_[i].missing;
    }
    counts_.robs_lost += event.robs_lost;
    event::EventFields fields;
    fields.format = options_.format;
    fields.ids = {.run = run_,
                  .global_id = ticket.global_id,
                  .level1_id = ticket.level1_id,
                  .lumi_block = ticket.lumi_block,
                  .time = {.seconds = ticket.seconds, .nanoseconds = ticket.nanoseconds}};
    fields.source = options_.source;
    std::uint32_t status = assembly.level1_mismatch ? event::status::level1_id : 0;
    if (event.robs_lost > 0) status |= event::status::timeout;
    if (any_masked) status |= event::status::dummy_fragment;
    if (assembly.bad > 0) status |= event::status::data_corruption;
    if (ticket.forced) status |= event::status::event_forced_accept;
    fields.status = {status};
    fields.bunch_crossing_id = ticket.bunch_crossing_id;
    fields.trigger_type = ticket.trigger_type;
    fields.level1_words = ticket.level1_words;
    if (options_.format == event::Format::event_5_0) fields.level2_words = ticket.level2_words;
    event.ticket = ticket;
    event.robs = static_cast<std::uint32_t>(robs.size());
    const auto made = event::assemble_event(fields, robs, event.pieces);
    if (made) {
        event_size_ = (event_size_ * 7 + event.pieces.size()) / 8;
        ++counts_.built;
        counts_.bytes_built += event.pieces.size();
        if (event.robs_lost > 0) ++counts_.incomplete;
        complete_.push_back(std::move(assembly.event));
    } else {
        report_(
            {.severity = Severity::warning,
             .what = fmt::format("event {} could not be built: {}", number(ticket.global_id), made.error().message()),
             .key = "event not built"});
        ++counts_.failed;
        ended_.push_back({.global_id = ticket.global_id, .outcome = wire::EventOutcome::failed});
        ++ended_count_;
    }
    close(index);
    offer();
}

}  // namespace weir::building

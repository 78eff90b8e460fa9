// SPDX-License-Identifier: Apache-2.0
#include "weir/service/event_ids.hpp"

#include <fmt/format.h>

#include <utility>

namespace weir::service {
namespace {

constexpr std::size_t sets_max = 8;

}  // namespace

EventIds::EventIds(wire::EventIdSet ids, Bytes memory_max) : ids_(std::move(ids)), memory_max_(memory_max.count()) {
    bounded();
}

EventIds& EventIds::bounded(bool others_known) {
    known_ = known_ && others_known && ids_.memory() <= memory_max_;
    if (!known_) ids_ = {};
    return *this;
}

void EventIds::insert(GlobalEventId id) {
    if (!known_) return;
    ids_.insert(id);
    if (ids_.memory() > memory_max_) bounded();
}

Result<EventIds> EventIds::parse(std::string_view text, Bytes memory_max) {
    auto ids = WEIR_TRY(wire::parse_event_ids(text, memory_max.count()));
    return EventIds(std::move(ids), memory_max);
}

EventIds& EventIds::operator|=(const EventIds& other) {
    ids_ |= other.ids_;
    return bounded(other.known_);
}

EventIds& EventIds::operator&=(const EventIds& other) {
    ids_ &= other.ids_;
    return bounded(other.known_);
}

EventIds& EventIds::operator-=(const EventIds& other) {
    ids_ -= other.ids_;
    return bounded(other.known_);
}

std::string to_text(const StationEvents& events) {
    std::string text;
    for (const auto& [what, ids] : events) {
        if (ids.known()) fmt::format_to(std::back_inserter(text), "{}\t{}\n", what, ids.text());
    }
    return text;
}

Result<StationEvents> parse_station_events(std::string_view text, Bytes memory_max) {
    StationEvents events;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        const auto tab = line.find('\t');
        if (end == text.npos || tab == line.npos || tab == 0)
            return fail(Errc::corrupt,
                        fmt::format("\"{}\" is no line with a word, a tab and event ids", line.substr(0, 60)));
        if (events.size() == sets_max)
            return fail(Errc::limit, fmt::format("more than {} sets of event ids", sets_max));
        auto ids = WEIR_TRY(EventIds::parse(line.substr(tab + 1), memory_max));
        if (!events.emplace(line.substr(0, tab), std::move(ids)).second)
            return fail(Errc::corrupt,
                        fmt::format("two sets of event ids are called \"{}\"", line.substr(0, tab).substr(0, 60)));
        text.remove_prefix(end + 1);
    }
    return events;
}

}  // namespace weir::service

// SPDX-License-Identifier: Apache-2.0
// The supervisor and its processing units: which unit gets an event, and how the event ends.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "weir/base/random.hpp"
#include "weir/selection/supervisor.hpp"

namespace weir::selection {

using wire::DataflowType;

namespace {

using namespace std::chrono_literals;

constexpr std::size_t judged_max = 256;  // events whose results a unit may not have got away
constexpr auto judged_for = 5s;          // longer than it takes to see that a unit is silent
constexpr std::size_t no_result_max = 65'536;

}  // namespace

/// Verdicts and credit come together, but messages overtake each other; both are totals or name their event.
void Supervisor::decided(const wire::Level2Decision& message, wire::StationId from, SteadyTime now) {
    auto& unit = units_[from];
    unit.alive = true;
    unit.credit = std::max(unit.credit, message.credit);
    for (const auto& verdict : message.events) {
        const auto id = number(verdict.global_id);
        unit.has.erase(id);
        const auto found = open_.find(id);
        if (found == open_.end() || found->second.unit != from) {  // it was unassigned before
            ++counts_.late_verdicts;
            continue;
        }
        const std::chrono::duration<double> latency = now - found->second.since;
        durations_.add(now - found->second.since);
        counts_.latency_seconds += (latency.count() - counts_.latency_seconds) / 16;
        auto& words = found->second.ticket.level2_words;
        words.insert(words.end(), verdict.level2_words.begin(), verdict.level2_words.end());
        if (words.size() > wire::trigger_words_max) words.resize(wire::trigger_words_max);
        if (verdict.accepted && results_to_) {
            unit.judged.push_back({now, found->second.ticket.level1_id, verdict.global_id});
            if (unit.judged.size() > judged_max) unit.judged.pop_front();
        }
        decide(id, verdict.accepted, verdict.forced);
    }
}

void Supervisor::accept_unjudged(std::uint64_t id, bool forced) {
    const auto found = open_.find(id);
    if (found == open_.end()) return;
    give_empty_result(found->second.ticket.level1_id, found->second.ticket.global_id);
    decide(id, true, forced);
}

/// The pseudo readout keeps the first result that it gets: a unit's own is never replaced by this one.
void Supervisor::give_empty_result(Level1Id level1_id, GlobalEventId global_id) {
    if (!results_to_) return;
    if (no_result_.size() >= no_result_max) no_result_.pop_front();  // the pseudo readout is away
    no_result_.push_back({.level1_id = level1_id, .global_id = global_id, .result = {}});
}

void Supervisor::send_results() {
    while (results_to_ && !no_result_.empty()) {
        buffer_.clear();
        encode(no_result_.front(), buffer_);
        if (!messages_.send_reliably(*results_to_, DataflowType::level2_result, buffer_)) return;
        ++counts_.empty_results;
        no_result_.pop_front();
    }
}

void Supervisor::lost(std::uint64_t id, SteadyTime) {
    const auto found = open_.find(id);
    if (found == open_.end()) return;
    found->second.unit = {};
    if (options_.lost_decision == LostDecision::accept || found->second.gives >= options_.gives_max || pass())
        return accept_unjudged(id, true);
    ++counts_.reassigned;
    to_give_.push_front(id);
}

void Supervisor::unassign(wire::StationId, Unit& unit, const char* why, SteadyTime now) {
    if (!unit.alive) return;
    ++counts_.units_lost;
    for (const auto& judged : std::exchange(unit.judged, {}))
        if (now - judged.at < judged_for) give_empty_result(judged.level1_id, judged.global_id);
    auto ids = std::vector<std::uint64_t>(unit.has.begin(), unit.has.end());
    report_.warning(
        fmt::format("processing unit {} {}; {} events of it are {}", unit.name, why, ids.size(),
                    options_.lost_decision == LostDecision::accept ? "accepted without a decision" : "reassigned"));
    // They use up its credit until it answers: when it is reachable again it still has them.
    unit.has.clear();
    std::ranges::sort(ids, std::greater<>());  // the oldest is given first
    for (const auto id : ids)
        if (const auto found = open_.find(id); found != open_.end() && found->second.unit != wire::StationId{})
            lost(id, now);
}

void Supervisor::look_at_deadlines(SteadyTime now) {
    while (!deadlines_.empty()) {
        const auto deadline = deadlines_.front();
        const auto found = open_.find(deadline.id);
        const bool decided =
            found == open_.end() || found->second.gives != deadline.gives || found->second.unit == wire::StationId{};
        if (!decided && deadline.at > now) break;
        deadlines_.pop_front();
        if (decided) continue;
        ++counts_.timed_out;
        // The unit still has it and will answer: the event keeps its place there.
        lost(deadline.id, now);
    }
}

std::uint64_t Supervisor::room(const Unit& unit) noexcept {
    return unit.alive && !unit.full && unit.credit > unit.given ? unit.credit - unit.given : 0;
}

/// The unit with the most room takes the next events, as many as bring it level with the one after it.
void Supervisor::give(SteadyTime now) {
    while (!to_give_.empty()) {
        auto best = units_.end();
        std::uint64_t second = 0;
        for (auto it = units_.begin(); it != units_.end(); ++it) {
            if (room(it->second) == 0) continue;
            if (best == units_.end() || room(it->second) > room(best->second)) {
                if (best != units_.end()) second = room(best->second);
                best = it;
            } else {
                second = std::max(second, room(it->second));
            }
        }
        if (best == units_.end()) return;
        const auto level = std::max<std::uint64_t>(1, room(best->second) - second);
        const auto events = std::min<std::uint64_t>({level, options_.batch, to_give_.size(), wire::tickets_max});
        if (!give_to(best->first, best->second, events, now)) best->second.full = true;
    }
}

bool Supervisor::give_to(wire::StationId id, Unit& unit, std::size_t events, SteadyTime now) {
    task_.events.resize(events);
    for (std::size_t i = 0; i < events; ++i) {
        task_.events[i].ticket = open_.at(to_give_[i]).ticket;
        find_regions(task_.events[i].ticket, task_.events[i].regions);
    }
    buffer_.clear();
    encode(task_, buffer_);
    if (!messages_.send_reliably(id, DataflowType::level2_task, buffer_)) return false;
    for (std::size_t i = 0; i < events; ++i) {
        const auto event = to_give_.front();
        to_give_.pop_front();
        auto& open = open_.at(event);
        open.unit = id;
        open.since = now;
        ++open.gives;
        unit.has.insert(event);
        deadlines_.push_back({.at = now + options_.decision_timeout, .id = event, .gives = open.gives});
    }
    unit.given += events;
    if (deadlines_.size() > 4ULL * options_.in_hand_max)  // of events that were decided behind one that was not
        std::erase_if(deadlines_, [this](const Deadline& deadline) { return !open_.contains(deadline.id); });
    return true;
}

void Supervisor::find_regions(const wire::EventTicket& event, std::vector<SourceId>& regions) {
    regions.clear();
    if (!options_.regions_of) return draw_regions(event.global_id, options_.regions, regions);
    if (const auto found = options_.regions_of(event, regions); !found) {
        ++counts_.regions_failed;
        report_({.severity = Severity::warning,
                 .what = "regions of interest failed",
                 .why = fmt::format("on event {}, which gets all fragments: {}", number(event.global_id),
                                    found.error().context),
                 .alarm = "regions_failed"});
        regions.clear();
        draw_regions(event.global_id, 0, regions);
    }
}

/// The same ones for an event whenever it is given.
void Supervisor::draw_regions(GlobalEventId id, std::uint32_t count, std::vector<SourceId>& regions) const {
    if (count == 0 || count >= sources_.size()) {
        regions.assign(sources_.begin(),
                       sources_.begin() + static_cast<std::ptrdiff_t>(std::min(sources_.size(), wire::regions_max)));
        return;
    }
    Random random(options_.seed * 0xd134'2543'de82'ef95 + number(id));
    while (regions.size() < std::min<std::size_t>(count, wire::regions_max)) {
        const auto source = sources_[random.below(sources_.size())];
        if (std::ranges::find(regions, source) == regions.end()) regions.push_back(source);
    }
}

}  // namespace weir::selection

// SPDX-License-Identifier: Apache-2.0
// What run control does about sources of which fragments are missing: an alarm, and a mask where a rule says so.
#include <fmt/format.h>

#include <algorithm>

#include "run/run_control_state.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::control {
namespace {

constexpr std::size_t alarms_max = 32;  // of single sources, in a run; further ones share an alarm

constexpr const char* rule = "rule mask_after";
constexpr const char* file = "partition file";
constexpr std::size_t changes_max = 10'000;  // kept of a run

/// Where weir itself refused fragments, the board may be innocent.
std::string advice_for(const RunSource& source) {
    if (source.counts.refused == 0) return "look at its electronics, cable and program";
    return fmt::format(
        "{} of its fragments were refused: the counts of {} say why (full: it needs more events_max or "
        "memory); else look at its electronics, cable and program",
        source.counts.refused, source.readout.empty() ? "its readout" : source.readout);
}

}  // namespace

void RunControl::State::note_change(RunChange change) {
    if (!run_active()) return;
    changes_noted_ = false;
    if (changes_.list.size() >= changes_max) {
        ++changes_.left_out;
        return;
    }
    change.when = clock_.wall();
    changes_.list.push_back(std::move(change));
}

/// What a person has masked stays masked.
void RunControl::State::mask_those_of_the_file() {
    std::erase_if(masked_, [](const auto& entry) { return entry.second.who == file; });
    for (const auto source : options_.masked) masked_.try_emplace(source, Mask{file, "masked"});
}

/// What a person or the partition file masked stays masked; what the rule masked has another try in the next run.
void RunControl::State::begin_masks() {
    std::erase_if(masked_, [](const auto& entry) { return entry.second.who == rule; });
    masks_.clear();
    for (const auto& [source, mask] : masked_) {
        masks_.push_back({source, true, {}});
        changes_.list.push_back({.when = clock_.wall(),
                                 .what = "mask",
                                 .subject = fmt::format("0x{:06x}", number(source)),
                                 .who = mask.who,
                                 .why = "from the begin of the run"});
    }
    for (const auto& station : stations_) station->set_masks(masks_);
}

/// An event that no builder will have begun when it has the mask: what all of them build in two seconds, and some more
/// for a run that has just begun, after the newest that one of them has begun.
Level1Id RunControl::State::next_for_masks() const {
    std::optional<Level1Id> newest;
    double rate = 0;
    for (const auto& station : stations_) {
        if (station->entry().kind != StationKind::build) continue;
        rate += station->rate();
        const auto found = station->status().counters.find("newest_level1_id");
        if (found == station->status().counters.end()) continue;
        const Level1Id here{static_cast<std::uint32_t>(static_cast<std::uint64_t>(found->second))};
        if (!newest || wire::level1_distance(here, *newest) > 0) newest = here;
    }
    const auto ahead = static_cast<std::uint32_t>(std::min(2 * rate, 1e8)) + 50;
    return Level1Id{number(newest.value_or(options_.first_level1_id)) + ahead};
}

Result<> RunControl::State::mask(SourceId source, bool masked, const std::string& who, const std::string& why) {
    const auto id = fmt::format("0x{:06x}", number(source));
    if (masked_.contains(source) == masked)
        return fail(Errc::refused, fmt::format("source {} is {}masked already", id, masked ? "" : "not "));
    const bool run = state == PartitionState::running || state == PartitionState::paused;
    if (run && masks_.size() >= service::masks_max)
        return fail(Errc::refused, "masks were changed too often in this run; stop it and begin another one");
    if (masked) masked_[source] = {who, why};
    else masked_.erase(source);
    const auto what = masked ? "masked" : "not masked any more";
    if (!run) {
        report(Severity::information, fmt::format("source {} is {}, from the next run on: {}", id, what, who));
        return {};
    }
    const auto from = next_for_masks();
    masks_.push_back({source, masked, from});
    note_change({.what = masked ? "mask" : "unmask", .subject = id, .who = who, .why = why, .from = from});
    report_({.severity = who == rule ? Severity::warning : Severity::information,
             .what = fmt::format("source {} is {} from event {} (level-1 id) on", id, what, number(from)),
             .why = why.empty() ? who : fmt::format("{}: {}", who, why)});
    for (const auto& station : stations_) {
        station->set_masks(masks_);
        const auto kind = station->entry().kind;
        if (kind != StationKind::build && kind != StationKind::readout) continue;
        if (!station->up() || station->ending() || !station->started()) continue;  // its start brings them
        station->add({StationStep::Kind::mask, service::Transition::start, options_.connect_deadline});
    }
    return {};
}

Result<> RunControl::State::mask_by_command(SourceId source, bool masked, const std::string& who) {
    if (state == PartitionState::starting || state == PartitionState::stopping)
        return fail(Errc::refused, fmt::format("cannot change masks: the partition is {}", weir::control::name(state)));
    const bool known = std::ranges::any_of(peers_, [&](const Peer& peer) {
        return peer.kind == StationKind::readout && std::ranges::find(peer.sources, source) != peer.sources.end();
    });
    if (!known)
        return fail(Errc::usage,
                    fmt::format("no readout serves source 0x{:06x}; weir run status --json lists those that "
                                "there are",
                                number(source)));
    return mask(source, masked, who, "");
}

void RunControl::State::look_at_sources() {
    sources_looked_ = now_;
    auto sources = sources_of(results(), peers_);
    for (auto& source : sources) source.masked = masked_.contains(source.counts.source);
    const auto findings = watch_.look(now_, state == PartitionState::running || draining(), sources);
    for (const auto& finding : findings) {
        const auto source = std::ranges::find(sources, finding.source, [](const auto& s) { return s.counts.source; });
        if (source != sources.end()) report_source(*source, finding);
    }
    sources_ = std::make_shared<const std::vector<RunSource>>(std::move(sources));
}

void RunControl::State::report_source(const RunSource& source, const SourceFinding& finding) {
    const auto who = name(source);
    const auto id = fmt::format("0x{:06x}", number(finding.source));
    if (finding.kind == SourceFinding::Kind::again)
        return report(Severity::information, fmt::format("source {}: {}", who, finding.what));
    if (finding.kind == SourceFinding::Kind::mask) {
        if (state == PartitionState::running) static_cast<void>(mask(finding.source, true, rule, finding.what));
        return;
    }
    const bool own = sources_alarmed_.contains(finding.source) || sources_alarmed_.size() < alarms_max;
    if (own) sources_alarmed_.insert(finding.source);
    const bool silent = finding.kind == SourceFinding::Kind::silent;
    report_({.severity = Severity::error,
             .what = fmt::format("source {} {}: {}", who, silent ? "is silent" : "loses fragments", finding.what),
             .advice = advice_for(source),
             .key = silent ? "silent sources" : "sources that lose fragments",
             .alarm = !own ? "more sources have fragments missing"
                           : fmt::format("source {} {}", id, silent ? "is silent" : "loses fragments")});
}

}  // namespace weir::control

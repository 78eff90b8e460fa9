// SPDX-License-Identifier: Apache-2.0
#include "sources/source_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::control {
namespace {

std::string seconds_text(SteadyTime::duration time) {
    return to_string(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration_cast<std::chrono::seconds>(time)));
}

std::uint64_t since(std::uint64_t before, std::uint64_t now) noexcept { return now - std::min(before, now); }

/// `taken`: the counts of when a fragment was last taken.
std::string silence_text(SteadyTime::duration silence, const service::SourceStatus& taken,
                         const service::SourceStatus& now) {
    const auto late = since(taken.late, now.late), duplicated = since(taken.duplicated, now.duplicated),
               refused = since(taken.refused, now.refused), without = since(taken.missing, now.missing);
    auto text = fmt::format("no fragment for {}", seconds_text(silence));
    if (late + duplicated + refused > 0)
        text = fmt::format("no fragment was taken for {}; of those that came {} were late, {} duplicated, {} refused",
                           seconds_text(silence), late, duplicated, refused);
    return text + (without > 0 ? fmt::format(", and {} events were built without it", without) : ", while others send");
}

}  // namespace

std::vector<SourceFinding> SourceWatch::look(SteadyTime now, bool active, std::vector<RunSource>& sources) {
    std::vector<SourceFinding> findings;
    const auto find = [&](SourceFinding::Kind kind, const RunSource& source, std::string what) {
        findings.push_back({kind, source.counts.source, std::move(what)});
    };
    SteadyTime newest{};  // when any of those outside was seen last
    for (auto& source : sources) {
        const auto [found, fresh] = seen_.try_emplace(source.counts.source);
        auto& seen = found->second;
        const bool arrived = source.counts.arrived != seen.taken.arrived;
        if (fresh) seen.changed = now;
        if (!active || source.masked) seen.changed = std::max(seen.changed, now);
        if (arrived) {
            if (seen.silent) find(SourceFinding::Kind::again, source, "it sends again");
            seen = {.changed = now, .misses = seen.misses};
        }
        if (fresh || arrived || source.masked) seen.taken = source.counts;
        if (source.counts.outside) newest = std::max(newest, seen.changed);
    }
    for (auto& source : sources) {
        auto& seen = seen_.at(source.counts.source);
        if (source.masked) {
            source.silent = seen.silent = seen.to_mask = false;
            continue;
        }
        const auto silence = now - seen.changed;
        const auto without = since(seen.taken.missing, source.counts.missing);
        const bool left_behind = source.counts.outside && newest - seen.changed >= limits_.silent_after;
        source.silent = active && silence >= limits_.silent_after && (left_behind || without > 0);
        if (source.silent && !seen.silent)
            find(SourceFinding::Kind::silent, source, silence_text(silence, seen.taken, source.counts));
        seen.silent = seen.silent || source.silent;
        if (limits_.incomplete_max.passed(source.counts.missing, source.counts.expected) && !seen.misses) {
            seen.misses = true;
            find(SourceFinding::Kind::missing, source,
                 fmt::format("missing in {} of {} events", source.counts.missing, source.counts.expected));
        }
        const auto& rule = limits_.mask_after;
        const bool by_events = rule.events > 0 && without >= rule.events;
        const bool by_time = rule.time.count() > 0 && active && silence >= rule.time && (left_behind || without > 0);
        if (seen.to_mask || !(by_events || by_time)) continue;
        seen.to_mask = true;
        find(SourceFinding::Kind::mask, source,
             by_events ? fmt::format("{} events one after the other without it", without)
                       : fmt::format("silent for {}", seconds_text(silence)));
    }
    return findings;
}

}  // namespace weir::control

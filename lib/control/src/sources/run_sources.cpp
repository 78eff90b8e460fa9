// SPDX-License-Identifier: Apache-2.0
// Fragments of a run by source: summed up over the stations, and judged at the end.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "weir/control/run_result.hpp"

namespace weir::control {
namespace {

constexpr std::size_t named_max = 10;  // in a line of problems

}  // namespace

std::string name(const RunSource& source) {
    const auto id = fmt::format("0x{:06x}", number(source.counts.source));
    return source.readout.empty() ? id : fmt::format("{} of {}", id, source.readout);
}

std::vector<RunSource> sources_of(const std::vector<StationResult>& stations, const std::vector<Peer>& peers) {
    std::map<SourceId, RunSource> by_source;
    const auto of = [&](SourceId id) -> RunSource& {
        auto& source = by_source[id];
        source.counts.source = id;
        return source;
    };
    for (const auto& peer : peers) {
        if (peer.kind != StationKind::readout) continue;
        for (const auto id : peer.sources) of(id).readout = peer.name;
    }
    for (const auto& station : stations) {
        for (const auto& counts : station.sources) {
            auto& source = of(counts.source);
            if (station.kind == StationKind::select) source.missing_level2 += counts.missing;
            else add(source.counts, counts);
        }
    }
    std::vector<RunSource> all;
    all.reserve(by_source.size());
    for (auto& [id, source] : by_source) all.push_back(std::move(source));
    return all;
}

std::vector<RunSource> worst(const std::vector<RunSource>& sources, std::size_t at_most) {
    if (sources.size() <= at_most) return sources;
    auto all = sources;
    // Of equally bad ones the lowest id first: they are negated, as the order is descending.
    const auto bad = [](const RunSource& s) {
        return std::tuple(s.silent, s.counts.missing + s.counts.lost, ~number(s.counts.source));
    };
    std::ranges::sort(all, std::greater{}, bad);
    all.resize(at_most);
    std::ranges::sort(all, {}, [](const RunSource& s) { return s.counts.source; });
    return all;
}

void check_incomplete(RunResult& result, const IncompleteLimit& limit) {
    const auto& events = result.events;
    if (!limit.passed(events.incomplete, events.built)) return;
    std::vector<RunSource> missing;
    std::ranges::copy_if(result.sources, std::back_inserter(missing),
                         [](const RunSource& s) { return s.counts.missing > 0; });
    std::ranges::sort(missing, std::greater{},
                      [](const RunSource& s) { return std::pair(s.counts.missing, ~number(s.counts.source)); });
    std::string which;
    for (std::size_t i = 0; i < std::min(missing.size(), named_max); ++i)
        which += fmt::format("{}source {} was missing in {} of {}", i == 0 ? ": " : ", ", name(missing[i]),
                             missing[i].counts.missing, missing[i].counts.expected);
    if (missing.size() > named_max) which += fmt::format(", and {} other sources", missing.size() - named_max);
    result.problems.push_back(fmt::format("{} of {} events are incomplete, more than incomplete_max ({}){}",
                                          events.incomplete, events.built, limit.text(), which));
}

}  // namespace weir::control

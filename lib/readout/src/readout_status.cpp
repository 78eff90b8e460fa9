// SPDX-License-Identifier: Apache-2.0
#include "readout_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

namespace weir::readout {

service::SourceStatus status_of(const SourceCounts& source, const Clock& clock) {
    const auto refused = [&](RobReject reason) { return source.refused[static_cast<std::size_t>(reason)]; };
    service::SourceStatus status{.source = source.source,
                                 .outside = true,
                                 .arrived = source.arrived,
                                 .bytes = source.bytes,
                                 .late = refused(RobReject::late) + refused(RobReject::cleared),
                                 .duplicated = refused(RobReject::duplicate)};
    for (const auto count : source.refused) status.refused += count;
    status.refused -= status.late + status.duplicated;
    if (source.last_seen)
        status.last_seen =
            clock.wall() - std::chrono::duration_cast<WallTime::duration>(clock.now() - *source.last_seen);
    return status;
}

void add_front_end(const FrontEndStats& stats, service::StationStatus& status) {
    const auto add = [&](const char* what, std::uint64_t value) { status.counters[what] = static_cast<double>(value); };
    add("front_end_fragments", stats.delivery.fragments);
    add("front_end_refused", stats.delivery.refused);
    add("front_end_triggers", stats.triggers);
    add("front_end_triggers_lost", stats.delivery.triggers_lost);
    add("front_end_threw", stats.threw);
    add("front_end_hung", stats.hung);
    add("front_end_crashed", stats.crashed);
    add("front_end_restarts", stats.restarts);
    status.counters["front_end_busy_seconds"] = std::chrono::duration<double>(stats.delivery.busy).count();
    status.counters["hanging_seconds"] = std::chrono::duration<double>(stats.hanging).count();
}

void add_input(const FragmentServer& server, service::StationStatus& status) {
    const auto stats = server.stats();
    const auto add = [&](const char* what, std::uint64_t value) { status.counters[what] = static_cast<double>(value); };
    add("input_port", server.port());
    add("input_connections", stats.receiver.connections);
    add("input_blocks", stats.blocks);
    add("input_blocks_malformed", stats.blocks_malformed);
    add("input_blocks_waiting", stats.waiting);
    add("input_waits", stats.waits);
    add("input_records", stats.records);
    add("input_refused", stats.refused);
    add("input_bytes", stats.receiver.bytes);
}

/// Datagrams by what came of them, and what is known of each source by its counter.
void add_datagrams(const DatagramServer& server, service::StationStatus& status) {
    const auto stats = server.stats();
    const auto add = [&](std::string_view what, std::uint64_t value) {
        status.counters[fmt::format("input_udp_{}", what)] = static_cast<double>(value);
    };
    add("port", server.port());
    add("datagrams", stats.datagrams.datagrams);
    add("bytes", stats.datagrams.bytes);
    add("no_run", stats.no_run);
    add("kernel_drops", stats.kernel_drops);
    add("receive_buffer", server.receive_buffer().count());
    for (std::size_t i = 0; i < datagram_fault_count; ++i)
        add(name(static_cast<DatagramFault>(i)), stats.datagrams.faults[i]);
    for (std::size_t i = 0; i < datagram_fate_count; ++i)
        add(name(static_cast<DatagramFate>(i)), stats.datagrams.fates[i]);
    for (const auto& counts : stats.sources) {
        const auto source = std::ranges::find(status.sources, counts.source, &service::SourceStatus::source);
        if (source == status.sources.end()) continue;
        source->lost += counts.lost + counts.unfinished;
        source->duplicated += counts.duplicate_parts;  // a whole one is counted where it is refused
        source->disordered += counts.disordered;
        source->jumps += counts.jumps;
    }
}

/// What became of fragments that brought a time, over all sources; jumps of their boards' clocks by source.
void add_matching(const MatchedIntake& matched, service::StationStatus& status) {
    const auto add = [&](std::string_view what, std::uint64_t value) {
        status.counters[fmt::format("match_{}", what)] += static_cast<double>(value);
    };
    add("triggers_unordered", matched.triggers_unordered());
    add("triggers_dropped", matched.triggers_dropped());
    for (const auto& [source, counts] : matched.counts()) {
        add("matched", counts.decided[static_cast<std::size_t>(Match::trigger)]);
        add("no_trigger", counts.decided[static_cast<std::size_t>(Match::none)]);
        add("ambiguous", counts.decided[static_cast<std::size_t>(Match::ambiguous)]);
        add("clock_unknown", counts.decided[static_cast<std::size_t>(Match::unlocked)]);
        add("waiting", counts.waiting);
        add("clocks_found", counts.acquired);
        add("clocks_lost", counts.silences);
        add("clock_jumps", counts.jumps);
        add("clocks_followed", counts.locked ? 1 : 0);
        const auto found = std::ranges::find(status.sources, source, &service::SourceStatus::source);
        if (found != status.sources.end()) found->jumps += counts.jumps;
    }
}

}  // namespace weir::readout

// SPDX-License-Identifier: Apache-2.0
#include "weir/recovery/marks.hpp"

#include <fmt/format.h>

#include <charconv>

namespace weir::recovery {
namespace {

constexpr const char* no_sender = "*";  // senders have letters, digits and `-_.:`
constexpr std::size_t chunk_memory_max = 2 * wire::EventIdSet::chunk_overhead + wire::EventIdChunk::size / 8;

}  // namespace

catalogue::SessionMark mark_of(const wire::SessionKey& key, const wire::SequenceSet& durable,
                               const std::string& recorder) {
    catalogue::SessionMark mark;
    mark.recorder = recorder;
    mark.run = key.run;
    mark.sender = key.sender;
    mark.incarnation = fmt::format("{:016x}", key.incarnation);
    mark.connection = key.connection;
    mark.durable = wire::to_string(durable);
    return mark;
}

Result<std::pair<wire::SessionKey, wire::SequenceSet>> session_of(const catalogue::SessionMark& mark) {
    wire::SessionKey key{mark.sender, 0, mark.connection, mark.run};
    const auto* end = mark.incarnation.data() + mark.incarnation.size();
    const auto read = std::from_chars(mark.incarnation.data(), end, key.incarnation, 16);
    if (read.ec != std::errc{} || read.ptr != end)
        return fail(Errc::corrupt, fmt::format("incarnation \"{}\" of sender {} in the catalogue is not a number",
                                               mark.incarnation, mark.sender));
    auto durable = WEIR_TRY(wire::parse_sequence_set(mark.durable));
    return std::pair(std::move(key), std::move(durable));
}

catalogue::SessionMark mark_of_events(const wire::EventIdSet& durable, std::uint64_t chunk, RunNumber run,
                                      const std::string& recorder) {
    catalogue::SessionMark mark;
    mark.recorder = recorder;
    mark.run = run;
    mark.sender = no_sender;
    mark.incarnation = fmt::format("{:012x}", chunk);
    mark.durable = to_text(durable, chunk);
    return mark;
}

std::vector<catalogue::SessionMark> marks_of_events(const EventHoldings& holdings, RunNumber run,
                                                    const std::string& recorder) {
    std::vector<catalogue::SessionMark> marks{mark_of_events(holdings.durable, 0, run, recorder)};
    for (const auto& [number, chunk] : holdings.durable.chunks()) {
        const auto* marked = holdings.marked.chunk(number);
        if (number != 0 && (marked == nullptr || !(*marked == chunk)))
            marks.push_back(mark_of_events(holdings.durable, number, run, recorder));
    }
    return marks;
}

bool is_mark_of_events(const catalogue::SessionMark& mark) noexcept { return mark.sender == no_sender; }

Result<wire::EventIdSet> events_of(const catalogue::SessionMark& mark) {
    auto ids = WEIR_TRY(wire::parse_event_ids(mark.durable, chunk_memory_max));
    for (const auto& [number, chunk] : ids.chunks()) {
        if (fmt::format("{:012x}", number) != mark.incarnation)
            return fail(Errc::corrupt,
                        fmt::format("the mark of events {} of recorder {} in the catalogue names ids of chunk {:012x}",
                                    mark.incarnation, mark.recorder, number));
    }
    return ids;
}

}  // namespace weir::recovery

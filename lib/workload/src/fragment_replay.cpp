// SPDX-License-Identifier: Apache-2.0
#include "weir/workload/fragment_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "raw_file_contents.hpp"
#include "weir/event/compression.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/rob_cursor.hpp"

namespace weir::workload {
namespace {

bool contains(const std::vector<SourceId>& sources, SourceId source) {
    return std::ranges::find(sources, source) != sources.end();
}

}  // namespace

Result<Part> parse_part(std::string_view text) {
    Part part;
    const auto end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, part.number);
    if (first.ec == std::errc{} && first.ptr != end && *first.ptr == '/') {
        const auto second = std::from_chars(first.ptr + 1, end, part.of);
        if (second.ec == std::errc{} && second.ptr == end && part.number >= 1 && part.number <= part.of) return part;
    }
    return fail(Errc::usage,
                fmt::format("part \"{}\" is no share of the sources; write 2/6 for the second of six", text));
}

Result<std::unique_ptr<FragmentReplay>> FragmentReplay::open(const FragmentReplayOptions& options, FileSystem& system) {
    const auto file = WEIR_TRY(read_raw_file(
        options.file, options.file_size_max,
        fmt::format("it is held in memory, and larger than {}", to_string(options.file_size_max)), system));
    const auto& index = file.index;

    std::unique_ptr<FragmentReplay> replay(new FragmentReplay);
    replay->format_ = index.head.format();
    replay->run_ = index.head.run.run;
    if (replay->format_ == event::Format::opaque)
        return fail(Errc::unsupported,
                    fmt::format("{}: opaque events have no fragments to serve", options.file.native()));
    if (index.blocks.empty()) return fail(Errc::usage, fmt::format("{} holds no event", options.file.native()));
    std::vector<SourceId> all;
    for (std::size_t i = 0; i < index.blocks.size(); ++i) {
        auto recorded = replay->unpack(file.event(i), options.rules, all);
        if (!recorded) return in_file(options.file, in_event(i + 1, std::move(recorded.error())));
        replay->events_.push_back(std::move(*recorded));
    }
    if (auto chosen = replay->choose(options, all); !chosen) return in_file(options.file, std::move(chosen.error()));
    return replay;
}

/// All ROBs of an event, each with its stamp; sources that were not seen before are added to `all`.
Result<FragmentReplay::Recorded> FragmentReplay::unpack(ConstData bytes, const event::RodRules& rules,
                                                        std::vector<SourceId>& all) {
    const auto whole = WEIR_TRY(event::EventView::parse(bytes, format_));
    std::vector<std::byte> unpacked;
    auto event = whole;
    if (event.compression() != event::Compression::none) {
        unpacked = WEIR_TRY(event::decompress_event(event, rules.uncompressed_max));
        event = event::EventView::parse(unpacked, format_).value();
    }
    Recorded recorded;
    auto walked = event::for_each_rob(event, [&](const event::FragmentView& rob) -> Result<> {
        auto stamp = WEIR_TRY(event::RobStamp::make(rob.bytes(), format_, event.ids().level1_id, rules));
        const auto twice = std::ranges::find(recorded.robs, rob.source(), &RecordedRob::source);
        if (twice != recorded.robs.end())
            return fail(Errc::corrupt, fmt::format("source 0x{:06x} has two ROBs", number(rob.source())));
        if (!contains(all, rob.source())) all.push_back(rob.source());
        recorded.robs.push_back({.source = rob.source(), .size = rob.bytes().size(), .stamp = stamp});
        recorded.bytes.insert(recorded.bytes.end(), rob.bytes().begin(), rob.bytes().end());
        return {};
    });
    if (!walked) return std::unexpected(std::move(walked.error()));
    return recorded;
}

Result<> FragmentReplay::choose(const FragmentReplayOptions& options, const std::vector<SourceId>& all) {
    sources_ = options.sources;
    for (const auto source : sources_)
        if (!contains(all, source)) return fail(Errc::usage, fmt::format("it has no source 0x{:06x}", number(source)));
    if (sources_.empty()) {
        const auto cut = [&](std::uint32_t part) {
            return all.begin() + static_cast<std::ptrdiff_t>(std::uint64_t{part} * all.size() / options.part.of);
        };
        sources_.assign(cut(options.part.number - 1), cut(options.part.number));
    }
    if (sources_.empty())
        return fail(Errc::usage, fmt::format("part {}/{} of its {} sources is none", options.part.number,
                                             options.part.of, all.size()));
    for (auto& event : events_) {
        Recorded chosen;
        std::size_t at = 0;
        for (const auto& rob : event.robs) {
            if (contains(sources_, rob.source)) {
                const auto bytes = ConstData(event.bytes).subspan(at, rob.size);
                chosen.bytes.insert(chosen.bytes.end(), bytes.begin(), bytes.end());
                chosen.robs.push_back(rob);
                if (rob.stamp.mismatch()) ++mismatches_[rob.source];
            }
            at += rob.size;
        }
        event = std::move(chosen);
    }
    return {};
}

std::span<const event::RobData> FragmentReplay::make(Level1Id id) {
    auto& event = events_[(number(id) - 1) % events_.size()];
    robs_.clear();
    MutableData rest(event.bytes);
    for (const auto& rob : event.robs) {
        rob.stamp.apply(rest.first(rob.size), id);
        robs_.push_back({rob.source, rest.first(rob.size)});
        rest = rest.subspan(rob.size);
    }
    return robs_;
}

}  // namespace weir::workload

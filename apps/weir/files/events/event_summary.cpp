// SPDX-License-Identifier: Apache-2.0
#include "files/events/event_summary.hpp"

#include "files/objects/object_view.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/event/compression.hpp"
#include "weir/selection/result.hpp"
#include "weir/selection/selection_unit.hpp"

namespace weir::app {
namespace {

/// Fragments of this sub-detector that are built in another way are not ours to explain: other experiments have some.
void look_for_result(const event::FragmentView& rob, std::vector<FoundResult>& results) {
    if ((number(rob.source()) >> 16 & 0xff) != selection::level2_detector) return;
    const auto rod = event::RodView::parse(rob.payload());
    if (!rod) return;
    const auto bytes = selection::result_in(rod->data());
    if (bytes && !bytes->empty()) results.push_back({rob.source(), {bytes->begin(), bytes->end()}});
}

}  // namespace

Result<Fragments> Fragments::of(const event::EventView& event, Bytes most) {
    Fragments fragments;
    fragments.format_ = event.format();
    fragments.offset_ = event.header().size();
    fragments.payload_ = event.payload();
    if (event.compression() == event::Compression::none) return fragments;
    fragments.unpacked_ = WEIR_TRY(event::decompress_payload(event, most));  // moving a vector does not move its bytes
    fragments.payload_ = fragments.unpacked_;
    return fragments;
}

EventSummary summarize(const FileWalk::Block& block, ConstData bytes, event::Format format, Bytes most,
                       std::size_t results_most) {
    EventSummary summary;
    summary.block = block;
    summary.adler32 = checksum::adler32(bytes);
    if (format == event::Format::opaque) return summary;
    const auto event = event::EventView::parse(bytes, format);
    if (!event) return summary.trouble = event.error(), summary;
    summary.ids = event->ids();
    if (const auto tags = event->stream_tags()) {
        for (const auto& tag : *tags) summary.tags.push_back(stream_key(tag) + (tag.partial() ? "*" : ""));
    } else {
        summary.trouble = tags.error();
    }
    const auto fragments = Fragments::of(*event, most);
    if (!fragments) return summary.trouble = fragments.error(), summary;
    std::uint64_t robs = 0;
    if (const auto walked = event::for_each_rob(fragments->cursor(),
                                                [&](const event::FragmentView& rob) {
                                                    ++robs;
                                                    if (summary.results.size() < results_most)
                                                        look_for_result(rob, summary.results);
                                                });
        !walked) {
        summary.trouble = walked.error();
    } else {
        summary.robs = robs;
    }
    return summary;
}

json::object json_of(const EventSummary& summary) {
    json::object event{{"number", summary.block.number},
                       {"offset", summary.block.offset},
                       {"block", summary.block.separator.block_number},
                       {"bytes", summary.block.separator.size},
                       {"adler32", fmt::format("{:08x}", summary.adler32)}};
    if (summary.ids) {
        event["run"] = number(summary.ids->run);
        event["global_id"] = number(summary.ids->global_id);
        event["level1_id"] = number(summary.ids->level1_id);
        event["lumi_block"] = number(summary.ids->lumi_block);
    }
    if (summary.robs) event["robs"] = *summary.robs;
    json::array tags;
    for (const auto& tag : summary.tags) tags.emplace_back(json_text(tag));
    event["tags"] = std::move(tags);
    json::array results;
    for (const auto& result : summary.results) {
        auto object = json_of(view_object(result.bytes));
        object["source"] = number(result.source);
        results.push_back(std::move(object));
    }
    if (!results.empty()) event["results"] = std::move(results);
    if (summary.trouble) event["error"] = json_text(summary.trouble->message());
    return event;
}

}  // namespace weir::app

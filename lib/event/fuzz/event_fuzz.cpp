// SPDX-License-Identifier: Apache-2.0
// Any bytes as an event of either format: parsed, walked, checked, cut, planned and stamped. What a walk
// accepts must stay acceptable when it was cut or stamped.
#include <vector>

#include "weir/base/assert.hpp"
#include "weir/event/check.hpp"
#include "weir/event/compression.hpp"
#include "weir/event/partial.hpp"
#include "weir/event/restamp.hpp"
#include "weir/event/rob_cursor.hpp"

namespace {

using namespace weir;
using namespace weir::event;

void try_as(ConstData data, Format format) {
    const RodRules rules{.uncompressed_max = 1_MiB};
    const auto checked = check_event(data, format, Depth::fragments, rules);
    const auto view = EventView::parse(data, format);
    WEIR_ASSERT(view.has_value() || !checked.has_value());
    if (!view) return;

    std::uint32_t robs = 0;
    std::size_t bytes = 0;
    std::vector<SourceId> sources;
    const auto walked = for_each_rob(*view, [&](const FragmentView& rob) {
        if (++robs % 2 == 0) sources.push_back(rob.source());
        bytes += rob.bytes().size();
    });
    WEIR_ASSERT(bytes <= data.size());
    if (checked && view->compression() == Compression::none) WEIR_ASSERT(walked.has_value() && checked->robs == robs);

    StreamTag tag{.type = "t", .name = "n", .obeys_lumi_block = true, .robs = sources, .detectors = {0x42}};
    EventPieces cut;
    if (cut_event(*view, tag, cut)) {
        const auto cut_bytes = cut.to_bytes();
        WEIR_ASSERT(EventView::parse(cut_bytes, format).has_value());
        if (checked) WEIR_ASSERT(check_event(cut_bytes, format, Depth::fragments, rules).has_value());
    }
    if (const auto plan = RestampPlan::make(data, format)) {
        std::vector<std::byte> copy(data.begin(), data.end());
        plan->apply(copy, {.run = RunNumber{1},
                           .global_id = GlobalEventId{2},
                           .level1_id = Level1Id{3},
                           .lumi_block = LumiBlock{4},
                           .time = {}});
        WEIR_ASSERT(EventView::parse(copy, format).has_value());
        if (checked) WEIR_ASSERT(check_event(copy, format, Depth::fragments, rules).has_value());
    }
    if (const auto plain = decompress_event(*view, 1_MiB)) WEIR_ASSERT(EventView::parse(*plain, format).has_value());
    if (const auto tags = view->stream_tags())
        WEIR_ASSERT(tags->size() <= view->stream_tag_words().size() / word_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    try_as(bytes, Format::event_5_0);
    try_as(bytes, Format::event_3_0);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "filter_item.hpp"

#include <utility>

#include "weir/base/endian.hpp"
#include "weir/event/compression.hpp"
#include "weir/event/event_builder.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/rob_cursor.hpp"

namespace weir::selection {
namespace {

void read_words(ConstData from, std::vector<std::uint32_t>& to) {
    to.clear();
    for (std::size_t at = 0; at + 4 <= from.size(); at += 4) to.push_back(load_little<std::uint32_t>(from, at));
}

Result<> look(FilterItem& item, event::Format format) {
    const auto bytes = std::as_const(item.incoming.payload).data();
    const auto parsed = WEIR_TRY(event::EventView::parse(bytes, format));
    item.event.run = parsed.ids().run;
    item.event.bunch_crossing_id = parsed.bunch_crossing_id();
    item.event.trigger_type = parsed.trigger_type();
    item.event.seconds = parsed.ids().time.seconds;
    item.event.nanoseconds = parsed.ids().time.nanoseconds;
    read_words(parsed.level1_words(), item.level1_words);
    read_words(parsed.level2_words(), item.level2_words);
    event::RobCursor cursor(parsed);
    if (parsed.compression() != event::Compression::none) {
        item.unpacked = WEIR_TRY(event::decompress_payload(parsed, unpacked_max));
        cursor = event::RobCursor(item.unpacked, format, parsed.header().size());
    }
    return event::for_each_rob(cursor, [&item](const event::FragmentView& rob) {
        item.fragments.push_back({rob.source(), FragmentState::here, rob.bytes()});
    });
}

}  // namespace

void look_into(FilterItem& item, event::Format format, RunNumber run) {
    const auto& meta = item.incoming.meta;
    item.event = {};
    item.fragments.clear();
    item.event.run = run;
    item.event.global_id = meta.global_id;
    item.event.level1_id = meta.level1_id;
    item.event.lumi_block = meta.lumi_block;
    item.event.payload = std::as_const(item.incoming.payload).data();
    if (format != event::Format::opaque) {
        if (auto good = look(item, format); !good) item.malformed = good.error().context;
    }
    item.event.fragments = item.fragments;
    item.event.level1_words = item.level1_words;
    item.event.level2_words = item.level2_words;
}

Result<std::vector<std::byte>> stamped_with(ConstData event, event::Format format, const std::vector<StreamTag>& tags) {
    if (format != event::Format::event_5_0)
        return fail(Errc::unsupported, "only events of format 5.0 have stream tags");
    const auto view = WEIR_TRY(event::EventView::parse(event, format));
    if (view.compression() != event::Compression::none)
        return fail(Errc::unsupported, "a compressed event keeps its header");
    event::EventFields fields;
    fields.format = format;
    fields.ids = view.ids();
    fields.source = view.source();
    fields.status.clear();
    for (std::size_t i = 0; i < view.fragment().status_count(); ++i) fields.status.push_back(view.fragment().status(i));
    fields.run_type = view.run_type();
    fields.bunch_crossing_id = view.bunch_crossing_id();
    fields.trigger_type = view.trigger_type();
    read_words(view.level1_words(), fields.level1_words);
    read_words(view.level2_words(), fields.level2_words);
    read_words(view.filter_words(), fields.filter_words);
    fields.tags = tags;
    fields.checksum = view.checksum_type();
    std::vector<ConstData> robs;
    auto walked = event::for_each_rob(view, [&robs](const event::FragmentView& rob) { robs.push_back(rob.bytes()); });
    if (!walked) return std::unexpected(walked.error());
    return event::build_event(fields, robs);
}

}  // namespace weir::selection

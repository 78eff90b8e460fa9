// SPDX-License-Identifier: Apache-2.0
#include "stations/frame/sampled_object.hpp"

#include <algorithm>

#include "files/events/event_summary.hpp"
#include "weir/base/endian.hpp"

namespace weir::app {
namespace {

std::vector<std::uint32_t> words_of(ConstData data) {
    std::vector<std::uint32_t> words(data.size() / event::word_bytes);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = load_little<std::uint32_t>(data, i * event::word_bytes);
    return words;
}

}  // namespace

Result<service::SampledEvent> sampled_event(ConstData bytes, event::Format format, const std::string& station) {
    const auto event = event::EventView::parse(bytes, format);
    if (!event) return std::unexpected(event.error());
    const auto tags = WEIR_TRY(event->stream_tags());
    const auto fragments = WEIR_TRY(Fragments::of(*event));
    const auto& ids = event->ids();
    service::SampledEvent sampled{.station = station,
                                  .global_id = number(ids.global_id),
                                  .run = number(ids.run),
                                  .level1_id = number(ids.level1_id),
                                  .lumi_block = number(ids.lumi_block),
                                  .seconds = ids.time.seconds,
                                  .nanoseconds = ids.time.nanoseconds,
                                  .level1_words = words_of(event->level1_words()),
                                  .level2_words = words_of(event->level2_words()),
                                  .filter_words = words_of(event->filter_words())};
    for (const auto& tag : tags) sampled.stream_tags.push_back(stream_key(tag));
    const auto walked = event::for_each_rob(fragments.cursor(), [&](const event::FragmentView& rob) {
        sampled.fragments.push_back({number(rob.source()), words_of(rob.bytes())});
    });
    if (!walked) return std::unexpected(walked.error());
    return sampled;
}

bool tap_matches(ConstData bytes, event::Format format, const service::TapWish& wish) {
    const auto event = event::EventView::parse(bytes, format);
    if (!event) return false;
    if (!wish.stream.empty()) {
        const auto tags = event->stream_tags();
        if (!tags || std::ranges::none_of(*tags, [&](const auto& tag) { return stream_key(tag) == wish.stream; }))
            return false;
    }
    if (!wish.source) return true;
    const auto fragments = Fragments::of(*event);
    bool found = false;
    if (fragments)
        static_cast<void>(event::for_each_rob(fragments->cursor(), [&](const event::FragmentView& rob) -> Result<> {
            found = rob.source() == *wish.source;
            return found ? fail(Errc::refused, "found") : Result<>{};
        }));
    return found;
}

}  // namespace weir::app

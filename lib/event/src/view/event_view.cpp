// SPDX-License-Identifier: Apache-2.0
#include "weir/event/event_view.hpp"

#include "fault.hpp"
#include "weir/event/stream_tags.hpp"
#include "words.hpp"

namespace weir::event {

Result<std::uint64_t> EventView::announced_size(ConstData start) {
    if (start.size() < 2 * word_bytes) return fault(Errc::truncated, Level::event, 0, "ends before its size");
    if (word(start, 0) != event_marker)
        return fault(Errc::corrupt, Level::event, 0,
                     fmt::format("marker is 0x{:08x}, not 0x{:08x}", word(start, 0), event_marker));
    return std::uint64_t{word(start, 1)} * word_bytes;
}

Result<EventView> EventView::parse(ConstData data, Format format) {
    auto fragment = WEIR_TRY(FragmentView::parse(data, Level::event, format));
    if (fragment.bytes().size() != data.size())
        return fault(Errc::corrupt, Level::event, 0,
                     fmt::format("has a size of {} bytes where {} came", fragment.bytes().size(), data.size()));
    EventView view(fragment);
    view.format_ = format;
    view.uncompressed_payload_size_ = view.payload().size();
    WEIR_TRY(format == Format::event_5_0 ? view.read_5_0() : view.read_3_0());
    return view;
}

Result<> EventView::read_5_0() {
    const auto& f = fragment_;
    const auto corrupt = [](std::string_view reason) { return fault(Errc::corrupt, Level::event, 0, reason); };
    if (f.specific_count() < event_5_0_specific_words)
        return corrupt(
            fmt::format("header has {} specific words, fewer than {}", f.specific_count(), event_5_0_specific_words));
    ids_ = {.run = RunNumber{f.specific(5)},
            .global_id = GlobalEventId{std::uint64_t{f.specific(3)} << 32 | f.specific(2)},
            .level1_id = Level1Id{f.specific(7)},
            .lumi_block = LumiBlock{f.specific(6)},
            .time = {.seconds = f.specific(0), .nanoseconds = f.specific(1)}};
    run_type_ = f.specific(4);
    bunch_crossing_id_ = f.specific(8);
    trigger_type_ = f.specific(9);
    if (f.specific(10) > static_cast<std::uint32_t>(Compression::zlib))
        return fault(Errc::unsupported, Level::event, 0, fmt::format("unknown compression type {}", f.specific(10)));
    compression_ = static_cast<Compression>(f.specific(10));
    if (compression_ != Compression::none) uncompressed_payload_size_ = std::uint64_t{f.specific(11)} * word_bytes;

    std::size_t at = 12;
    for (auto* list : {&level1_words_, &level2_words_, &filter_words_, &stream_tag_words_}) {
        if (at >= f.specific_count()) return corrupt("header ends before its lists do");
        const std::size_t count = f.specific(at);
        if (count > f.specific_count() - at - 1)
            return corrupt(
                fmt::format("a list of {} words at byte {} is longer than the header", count, f.specific_position(at)));
        *list = f.header().subspan(f.specific_position(at) + word_bytes, count * word_bytes);
        at += 1 + count;
    }
    if (at != f.specific_count())
        return corrupt(fmt::format("header has {} words, not {}", f.header().size() / word_bytes,
                                   f.header().size() / word_bytes - f.specific_count() + at));
    return {};
}

Result<> EventView::read_3_0() {
    const auto& f = fragment_;
    if (f.specific_count() != event_3_0_specific_words)
        return fault(Errc::corrupt, Level::event, 0,
                     fmt::format("header has {} specific words, not {}", f.specific_count(), event_3_0_specific_words));
    ids_ = {.run = RunNumber{f.specific(2)},
            .global_id = GlobalEventId{f.specific(1)},
            .level1_id = Level1Id{f.specific(3)},
            .lumi_block = {},
            .time = {.seconds = f.specific(0), .nanoseconds = 0}};
    level1_words_ = f.header().subspan(f.specific_position(6), 4 * word_bytes);
    return {};
}

Result<std::vector<StreamTag>> EventView::stream_tags() const { return decode_stream_tags(stream_tag_words_); }

}  // namespace weir::event

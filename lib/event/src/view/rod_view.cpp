// SPDX-License-Identifier: Apache-2.0
#include "fault.hpp"
#include "weir/event/fragment.hpp"
#include "words.hpp"

namespace weir::event {

Result<RodView> RodView::parse(ConstData data, std::size_t offset) {
    const auto corrupt = [&](std::string_view reason) { return fault(Errc::corrupt, Level::rod, offset, reason); };
    if (data.size() >= word_bytes && word(data, 0) != rod_marker)
        return corrupt(fmt::format("marker is 0x{:08x}, not 0x{:08x}", word(data, 0), rod_marker));
    if (data.size() % word_bytes != 0 || data.size() < (rod_header_words + rod_trailer_words) * word_bytes)
        return corrupt(fmt::format("{} bytes cannot hold its header and trailer", data.size()));
    if (word(data, 1) != rod_header_words)
        return corrupt(fmt::format("header size is {}, not {}", word(data, 1), rod_header_words));
    if (word(data, 2) >> 24 != rod_version_3_1 >> 8)
        return fault(Errc::unsupported, Level::rod, offset,
                     fmt::format("version is 0x{:08x}, not 0x03......", word(data, 2)));

    const auto words = data.size() / word_bytes;
    const std::uint64_t status_words = word(data, words - 3);
    const std::uint64_t data_words = word(data, words - 2);
    const auto position = word(data, words - 1);
    if (rod_header_words + rod_trailer_words + status_words + data_words != words)
        return corrupt(fmt::format("trailer counts {} status and {} data words where {} are between header and trailer",
                                   status_words, data_words, words - rod_header_words - rod_trailer_words));
    if (position > 1) return corrupt(fmt::format("status position is {}, neither 0 nor 1", position));

    RodView view;
    view.bytes_ = data;
    view.offset_ = offset;
    view.status_words_ = status_words;
    view.data_words_ = data_words;
    view.status_after_data_ = position == 1;
    return view;
}

std::uint32_t RodView::version() const noexcept { return word(bytes_, 2); }
SourceId RodView::source() const noexcept { return SourceId{word(bytes_, 3)}; }
RunNumber RodView::run() const noexcept { return RunNumber{word(bytes_, 4)}; }
Level1Id RodView::level1_id() const noexcept { return Level1Id{word(bytes_, 5)}; }
std::uint32_t RodView::bunch_crossing_id() const noexcept { return word(bytes_, 6); }
std::uint32_t RodView::trigger_type() const noexcept { return word(bytes_, 7); }
std::uint32_t RodView::detector_event_type() const noexcept { return word(bytes_, 8); }

ConstData RodView::data() const noexcept {
    const auto before = rod_header_words + (status_after_data_ ? 0 : status_words_);
    return bytes_.subspan(before * word_bytes, data_words_ * word_bytes);
}

ConstData RodView::status_words() const noexcept {
    const auto before = rod_header_words + (status_after_data_ ? data_words_ : 0);
    return bytes_.subspan(before * word_bytes, status_words_ * word_bytes);
}

}  // namespace weir::event

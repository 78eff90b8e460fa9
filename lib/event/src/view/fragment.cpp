// SPDX-License-Identifier: Apache-2.0
#include "weir/event/fragment.hpp"

#include <optional>

#include "fault.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

std::uint32_t marker_of(Level level) noexcept {
    switch (level) {
        case Level::event: return event_marker;
        case Level::subdetector: return subdetector_marker;
        case Level::ros: return ros_marker;
        case Level::rob: return rob_marker;
        case Level::rod: return rod_marker;
    }
    return 0;
}

/// The number of specific words that a fragment must have; nothing when the header counts them itself.
std::optional<std::size_t> fixed_specific_words(Level level, Format format) noexcept {
    if (format == Format::event_3_0) return std::nullopt;
    return level == Level::rob ? std::optional<std::size_t>(0) : std::nullopt;
}

}  // namespace

const char* name(Level level) noexcept {
    switch (level) {
        case Level::event: return "event";
        case Level::subdetector: return "sub-detector";
        case Level::ros: return "ROS";
        case Level::rob: return "ROB";
        case Level::rod: return "ROD";
    }
    return "unknown";
}

Result<FragmentView> FragmentView::parse(ConstData data, Level level, Format format, std::size_t offset) {
    // An event that ends early was cut; a child that does is contradicted by its parent.
    const auto too_short = level == Level::event ? Errc::truncated : Errc::corrupt;
    if (format == Format::opaque) return fault(Errc::unsupported, level, offset, "opaque events have no fragments");
    if (data.size() < word_bytes) return fault(too_short, level, offset, "ends before its marker");
    if (const auto marker = word(data, 0); marker != marker_of(level))
        return fault(Errc::corrupt, level, offset,
                     fmt::format("marker is 0x{:08x}, not 0x{:08x}", marker, marker_of(level)));
    if (data.size() < common_header_words * word_bytes)
        return fault(too_short, level, offset, fmt::format("{} bytes cannot hold its header", data.size()));

    const std::uint64_t total = word(data, 1);
    const std::uint64_t header = word(data, 2);
    const std::uint32_t version = word(data, 3);
    const std::uint64_t status_count = word(data, 5);
    const auto expected_version = format == Format::event_5_0 ? version_5_0 : version_3_0;
    if (version >> 16 != expected_version)
        return fault(Errc::unsupported, level, offset,
                     fmt::format("major version is 0x{:04x}, not 0x{:04x}", version >> 16, expected_version));
    if (header > total)
        return fault(Errc::corrupt, level, offset, fmt::format("header of {} words in {} words", header, total));
    if (common_header_words + status_count > header)
        return fault(Errc::corrupt, level, offset,
                     fmt::format("{} status words do not fit a header of {} words", status_count, header));
    if (total * word_bytes > data.size())
        return fault(too_short, level, offset,
                     fmt::format("has a size of {} bytes where {} are left", total * word_bytes, data.size()));

    FragmentView view;
    view.bytes_ = data.first(total * word_bytes);
    view.offset_ = offset;
    view.level_ = level;
    view.header_size_ = header * word_bytes;
    view.status_count_ = status_count;
    view.specific_count_ = header - common_header_words - status_count;
    const auto last_common = word(data, 6 + status_count);
    std::size_t checksum_words = 0;
    if (format == Format::event_3_0) {
        if (last_common != view.specific_count_)
            return fault(
                Errc::corrupt, level, offset,
                fmt::format("counts {} specific words where its header has {}", last_common, view.specific_count_));
    } else {
        if (last_common > static_cast<std::uint32_t>(ChecksumType::adler32))
            return fault(Errc::unsupported, level, offset, fmt::format("unknown checksum type {}", last_common));
        view.checksum_type_ = static_cast<ChecksumType>(last_common);
        checksum_words = view.checksum_type_ == ChecksumType::none ? 0 : 1;
    }
    if (const auto fixed = fixed_specific_words(level, format); fixed && *fixed != view.specific_count_)
        return fault(Errc::corrupt, level, offset,
                     fmt::format("header has {} words, not {}", header, common_header_words + status_count + *fixed));
    if (header + checksum_words > total) return fault(Errc::corrupt, level, offset, "has no room for its checksum");
    view.payload_size_ = (total - header - checksum_words) * word_bytes;
    return view;
}

std::uint32_t FragmentView::version() const noexcept { return word(bytes_, 3); }
SourceId FragmentView::source() const noexcept { return SourceId{word(bytes_, 4)}; }

std::uint32_t FragmentView::status(std::size_t i) const noexcept {
    WEIR_ASSERT(i < status_count_);
    return word(bytes_, 6 + i);
}

std::size_t FragmentView::specific_position(std::size_t i) const noexcept {
    WEIR_ASSERT(i < specific_count_);
    return (common_header_words + status_count_ + i) * word_bytes;
}

std::uint32_t FragmentView::specific(std::size_t i) const noexcept {
    return load_little<std::uint32_t>(bytes_, specific_position(i));
}

std::optional<std::uint32_t> FragmentView::checksum() const noexcept {
    if (checksum_type_ == ChecksumType::none) return std::nullopt;
    return word(bytes_, bytes_.size() / word_bytes - 1);
}

}  // namespace weir::event

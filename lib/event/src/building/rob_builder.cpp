// SPDX-License-Identifier: Apache-2.0
#include "weir/event/rob_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "payload_sum.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

constexpr std::size_t rod_words_without_data = rod_header_words + 1 + rod_trailer_words;

/// Checks the options and appends a ROB of `payload_size` bytes, header filled in, payload and checksum not.
Result<MutableData> append_header(std::vector<std::byte>& to, SourceId source, std::size_t payload_size,
                                  const RobOptions& options) {
    const bool sums = options.checksum == ChecksumType::adler32;
    if (options.format == Format::opaque)
        return fail(Errc::unsupported, "ROB: opaque events have no fragments; choose event-5.0 or event-3.0");
    if (options.checksum != ChecksumType::none && (!sums || options.format == Format::event_3_0))
        return fail(Errc::unsupported,
                    fmt::format("ROB of source 0x{:06x}: checksum type {} is not made in {}; choose 0{}",
                                number(source), static_cast<std::uint32_t>(options.checksum), name(options.format),
                                options.format == Format::event_5_0 ? " or 2 (adler32)" : ""));
    const auto size = rob_header_words * word_bytes + payload_size + (sums ? word_bytes : 0);
    if (size / word_bytes > 0xffff'ffff)
        return fail(Errc::limit,
                    fmt::format("ROB of source 0x{:06x}: {} bytes do not fit its size word", number(source), size));
    const auto begin = to.size();
    to.resize(begin + size);
    const MutableData rob(to.data() + begin, size);
    std::size_t at = 0;
    const auto put = [&](std::uint32_t value) { set_word(rob, at++, value); };
    put(rob_marker);
    put(static_cast<std::uint32_t>(size / word_bytes));
    put(rob_header_words);
    put((options.format == Format::event_5_0 ? version_5_0 : version_3_0) << 16);
    put(number(source));
    put(1);
    put(options.status);
    put(static_cast<std::uint32_t>(options.checksum));  // event 3.0: no specific words, the same 0
    return rob;
}

/// The checksum behind the payload, when there is one.
void close_rob(MutableData rob, const RobOptions& options) {
    if (options.checksum != ChecksumType::adler32) return;
    const auto payload = rob.subspan(rob_header_words * word_bytes, rob.size() - (rob_header_words + 1) * word_bytes);
    set_word(rob, rob.size() / word_bytes - 1, payload_adler32(payload));
}

}  // namespace

std::size_t rob_size(std::size_t data_words, const RobOptions& options) noexcept {
    const std::size_t checksum_words = options.checksum == ChecksumType::none ? 0 : 1;
    return (rob_header_words + rod_words_without_data + data_words + checksum_words) * word_bytes;
}

Result<> append_rob(std::vector<std::byte>& to, const RodFields& rod, std::span<const std::uint32_t> data,
                    const RobOptions& options) {
    const auto rob =
        WEIR_TRY(append_header(to, rod.source, (rod_words_without_data + data.size()) * word_bytes, options));
    std::size_t at = rob_header_words;
    const auto put = [&](std::uint32_t value) { set_word(rob, at++, value); };
    put(rod_marker);
    put(rod_header_words);
    put((options.format == Format::event_5_0 ? rod_version_3_1 : version_3_0) << 16);
    put(number(rod.source));
    put(number(rod.run));
    put(number(rod.level1_id));
    put(rod.bunch_crossing_id);
    put(rod.trigger_type);
    put(rod.detector_event_type);
    if (!rod.status_after_data) put(rod.status);
    for (const auto value : data) put(value);
    if (rod.status_after_data) put(rod.status);
    put(1);
    put(static_cast<std::uint32_t>(data.size()));
    put(rod.status_after_data ? 1 : 0);
    close_rob(rob, options);
    return {};
}

Result<> append_rob_around(std::vector<std::byte>& to, SourceId source, ConstData rod, const RobOptions& options) {
    if (rod.size() % word_bytes != 0)
        return fail(Errc::corrupt,
                    fmt::format("ROD of source 0x{:06x}: {} bytes are no whole words", number(source), rod.size()));
    const auto rob = WEIR_TRY(append_header(to, source, rod.size(), options));
    std::ranges::copy(rod, rob.begin() + rob_header_words * word_bytes);
    close_rob(rob, options);
    return {};
}

Result<> append_lost_rob(std::vector<std::byte>& to, const RodFields& rod, RobOptions options) {
    options.status |= status::rob_lost | status::dummy_collection_timeout | status::dummy_fragment | status::timeout;
    return append_rob(to, rod, {}, options);
}

Result<> append_masked_rob(std::vector<std::byte>& to, const RodFields& rod, RobOptions options) {
    options.status |= status::rob_discarded | status::dummy_fragment;
    return append_rob(to, rod, {}, options);
}

}  // namespace weir::event

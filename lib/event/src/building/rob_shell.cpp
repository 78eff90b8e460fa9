// SPDX-License-Identifier: Apache-2.0
#include "weir/event/rob_shell.hpp"

#include <fmt/format.h>

#include "words.hpp"

namespace weir::event {
namespace {

class Words {
public:
    explicit Words(MutableData to) : to_(to) {}
    void put(std::uint32_t value) { set_word(to_, at_++, value); }
    [[nodiscard]] std::size_t bytes() const noexcept { return at_ * word_bytes; }

private:
    MutableData to_;
    std::size_t at_ = 0;
};

Result<> put_rob_header(Words& words, SourceId source, std::size_t payload_words, const RobOptions& options) {
    if (options.format == Format::opaque || options.checksum != ChecksumType::none)
        return fail(Errc::unsupported, fmt::format("ROB of source 0x{:06x}: a shell is made in event-5.0 or event-3.0, "
                                                   "without a checksum",
                                                   number(source)));
    if (payload_words > 0xffff'ffff - rob_header_words)
        return fail(Errc::limit, fmt::format("ROB of source 0x{:06x}: {} words do not fit its size word",
                                             number(source), payload_words));
    words.put(rob_marker);
    words.put(static_cast<std::uint32_t>(rob_header_words + payload_words));
    words.put(rob_header_words);
    words.put((options.format == Format::event_5_0 ? version_5_0 : version_3_0) << 16);
    words.put(number(source));
    words.put(1);
    words.put(options.status);
    words.put(0);  // no checksum; event 3.0: no specific words
    return {};
}

}  // namespace

Result<> make_shell(RobShell& shell, const RodFields& rod, std::span<const std::uint32_t> status_words,
                    std::size_t data_size, const RobOptions& options) {
    if (status_words.size() > RobShell::status_words_max)
        return fail(Errc::limit, fmt::format("ROD of source 0x{:06x}: {} status words, {} are the most",
                                             number(rod.source), status_words.size(), RobShell::status_words_max));
    const auto data_words = data_size / word_bytes + (data_size % word_bytes == 0 ? 0 : 1);
    Words head(shell.head_bytes);
    WEIR_TRY(put_rob_header(head, rod.source, rod_header_words + data_words + status_words.size() + rod_trailer_words,
                            options));
    head.put(rod_marker);
    head.put(rod_header_words);
    head.put((options.format == Format::event_5_0 ? rod_version_3_1 : version_3_0) << 16);
    head.put(number(rod.source));
    head.put(number(rod.run));
    head.put(number(rod.level1_id));
    head.put(rod.bunch_crossing_id);
    head.put(rod.trigger_type);
    head.put(rod.detector_event_type);
    shell.head_size = head.bytes();

    const auto padding = data_words * word_bytes - data_size;
    for (std::size_t i = 0; i < padding; ++i) shell.tail_bytes[i] = std::byte{0};
    Words tail(MutableData(shell.tail_bytes).subspan(padding));
    for (const auto word : status_words) tail.put(word);
    tail.put(static_cast<std::uint32_t>(status_words.size()));
    tail.put(static_cast<std::uint32_t>(data_words));
    tail.put(1);  // the status words are behind the data
    shell.tail_size = padding + tail.bytes();
    return {};
}

Result<> make_shell_around(RobShell& shell, SourceId source, std::size_t rod_size, const RobOptions& options) {
    if (rod_size % word_bytes != 0)
        return fail(Errc::corrupt,
                    fmt::format("ROD of source 0x{:06x}: {} bytes are no whole words", number(source), rod_size));
    Words head(shell.head_bytes);
    WEIR_TRY(put_rob_header(head, source, rod_size / word_bytes, options));
    shell.head_size = head.bytes();
    shell.tail_size = 0;
    return {};
}

}  // namespace weir::event

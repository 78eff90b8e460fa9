// SPDX-License-Identifier: Apache-2.0
// A whole event, read in place: its identity, the streams that it names, and where its fragments lie. One
// class for both formats, so that a recorder asks the same questions of either.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "weir/base/stream_tag.hpp"
#include "weir/event/fragment.hpp"

namespace weir::event {

/// When the bunches crossed: Unix time.
struct BunchTime {
    std::uint32_t seconds = 0;
    std::uint32_t nanoseconds = 0;

    auto operator<=>(const BunchTime&) const noexcept = default;
};

/// The identity of an event.
struct EventIds {
    RunNumber run{};
    GlobalEventId global_id{};  // 32 bits in event 3.0
    Level1Id level1_id{};
    LumiBlock lumi_block{};  // not in event 3.0: 0
    BunchTime time{};        // event 3.0 has seconds only

    bool operator==(const EventIds&) const noexcept = default;
};

class EventView {
public:
    /// `data` is exactly one event. Checks the event's own header, not the fragments below it (RobCursor
    /// and check_event do). Errors name level, byte and reason.
    [[nodiscard]] static Result<EventView> parse(ConstData data, Format format);

    /// The size in bytes that the first words of an event announce, from the 8 bytes or more in `start`.
    [[nodiscard]] static Result<std::uint64_t> announced_size(ConstData start);

    [[nodiscard]] Format format() const noexcept { return format_; }
    [[nodiscard]] const FragmentView& fragment() const noexcept { return fragment_; }
    [[nodiscard]] ConstData bytes() const noexcept { return fragment_.bytes(); }
    [[nodiscard]] ConstData header() const noexcept { return fragment_.header(); }
    /// All fragments, one after the other; one zlib stream when compression() is zlib.
    [[nodiscard]] ConstData payload() const noexcept { return fragment_.payload(); }

    [[nodiscard]] const EventIds& ids() const noexcept { return ids_; }
    [[nodiscard]] SourceId source() const noexcept { return fragment_.source(); }
    [[nodiscard]] std::uint32_t status() const noexcept { return fragment_.status(); }
    [[nodiscard]] bool partial() const noexcept { return (status() & status::event_partial) != 0; }
    [[nodiscard]] ChecksumType checksum_type() const noexcept { return fragment_.checksum_type(); }

    // The rest of the header. Event 3.0 has only the trigger words: its four trigger tags.
    [[nodiscard]] std::uint32_t run_type() const noexcept { return run_type_; }
    [[nodiscard]] std::uint32_t bunch_crossing_id() const noexcept { return bunch_crossing_id_; }
    [[nodiscard]] std::uint32_t trigger_type() const noexcept { return trigger_type_; }
    [[nodiscard]] ConstData level1_words() const noexcept { return level1_words_; }
    [[nodiscard]] ConstData level2_words() const noexcept { return level2_words_; }
    [[nodiscard]] ConstData filter_words() const noexcept { return filter_words_; }
    [[nodiscard]] ConstData stream_tag_words() const noexcept { return stream_tag_words_; }
    /// Decodes stream_tag_words(); none in event 3.0.
    [[nodiscard]] Result<std::vector<StreamTag>> stream_tags() const;

    [[nodiscard]] Compression compression() const noexcept { return compression_; }
    /// In bytes; the size of payload() when it is not compressed. Not to be trusted before a limit was applied.
    [[nodiscard]] std::uint64_t uncompressed_payload_size() const noexcept { return uncompressed_payload_size_; }

private:
    explicit EventView(FragmentView fragment) : fragment_(fragment) {}
    [[nodiscard]] Result<> read_5_0();
    [[nodiscard]] Result<> read_3_0();

    FragmentView fragment_;
    Format format_ = Format::event_5_0;
    EventIds ids_;
    std::uint32_t run_type_ = 0;
    std::uint32_t bunch_crossing_id_ = 0;
    std::uint32_t trigger_type_ = 0;
    Compression compression_ = Compression::none;
    std::uint64_t uncompressed_payload_size_ = 0;
    ConstData level1_words_, level2_words_, filter_words_, stream_tag_words_;
};

}  // namespace weir::event

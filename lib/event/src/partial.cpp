// SPDX-License-Identifier: Apache-2.0
#include "weir/event/partial.hpp"

#include <array>
#include <optional>

#include "fault.hpp"
#include "weir/event/rob_cursor.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

/// The event's header with the status bit set, in a status word that is added when there is none. The
/// size word is set at the end.
void make_header(const EventView& event, EventPieces& into) {
    const auto header = event.header();
    const auto words = static_cast<std::uint32_t>(header.size() / word_bytes);
    constexpr std::size_t status_at = 6 * word_bytes;
    into.make(header.first(status_at));
    if (event.fragment().status_count() == 0) {
        into.set_made_word(2 * word_bytes, words + 1);
        into.set_made_word(5 * word_bytes, 1);
        into.make_word(status::event_partial);
        into.make(header.subspan(status_at));
    } else {
        into.make_word(event.status() | status::event_partial);
        into.make(header.subspan(status_at + word_bytes));
    }
}

/// Event 3.0: the fragments around the ROBs that are kept, each made when its first ROB comes.
class Nesting {
public:
    explicit Nesting(EventPieces& into) : into_(into) {}

    void enter(const RobCursor& cursor) {
        const std::array parents{&cursor.subdetector(), &cursor.ros()};
        for (std::size_t depth = 0; depth < parents.size(); ++depth) {
            const auto& parent = *parents[depth];
            if (open_[depth] && open_[depth]->original == parent->offset()) continue;
            close(depth);
            open_[depth] = Open{.original = parent->offset(), .made = into_.made_size(), .begin = into_.size()};
            into_.make(parent->header());
        }
    }

    /// Sets the sizes of all open fragments from `depth` inwards.
    void close(std::size_t depth) {
        for (; depth < open_.size(); ++depth) {
            if (!open_[depth]) continue;
            const auto size = into_.size() - open_[depth]->begin;
            into_.set_made_word(open_[depth]->made + word_bytes, static_cast<std::uint32_t>(size / word_bytes));
            open_[depth].reset();
        }
    }

private:
    struct Open {
        std::size_t original;  // offset of the fragment in the whole event
        std::size_t made;      // where its header was made
        std::size_t begin;     // where it begins in the cut event
    };
    EventPieces& into_;
    std::array<std::optional<Open>, 2> open_;
};

}  // namespace

Result<> cut_event(const EventView& event, const StreamTag& tag, EventPieces& into) {
    into.clear();
    if (!tag.partial()) {
        into.refer(event.bytes());
        return {};
    }
    if (event.checksum_type() == ChecksumType::crc16_ccitt)
        return fault(Errc::unsupported, Level::event, 0, "a CRC16 checksum cannot be made anew for a partial stream");

    make_header(event, into);
    const auto header_size = into.size();
    RobCursor cursor(event);
    Nesting nesting(into);
    const bool nested = event.format() == Format::event_3_0;
    while (true) {
        auto rob = cursor.next();
        if (!rob) {
            into.clear();
            return std::unexpected(std::move(rob.error()));
        }
        if (!*rob) break;
        if (!tag.wants((*rob)->source())) continue;
        if (nested) nesting.enter(cursor);
        into.refer((*rob)->bytes());
    }
    nesting.close(0);
    const auto payload_words = static_cast<std::uint32_t>((into.size() - header_size) / word_bytes);
    const bool repeats_size = !nested && event.fragment().specific(11) == event.payload().size() / word_bytes;
    if (repeats_size) {  // not every writer fills that word when nothing is compressed
        const auto added = event.fragment().status_count() == 0 ? word_bytes : 0;
        into.set_made_word(event.fragment().specific_position(11) + added, payload_words);
    }
    if (event.checksum_type() == ChecksumType::adler32) into.make_word(into.adler32_from(header_size));
    into.set_made_word(word_bytes, static_cast<std::uint32_t>(into.size() / word_bytes));
    return {};
}

Result<EventPieces> cut_event(const EventView& event, const StreamTag& tag) {
    EventPieces pieces;
    WEIR_TRY(cut_event(event, tag, pieces));
    return pieces;
}

}  // namespace weir::event

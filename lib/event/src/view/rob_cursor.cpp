// SPDX-License-Identifier: Apache-2.0
#include "weir/event/rob_cursor.hpp"

#include "fault.hpp"

namespace weir::event {

RobCursor::RobCursor(const EventView& event)
    : whole_(event.payload()),
      base_(event.fragment().payload_offset()),
      format_(event.format()),
      compressed_(event.compression() != Compression::none) {}

RobCursor::RobCursor(ConstData payload, Format format, std::size_t offset)
    : whole_(payload), base_(offset), format_(format) {}

Result<std::optional<FragmentView>> RobCursor::next() {
    if (compressed_)
        return fault(Errc::unsupported, Level::event, 0, "its fragments are compressed; decompress it first");
    const std::size_t parents = format_ == Format::event_3_0 ? parents_.size() : 0;
    while (true) {
        // The innermost open parent, closed when it is full.
        std::size_t depth = 0;
        while (depth < parents && parents_[depth]) ++depth;
        const auto end = depth == 0 ? whole_.size() : ends_[depth - 1];
        if (at_ == end) {
            if (depth == 0) return std::nullopt;
            parents_[depth - 1].reset();
            continue;
        }
        const auto level = depth == parents ? Level::rob : depth == 0 ? Level::subdetector : Level::ros;
        auto child = WEIR_TRY(FragmentView::parse(whole_.subspan(at_, end - at_), level, format_, base_ + at_));
        if (level == Level::rob) {
            at_ += child.bytes().size();
            return child;
        }
        // Versions 3 have no checksum: a parent's payload reaches to its end.
        ends_[depth] = at_ + child.bytes().size();
        at_ += child.header().size();
        parents_[depth] = child;
    }
}

}  // namespace weir::event

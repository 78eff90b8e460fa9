// SPDX-License-Identifier: Apache-2.0
// Gives one recorded ROB the level-1 id of another event, for a readout that serves the fragments of a file
// again and again. Only the level-1 id of its ROD changes, and the checksum with it; RestampPlan does the
// same, and more, for whole events.
#pragma once

#include <cstdint>

#include "weir/event/check.hpp"

namespace weir::event {

class RobStamp {
public:
    /// `rob` is one whole ROB of an event whose level-1 id is `event`. Its distance to the event's id is kept, whatever
    /// the rules expect; an exempt source, and an id that is far from the event's, keeps its word. Errc::unsupported
    /// for a checksum that we cannot make.
    [[nodiscard]] static Result<RobStamp> make(ConstData rob, Format format, Level1Id event,
                                               const RodRules& rules = {});

    /// `rob` is a copy of the ROB (stamped before or not).
    void apply(MutableData rob, Level1Id event) const noexcept;

    [[nodiscard]] SourceId source() const noexcept { return source_; }
    /// Its id follows the event's.
    [[nodiscard]] bool follows() const noexcept { return position_ != 0; }
    /// The recorded id is not what the rules expect, and the ROB's status does not mark it.
    [[nodiscard]] bool mismatch() const noexcept { return mismatch_; }

private:
    RobStamp() = default;

    SourceId source_{};
    std::uint32_t position_ = 0;                 // of the level-1 id, in bytes; 0: it stays
    std::uint32_t sum_begin_ = 0, sum_end_ = 0;  // the payload that an adler32 behind it covers; both 0: none
    std::int32_t distance_ = 0;
    bool mismatch_ = false;
};

}  // namespace weir::event

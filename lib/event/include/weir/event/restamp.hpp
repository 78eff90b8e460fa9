// SPDX-License-Identifier: Apache-2.0
// Gives a recorded event new ids, so that ten real events make a million different ones. Where the ids
// stand is found once; stamping is then a store per place. Checksums move along with the stored words
// (adler32 lets a changed word be accounted for without reading the rest), so a right one stays right
// and a wrong one stays wrong.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/event/check.hpp"
#include "weir/event/event_view.hpp"

namespace weir::event {

class RestampPlan {
public:
    /// For any number of copies of this uncompressed event. The level-1 id of a source keeps its distance
    /// to the event's; a source that `rules` exempts, or that carries 0 or something farther than
    /// `near_max` from it, keeps its word. Run numbers in RODs and ROSes that are not the event's stay.
    /// Errc::unsupported for compressed events and for checksums that we cannot make.
    [[nodiscard]] static Result<RestampPlan> make(ConstData event, Format format, const RodRules& rules = {});

    static constexpr std::int32_t near_max = 16;

    /// `event` is a copy of the planned event (stamped before or not). Bits that the format does not
    /// have are removed: event 3.0 keeps 32 bits of the global id and no lumi block.
    void apply(MutableData event, const EventIds& ids) const noexcept;

    [[nodiscard]] std::size_t event_size() const noexcept { return event_size_; }
    [[nodiscard]] std::size_t places() const noexcept { return places_.size(); }

private:
    RestampPlan() = default;

    enum class Field : std::uint8_t { run, global_low, global_high, level1, lumi_block, seconds, nanoseconds };
    struct Place {
        std::uint32_t position;      // bytes from the start of the event
        std::uint32_t rob;           // index in robs_, or none
        std::int32_t level1_offset;  // for Field::level1
        Field field;
    };
    struct Summed {  // a payload with an adler32 behind it
        std::uint32_t begin;
        std::uint32_t end;  // where the checksum word stands
    };
    static constexpr std::uint32_t none = 0xffff'ffff;

    std::size_t event_size_ = 0;
    std::vector<Place> places_;
    std::vector<Summed> robs_;  // ROBs with an adler32
    std::uint32_t event_sum_begin_ = none;
};

}  // namespace weir::event

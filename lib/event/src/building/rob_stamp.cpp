// SPDX-License-Identifier: Apache-2.0
#include "weir/event/rob_stamp.hpp"

#include "fault.hpp"
#include "level1_distance.hpp"
#include "payload_sum.hpp"
#include "words.hpp"

namespace weir::event {

Result<RobStamp> RobStamp::make(ConstData data, Format format, Level1Id event, const RodRules& rules) {
    const auto rob = WEIR_TRY(FragmentView::parse(data, Level::rob, format));
    if (rob.bytes().size() != data.size()) return fault(Errc::corrupt, Level::rob, 0, "bytes follow its end");
    RobStamp stamp;
    stamp.source_ = rob.source();
    if (rob.payload().empty()) return stamp;
    const auto rod = WEIR_TRY(RodView::parse(rob.payload(), rob.payload_offset()));
    const auto rule = rules.sources.find(rob.source());
    const bool exempt = rule != rules.sources.end() && rule->second.exempt;
    if (exempt) return stamp;
    const auto expected = rule == rules.sources.end() ? 0 : rule->second.level1_offset;
    const auto distance = level1_distance(number(rod.level1_id()), event, rob.source(), rules);
    stamp.mismatch_ = distance != expected && (rob.status() & status::level1_id) == 0;
    if (!distance) return stamp;
    if (rob.checksum_type() == ChecksumType::crc16_ccitt)
        return fault(Errc::unsupported, Level::rob, 0, "a CRC16 checksum cannot be made anew");
    stamp.distance_ = *distance;
    stamp.position_ = static_cast<std::uint32_t>(rod.offset() + 5 * word_bytes);
    if (rob.checksum()) {
        stamp.sum_begin_ = static_cast<std::uint32_t>(rob.payload_offset());
        stamp.sum_end_ = static_cast<std::uint32_t>(rob.payload_offset() + rob.payload().size());
    }
    return stamp;
}

void RobStamp::apply(MutableData rob, Level1Id event) const noexcept {
    if (!follows()) return;
    const auto before = load_little<std::uint32_t>(rob, position_);
    const auto after = number(event) + static_cast<std::uint32_t>(distance_);
    if (before == after) return;
    store_little(rob, position_, after);
    if (sum_end_ == 0) return;
    const auto sum = load_little<std::uint32_t>(rob, sum_end_);
    store_little(rob, sum_end_,
                 adler32_after_change(sum, sum_end_ - sum_begin_, position_ - sum_begin_, before, after));
}

}  // namespace weir::event

// SPDX-License-Identifier: Apache-2.0
#include "weir/event/restamp.hpp"

#include <limits>

#include "fault.hpp"
#include "level1_distance.hpp"
#include "payload_sum.hpp"
#include "weir/event/rob_cursor.hpp"
#include "words.hpp"

namespace weir::event {

Result<RestampPlan> RestampPlan::make(ConstData data, Format format, const RodRules& rules) {
    auto event = WEIR_TRY(EventView::parse(data, format));
    if (data.size() > std::numeric_limits<std::uint32_t>::max())
        return fault(Errc::limit, Level::event, 0, "larger than 4 GiB; new ids cannot be planned for it");
    const auto refuse_crc16 = [](const FragmentView& fragment) -> Result<> {
        if (fragment.checksum_type() != ChecksumType::crc16_ccitt) return {};
        return fault(Errc::unsupported, fragment.level(), fragment.offset(), "a CRC16 checksum cannot be made anew");
    };
    const auto& whole = event.fragment();
    WEIR_TRY(refuse_crc16(whole));

    RestampPlan plan;
    plan.event_size_ = data.size();
    const auto place = [&plan](std::size_t position, Field field, std::uint32_t rob = none, std::int32_t offset = 0) {
        plan.places_.push_back({static_cast<std::uint32_t>(position), rob, offset, field});
    };
    const bool is_5_0 = format == Format::event_5_0;
    const auto specific = [&whole](std::size_t i) { return whole.specific_position(i); };
    if (is_5_0) {
        place(specific(0), Field::seconds);
        place(specific(1), Field::nanoseconds);
        place(specific(2), Field::global_low);
        place(specific(3), Field::global_high);
        place(specific(5), Field::run);
        place(specific(6), Field::lumi_block);
        place(specific(7), Field::level1);
        if (whole.checksum()) plan.event_sum_begin_ = static_cast<std::uint32_t>(whole.payload_offset());
    } else {
        place(specific(0), Field::seconds);
        place(specific(1), Field::global_low);
        place(specific(2), Field::run);
        place(specific(3), Field::level1);
    }

    RobCursor cursor(event);
    std::size_t ros_seen = 0;  // offset of the ROS that was planned last; 0 is the event itself
    while (true) {
        auto next = WEIR_TRY(cursor.next());
        if (!next) return plan;
        const auto& rob = *next;
        WEIR_TRY(refuse_crc16(rob));
        if (const auto& ros = cursor.ros(); ros && ros->offset() != ros_seen) {
            ros_seen = ros->offset();
            if (ros->specific_count() >= ros_specific_words) {
                if (ros->specific(0) == number(event.ids().run))
                    place(ros_seen + ros->specific_position(0), Field::run);
                if (const auto distance =
                        level1_distance(ros->specific(1), event.ids().level1_id, ros->source(), rules))
                    place(ros_seen + ros->specific_position(1), Field::level1, none, *distance);
            }
        }
        if (rob.payload().empty()) continue;
        auto rod = WEIR_TRY(RodView::parse(rob.payload(), rob.payload_offset()));
        std::uint32_t summed = none;
        if (rob.checksum()) {
            summed = static_cast<std::uint32_t>(plan.robs_.size());
            plan.robs_.push_back({.begin = static_cast<std::uint32_t>(rob.payload_offset()),
                                  .end = static_cast<std::uint32_t>(rob.payload_offset() + rob.payload().size())});
        }
        if (rod.run() == event.ids().run) place(rod.offset() + 4 * word_bytes, Field::run, summed);
        if (const auto distance = level1_distance(number(rod.level1_id()), event.ids().level1_id, rob.source(), rules))
            place(rod.offset() + 5 * word_bytes, Field::level1, summed, *distance);
    }
}

void RestampPlan::apply(MutableData event, const EventIds& ids) const noexcept {
    WEIR_ASSERT(event.size() == event_size_);
    const std::size_t event_sum_at = event_size_ - word_bytes;
    std::uint32_t event_sum = event_sum_begin_ == none ? 0 : load_little<std::uint32_t>(event, event_sum_at);
    std::uint32_t open = none;  // the ROB whose sum is in hand
    std::uint32_t rob_sum = 0;

    const auto put_summed_by_event = [&](std::size_t position, std::uint32_t before, std::uint32_t after) {
        store_little(event, position, after);
        if (event_sum_begin_ != none && position >= event_sum_begin_)
            event_sum = adler32_after_change(event_sum, event_sum_at - event_sum_begin_, position - event_sum_begin_,
                                             before, after);
    };
    const auto close_rob = [&] {
        if (open == none) return;
        const auto at = robs_[open].end;
        put_summed_by_event(at, load_little<std::uint32_t>(event, at), rob_sum);
    };
    for (const auto& place : places_) {
        std::uint32_t value = 0;
        switch (place.field) {
            case Field::run: value = number(ids.run); break;
            case Field::global_low: value = static_cast<std::uint32_t>(number(ids.global_id)); break;
            case Field::global_high: value = static_cast<std::uint32_t>(number(ids.global_id) >> 32); break;
            case Field::level1: value = number(ids.level1_id) + static_cast<std::uint32_t>(place.level1_offset); break;
            case Field::lumi_block: value = number(ids.lumi_block); break;
            case Field::seconds: value = ids.time.seconds; break;
            case Field::nanoseconds: value = ids.time.nanoseconds; break;
        }
        const auto before = load_little<std::uint32_t>(event, place.position);
        if (before == value) continue;
        if (place.rob != open && place.rob != none) {
            close_rob();
            open = place.rob;
            rob_sum = load_little<std::uint32_t>(event, robs_[open].end);
        }
        put_summed_by_event(place.position, before, value);
        if (place.rob != none) {
            const auto& rob = robs_[place.rob];
            rob_sum = adler32_after_change(rob_sum, rob.end - rob.begin, place.position - rob.begin, before, value);
        }
    }
    close_rob();
    if (event_sum_begin_ != none) store_little(event, event_sum_at, event_sum);
}

}  // namespace weir::event

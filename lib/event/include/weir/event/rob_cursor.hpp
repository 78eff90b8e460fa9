// SPDX-License-Identifier: Apache-2.0
// Walks the ROBs of an event in order, whatever lies between the event and them (nothing in 5.0,
// sub-detector and ROS in 3.0), and checks on the way that children fill their parents exactly.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <type_traits>

#include "weir/event/event_view.hpp"

namespace weir::event {

class RobCursor {
public:
    /// Over an uncompressed event; a compressed one fails at the first next() with Errc::unsupported.
    explicit RobCursor(const EventView& event);

    /// Over a payload (decompress_payload gives one) that began `offset` bytes into its event.
    RobCursor(ConstData payload, Format format, std::size_t offset);

    /// The next ROB, nothing after the last, or the fault of the structure (and then the same again).
    [[nodiscard]] Result<std::optional<FragmentView>> next();

    /// The fragments around the ROB that next() gave last: `subdetector` and `ros` of event 3.0.
    [[nodiscard]] const std::optional<FragmentView>& subdetector() const noexcept { return parents_[0]; }
    [[nodiscard]] const std::optional<FragmentView>& ros() const noexcept { return parents_[1]; }

private:
    ConstData whole_;  // the payload
    std::size_t base_ = 0;
    Format format_ = Format::event_5_0;
    bool compressed_ = false;
    std::size_t at_ = 0;                 // the next byte of whole_
    std::array<std::size_t, 2> ends_{};  // of the parents, in whole_
    std::array<std::optional<FragmentView>, 2> parents_;
};

/// Calls `visit(const FragmentView&)` for each ROB; a visit may return void, or Result<> to stop early.
template <std::invocable<const FragmentView&> Visit>
[[nodiscard]] Result<> for_each_rob(RobCursor cursor, Visit&& visit) {
    while (true) {
        auto rob = WEIR_TRY(cursor.next());
        if (!rob.has_value()) return {};
        if constexpr (std::is_void_v<std::invoke_result_t<Visit&, const FragmentView&>>) {
            visit(*rob);
        } else {
            WEIR_TRY(visit(*rob));
        }
    }
}

template <std::invocable<const FragmentView&> Visit>
[[nodiscard]] Result<> for_each_rob(const EventView& event, Visit&& visit) {
    return for_each_rob(RobCursor(event), std::forward<Visit>(visit));
}

}  // namespace weir::event

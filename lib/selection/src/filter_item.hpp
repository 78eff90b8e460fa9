// SPDX-License-Identifier: Apache-2.0
// An event in the filter: as it came, and as its selection sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/delivery/event_sink.hpp"
#include "weir/delivery/receiver.hpp"
#include "weir/event/format.hpp"
#include "weir/selection/selection.hpp"

namespace weir::selection {

struct FilterItem {
    delivery::IncomingEvent incoming{};
    Event event{};  // lies in `incoming` and in what follows
    std::vector<Fragment> fragments{};
    std::vector<std::uint32_t> level1_words{}, level2_words{};
    std::vector<std::byte> unpacked{};  // fragments of a compressed event
    std::string malformed{};            // why it is no event of its format; empty: it is one

    [[nodiscard]] delivery::Answer answer() const noexcept { return {incoming.session, incoming.meta.sequence}; }
};

inline constexpr Bytes unpacked_max{256ULL << 20};

/// Reads the event, so that a selection can look at it: item.event, or item.malformed.
void look_into(FilterItem& item, event::Format format, RunNumber run);

/// The event with these tags in its header (5.0), checksum made anew. Errc::unsupported: its format has none.
[[nodiscard]] Result<std::vector<std::byte>> stamped_with(ConstData event, event::Format format,
                                                          const std::vector<StreamTag>& tags);

}  // namespace weir::selection

// SPDX-License-Identifier: Apache-2.0
// What the two parts of a SenderGroup share: the line to one receiver, and words for its reports.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "receiving/in_flight_events.hpp"
#include "weir/delivery/sender_group.hpp"

namespace weir::delivery {

struct SenderGroup::Line {
    InFlightEvents events{};
    std::atomic<std::uint64_t> bytes{0};  // not answered; released after on_final, acquired in settled()
    std::atomic<std::uint32_t> calls{0};  // of its sender that go on; each begins with mutex_
    std::unique_ptr<Sender> sender{};     // the last member: its thread ends events
};

/// "recorder rec-1"
inline std::string title_of(const Peer& receiver) {
    return fmt::format("{} {}", receiver.kind == StationKind::record ? "recorder" : name(receiver.kind), receiver.name);
}

inline std::uint64_t payload_size(std::span<const Piece> payload) {
    std::uint64_t size = 0;
    for (const auto& piece : payload) size += piece.data.size();
    return size;
}

}  // namespace weir::delivery

// SPDX-License-Identifier: Apache-2.0
// The time of a trigger as a ticket has it: seconds and nanoseconds since 1970.
#pragma once

#include <chrono>
#include <cstdint>

#include "weir/base/clock.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::selection {

inline void set_time(wire::EventTicket& ticket, WallTime time) {
    using std::chrono::floor, std::chrono::nanoseconds, std::chrono::seconds;
    const auto since = time.time_since_epoch();
    const auto whole = floor<seconds>(since);
    ticket.seconds = static_cast<std::uint32_t>(whole.count());
    ticket.nanoseconds = static_cast<std::uint32_t>(nanoseconds(since - whole).count());
}

/// Nanoseconds since 1970.
inline std::int64_t time_ns(const wire::EventTicket& ticket) {
    return std::int64_t{ticket.seconds} * 1'000'000'000 + ticket.nanoseconds;
}

}  // namespace weir::selection

// SPDX-License-Identifier: Apache-2.0
// What the recorder keeps of an event between its arrival and its settlement: one ticket for all of its copies.
#pragma once

#include <atomic>
#include <cstdint>

#include "weir/base/clock.hpp"
#include "weir/base/ids.hpp"

namespace weir::recorder {

/// An event in the recorder's hands; shared between its copies, each of which may be in another file.
struct Ticket {
    std::uint32_t session = 0;
    Sequence sequence{};
    GlobalEventId event{};
    std::uint64_t streams = 0;  // not 0: UniqueEvents has the event in hand, with these streams
    SteadyTime begun{};         // of the few whose time to an answer is taken
    // Not yet final, and one more while the event is being taken; who makes it zero answers.
    std::atomic<std::uint32_t> copies_open{0};
    std::atomic<std::uint64_t> done{0};   // bit n: copy n is durable, or late; it need not come again
    std::atomic<std::uint64_t> late{0};   // of these copies: no file has them; it is answered when that is counted
    std::atomic<bool> any_stored{false};  // acknowledged if so, else rejected
    std::atomic<bool> any_lost{false};    // neither: it has to be sent again
};

}  // namespace weir::recorder

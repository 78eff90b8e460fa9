// SPDX-License-Identifier: Apache-2.0
// What becomes of an event on its way to the disk.
#pragma once

#include <atomic>
#include <cstdint>

#include "weir/base/ids.hpp"

namespace weir::recorder {

/// An event in the recorder's hands; shared between its copies, each of which may be in another file.
struct Ticket {
    std::uint32_t session = 0;
    Sequence sequence{};
    GlobalEventId event{};
    std::uint64_t streams = 0;  // not 0: UniqueEvents has the event in hand, with these streams
    std::atomic<std::uint32_t> copies_open{
        0};                               // not yet final, and one while it is being taken; who makes it zero answers
    std::atomic<std::uint64_t> done{0};   // bit n: copy n is durable, or late; it need not come again
    std::atomic<bool> any_stored{false};  // acknowledged if so, else rejected
    std::atomic<bool> any_late{false};    // it is answered when that is counted for good
    std::atomic<bool> any_lost{false};    // neither: it has to be sent again
};

}  // namespace weir::recorder

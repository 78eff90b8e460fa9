// SPDX-License-Identifier: Apache-2.0
// Where every ROB fragment of a readout went: received = stored (served and cleared) + rejected, by reason, + in hand.
// What is in hand follows from the others, so they balance at every moment.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace weir::readout {

enum class RobReject : std::uint8_t {
    late,             // its event is older than all that are held
    cleared,          // its event was cleared before it came
    duplicate,        // it is here already
    unknown_source,   // no source of this readout
    malformed,        // no valid fragment
    level1_mismatch,  // its own level-1 id is not that of the event it was sent for
    too_large,        // larger than all of the memory
    full,             // no room, and its sender does not wait
    not_cleared,      // was in hand when the run stopped, although a newer event was cleared
    no_level1_id,     // its sender gave none, and none is inside
    too_far_ahead,    // its id is far beyond all that are held: a counter that jumped
    stopping,         // the run ended before there was room for it
    made_ahead,       // was in hand when the run stopped, newer than all that was cleared: no trigger came to it
    no_trigger,       // it brought a time, and no trigger was near it
    ambiguous,        // it brought a time, to which more than one trigger or fragment lay near
    clock_unknown,    // it brought a time, by a clock that could not be compared with that of the triggers
};
inline constexpr std::size_t rob_reject_count = 16;

/// "late", "unknown_source", ...
[[nodiscard]] const char* name(RobReject reason) noexcept;

struct RobCounts {
    std::uint64_t received = 0, stored = 0, in_hand = 0;
    std::array<std::uint64_t, rob_reject_count> rejected{};

    [[nodiscard]] std::uint64_t rejected_in_all() const noexcept;
    bool operator==(const RobCounts&) const = default;
};

/// Any thread. A ROB that is cleared or rejected was received before, in an order that both threads know.
class RobLedger {
public:
    void arrive(std::uint64_t robs) noexcept;                        // and stay
    void refuse(RobReject reason, std::uint64_t robs = 1) noexcept;  // came, and did not stay
    void clear(std::uint64_t robs) noexcept;
    void reject(RobReject reason, std::uint64_t robs) noexcept;  // were in hand
    [[nodiscard]] RobCounts counts() const noexcept;

private:
    // A reader takes what has ended first, by acquire with the release of those who count it, and what was received
    // behind it: nothing ends that was not received. Threads that fill and that clear have a line each.
    alignas(64) std::atomic<std::uint64_t> received_{0};
    alignas(64) std::atomic<std::uint64_t> stored_{0};
    std::array<std::atomic<std::uint64_t>, rob_reject_count> rejected_{};
};

}  // namespace weir::readout

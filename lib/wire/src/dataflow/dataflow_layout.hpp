// SPDX-License-Identifier: Apache-2.0
// Sizes and flags of the dataflow's messages, as docs/formats/dataflow-protocol.md lists them: what encoder and decoder
// share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::wire {

// The bytes that one element of a list takes at least; a count that the bytes cannot back is refused before memory is
// taken.
inline constexpr std::size_t word_size = 4;
inline constexpr std::size_t rob_part_size = 12;
inline constexpr std::size_t ticket_fixed = 48;
inline constexpr std::size_t level2_event_fixed = ticket_fixed + 4;
inline constexpr std::size_t event_end_size = 12;
inline constexpr std::size_t verdict_fixed = 12;
inline constexpr std::size_t trigger_notice_size = 16;
inline constexpr std::size_t seen_fragment_size = 16;

inline constexpr std::uint16_t flag_reassigned = 1;  // of a ticket
inline constexpr std::uint16_t flag_forced_ticket = 2;
inline constexpr std::uint16_t flag_accepted = 1;  // of a verdict
inline constexpr std::uint16_t flag_forced_verdict = 2;
inline constexpr std::uint32_t flag_time = 1;  // of a fragment that was seen: its time is known

}  // namespace weir::wire

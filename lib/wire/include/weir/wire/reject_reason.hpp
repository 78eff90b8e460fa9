// SPDX-License-Identifier: Apache-2.0
// Why an event is refused for good (RejectReason), why a record of a block is (RefuseReason), and why a connection ends
// (ByeReason). The numbers are on the wire and never change their meaning; a number that is not known here is kept and
// still final.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace weir::wire {

enum class RejectReason : std::uint16_t {
    duplicate = 1,         // the recorder holds the same event from another session
    corrupt_payload = 2,   // the payload does not have the checksum that its sender gave
    malformed_event = 3,   // the payload is not a valid event of the announced format
    too_large = 4,         // larger than the recorder takes
    no_tags = 5,           // names no stream
    bad_tag = 6,           // too many tags, or a tag that cannot become a stream
    streams_exceeded = 7,  // the recorder's limit of streams is reached
    format_mismatch = 8,   // not the format of the run or stream
    wrong_run = 9,         // not the run that is being recorded
    run_closed = 10,       // the run has ended
    stopping = 11,         // the recorder stops
    late = 12,             // its lumi block was closed before it came
    cannot_cut = 13,       // a part was asked for of an event that cannot be cut down
    other = 14,            // see the text
    not_selected = 15,     // an event filter does not want it: nothing is wrong with it
};
inline constexpr std::size_t reject_reason_count = 16;  // one past the highest number known here

/// Every known reason, in the order of its number: for tables and metrics.
inline constexpr std::array reject_reasons{
    RejectReason::duplicate,        RejectReason::corrupt_payload, RejectReason::malformed_event,
    RejectReason::too_large,        RejectReason::no_tags,         RejectReason::bad_tag,
    RejectReason::streams_exceeded, RejectReason::format_mismatch, RejectReason::wrong_run,
    RejectReason::run_closed,       RejectReason::stopping,        RejectReason::late,
    RejectReason::cannot_cut,       RejectReason::other,           RejectReason::not_selected};

/// A fragment or trigger that will never be taken, of a block that was.
enum class RefuseReason : std::uint16_t {
    malformed = 1,        // its fields contradict each other, or it is no valid ROD or ROB
    unknown_source = 2,   // not one of this readout's
    duplicate = 3,        // it is here already
    late = 4,             // its event is done with
    level1_mismatch = 5,  // the level-1 id inside is not the one that it was sent for
    too_large = 6,        // larger than all of the memory
    no_level1_id = 7,     // this source's fragments are matched by level-1 id, and it has none
    no_time = 8,          // this source's fragments are matched by time, and it has none
    masked = 9,           // its source is masked
    out_of_order = 10,    // a trigger that comes behind a later one
    stopping = 11,        // the run ended before there was room for it
    full = 12,            // no room, and its sender cannot wait
    too_far_ahead = 13,   // its level-1 id is far beyond all others: a counter that jumped
    other = 14,
};
inline constexpr std::size_t refuse_reason_count = 15;  // one past the highest number known here

enum class ByeReason : std::uint16_t {
    finished = 1,              // a sender has sent all its events
    stopping = 2,              // a recorder stops; come back later
    malformed = 3,             // bytes that are not a message, or not one that may come here
    unsupported_version = 4,   // of the framing or of the protocol
    too_slow = 5,              // a message was begun and not finished in time
    too_many_connections = 6,  // a limit of connections or sessions is reached
    replaced = 7,              // another connection of the same session has come
    wrong_run = 8,             // not the run that is being recorded
    run_closed = 9,            // the run has ended
    format_mismatch = 10,      // the announced format is not taken
    limit = 11,                // another limit; see the text
    send_again = 12,           // the sender is to retry what was not answered: a disk failed
    not_allowed = 13,          // the sender's certificate is made out to another name
};
inline constexpr std::size_t bye_reason_count = 14;

/// "corrupt_payload"; "unknown" for a number that is not known here.
[[nodiscard]] const char* name(RejectReason reason) noexcept;
[[nodiscard]] const char* name(ByeReason reason) noexcept;
[[nodiscard]] const char* name(RefuseReason reason) noexcept;

/// A place for each known reason, and place 0 for all others: the index of tables of counters.
[[nodiscard]] constexpr std::size_t index(RejectReason reason) noexcept {
    const auto i = static_cast<std::size_t>(reason);
    return i < reject_reason_count ? i : 0;
}
[[nodiscard]] constexpr std::size_t index(RefuseReason reason) noexcept {
    const auto i = static_cast<std::size_t>(reason);
    return i < refuse_reason_count ? i : 0;
}
[[nodiscard]] constexpr std::size_t index(ByeReason reason) noexcept {
    const auto i = static_cast<std::size_t>(reason);
    return i < bye_reason_count ? i : 0;
}

}  // namespace weir::wire

// SPDX-License-Identifier: Apache-2.0
// One message of each kind of the dataflow, as in docs/formats/dataflow-protocol.md.
#pragma once

#include <vector>

#include "weir/base/data.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::wire::sample {

inline EventTicket ticket() {
    return {.global_id = GlobalEventId{7},
            .level1_id = Level1Id{0x01000002},
            .lumi_block = LumiBlock{5},
            .bunch_crossing_id = 1785,
            .trigger_type = 0x84,
            .seconds = 1'700'000'000,
            .nanoseconds = 25,
            .age = std::chrono::microseconds(1500),
            .detector_shift = 0xff00'0000,
            .reassigned = true,
            .forced = false,
            .level1_words = {1, 2},
            .level2_words = {3}};
}
inline DataRequest data_request() {
    return {.request = 9,
            .kind = RequestKind::level2,
            .events = {Level1Id{0x01000002}},
            .robs = {SourceId{0x420001}, SourceId{0x420002}}};
}
inline DataHead data_head() {
    return {.request = 9,
            .level1_id = Level1Id{0x01000002},
            .robs = {{.source = SourceId{0x420001}, .state = RobState::here, .size = 9},
                     {.source = SourceId{0x420002}, .state = RobState::not_yet}}};
}
inline Clear clear() { return {.oldest = Level1Id{3}, .events = {Level1Id{5}, Level1Id{4}}}; }
inline Assign assign() { return {.events = {ticket()}}; }
inline Built built() {
    return {.credit = 64,
            .events = {{.global_id = GlobalEventId{7}, .outcome = EventOutcome::stored},
                       {.global_id = GlobalEventId{8}, .outcome = EventOutcome::failed}}};
}
inline Level2Task level2_task() { return {.events = {{.ticket = ticket(), .regions = {SourceId{0x420001}}}}}; }
inline Level2Decision level2_decision() {
    return {.credit = 65,
            .events = {{.global_id = GlobalEventId{7}, .accepted = true, .forced = true, .level2_words = {3}}}};
}
inline Level2Result level2_result() {
    return {
        .level1_id = Level1Id{0x01000002}, .global_id = GlobalEventId{7}, .result = std::vector(5, std::byte{0x2a})};
}
inline Accept accept() { return {.accepted = {ticket(), ticket()}, .rejected = {Level1Id{1}, Level1Id{2}}}; }
inline AcceptCredit accept_credit() { return {.credit = 1000}; }

inline Triggers triggers() {
    return {.triggers = {{.level1_id = Level1Id{0x01000002}, .type = 0x84, .time_ns = 1'700'000'000'000'000'025}}};
}
inline FragmentSeen fragment_seen() {
    return {.first = 10,
            .source = SourceId{0x420001},
            .fragments = {{.level1_id = Level1Id{0x01000002}, .time_ns = 1'700'000'000'000'000'025},
                          {.level1_id = Level1Id{0x01000003}}}};
}
inline ReadoutBusy readout_busy() { return {.change = 3, .busy = true, .cause = BusyCause::memory, .hold_above = 512}; }

template <class Message>
std::vector<std::byte> encoded(const Message& message) {
    std::vector<std::byte> bytes;
    encode(message, bytes);
    return bytes;
}

}  // namespace weir::wire::sample

// SPDX-License-Identifier: Apache-2.0
// The answer to one request for one event, as bytes that can be sent.
#pragma once

#include <array>
#include <vector>

#include "weir/readout/rob_store.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::readout {

struct Answer {
    wire::StationId to{};
    Level1Id event{};
    std::vector<std::byte> head{};        // an encoded DataHead
    std::vector<std::byte> data{};        // the ROBs that it announces
    std::array<std::uint32_t, 5> robs{};  // how many in each wire::RobState
};

/// Makes answers one after the other; keeps its memory. One thread.
class AnswerMaker {
public:
    /// The ROBs that the store has now. A ROB that would make the message too large is "not yet": it can be requested
    /// again.
    RobStore::Answer make(const RobStore& store, wire::StationId to, std::uint64_t request, Level1Id event,
                          std::span<const SourceId> robs, Answer& into);

private:
    wire::DataHead head_;
};

}  // namespace weir::readout

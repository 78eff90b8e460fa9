// SPDX-License-Identifier: Apache-2.0
// Results of the second level (Level2Result): each becomes a ROB of the pseudo-ROS, or is refused and counted by its
// reason.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/event/format.hpp"
#include "weir/readout/rob_store.hpp"

namespace weir::readout {

/// The source of the ROB that holds the second level's result: sub-detector 7b, "L2".
inline constexpr SourceId level2_result_source{0x7b0000};

class ResultInput {
public:
    /// `run`: of the ROBs that are made here. The store outlives the input.
    ResultInput(RobStore& store, event::Format format, RunNumber run) : store_(store), format_(format), run_(run) {}

    void take(ConstData message);

private:
    void refuse(RobReject reason) { store_.ledger().refuse(reason); }

    RobStore& store_;
    const event::Format format_;
    const RunNumber run_;
    std::vector<std::byte> rob_;
    std::vector<std::uint32_t> words_;
};

}  // namespace weir::readout

// SPDX-License-Identifier: Apache-2.0
// Fragments that come over the network: from detectors (ReadoutInput: untrusted, may be lost, doubled, damaged) and
// from the second level (Level2Result: becomes a ROB of the pseudo-ROS). Each message ends in the store, or is refused
// and counted by its reason. A fragment whose own level-1 id is not that of the event it was sent for is refused: an id
// that slipped by one must be seen, not shift a source against all others.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weir/event/check.hpp"
#include "weir/readout/rob_store.hpp"

namespace weir::readout {

/// The source of the ROB that holds the second level's result: sub-detector 7b, "L2".
inline constexpr SourceId level2_result_source{0x7b0000};

struct RobInputOptions {
    event::Format format = event::Format::event_5_0;
    event::RodRules rules{};  // offsets and exemptions of the sources' level-1 ids
    RunNumber run{};          // of the ROBs that are made here
};

struct Level1Mismatch {
    SourceId source{};
    Level1Id expected{};  // the ROD's id would have been this
    Level1Id found{};
};

class RobInput {
public:
    /// `mismatched` is called for each fragment whose id is another than the one it should have. The store outlives the
    /// input.
    RobInput(RobStore& store, const RobInputOptions& options, std::function<void(const Level1Mismatch&)> mismatched);

    void take_fragment(ConstData message);  // a ReadoutInput
    void take_result(ConstData message);    // a Level2Result

    void set_run(RunNumber run) noexcept { options_.run = run; }

private:
    void refuse(RobReject reason);
    void put(Level1Id event, const event::RobData& rob);

    RobStore& store_;
    RobInputOptions options_;
    std::function<void(const Level1Mismatch&)> mismatched_;
    std::vector<std::byte> rob_;  // made around a ROD, or around a result
    std::vector<std::uint32_t> words_;
};

}  // namespace weir::readout

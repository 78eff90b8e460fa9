// SPDX-License-Identifier: Apache-2.0
// Makes the ROBs of an event from its level-1 id alone: the input of a readout without a detector.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/event/format.hpp"
#include "weir/event/rob_data.hpp"

namespace weir::workload {

/// One thread.
class FragmentMaker {
public:
    virtual ~FragmentMaker() = default;
    [[nodiscard]] virtual const std::vector<SourceId>& sources() const noexcept = 0;
    /// The views are valid until the next call.
    [[nodiscard]] virtual std::span<const event::RobData> make(Level1Id event) = 0;
    /// The run of all ROBs that are made from now on.
    virtual void set_run(RunNumber run) = 0;
};

inline constexpr std::uint32_t generated_robs_max = 4096;  // of an event

struct FragmentGeneratorOptions {
    event::Format format = event::Format::event_5_0;
    std::vector<SourceId> sources{};  // given, they replace the two below
    SourceId first_source{0x420000};  // the others count on from it
    std::uint32_t robs = 12;
    Bytes rob_size{1024};  // rounded down to whole words; at least that of a ROB without data
    std::uint64_t seed = 1;
};

/// Valid ROBs with words as a detector gives them; a few sets of them, stamped with the event's id in turn.
/// Errc::usage: the sizes or sources cannot be.
[[nodiscard]] Result<std::unique_ptr<FragmentMaker>> make_fragment_generator(const FragmentGeneratorOptions& options);

}  // namespace weir::workload

// SPDX-License-Identifier: Apache-2.0
// Fragments that fit no trigger, or more than one, go to a recorder for a look at them later: stream debug_unmatched,
// one event for each, whose bytes are the fragment's record of docs/formats/input-protocol.md. Nothing waits for it:
// what the recorder has no room for is counted, and gone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/readout/time_matching.hpp"
#include "weir/wire/input_block.hpp"

namespace weir::readout {

/// One thread; counts by any.
class UnmatchedOutput {
public:
    /// `name`: of the readout. Joins the run that the recorder has.
    [[nodiscard]] static Result<std::unique_ptr<UnmatchedOutput>> open(const UnmatchedRecorder& to,
                                                                       const std::string& name);

    void send(const wire::InputFragment& fragment);
    /// Waits so long at most until the recorder has answered, if it is there, and reports what it does not have.
    void finish(std::chrono::milliseconds at_most, const Reporter& report);

    struct Counts {
        std::uint64_t recorded = 0;  // are on stable storage
        std::uint64_t dropped = 0;   // found no room, were rejected, or had no answer when it was over
    };
    [[nodiscard]] Counts counts() const;

private:
    UnmatchedOutput(std::unique_ptr<delivery::Sender> sender, std::string host);

    const StreamTag tag_ = parse_stream_key("debug_unmatched").value();
    const std::string host_;
    std::unique_ptr<delivery::Sender> sender_;
    std::uint64_t next_ = 1;
    std::vector<std::byte> record_;
    std::atomic<std::uint64_t> no_room_{0};
    std::atomic<bool> over_{false};
};

}  // namespace weir::readout

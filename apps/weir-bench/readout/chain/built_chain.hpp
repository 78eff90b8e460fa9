// SPDX-License-Identifier: Apache-2.0
// What stands behind a readout in a partition, each station as it is, on sockets of this machine: a supervisor whose
// triggers come as fast as they are taken, a DFM, one builder, and a recorder that takes every event and keeps nothing.
//
//     fragments -> readout -> builder -> recorder
//     supervisor -> DFM ------^   (clears go from the DFM to the readout)
//
// Each station has the processor time of its threads accounted for by itself, so that it can be seen which holds up
// the others.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "stand_in/takes_all.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/building/assigner_station.hpp"
#include "weir/building/builder_station.hpp"
#include "weir/readout/readout_station.hpp"
#include "weir/selection/supervisor_station.hpp"

namespace weir::app {

/// A part of the way: threads of one station that do the same work.
struct StageTimes {
    std::string stage;     // "readout input", "readout answers", "builder", ...
    double processor = 0;  // so far, s
};

/// It lives in the thread that made it.
class BuiltChain {
public:
    /// In run 1. The ids of the readout are ours to set.
    [[nodiscard]] static Result<std::unique_ptr<BuiltChain>> start(readout::ReadoutStationOptions readout);
    ~BuiltChain();

    [[nodiscard]] readout::ReadoutStation& readout() noexcept { return readout_; }
    [[nodiscard]] std::uint64_t built() const noexcept { return recorder_->taken(); }  // any thread
    /// Events without all of their fragments, up to the last 50 ms.
    [[nodiscard]] double incomplete() const { return builder_.status().counters["incomplete"]; }
    /// All stages are always among them, each once or more often.
    [[nodiscard]] std::vector<StageTimes> times() const;
    /// Ends the run. An error when a ledger does not balance.
    [[nodiscard]] Result<> finish();

private:
    struct Part {
        const char* name;
        service::Station* station;
        std::unique_ptr<ThreadAccounts> accounts = std::make_unique<ThreadAccounts>();
    };

    explicit BuiltChain(readout::ReadoutStationOptions readout);
    [[nodiscard]] Result<> begin();

    const SystemClock clock_;
    ThreadAccounts recorder_accounts_;
    std::unique_ptr<TakesAll> recorder_;
    std::array<Part, 4> parts_;  // in the order of starting: what receives comes before what sends to it
    readout::ReadoutStation readout_;
    building::BuilderStation builder_;
    building::AssignerStation assigner_;
    selection::SupervisorStation supervisor_;
    bool running_ = false;
};

}  // namespace weir::app

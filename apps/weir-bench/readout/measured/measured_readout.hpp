// SPDX-License-Identifier: Apache-2.0
// A readout that is measured, and the loop of the station opposite to it, which asks it for data or clears.
#pragma once

#include <functional>
#include <memory>

#include "weir/base/system_clock.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/messaging/message_loop.hpp"
#include "weir/readout/readout_station.hpp"

namespace weir::app {

/// It lives in the thread that made it.
class MeasuredReadout {
public:
    static constexpr wire::StationId readout_id{1}, opposite_id{2};

    /// Configured, connected to the station opposite, and in run 1. The ids are ours to set.
    [[nodiscard]] static Result<std::unique_ptr<MeasuredReadout>> start(readout::ReadoutStationOptions options);

    [[nodiscard]] readout::ReadoutStation& station() noexcept { return station_; }
    /// Of the station opposite; a thread of the user runs it.
    [[nodiscard]] messaging::MessageLoop& loop() noexcept { return *loop_; }
    /// Runs the work in the thread of the loop, and waits until it is done.
    void on_loop(const std::function<void()>& work);
    /// Of all threads of the readout so far, s.
    [[nodiscard]] double processor_seconds() const;
    /// Ends the run. An error when the ledger of the readout does not balance.
    [[nodiscard]] Result<> finish();

private:
    explicit MeasuredReadout(const readout::ReadoutStationOptions& options) : station_(options, {}, clock_) {}

    const SystemClock clock_;
    ThreadAccounts accounts_;  // the threads of the readout enter these
    const ThreadAccounts::Entry entry_{accounts_, "bench"};
    readout::ReadoutStation station_;
    memory::BufferPool messages_{64_MiB};
    std::unique_ptr<messaging::MessageLoop> loop_;
};

}  // namespace weir::app

// SPDX-License-Identifier: Apache-2.0
// A front-end in a run: it is begun, fed with triggers, its fragments go into the buffers, and it is ended. Whatever it
// does wrong is named and survived: the feed never waits for it beyond a limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "front_end/fragment_delivery.hpp"
#include "front_end/front_end_plugin.hpp"
#include "weir/base/result.hpp"

namespace weir::readout {

struct FrontEndStats {
    FragmentDelivery::Stats delivery{};
    std::uint64_t triggers = 0;  // that it was asked to read out
    std::uint64_t threw = 0, hung = 0, crashed = 0, restarts = 0;
    std::chrono::nanoseconds hanging{0};  // for how long its call has hung; only in a thread
};

class FrontEndFeed {
public:
    virtual ~FrontEndFeed() = default;

    /// Waits until begin_run has returned. Error: it threw, hangs, or its process ended.
    [[nodiscard]] virtual Result<> begin() = 0;
    /// Any thread. Those for which there is no place are lost, and counted.
    virtual void read_out(std::span<const Trigger> triggers) = 0;
    /// end_run, and what it sends meanwhile. Returns within the deadline; a front-end that hangs is left behind or
    /// killed. Once.
    virtual void stop(std::chrono::milliseconds deadline) = 0;
    [[nodiscard]] virtual FrontEndStats stats() const = 0;  // any thread
};

/// The delivery outlives the feed.
[[nodiscard]] std::unique_ptr<FrontEndFeed> make_thread_feed(const FrontEndPlugin& plugin, RunNumber run,
                                                             std::vector<SourceId> sources, FragmentDelivery& delivery);
[[nodiscard]] std::unique_ptr<FrontEndFeed> make_process_feed(const FrontEndPlugin& plugin, RunNumber run,
                                                              std::vector<SourceId> sources,
                                                              FragmentDelivery& delivery);
[[nodiscard]] inline std::unique_ptr<FrontEndFeed> make_front_end_feed(const FrontEndPlugin& plugin, RunNumber run,
                                                                       std::vector<SourceId> sources,
                                                                       FragmentDelivery& delivery) {
    return plugin.program ? make_process_feed(plugin, run, std::move(sources), delivery)
                          : make_thread_feed(plugin, run, std::move(sources), delivery);
}

}  // namespace weir::readout

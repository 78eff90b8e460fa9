// SPDX-License-Identifier: Apache-2.0
// A worker process that runs a selection: given one event at a time through shared memory, and asked for its decision.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/plugin/worker_process.hpp"
#include "workers/worker_messages.hpp"

namespace weir::selection {

class SelectionProcess {
public:
    /// Starts `command` and waits `limit` until it has loaded its plug-in. The process ends with the calling thread, at
    /// the latest. The clock outlives it.
    [[nodiscard]] static Result<std::unique_ptr<SelectionProcess>> start(const std::vector<std::string>& command,
                                                                         std::chrono::nanoseconds limit,
                                                                         const std::stop_token& stop,
                                                                         const Clock& clock);

    struct Answer {
        enum class Kind { decision, failed, too_late, stopped, ended, nonsense, request } kind = Kind::ended;
        Decision decision{};
        std::string text{};
        std::vector<SourceId> sources{};  // of a request
    };
    /// What the selection requests it gets from event.requests; that time is not part of the limit. After anything but
    /// a decision and `failed` the process is of no more use. Never `request`.
    [[nodiscard]] Answer ask(const Event& event, std::chrono::nanoseconds limit, const std::stop_token& stop);

private:
    SelectionProcess(std::unique_ptr<plugin::WorkerProcess> process, const Clock& clock)
        : process_(std::move(process)), clock_(clock) {}
    [[nodiscard]] Answer listen(SteadyTime until, const std::stop_token& stop);
    /// Behind the `used` bytes of shared memory, which become more.
    [[nodiscard]] Result<> give(std::span<const Fragment> fragments, std::size_t& used);

    std::unique_ptr<plugin::WorkerProcess> process_;
    const Clock& clock_;
};

}  // namespace weir::selection

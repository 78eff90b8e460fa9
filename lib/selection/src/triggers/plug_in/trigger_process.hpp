// SPDX-License-Identifier: Apache-2.0
// A trigger plug-in in a process of its own, for one run (weir/plugin/plug_in_process.hpp). Its triggers are taken, and
// it is given credit for as many as there is room for. What its unit saw while its process was dead is lost, and only
// the unit can know how much that is.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "triggers/plug_in/plug_in_triggers.hpp"
#include "weir/base/report.hpp"
#include "weir/plugin/plug_in_process.hpp"
#include "weir/selection/trigger_plug_in_spec.hpp"

namespace weir::selection {

/// Starts it once: what is wrong with it is reported before a run. Errc::usage.
[[nodiscard]] Result<plugin::PlugInProgram> open_trigger_plug_in(const TriggerPlugInSpec& spec);

class TriggerProcess final : private plugin::PlugInProcess::Station {
public:
    using Stats = plugin::PlugInProcess::Stats;

    /// The triggers and the clock outlive it. `came`: triggers wait to be collected; called by its thread, must not
    /// wait.
    TriggerProcess(const plugin::PlugInProgram& plug_in, RunNumber run, PlugInTriggers& triggers,
                   const Reporter& report, std::function<void()> came);
    ~TriggerProcess();

    /// Waits until begin_run has returned. Error: it threw, hangs, or its process ended.
    [[nodiscard]] Result<> begin() { return process_.begin(); }
    /// The run ends: asks for end_run, for which there is twice `time_limit`: for the rest of a poll, and for itself.
    /// Does not wait. The triggers have been told before (PlugInTriggers::end_input).
    void end() { process_.end(end_limit_); }
    /// Until that is over.
    void join() { process_.join(); }
    [[nodiscard]] Stats stats() const noexcept { return process_.stats(); }  // any thread

private:
    std::vector<std::uint32_t> begin_words() override;
    void give(plugin::WorkerProcess& process) override;
    Result<> take(const plugin::WorkerMessage& message, const std::stop_token& stop) override;

    PlugInTriggers& triggers_;
    const std::function<void()> came_;
    const std::chrono::milliseconds end_limit_;

    // Of the thread of the process.
    std::uint64_t came_in_ = 0, credit_ = 0;  // triggers of this process; it may send in all
    std::vector<std::byte> out_;

    plugin::PlugInProcess process_;  // last: it uses all others
};

}  // namespace weir::selection

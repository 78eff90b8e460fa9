// SPDX-License-Identifier: Apache-2.0
// A trigger plug-in in a process of its own, for one run. One thread takes its triggers and gives it credit for as many
// as there is room for. A process that ends, hangs or sends nonsense is named and started again after a pause; what its
// unit saw meanwhile is lost, and only the unit can know how much that is.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "triggers/plug_in/plug_in_triggers.hpp"
#include "triggers/plug_in/trigger_messages.hpp"
#include "weir/base/descriptor.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/report.hpp"
#include "weir/plugin/restart_pause.hpp"
#include "weir/plugin/worker_process.hpp"
#include "weir/selection/trigger_plug_in_spec.hpp"

namespace weir::selection {

/// The file of a plug-in, tried once: what is wrong with it is reported before a run.
struct TriggerPlugInFile {
    TriggerPlugInSpec spec{};
    std::vector<std::string> command{};

    /// Errc::usage.
    [[nodiscard]] static Result<TriggerPlugInFile> open(const TriggerPlugInSpec& spec);
};

class TriggerProcess {
public:
    struct Stats {
        std::uint64_t threw = 0, hung = 0, crashed = 0, restarts = 0;
    };

    /// All outlive it. `came`: triggers wait to be collected; called by its thread, must not wait.
    TriggerProcess(const TriggerPlugInFile& plug_in, RunNumber run, PlugInTriggers& triggers, const Reporter& report,
                   std::function<void()> came);
    ~TriggerProcess();

    /// Waits until begin_run has returned. Error: it threw, hangs, or its process ended.
    [[nodiscard]] Result<> begin();
    /// The run ends: asks for end_run, which has `time_limit`. Does not wait. The triggers have been told before
    /// (PlugInTriggers::end_input).
    void end();
    /// Until that is over.
    void join();
    [[nodiscard]] Stats stats() const noexcept;  // any thread

private:
    [[nodiscard]] SteadyTime in(std::chrono::nanoseconds time) const { return clock_.now() + time; }
    void wake() const;
    void work(const std::stop_token& stop);
    [[nodiscard]] Result<std::unique_ptr<plugin::WorkerProcess>> start(const std::stop_token& stop);
    [[nodiscard]] Result<> expect(plugin::WorkerProcess& process, FromTriggerPlugIn kind, const std::stop_token& stop);
    [[nodiscard]] bool serve(plugin::WorkerProcess& process, const std::stop_token& stop);
    void end_run(plugin::WorkerProcess& process);
    void give_credit(plugin::WorkerProcess& process);
    [[nodiscard]] bool take(const plugin::WorkerMessage& message, bool ending);
    [[nodiscard]] bool take_triggers(ConstData block, bool ending);
    [[nodiscard]] bool nonsense(std::string why) { return trouble_ = std::move(why), false; }
    void gone(plugin::WorkerProcess& process, plugin::WorkerProcess::Got got);
    void crashed(const std::string& why);
    void report(const char* what, const std::string& why, const char* advice, const char* alarm) const;

    const TriggerPlugInFile& plug_in_;
    const RunNumber run_;
    PlugInTriggers& triggers_;
    const Reporter& report_;
    const std::function<void()> came_;
    const Clock& clock_;
    std::atomic<std::uint64_t> threw_{0}, hung_{0}, crashed_{0}, restarts_{0};  // to be looked at: relaxed

    std::mutex mutex_;
    std::condition_variable begun_now_;
    bool begun_ = false;
    std::optional<Error> begin_error_;

    // Of the thread.
    plugin::RestartPause pause_;
    std::uint64_t came_in_ = 0, credit_ = 0;  // triggers of this process; it may send in all
    std::vector<std::byte> out_;
    std::string trouble_;

    const Descriptor wake_;
    NamedThread thread_;  // last: it uses all others
};

}  // namespace weir::selection

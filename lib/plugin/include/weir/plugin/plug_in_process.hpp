// SPDX-License-Identifier: Apache-2.0
// A plug-in in a process of its own, for one run. One thread starts the process, sends and takes its messages
// (plug_in_messages.hpp), and ends it. A process that ends, hangs or sends nonsense is named, and started again after a
// pause; what it had in hand is lost.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "weir/base/descriptor.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/result.hpp"
#include "weir/plugin/plug_in_kind.hpp"
#include "weir/plugin/plug_in_spec.hpp"
#include "weir/plugin/restart_pause.hpp"
#include "weir/plugin/worker_process.hpp"

namespace weir::plugin {

/// A plug-in that runs in a process of its own; it was started once.
struct PlugInProgram {
    PlugInKind kind{};
    PlugInSpec spec{};
    std::vector<std::string> command{};  // starts it
    std::uint32_t has = 0;               // has_poll, has_read_out

    /// Starts it and waits until its file is loaded, for start_limit at most: what is wrong with it is known before a
    /// run. Errc::usage, with the file and the reason.
    [[nodiscard]] static Result<PlugInProgram> open(const PlugInKind& kind, const PlugInSpec& spec);
};

class PlugInProcess {
public:
    /// What a station does with its plug-in. Called by the thread of the process; only take() may wait.
    class Station {
    public:
        /// What begin_run is given beside the run.
        [[nodiscard]] virtual std::vector<std::uint32_t> begin_words() = 0;
        /// begin_run has returned, for the first time or after a restart.
        virtual void begun() {}
        /// Before each wait for the process, and after wake(): what is new for it is sent.
        virtual void give(WorkerProcess& process) = 0;
        /// Takes `records`, and what is of its own kind. Once `stop` is requested nothing is waited for: the run ends.
        /// Error: it is nonsense, for this reason, and its process is killed.
        [[nodiscard]] virtual Result<> take(const WorkerMessage& message, const std::stop_token& stop) = 0;
        /// A call threw, which was reported and counted. Error: as above.
        [[nodiscard]] virtual Result<> threw(const Failed&) { return {}; }
        /// The process that had begun has ended or was killed, and that was reported.
        virtual void gone() {}

    protected:
        ~Station() = default;
    };
    struct Stats {
        std::uint64_t threw = 0, hung = 0, crashed = 0, restarts = 0;
    };

    /// Starts the process at once. The station and the clock of the plug-in outlive it.
    PlugInProcess(PlugInProgram plug_in, RunNumber run, Reporter report, Station& station);
    /// Kills what is not over. Without end() before, nobody waited for it, and so it does not count as one that hangs.
    ~PlugInProcess();
    PlugInProcess(const PlugInProcess&) = delete;
    PlugInProcess& operator=(const PlugInProcess&) = delete;

    /// Waits until begin_run has returned. Error: it threw (Errc::refused), hangs (Errc::limit), or its process ended.
    [[nodiscard]] Result<> begin();
    /// There is something to give. Any thread; does not wait.
    void wake() const noexcept;
    /// The run ends: end_run is called, and what is sent until it has returned is taken, for `limit` from now on; then
    /// the process is killed. Does not wait; only the first call counts. By the thread that joins.
    void end(std::chrono::milliseconds limit);
    /// Waits until it is over, after end().
    void join();
    [[nodiscard]] Stats stats() const noexcept;  // any thread

private:
    [[nodiscard]] SteadyTime in(std::chrono::nanoseconds time) const { return clock_.now() + time; }
    void work(const std::stop_token& stop);
    [[nodiscard]] Result<std::unique_ptr<WorkerProcess>> start(const std::stop_token& stop);
    [[nodiscard]] Result<> serve(WorkerProcess& process, const std::stop_token& stop);
    [[nodiscard]] Result<> end_run(WorkerProcess& process);
    [[nodiscard]] Result<> take(const WorkerMessage& message, const std::stop_token& stop);
    [[nodiscard]] bool fails_to_begin(const Error& why);
    void report_end(const Error& why);

    const PlugInProgram plug_in_;
    const RunNumber run_;
    const Reporter report_;
    Station& station_;
    const Clock& clock_;
    std::atomic<std::uint64_t> threw_{0}, hung_{0}, crashed_{0}, restarts_{0};  // to be looked at: relaxed
    bool ends_ = false;                                                         // of the thread that calls end()
    SteadyTime end_by_{};                                                       // ordered by the stop
    bool killed_ = false;                                                       // likewise: end_run is not called

    std::mutex mutex_;
    std::condition_variable begun_now_;
    bool begun_ = false;
    std::optional<Error> begin_error_;

    // Of the thread.
    RestartPause pause_;
    std::vector<std::byte> out_;

    const Descriptor wake_;
    NamedThread thread_;  // last: it uses all others
};

}  // namespace weir::plugin

// SPDX-License-Identifier: Apache-2.0
// A monitor in a process of its own, for one run (weir/plugin/plug_in_process.hpp). It has one event in hand; what it
// fills comes back as whole histograms. After a crash or hang it rests, longer each time, before it gets the next
// event: what dies at every event shall not fill the machine with processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kept_histograms.hpp"
#include "sampled_payloads.hpp"
#include "weir/base/report.hpp"
#include "weir/event/format.hpp"
#include "weir/monitor/monitor_spec.hpp"
#include "weir/plugin/plug_in_process.hpp"

namespace weir::monitor {

/// Starts it once: what is wrong with it is reported before a run. Errc::usage.
[[nodiscard]] Result<plugin::PlugInProgram> open_monitor(const MonitorSpec& spec);

class MonitorProcess final : private plugin::PlugInProcess::Station {
public:
    using Stats = plugin::PlugInProcess::Stats;
    struct Events {
        std::uint64_t given = 0, seen = 0, threw = 0;
        std::uint64_t lost = 0;       // in hand of a process that died
        std::uint64_t malformed = 0;  // not given: it is no event that can be read
    };

    /// All outlive it.
    MonitorProcess(const plugin::PlugInProgram& plug_in, RunNumber run, event::Format format, SampledPayloads& events,
                   KeptHistograms& kept, const Reporter& report);
    ~MonitorProcess();

    /// Waits until begin_run has returned. Error: it threw, hangs, or its process ended.
    [[nodiscard]] Result<> begin() { return process_.begin(); }
    /// The run ends: the monitor's end_run is called, and what it has filled is taken, for `limit` at most. Waits.
    void end(std::chrono::milliseconds limit);
    [[nodiscard]] Stats stats() const noexcept { return process_.stats(); }  // any thread
    [[nodiscard]] Events events() const noexcept;                            // any thread

private:
    std::vector<std::uint32_t> begin_words() override { return {}; }
    void begun() override { in_hand_ = false; }
    void give(plugin::WorkerProcess& process) override;
    Result<> take(const plugin::WorkerMessage& message, const std::stop_token& stop) override;
    Result<> threw(const plugin::Failed& failed) override;
    void gone() override;
    [[nodiscard]] bool write_next(const std::string& payload);

    const event::Format format_;
    SampledPayloads& events_;
    KeptHistograms& kept_;
    std::atomic<std::uint64_t> given_{0}, seen_{0}, threw_{0}, lost_{0}, malformed_{0};  // to be looked at: relaxed

    // Of the thread of the process.
    bool in_hand_ = false, throws_ = false;
    unsigned deaths_ = 0;  // in a row
    std::uint64_t seen_since_ = 0;
    std::vector<std::byte> out_;

    plugin::PlugInProcess process_;  // last: it uses all others
};

}  // namespace weir::monitor

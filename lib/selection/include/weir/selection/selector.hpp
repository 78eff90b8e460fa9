// SPDX-License-Identifier: Apache-2.0
// A selection made ready to run: a built-in one, a shared library in this thread, or a shared library or Python file in
// a process of its own, where it may crash or hang without harm to others. Whatever goes wrong inside is an answer with
// a reason, never the end of the station.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "weir/base/result.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/selection/selection.hpp"

namespace weir::selection {

enum class Trouble : std::uint8_t {
    none,
    threw,      // an exception, or a decision beyond the limits
    timed_out,  // no answer within the time limit; its process was killed
    crashed,    // its process ended
    stopped,    // the station stopped before it answered: nothing is known about the event
};

/// "none", "threw", "timed_out", "crashed", "stopped".
[[nodiscard]] const char* name(Trouble trouble) noexcept;

struct Judgement {
    Decision decision{};
    Trouble trouble = Trouble::none;
    std::string why{};  // one line, when there was trouble

    /// The event is kept though its selection failed: into debug_SelectionTimeout or debug_SelectionError.
    void force() {
        decision = {};
        decision.accept(trouble == Trouble::timed_out ? "debug_SelectionTimeout" : "debug_SelectionError");
    }
};

/// Where a plug-in in C++ runs. Python always runs in processes, built-in selections in threads.
enum class WorkersAre : std::uint8_t { threads, processes };

struct SelectionSpec {
    /// "all", "none", "fraction:0.1", "size:10kB", "busy:500us", "sleep:500us", "request:0x1+0x2/0x3"; else a file:
    /// NAME.so or NAME.py.
    std::string selection = "all";
    WorkersAre workers_are = WorkersAre::processes;
    std::chrono::milliseconds time_limit{5000};  // for one event; with threads, the station reports it after this time
    std::chrono::milliseconds start_limit{20'000};  // for a process to load its file
    std::chrono::milliseconds restart_first{100};   // before a process that died is started again; doubles up to
    std::chrono::milliseconds restart_last{2000};
    std::filesystem::path python = "/usr/bin/python3";
    std::filesystem::path
        programs{};  // where weir-selection-worker and its Python counterpart are; empty: beside this program
    const Clock* clock = &system_clock();  // outlives all that is made of this
};

/// Runs one event at a time; each worker thread has its own.
class Selector {
public:
    virtual ~Selector() = default;
    [[nodiscard]] virtual Judgement select(const Event& event, const std::stop_token& stop) = 0;
    /// For an event that was in the hands of a station that ended, perhaps because of it: in a process of its own, also
    /// where workers are threads. When that process crashes or hangs, every worker of the selection uses processes from
    /// then on.
    [[nodiscard]] virtual Judgement select_apart(const Event& event, const std::stop_token& stop) {
        return select(event, stop);
    }
    /// Processes that were started again after the first.
    [[nodiscard]] virtual std::uint64_t restarts() const noexcept { return 0; }
};

/// Loads what is named, once, so that a mistake in it is reported before the first event comes. The library stays
/// loaded until the process ends. Makes one Selector for each worker.
class Selection {
public:
    [[nodiscard]] static Result<Selection> open(const SelectionSpec& spec);
    /// Whether `selection` is built in, or named as a file that can be one: enough for a station on another machine.
    /// Errc::usage.
    [[nodiscard]] static Result<> check_name(const std::string& selection);
    /// Whether `selection` is built in, or a file that is there. Loads nothing. Errc::usage.
    [[nodiscard]] static Result<> check(const std::string& selection);

    [[nodiscard]] std::unique_ptr<Selector> make() const { return make_(); }
    /// It has perhaps ended a process of this station: from now on each of its selectors uses processes, also where
    /// workers are threads. False: none of them runs a plug-in in a thread.
    bool distrust() noexcept;
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// It runs in processes, which end it when it hangs.
    [[nodiscard]] bool in_processes() const noexcept { return in_processes_; }

private:
    Selection(std::string name, bool in_processes, std::function<std::unique_ptr<Selector>()> make,
              std::shared_ptr<std::atomic<bool>> unsafe = {})
        : name_(std::move(name)), in_processes_(in_processes), make_(std::move(make)), unsafe_(std::move(unsafe)) {}

    std::string name_;
    bool in_processes_ = false;
    std::function<std::unique_ptr<Selector>()> make_;
    std::shared_ptr<std::atomic<bool>> unsafe_;  // with its selectors; nothing: no plug-in runs in a thread
};

/// Checks the limits, and that tags can become streams. The error names the fault.
[[nodiscard]] Result<> check_decision(const Decision& decision);

}  // namespace weir::selection

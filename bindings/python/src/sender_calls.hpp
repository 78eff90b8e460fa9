// SPDX-License-Identifier: Apache-2.0
// What stands between a sender's threads and Python: callbacks that are called from them, calls that wait for them, and
// the memory of objects that they send. A thread of a sender takes the GIL for a callback and for nothing else.
#pragma once

#include <nanobind/nanobind.h>

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/delivery/sender.hpp"

namespace weir::python {

/// SendError of Python: the sender cannot go on.
class SendFailure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// ValueError for what the caller should change, SendError for what has happened to the sender.
[[noreturn]] void raise(const Error& error);
[[noreturn]] void raise_timeout(const std::string& text);

/// Python objects whose bytes are being sent. A sender's threads let go of them here, without the GIL; the next call
/// from Python releases them.
class LentBuffers : public std::enable_shared_from_this<LentBuffers> {
public:
    ~LentBuffers() { release_returned(); }

    /// The bytes of an object, without a copy; of one that can be written to a copy, unless `copy` is false.
    [[nodiscard]] delivery::Piece piece_of(nanobind::handle object, std::optional<bool> copy);
    /// With the GIL.
    void release_returned();

private:
    void give_back(std::unique_ptr<Py_buffer> view);

    std::mutex mutex_;
    std::vector<std::unique_ptr<Py_buffer>> returned_;
};

/// What the threads of one sender call, and what waits for them.
class SenderCalls {
public:
    /// Either may be None.
    SenderCalls(nanobind::object on_ended, nanobind::object on_state);

    // From threads of the sender.
    /// Records first to last have ended: taken (no reason), or not.
    void ended(std::uint64_t first, std::uint64_t last, std::optional<std::string> reason);
    void state_changed(delivery::LinkState state, const std::string& why);

    // With the GIL.
    /// SendError in a callback of this sender, which would wait for itself, and in a process that was forked off, which
    /// has none of its threads.
    void check_caller() const;
    [[nodiscard]] bool other_process() const;
    [[nodiscard]] bool in_callback() const;
    /// After the sender's threads have ended: what the callbacks hold is released.
    void forget();
    [[nodiscard]] std::map<std::string, std::uint64_t> rejected() const;
    [[nodiscard]] const char* state() const;
    /// Calls of until_there() that did not find it there.
    [[nodiscard]] std::uint64_t waits() const noexcept { return waits_.load(std::memory_order_relaxed); }

    /// Attempts again after each change until `attempt` gives a value; nothing when the time is over. Other Python
    /// threads run meanwhile, and a signal's handler that raises ends it.
    template <class Attempt>
    auto until_there(std::optional<double> timeout_s, Attempt&& attempt) {
        bool waited = false;
        return repeat(timeout_s, [&](SteadyTime until) {
            const auto seen = changes();
            auto result = attempt();
            if (result && !*result) {
                if (!std::exchange(waited, true)) ++waits_;
                wait_for_change(seen, until);
            }
            return result;
        });
    }
    /// The same with an attempt that waits itself, as long as it is told.
    template <class Attempt>
    auto until_waited(std::optional<double> timeout_s, Attempt&& attempt) {
        return repeat(timeout_s, [&](SteadyTime until) { return attempt(milliseconds_until(until)); });
    }

private:
    template <class Attempt>
    auto repeat(std::optional<double> timeout_s, Attempt&& attempt) ->
        typename decltype(attempt(SteadyTime{}))::value_type {
        const auto until = deadline(timeout_s);
        while (true) {
            decltype(attempt(SteadyTime{})) result;
            bool late = false;
            {
                const nanobind::gil_scoped_release release;
                late = clock_.now() >= until;
                result = attempt(until);
            }
            if (!result) raise(result.error());
            if (*result || late) return *std::move(result);
            if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
        }
    }
    [[nodiscard]] SteadyTime deadline(std::optional<double> timeout_s) const;
    [[nodiscard]] std::uint64_t changes() const;
    [[nodiscard]] std::chrono::milliseconds milliseconds_until(SteadyTime until) const;
    void wait_for_change(std::uint64_t seen, SteadyTime until);
    void changed();
    template <class... Arguments>
    void call(const nanobind::object& callable, Arguments&&... arguments);

    nanobind::object on_ended_, on_state_;  // touched with the GIL only
    const bool has_on_ended_, has_on_state_;
    const pid_t process_;
    const SystemClock clock_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t changes_ = 0;
    std::atomic<std::uint64_t> waits_{0};  // relaxed: nothing else follows from it
    const char* state_ = "connecting";
    std::map<std::string, std::uint64_t> rejected_;
};

}  // namespace weir::python

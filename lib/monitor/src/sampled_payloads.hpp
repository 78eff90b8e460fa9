// SPDX-License-Identifier: Apache-2.0
// Events that a monitor is given: asked one by one from the taps of builders or filters, which give them when they have
// time, and kept until the monitor takes them. One of each station waits at most, so that what a monitor sees is new.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/service/control_calls.hpp"
#include "weir/service/timers.hpp"

namespace weir::monitor {

struct SampledStation {
    std::string name;
    std::string control;  // address of its control port; empty: it is not known
};

struct SampleOptions {
    std::string query{};  // what is asked for besides the wait: "&stream=physics_Main"
    double rate = 100;    // events a second at most; 0: as many as come
    std::optional<service::ControlTls> tls{};
};

/// Any thread.
class SampledPayloads {
public:
    /// Asks nobody yet. `report`: when a station does not answer, or answers again. All outlive it. Errc::limit.
    [[nodiscard]] static Result<std::unique_ptr<SampledPayloads>> start(SampleOptions options, service::Timers& timers,
                                                                        Reporter report, const Clock& clock);
    ~SampledPayloads();
    SampledPayloads(const SampledPayloads&) = delete;
    SampledPayloads& operator=(const SampledPayloads&) = delete;

    /// Whom to ask from now on.
    void ask_of(const std::vector<SampledStation>& stations);
    /// Asks from now on. `came` is called when there is something to take, from any thread; must not wait, and not call
    /// this object.
    void begin(std::function<void()> came);
    /// Asks no more, and forgets what it has; `came` is not called any more.
    void end();
    /// The next that came; nothing: there is none now.
    [[nodiscard]] std::optional<std::string> take();
    /// Gives nothing for so long: then `came` is called again.
    void rest(std::chrono::nanoseconds time);

    struct Stats {
        std::uint64_t asked = 0;
        std::uint64_t too_large = 0;  // for a tap
        std::size_t silent = 0;       // stations that do not answer
    };
    [[nodiscard]] Stats stats() const;

private:
    SampledPayloads(SampleOptions options, Reporter report, const Clock& clock);
    struct State;
    void look();
    void call(const std::string& name, const std::string& address);

    const std::shared_ptr<State> state_;  // shared with calls that are under way
    std::unique_ptr<service::ControlCalls> calls_;
    service::Timers::Periodic timer_;  // the last member: it ends before what it uses is gone
};

}  // namespace weir::monitor

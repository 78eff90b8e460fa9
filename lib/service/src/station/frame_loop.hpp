// SPDX-License-Identifier: Apache-2.0
// The thread that executes a station's transitions, and the watchdog beside it.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "station/station_metrics.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/service/station_frame.hpp"

namespace weir::service {

using StationAnswered = std::function<void(const StationAnswer&)>;

class FrameLoop {
public:
    FrameLoop(Station& station, const StationFrameOptions& options, const StationServices& services);
    ~FrameLoop();
    FrameLoop(const FrameLoop&) = delete;
    FrameLoop& operator=(const FrameLoop&) = delete;

    void request(StationRequest request, StationAnswered answered);
    void wait_idle();
    [[nodiscard]] bool wait_for_exit(std::chrono::milliseconds at_most);
    [[nodiscard]] StationState state() const;
    [[nodiscard]] StationReport report() const;
    [[nodiscard]] StationEvents events() const { return station_.events(); }
    [[nodiscard]] std::vector<HttpRoute> routes() { return station_.routes(); }
    [[nodiscard]] std::vector<StateMachine::Step> history() const;
    [[nodiscard]] TransitionDurations transition_durations() const;

private:
    struct Job {
        StationRequest request;
        std::chrono::milliseconds deadline{0};
        StationAnswered answered;  // emptied by the one that answers first: the frame's thread or the watchdog
    };
    void run(const std::stop_token& stop);
    void watch(const std::stop_token& stop);
    void report_late(std::unique_lock<std::mutex>& lock);
    void report_hopeless(std::unique_lock<std::mutex>& lock);
    [[nodiscard]] Result<> execute(const Job& job);
    [[nodiscard]] Result<> execute_transition(const Job& job);
    [[nodiscard]] std::chrono::milliseconds deadline_of(const StationRequest& request) const;

    Station& station_;
    const StationFrameOptions options_;
    const StationServices services_;

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    StateMachine machine_;
    std::map<std::string, DurationHistogram> durations_;  // of what machine_ has ended, by name
    std::optional<Job> job_;                              // what is under way
    bool taken_ = false;                                  // by the frame's thread
    bool exit_ = false;
    std::optional<RunNumber> run_;
    std::optional<Peer> self_;

    NamedThread thread_, watchdog_;  // the last members: they end before what they use is gone
};

}  // namespace weir::service

// SPDX-License-Identifier: Apache-2.0
// Asks run control, or a single station, once a second for what it shows of itself, and keeps what came last and when.
// Nothing waits: whoever shows it goes on with keys and the time, also while run control stands still.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "run/directory/run_address.hpp"
#include "watch/picture.hpp"
#include "weir/base/clock.hpp"
#include "weir/service/control_calls.hpp"

namespace weir::app {

struct Watched {
    PartitionPicture partition{};
    std::optional<SteadyTime> seen{};  // when that came
    WallTime seen_at{};
    std::string trouble{};  // why nothing newer comes; empty: it does
    /// A second, over the last few; nothing before there are two pictures of one run.
    struct Rates {
        double accepted = 0, rejected = 0, built = 0, recorded = 0, bytes = 0;
    };
    std::optional<Rates> rates{};
    std::vector<AlarmPicture> alarms{};
    std::deque<LogPicture> log{};
    std::map<std::string, std::vector<MetricPicture>> metrics{};        // of recorders and hand-offs, by name
    std::map<std::string, std::vector<HistogramPicture>> histograms{};  // of monitors, by name
};

/// One thread.
class Watch {
public:
    /// Errors as find_run(), and of ControlCalls.
    [[nodiscard]] static Result<std::unique_ptr<Watch>> start(RunAddressOptions options, const Clock& clock);

    /// Takes what came, and asks for what is due.
    void step();
    void want_log(bool wanted) noexcept { log_wanted_ = wanted; }
    [[nodiscard]] const Watched& now() const noexcept { return now_; }
    /// What was asked for has come, or will not: for who shows one page and ends.
    [[nodiscard]] bool settled() const;

private:
    struct Answer {
        std::string what;  // "/partition", "/metrics rec-1"
        Result<service::ControlAnswer> answer;
    };
    /// What came and was not taken yet; shared with the calls that are under way.
    struct Inbox {
        mutable std::mutex mutex;
        std::vector<Answer> answers;
        std::map<std::string, bool> under_way;
    };

    Watch(RunAddressOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}
    [[nodiscard]] Result<> connect();
    void ask(const std::string& what, const std::string& address, const std::string& path);
    void take(const Answer& answer);
    void take_partition(PartitionPicture picture);
    void take_log(const json::value& document);
    void failed(const Error& error);

    const RunAddressOptions options_;
    const Clock& clock_;
    std::string address_;
    bool single_ = false;
    bool log_wanted_ = false;
    std::optional<SteadyTime> asked_;
    std::uint64_t log_after_ = 0;
    bool more_log_ = false;
    Watched now_;
    struct Sample {
        SteadyTime when;
        PartitionPicture events;  // without stations
        double bytes;
    };
    std::deque<Sample> samples_;
    std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
    std::unique_ptr<service::ControlCalls> calls_;  // the last member: it ends first
};

}  // namespace weir::app

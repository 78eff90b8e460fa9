// SPDX-License-Identifier: Apache-2.0
// The reports of a station (base/report.hpp), between the part that makes them and the log and counters. A fault that
// repeats a million times a second must neither fill the disk with lines nor hide: reports of one key are limited in
// rate, and those that were held back are counted and reported. An alarm is a report that stays until an operator
// acknowledges it, by its name and with theirs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"

namespace weir::service {

/// A report as the sinks are shown it.
struct SubmittedReport : Report {
    std::string who{};  // the station
    WallTime when{};
    std::uint64_t held_back = 0;  // further reports of this key since the last that was shown
    bool late = false;            // was itself held back at first, and is shown now for all of its key
};

/// "error recorder-1: file quarantined: /data/1/x: sync failed: ...; <advice> (caused by: ...) [17 more held back]".
/// One line, whatever bytes the parts hold.
[[nodiscard]] std::string one_line(const SubmittedReport& report);

/// Where reports go. Called from any thread, at once from several; must not report in turn.
class ReportSink {
public:
    virtual ~ReportSink() = default;
    virtual void show(const SubmittedReport& report) = 0;
    /// A report that the rate limit keeps from being shown.
    virtual void hold_back(const SubmittedReport& report) { static_cast<void>(report); }
};

struct ReportLimits {
    std::uint32_t burst = 5;                   // reports of one key that are shown ...
    std::chrono::milliseconds window{10'000};  // ... in this time
    std::size_t keys_max = 1000;               // remembered; further keys share one limit
    std::size_t alarms_max = 1000;             // kept, latched and acknowledged together
};

struct Alarm {
    std::string name;
    SubmittedReport report;    // the latest
    std::uint64_t raised = 1;  // how often since it was latched
    WallTime first{};
    WallTime last{};
    std::optional<std::string> acknowledged_by;  // empty: latched
    std::optional<WallTime> acknowledged_at;
};

class Reports {
public:
    /// `who` names the station; `clock` must outlive the Reports.
    Reports(std::string who, const Clock& clock, std::vector<std::unique_ptr<ReportSink>> sinks,
            ReportLimits limits = {});
    Reports(const Reports&) = delete;
    Reports& operator=(const Reports&) = delete;
    ~Reports();  // shows what is still held back

    /// Shown, or held back and counted. Fatal ones are always shown. An alarm is latched; when it is latched already,
    /// it counts. One that was acknowledged is latched anew. Any thread.
    void submit(Report report);
    /// Submits, for parts that do not know this class. It outlives them.
    [[nodiscard]] Reporter reporter() {
        return [this](Report report) { submit(std::move(report)); };
    }

    /// False: there is no such alarm that is latched. `person` is kept with it and reported.
    [[nodiscard]] bool acknowledge(const std::string& alarm, const std::string& person);

    /// Latched ones first, each group by name.
    [[nodiscard]] std::vector<Alarm> alarms() const;
    [[nodiscard]] std::size_t latched() const;

    /// Alarms of an earlier process of this station, as they were. One that was raised anew meanwhile stays latched.
    void restore(const std::vector<Alarm>& alarms);

    /// `changed` is called whenever an alarm was raised, acknowledged or restored, by the thread that did it, until the
    /// next call of this; it must not wait and must not call back. Empty: none is called.
    void watch_alarms(std::function<void()> changed);

    /// Shows the count of what was held back and has not been shown since its window ended. For a periodic timer.
    void step();

private:
    struct Limit {
        SteadyTime window_start{};
        std::uint32_t shown = 0;
        std::uint64_t held_back = 0;
        SubmittedReport latest;  // of those held back
    };

    void latch(const SubmittedReport& report);
    void show(SubmittedReport report);
    [[nodiscard]] bool passes(SubmittedReport& report);  // with mutex_ held
    [[nodiscard]] Limit& limit_of(const Report& report, SteadyTime now);
    void show_held_back(SteadyTime now, bool all);

    const std::string who_;
    const Clock& clock_;
    const std::vector<std::unique_ptr<ReportSink>> sinks_;
    const ReportLimits limits_;
    mutable std::mutex mutex_;
    std::map<std::string, Limit> by_key_;
    std::map<std::string, Alarm> alarms_;
    std::function<void()> alarms_changed_;  // called with mutex_ held
};

}  // namespace weir::service

// SPDX-License-Identifier: Apache-2.0
// Run control over a partition of stations that are made by hand.
#pragma once

#include <gmock/gmock.h>

#include <mutex>

#include "fake_partition.hpp"
#include "weir/service/reports.hpp"

namespace weir::control {

using namespace std::chrono_literals;

inline constexpr const char* usual_stations = R"(
[readout.ros-1]
[readout.ros-2]
[assign.dfm]
[build.sfi-1]
[build.sfi-2]
[supervise.l2sv]
[select.l2pu-1]
[filter.ef-1]
[record.rec-1]
)";

/// For what answers for run control, where the stations do not matter.
inline constexpr const char* few_stations =
    "[readout.ros-1]\n[assign.dfm]\n[build.sfi-1]\n[supervise.l2sv]\n[record.rec-1]\n";

/// Of all lines that are kept: some are reported by other threads.
inline std::mutex report_lines_mutex;

class ReportLines final : public service::ReportSink {
public:
    explicit ReportLines(std::vector<std::string>& lines) : lines_(lines) {}
    void show(const service::SubmittedReport& report) override {
        const std::scoped_lock lock(report_lines_mutex);
        lines_.push_back(report.what);
    }

private:
    std::vector<std::string>& lines_;
};

inline std::vector<std::unique_ptr<service::ReportSink>> sinks_to(std::vector<std::string>& lines) {
    std::vector<std::unique_ptr<service::ReportSink>> sinks;
    sinks.push_back(std::make_unique<ReportLines>(lines));
    return sinks;
}

class RunControlTest : public testing::Test {
protected:
    explicit RunControlTest(const std::string& text = usual_stations) : partition(*parse_partition(text, "p.toml")) {
        for (const auto& entry : partition.stations) world.stations[entry.name].entry = entry;
        world.stations["ros-1"].sources = {SourceId{1}};
        world.stations["ros-2"].sources = {SourceId{2}};
        make_control();
    }

    void make_control() {
        control.emplace(
            partition, options,
            [](const StationEntry& entry) { return LaunchRequest{entry.name, {}, "/nonexistent/log"}; }, launcher,
            links, keeper, reports.reporter(), log, clock);
    }

    /// Time goes by in steps of 10 ms.
    void pass(std::chrono::milliseconds time) {
        for (auto t = 0ms; t < time; t += 10ms) {
            clock.advance(10ms);
            control->step();
        }
    }
    void come_up() {
        ASSERT_TRUE(control->bring_up());
        pass(100ms);
        ASSERT_EQ(control->view().state, PartitionState::ready);
    }
    RunNumber start_run() {
        come_up();
        const auto run = control->start({"a comment", {{"beam", "on"}}});
        EXPECT_TRUE(run) << run.error().message();
        pass(300ms);
        EXPECT_EQ(control->view().state, PartitionState::running);
        return run.value_or(RunNumber{});
    }
    [[nodiscard]] FakeStation& station(const std::string& name) { return world.stations.at(name); }
    [[nodiscard]] std::vector<std::string> problems() const {
        const auto last = control->view().last;
        return last ? last->problems : std::vector<std::string>{"no run has ended"};
    }

    FakeWorld world;
    Partition partition;
    RunControlOptions options;
    ManualClock clock;
    LogBook log;
    std::vector<std::string> reported;
    service::Reports reports{"run", clock, sinks_to(reported)};
    FakeLauncher launcher{world};
    FakeLinks links{world};
    FakeKeeper keeper{world};
    std::optional<RunControl> control;
};

}  // namespace weir::control

// SPDX-License-Identifier: Apache-2.0
#include "weir/service/reports.hpp"
// Run control over a partition of stations that are made by hand.
#include "weir/service/reports.hpp"
#pragma once
#include "weir/service/reports.hpp"

#include <gmock/gmock.h>
#include "weir/service/reports.hpp"

#include "fake_partition.hpp"
#include "weir/service/reports.hpp"

#include "weir/service/reports.hpp"
namespace weir::control {
#include "weir/service/reports.hpp"

#include "weir/service/reports.hpp"
using namespace std::chrono_literals;
#include "weir/service/reports.hpp"

#include "weir/service/reports.hpp"
inline constexpr const char* usual_stations = R"(
#include "weir/service/reports.hpp"
[readout.ros-1]
#include "weir/service/reports.hpp"
[readout.ros-2]
#include "weir/service/reports.hpp"
[assign.dfm]
#include "weir/service/reports.hpp"
[build.sfi-1]
#include "weir/service/reports.hpp"
[build.sfi-2]
#include "weir/service/reports.hpp"
[supervise.l2sv]
#include "weir/service/reports.hpp"
[select.l2pu-1]
#include "weir/service/reports.hpp"
[filter.ef-1]
#include "weir/service/reports.hpp"
[record.rec-1]
#include "weir/service/reports.hpp"
)";
#include "weir/service/reports.hpp"

#include "weir/service/reports.hpp"
class ReportLines final : public service::ReportSink {
#include "weir/service/reports.hpp"
public:
#include "weir/service/reports.hpp"
    explicit ReportLines(std::vector<std::string>& lines) : lines_(lines) {}
#include "weir/service/reports.hpp"
    void show(const service::SubmittedReport& report) override { lines_.push_back(report.what); }
#include "weir/service/reports.hpp"

#include "weir/service/reports.hpp"
private:
#include "weir/service/reports.hpp"
    std::vector<std::string>& lines_;
#include "weir/service/reports.hpp"
};
#include "weir/service/reports.hpp"

#include "weir/service/reports.hpp"
inline std::vector<std::unique_ptr<service::ReportSink>> sinks_to(std::vector<std::string>& lines) {
#include "weir/service/reports.hpp"
    std::vector<std::unique_ptr<service::ReportSink>> sinks;
#include "weir/service/reports.hpp"
    sinks.push_back(std::make_unique<ReportLines>(lines));
#include "weir/service/reports.hpp"
    return sinks;
#include "weir/service/reports.hpp"
}
#include "weir/service/reports.hpp"

#include "weir/service/reports.hpp"
class RunControlTest : public testing::Test {
#include "weir/service/reports.hpp"
protected:
#include "weir/service/reports.hpp"
    explicit RunControlTest(const std::string& text = usual_stations) : partition(*parse_partition(text, "p.toml")) {
#include "weir/service/reports.hpp"
        for (const auto& entry : partition.stations) world.stations[entry.name].entry = entry;
#include "weir/service/reports.hpp"
        world.stations["ros-1"].sources = {SourceId{1}};
#include "weir/service/reports.hpp"
        world.stations["ros-2"].sources = {SourceId{2}};
#include "weir/service/reports.hpp"
        control.emplace(
#include "weir/service/reports.hpp"
            partition, options,
#include "weir/service/reports.hpp"
            [](const StationEntry& entry) { return LaunchRequest{entry.name, {}, "/nonexistent/log"}; }, launcher,
#include "weir/service/reports.hpp"
            links, keeper, reports.reporter(), log, clock);
#include "weir/service/reports.hpp"
    }
#include "weir/service/reports.hpp"

#include "weir/service/reports.hpp"
    /// Time goes by in steps of 10 ms.
#include "weir/service/reports.hpp"
    void pass(std::chrono::milliseconds time) {
#include "weir/service/reports.hpp"
        for (auto t = 0ms; t < time; t += 10ms) {
#include "weir/service/reports.hpp"
            clock.advance(10ms);
#include "weir/service/reports.hpp"
            control->step();
#include "weir/service/reports.hpp"
        }
#include "weir/service/reports.hpp"
    }
#include "weir/service/reports.hpp"
    void come_up() {
#include "weir/service/reports.hpp"
        ASSERT_TRUE(control->bring_up());
#include "weir/service/reports.hpp"
        pass(100ms);
#include "weir/service/reports.hpp"
        ASSERT_EQ(control->view().state, PartitionState::ready);
#include "weir/service/reports.hpp"
    }
#include "weir/service/reports.hpp"
    RunNumber start_run() {
#include "weir/service/reports.hpp"
        come_up();
#include "weir/service/reports.hpp"
        const auto run = control->start({"a comment", {{"beam", "on"}}});
#include "weir/service/reports.hpp"
        EXPECT_TRUE(run) << run.error().message();
#include "weir/service/reports.hpp"
        pass(300ms);
#include "weir/service/reports.hpp"
        EXPECT_EQ(control->view().state, PartitionState::running);
#include "weir/service/reports.hpp"
        return run.value_or(RunNumber{});
#include "weir/service/reports.hpp"
    }
#include "weir/service/reports.hpp"
    [[nodiscard]] FakeStation& station(const std::string& name) { return world.stations.at(name); }
#include "weir/service/reports.hpp"
    [[nodiscard]] std::vector<std::string> problems() const {
#include "weir/service/reports.hpp"
        const auto last = control->view().last;
#include "weir/service/reports.hpp"
        return last ? last->problems : std::vector<std::string>{"no run has ended"};
#include "weir/service/reports.hpp"
    }
#include "weir/service/reports.hpp"

#include "weir/service/reports.hpp"
    FakeWorld world;
#include "weir/service/reports.hpp"
    Partition partition;
#include "weir/service/reports.hpp"
    RunControlOptions options;
#include "weir/service/reports.hpp"
    ManualClock clock;
#include "weir/service/reports.hpp"
    LogBook log;
#include "weir/service/reports.hpp"
    std::vector<std::string> reported;
#include "weir/service/reports.hpp"
    service::Reports reports{"run", clock, sinks_to(reported)};
#include "weir/service/reports.hpp"
    FakeLauncher launcher{world};
#include "weir/service/reports.hpp"
    FakeLinks links{world};
#include "weir/service/reports.hpp"
    FakeKeeper keeper{world};
#include "weir/service/reports.hpp"
    std::optional<RunControl> control;
#include "weir/service/reports.hpp"
};
#include "weir/service/reports.hpp"

#include "weir/service/reports.hpp"
}  // namespace weir::control
#include "weir/service/reports.hpp"

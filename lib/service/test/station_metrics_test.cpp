// SPDX-License-Identifier: Apache-2.0
#include "station/station_metrics.hpp"

#include <gmock/gmock.h>

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

TEST(CounterName, IsOfTheKindWithItsUnitLast) {
    EXPECT_EQ(counter_name(StationKind::build, "asked_again", false).metric, "weir_build_asked_again_total");
    EXPECT_EQ(counter_name(StationKind::build, "bytes_built", false).metric, "weir_build_built_bytes_total");
    EXPECT_EQ(counter_name(StationKind::build, "window_bytes", true).metric, "weir_build_window_bytes");
    EXPECT_TRUE(counter_name(StationKind::build, "asked_again", false).labels.empty());
}

TEST(CounterName, WhomItIsAboutIsALabel) {
    const auto busy = counter_name(StationKind::supervise, "busy_seconds ros-1", false);
    EXPECT_EQ(busy.metric, "weir_supervise_busy_seconds_total");
    EXPECT_EQ(busy.labels, (Labels{{"cause", "ros-1"}}));
}

TEST(CounterName, WhatMayNotStandInANameBecomesAnUnderscore) {
    EXPECT_EQ(counter_name(StationKind::readout, "input_udp_too-short.", false).metric,
              "weir_readout_input_udp_too_short__total");
}

class StationMetricsTest : public testing::Test {
protected:
    [[nodiscard]] std::string text() const { return metrics.text(); }

    StationReport report{.station = "x", .kind = StationKind::supervise};
    TransitionDurations transitions;
    ThreadAccounts threads;
    Metrics metrics;
    Metrics::Collection collection =
        collect_station(metrics, [this] { return report; }, [this] { return transitions; }, threads);
};

TEST_F(StationMetricsTest, WhatOnlyGrowsIsACounterAndTheRestAreGauges) {
    report.status.counters = {{"accepted", 3}, {"at_units", 2}, {"input_port", 41234}};
    report.status.levels = {"at_units"};
    EXPECT_THAT(text(), HasSubstr("# TYPE weir_supervise_accepted_total counter\nweir_supervise_accepted_total 3\n"));
    EXPECT_THAT(text(), HasSubstr("# TYPE weir_supervise_at_units gauge\nweir_supervise_at_units 2\n"));
    EXPECT_THAT(text(), Not(HasSubstr("41234")));  // an address is no amount
}

TEST_F(StationMetricsTest, AStationThatIsMeteredElsewhereShowsItsCountersThere) {
    report.status.counters = {{"accepted", 3}};
    report.status.metered = true;
    EXPECT_THAT(text(), Not(HasSubstr("accepted")));
}

TEST_F(StationMetricsTest, DurationsAreAHistogramAndNoMeanStandsBesideIt) {
    DurationHistogram decisions;
    decisions.add(2ms);
    decisions.add(20ms);
    decisions.add(1min);
    report.status.counters = {{"decision_seconds", 0.01}};
    report.status.durations = {{"decision", "until a verdict", decisions.durations()}};
    transitions["start"] = decisions.durations();
    const auto all = text();
    EXPECT_THAT(all, HasSubstr("# TYPE weir_supervise_decision_duration_seconds histogram\n"));
    EXPECT_THAT(all, HasSubstr("weir_supervise_decision_duration_seconds_bucket{le=\"0.0025\"} 1\n"));
    EXPECT_THAT(all, HasSubstr("weir_supervise_decision_duration_seconds_bucket{le=\"30\"} 2\n"));
    EXPECT_THAT(all, HasSubstr("weir_supervise_decision_duration_seconds_bucket{le=\"+Inf\"} 3\n"));
    EXPECT_THAT(all, HasSubstr("weir_supervise_decision_duration_seconds_count 3\n"));
    EXPECT_THAT(all, HasSubstr("weir_station_transition_duration_seconds_count{transition=\"start\"} 3\n"));
    EXPECT_THAT(all, Not(HasSubstr("weir_supervise_decision_seconds")));
}

TEST_F(StationMetricsTest, TheProgramSaysItsVersion) { EXPECT_THAT(text(), HasSubstr("weir_build_info{version=\"")); }

}  // namespace
}  // namespace weir::service

// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_service.hpp"

#include <gmock/gmock.h>

#include "run_control_fixture.hpp"
#include "weir/control/run_json.hpp"
#include "weir/control/run_metrics.hpp"
#include "weir/json/parse.hpp"
#include "weir/service/control_client.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class RunServiceTest : public RunControlTest {
protected:
    RunServiceTest() : RunControlTest(few_stations) { come_up(); }
    service::ControlAnswer post(const std::string& path, const std::string& body) {
        const auto answer = client.post(path, body, 60s);
        EXPECT_TRUE(answer);
        return answer.value_or(service::ControlAnswer{});
    }
    std::string get(const std::string& path) {
        const auto answer = client.get(path, 60s);
        EXPECT_TRUE(answer && answer->good());
        return answer ? answer->body : "";
    }

    Result<AppliedFile> applied = fail(Errc::usage, "p.toml:3: unknown key \"a\"");
    service::Metrics metrics;
    service::Metrics::Collection collection = collect_partition(metrics, {*control, reports});
    Result<service::HttpServer> server = service::HttpServer::start(
        {}, run_routes({partition, *control, log, reports, metrics, [this] { return applied; }}));
    service::ControlClient client{server ? server->address() : ""};
};

TEST_F(RunServiceTest, RunsAreStartedAndStoppedByCommandsAndSeenInThePartition) {
    EXPECT_THAT(get("/partition"), HasSubstr(R"("state":"ready")"));
    EXPECT_TRUE(post("/run", R"({"command":"start","comment":"cosmics","parameters":{"beam":"off"}})").good());
    pass(300ms);
    EXPECT_THAT(world.kept, testing::Contains("1 beam=off"));
    EXPECT_THAT(get("/partition"), HasSubstr(R"("state":"running","run":1,)"));
    const auto twice = post("/run", R"({"command":"start"})");
    EXPECT_EQ(twice.status, 409U);
    EXPECT_EQ(twice.error(), "cannot start a run: the partition is running");
    EXPECT_TRUE(post("/run", R"({"command":"stop","reason":"shift ends"})").good());
    pass(500ms);
    const auto partition_text = get("/partition");
    EXPECT_THAT(partition_text, HasSubstr(R"("reason":"shift ends")"));
    const auto document = json::parse(partition_text);
    ASSERT_TRUE(document);
    EXPECT_EQ(document->at("last").at("stations").as_array().size(), 5U);
    EXPECT_EQ(document->at("stations").at(0).at("state").as_string(), "connected");
}

TEST_F(RunServiceTest, WhatIsNoCommandIsRefusedWithOneLine) {
    EXPECT_THAT(post("/run", R"({"command":"strat"})").error(), HasSubstr("did you mean \"start\"?"));
    EXPECT_EQ(post("/run", R"({"command":"strat"})").status, 400U);
    EXPECT_EQ(post("/run", R"({"command":"start","force":true})").status, 400U);
    EXPECT_EQ(post("/run", R"({"command":"start","parameters":{"a":1}})").status, 400U);
    EXPECT_EQ(post("/run", "start").status, 400U);
    EXPECT_EQ(control->view().state, PartitionState::ready);
}

TEST_F(RunServiceTest, TheLogIsReadOnFromALineOnwards) {
    for (int i = 0; i < 3; ++i) log.add(clock.wall(), "sfi-1", fmt::format("line {}", i));
    const auto page = get("/log?after=1");
    EXPECT_THAT(page, HasSubstr("line 1"));
    EXPECT_THAT(page, testing::Not(HasSubstr("line 0")));
    EXPECT_THAT(page, HasSubstr(R"({"last":3,)"));
}

TEST_F(RunServiceTest, AlarmsAreListedAndAcknowledgedByName) {
    world.kill("ros-1");
    pass(300ms);
    EXPECT_THAT(get("/alarms"), HasSubstr(R"("name":"ros-1 died")"));
    EXPECT_EQ(post("/alarms/acknowledge", R"({"name":"nothing","person":"ann"})").status, 409U);
    EXPECT_TRUE(post("/alarms/acknowledge", R"({"name":"ros-1 died","person":"ann"})").good());
    EXPECT_THAT(get("/alarms"), HasSubstr(R"("latched":false)"));
}

TEST_F(RunServiceTest, MetricsSayWhichStationsAreThere) {
    const auto all = get("/metrics");
    EXPECT_THAT(all, HasSubstr(R"(weir_station_up{kind="readout",station="ros-1"} 1)"));
    EXPECT_THAT(all, HasSubstr(R"(weir_partition_state{state="ready"} 1)"));
    EXPECT_THAT(all, HasSubstr(R"(weir_partition_transition_duration_seconds_count{transition="coming up"} 1)"));
    EXPECT_THAT(all, testing::Not(HasSubstr("weir_run_info")));
}

TEST_F(RunServiceTest, RestartsAreACounterThatANewRunDoesNotTakeBack) {
    const auto restarts = [&] { return get("/metrics"); };
    const auto once = R"(weir_station_restarts_total{kind="build",station="sfi-1"} 1)";
    for (int run = 1; run <= 2; ++run) {
        EXPECT_TRUE(post("/run", R"({"command":"start"})").good());
        pass(300ms);
        EXPECT_THAT(get("/metrics"), HasSubstr(fmt::format(R"(weir_run_info{{run="{}"}} 1)", run)));
        if (run == 1) {
            world.kill("sfi-1");
            pass(1s);
        }
        EXPECT_THAT(restarts(), HasSubstr(once));
        EXPECT_TRUE(post("/run", R"({"command":"stop"})").good());
        pass(2s);
    }
    EXPECT_THAT(restarts(), HasSubstr("weir_runs_ended_total"));
}

TEST_F(RunServiceTest, WhatAnotherRunControlHadCountedIsNotCountedAgainAfterATakeOver) {
    EXPECT_TRUE(post("/run", R"({"command":"start"})").good());
    pass(300ms);
    world.kill("sfi-1");
    pass(1s);
    service::Metrics after;
    const auto of_it = collect_partition(after, {*control, reports, {}, true});
    const auto restarts = [](int count) {
        return fmt::format(R"(weir_station_restarts_total{{kind="build",station="sfi-1"}} {})", count);
    };
    EXPECT_THAT(after.text(), HasSubstr(restarts(0)));
    world.kill("sfi-1");
    pass(1s);
    EXPECT_THAT(after.text(), HasSubstr(restarts(1)));
}

TEST_F(RunServiceTest, CountsOfARunNeitherFallNorCountTwiceWhileARecorderIsReplaced) {
    const auto recorded = [&](int count) { return fmt::format("\nweir_partition_recorded_events_total {}\n", count); };
    auto& recorder = station("rec-1");
    const auto counts = [&](int events) { recorder.report.status.counters["events_recorded"] = events; };
    EXPECT_TRUE(post("/run", R"({"command":"start"})").good());
    pass(300ms);
    counts(1000);
    pass(1s);
    EXPECT_THAT(get("/metrics"), HasSubstr(recorded(1000)));
    recorder.hangs_in = "start";
    world.kill("rec-1");
    for (const int in_recovery : {0, 400}) {
        counts(in_recovery);
        pass(1s);
        ASSERT_EQ(recorder.processes, 2);
        EXPECT_EQ(control->view().events.recorded, 1000U);
        EXPECT_THAT(get("/metrics"), HasSubstr(recorded(1000)));
    }
    counts(1100);
    recorder.hangs_in.clear();
    pass(1s);
    EXPECT_EQ(control->view().events.recorded, 1100U);
    EXPECT_THAT(get("/metrics"), HasSubstr(recorded(1100)));
}

TEST_F(RunServiceTest, SumsOfARunStayAfterItsEndAndTheNextOneIsAddedToThem) {
    const auto built = [&](int count) { return fmt::format("\nweir_partition_built_events_total {}\n", count); };
    for (int run = 1; run <= 2; ++run) {
        EXPECT_TRUE(post("/run", R"({"command":"start"})").good());
        pass(300ms);
        for (const auto* name : {"l2sv", "dfm"}) station(name).report.status.ledger = {.received = 70, .stored = 70};
        pass(1s);
        EXPECT_TRUE(post("/run", R"({"command":"stop"})").good());
        pass(2s);
        ASSERT_EQ(control->view().state, PartitionState::ready);
        world.kill("dfm");
        pass(1s);
        ASSERT_EQ(station("dfm").processes, run + 1);
        EXPECT_EQ(control->view().events.built, 70U);
        EXPECT_EQ(control->view().stations[1].report.status.ledger.stored, 0U) << "of the process that is there";
        EXPECT_THAT(get("/metrics"), HasSubstr(built(70 * run)));
    }
}

TEST_F(RunServiceTest, AnAppliedFileIsAnsweredWithWhatCameOfIt) {
    const auto refused = post("/run", R"({"command":"apply"})");
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(refused.error(), "p.toml:3: unknown key \"a\"");
    applied = AppliedFile{{"[run] poll"}, {"sfi-1"}};
    EXPECT_EQ(post("/run", R"({"command":"apply"})").body,
              R"({"state":"ready","at_once":["[run] poll"],"anew":["sfi-1"]})");
}

}  // namespace
}  // namespace weir::control

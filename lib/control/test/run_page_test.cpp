// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_page.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <future>
#include <iterator>

#include "run_control_fixture.hpp"
#include "weir/catalogue/run_record_file.hpp"
#include "weir/json/parse.hpp"
#include "weir/service/control_client.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class RunPageTest : public RunControlTest {
protected:
    RunPageTest() : RunControlTest(few_stations) { come_up(); }
    ~RunPageTest() override { std::filesystem::remove_all(directory); }
    service::ControlAnswer post(const std::string& path, const std::string& body) {
        const auto answer = client.post(path, body, 60s);
        EXPECT_TRUE(answer);
        return answer.value_or(service::ControlAnswer{});
    }
    json::value get(const std::string& path) {
        const auto answer = client.get(path, 60s);
        EXPECT_TRUE(answer && answer->good()) << (answer ? answer->body : answer.error().message());
        const auto document = json::parse(answer ? answer->body : "", {.depth = 32});
        EXPECT_TRUE(document);
        return document.value_or(json::value());
    }
    std::string take(const std::string& person) {
        const auto given = post("/control", R"({"command":"take","person":")" + person + "\"}");
        const auto document = json::parse(given.body);
        return document && given.good() ? std::string(document->at("lease").as_string()) : std::string();
    }
    static std::filesystem::path temporary() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-run-page-XXXXXX").native();
        return ::mkdtemp(pattern.data());
    }

    std::filesystem::path directory = temporary();
    service::Metrics metrics;
    OperatorLease lease{clock, reports.reporter()};
    service::Timers timers{clock};
    RunServiceParts parts{partition, *control, log, reports, metrics, {}, {}, &lease};
    RunPage page{{.partition = partition,
                  .view = [this] { return control->view(); },
                  .log = log,
                  .reports = reports,
                  .lease = &lease},
                 {.archive = {.directory = directory}, .zone = "Europe/Zurich", .contact = "ann, 16-4711"},
                 timers,
                 clock};
    Result<service::HttpServer> server = service::HttpServer::start({}, [this] {
        auto routes = run_routes(parts);
        std::ranges::move(page.routes(), std::back_inserter(routes));
        return routes;
    }());
    service::ControlClient client{server ? server->address() : ""};
};

TEST_F(RunPageTest, TheLiveDocumentHasThePartitionAndCountsTicks) {
    log.add(clock.wall(), "sfi-1", "a line");
    page.tick();
    const auto first = get("/live");
    EXPECT_EQ(first.at("partition").at("state").as_string(), "ready");
    EXPECT_EQ(first.at("stations").as_array().size(), 5U);
    EXPECT_EQ(first.at("log").at("lines").at(0).at("text").as_string(), "a line");
    EXPECT_EQ(first.at("zone").as_string(), "Europe/Zurich");
    EXPECT_EQ(first.at("contact").as_string(), "ann, 16-4711");
    EXPECT_TRUE(first.at("control").is_null());
    EXPECT_EQ(get("/live"), first) << "within a tick nothing is made anew";
    page.tick();
    EXPECT_EQ(get("/live").at("tick").to_number<int>(), first.at("tick").to_number<int>() + 1);
    EXPECT_EQ(get("/live").at("server"), first.at("server"));
}

TEST_F(RunPageTest, ALatchedAlarmIsInTheNextDocument) {
    page.tick();
    static_cast<void>(get("/live"));
    world.kill("ros-1");
    pass(300ms);
    page.tick();
    const auto live = get("/live");
    EXPECT_EQ(live.at("latched").to_number<int>(), 1);
    EXPECT_EQ(live.at("alarms").at(0).at("name").as_string(), "ros-1 died");
    EXPECT_TRUE(post("/alarms/acknowledge", R"({"name":"ros-1 died","person":"ann"})").good());
    page.tick();
    EXPECT_EQ(get("/live").at("alarms").at(0).at("acknowledged_by").as_string(), "ann");
}

TEST_F(RunPageTest, AnAlarmOfAStationHasTheTimeOfTheStation) {
    world.stations.at("rec-1").report.alarms.push_back(
        {.name = "disk full", .text = "full", .severity = "error", .last = 1.79e9});
    pass(1s);
    const auto alarms = get("/alarms").at("alarms");
    ASSERT_EQ(alarms.as_array().size(), 1U);
    EXPECT_EQ(alarms.at(0).at("station").as_string(), "rec-1");
    EXPECT_EQ(alarms.at(0).at("last").to_number<double>(), 1.79e9);
}

TEST_F(RunPageTest, AStationThatHangsIsShownAsSuchAfterTwoSecondsAndHasNoRate) {
    ASSERT_TRUE(control->start({}));
    const auto station_of = [&](const json::value& document, std::string_view name) {
        const auto& all = document.at("stations").as_array();
        return *std::ranges::find(all, name,
                                  [](const json::value& one) { return std::string_view(one.at("name").as_string()); });
    };
    const auto pass_with_data = [&](std::chrono::milliseconds time) {
        for (auto t = 0ms; t < time; t += 100ms) {
            world.stations.at("rec-1").report.status.ledger.received += 5;
            pass(100ms);
        }
    };
    pass_with_data(5s);
    page.tick();
    EXPECT_NEAR(station_of(get("/live"), "rec-1").at("rate").to_number<double>(), 50, 5);
    EXPECT_LT(station_of(get("/live"), "rec-1").at("silent_seconds").to_number<double>(), 1);

    world.stations.at("rec-1").mute = true;
    pass(3500ms);
    page.tick();
    for (const auto* path : {"/live", "/partition"}) {
        const auto shown = station_of(get(path), "rec-1");
        EXPECT_EQ(shown.at("state").as_string(), "running") << "it is not replaced yet";
        EXPECT_NEAR(shown.at("silent_seconds").to_number<double>(), 3.2, 0.4) << path;
        EXPECT_EQ(shown.at("rate").to_number<double>(), 0) << path;
        EXPECT_LT(station_of(get(path), "sfi-1").at("silent_seconds").to_number<double>(), 1) << path;
    }

    world.stations.at("rec-1").mute = false;
    pass_with_data(1s);
    page.tick();
    EXPECT_LT(station_of(get("/live"), "rec-1").at("silent_seconds").to_number<double>(), 1);
    EXPECT_GT(station_of(get("/live"), "rec-1").at("rate").to_number<double>(), 0);
}

TEST_F(RunPageTest, RatesAreOfTheTimeBetweenAnswersWhenRunControlStoodStill) {
    ASSERT_TRUE(control->start({}));
    auto& status = world.stations.at("rec-1").report.status;
    const auto count_one = [&](std::uint64_t events) {
        status.ledger.received += events;
        status.ledger.stored += events;
        status.counters["bytes_stored"] += 100.0 * static_cast<double>(events);
    };
    const auto look = [&] {
        page.tick();
        const auto live = get("/live");
        const auto& rates = live.at("partition").at("rates");
        for (const auto& station : live.at("stations").as_array())
            EXPECT_LT(station.at("rate").to_number<double>(), 60) << station;
        return std::pair{rates.at("recorded").to_number<double>(), rates.at("bytes").to_number<double>()};
    };
    const auto pass_seconds = [&](int seconds) {
        for (int second = 0; second < seconds; ++second) {
            for (int i = 0; i < 10; ++i) {
                count_one(5);
                pass(100ms);
            }
            const auto [recorded, bytes] = look();
            EXPECT_LT(recorded, 60);
            EXPECT_LT(bytes, 6000);
        }
    };
    // Also where an answer was under way, whose counts are of before or of after.
    for (const auto before : {0ms, 50ms, 100ms, 150ms, 190ms}) {
        pass_seconds(5);
        EXPECT_NEAR(look().first, 50, 5);
        pass(before);
        clock.advance(5s);
        count_one(250);
        EXPECT_LT(look().first, 60) << "nothing has been counted since";
        pass_seconds(5);
        EXPECT_NEAR(look().first, 50, 5);
        EXPECT_NEAR(look().second, 5000, 500);
    }
}

TEST_F(RunPageTest, WhoPausesResumesReplacesAndStopsIsInTheChanges) {
    ASSERT_TRUE(control->start({}));
    pass(300ms);
    const auto bob = take("bob");
    // As the page of bob sends it, and as a program with a person of its own does.
    const auto command = [&](const std::string& word, const std::string& more) {
        EXPECT_TRUE(post("/run", R"({"command":")" + word + R"(","lease":")" + bob + "\"" + more + "}").good()) << word;
        pass(300ms);
    };
    for (const auto* word : {"pause", "resume"}) command(word, R"(,"person":"bob")");
    command("replace", R"(,"person":"ann","station":"sfi-1")");
    command("stop", R"(,"person":"bob","reason":"shift ends")");
    std::vector<std::string> changes;
    for (const auto& change : control->view().changes) changes.push_back(change.what + " by " + change.who);
    EXPECT_THAT(changes, testing::ElementsAre("pause by bob", "resume by bob", "replace by ann", "stop by bob"));
}

TEST_F(RunPageTest, ATextOfAnyLengthIsCut) {
    log.add(clock.wall(), "sfi-1", std::string(1'000'000, 'x'));
    reports.submit({.severity = Severity::error, .what = std::string(1'000'000, 'y'), .alarm = "long"});
    page.tick();
    EXPECT_LT(json::serialize(get("/live")).size(), 30'000U);
}

TEST_F(RunPageTest, WhoIsInControlCommandsAndOthersAreRefusedByName) {
    EXPECT_TRUE(post("/run", R"({"command":"start"})").good()) << "nobody is in control: programs are obeyed";
    pass(300ms);
    const auto ann = take("ann");
    ASSERT_FALSE(ann.empty());
    EXPECT_EQ(get("/live").at("control").at("person").as_string(), "ann");
    const auto refused = post("/run", R"({"command":"stop"})");
    EXPECT_EQ(refused.status, 409U);
    EXPECT_THAT(refused.error(), HasSubstr("ann has been in control"));
    EXPECT_EQ(post("/run", R"({"command":"pause","lease":"0123456789abcdef0123456789abcdef"})").status, 409U);
    EXPECT_EQ(control->view().state, PartitionState::running);
    EXPECT_TRUE(post("/run", R"({"command":"stop","lease":")" + ann + "\"}").good());
    EXPECT_TRUE(take("bob").empty());
    EXPECT_TRUE(post("/control", R"({"command":"force","person":"bob"})").good());
    EXPECT_EQ(post("/control", R"({"command":"release","lease":")" + ann + "\"}").status, 409U);
    EXPECT_EQ(post("/control", R"({"command":"grab"})").status, 400U);
    EXPECT_EQ(post("/control", R"({"command":"take"})").status, 400U);
    EXPECT_EQ(post("/control", R"({"command":"take","person":"x","more":1})").status, 400U);
}

TEST_F(RunPageTest, HistoryHasTheRatesOfTheLastSeconds) {
    for (int i = 0; i < 3; ++i) {
        page.tick();
        pass(1s);
    }
    const auto history = get("/history?seconds=600&series=triggers,in%20hand%20rec-1,unknown");
    EXPECT_EQ(history.at("step").to_number<int>(), 1);
    EXPECT_EQ(history.at("series").as_object().size(), 2U);
    EXPECT_EQ(history.at("series").at("triggers").as_array().size(), 3U);
}

TEST_F(RunPageTest, RunsAreFoundByTheirRecordsAndShownWithTheirProblems) {
    for (std::uint32_t run = 1; run <= 3; ++run) {
        catalogue::RunRecord record;
        record.run = RunNumber{run};
        record.weir = "0.1.0";
        record.text = "[partition]\nname = \"<b>\"\n";
        record.parameters = {{"comment", run == 2 ? "Cosmics <img onerror>" : "beam"}, {"stop reason", "shift ends"}};
        if (run == 2) record.parameters["problems"] = "sfi-1 died";
        ASSERT_TRUE(catalogue::write_run_record(directory, record, Synced::no));
    }
    const auto all = get("/runs");
    EXPECT_EQ(all.at("all").to_number<int>(), 3);
    EXPECT_EQ(all.at("runs").at(0).at("run").to_number<int>(), 3);
    const auto found = get("/runs?text=cosmics%20%3Cimg");
    ASSERT_EQ(found.at("runs").as_array().size(), 1U);
    EXPECT_EQ(found.at("runs").at(0).at("problems").at("problems").as_string(), "sfi-1 died");
    EXPECT_THAT(get("/runs/2").at("text").as_string(), HasSubstr("name = \"<b>\""));
    EXPECT_EQ(client.get("/runs/9", 60s)->status, 409U);
    EXPECT_EQ(client.get("/runs/../../etc/passwd", 60s)->status, 400U);
    const auto files = get("/files?run=2");
    EXPECT_TRUE(files.at("files").as_array().empty());
    EXPECT_TRUE(files.at("silent").as_array().empty());
}

TEST_F(RunPageTest, AListOfRunsWithManyLongParametersIsSmallAndOneOfThemIsWhole) {
    catalogue::RunRecord record;
    record.run = RunNumber{7};
    for (int i = 0; i < 200; ++i) record.parameters[fmt::format("a{:03}", i)] = std::string(4000, 'x');
    record.parameters["comment"] = "high voltage scan";
    ASSERT_TRUE(catalogue::write_run_record(directory, record, Synced::no));
    const auto listed = get("/runs?text=HIGH%20VOLTAGE").at("runs").at(0);
    EXPECT_EQ(listed.at("parameters").at("comment").as_string(), "high voltage scan") << "the list shows it";
    EXPECT_LT(boost::json::serialize(listed).size(), 20'000U);
    EXPECT_EQ(get("/runs/7").at("parameters").at("a199").as_string(), std::string(4000, 'x'));
}

TEST_F(RunPageTest, AFurtherPageWhoseDiskHangsHoldsUpNobodyElse) {
    struct Disk {
        std::promise<void> asked, answers;
    };
    const auto disk = std::make_shared<Disk>();
    service::HttpRoute hangs{service::HttpRoute::Method::get, "/pages/*", [disk](const auto&, const auto& answer) {
                                 disk->asked.set_value();
                                 disk->answers.get_future().wait();
                                 answer({.status = 200, .body = "late"});
                             }};
    RunPage slow{{.partition = partition,
                  .view = [this] { return control->view(); },
                  .log = log,
                  .reports = reports,
                  .lease = &lease},
                 {.archive = {.directory = directory}, .further_route = std::move(hangs)},
                 timers,
                 clock};
    const auto beside = service::HttpServer::start({}, slow.routes());
    ASSERT_TRUE(beside);
    service::ControlClient reader{beside->address()}, operates{beside->address()};
    auto late = std::async(std::launch::async, [&] { return reader.get("/pages/beam.html", 60s); });
    disk->asked.get_future().wait();
    EXPECT_EQ(operates.get("/live", 60s)->status, 200U);
    disk->answers.set_value();
    EXPECT_EQ(late.get()->body, "late");
}

}  // namespace
}  // namespace weir::control

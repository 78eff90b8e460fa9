// SPDX-License-Identifier: Apache-2.0
#include "weir/control/lone_page.hpp"

#include <gmock/gmock.h>

#include <atomic>

#include "weir/base/clock.hpp"
#include "weir/json/parse.hpp"
#include "weir/service/control_client.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

std::vector<std::unique_ptr<service::ReportSink>> into(LogBook& log) {
    std::vector<std::unique_ptr<service::ReportSink>> sinks;
    sinks.push_back(log_book_sink(log));
    return sinks;
}

struct LonePageTest : testing::Test {
    service::StationStatus status() {
        service::StationStatus now;
        now.run = RunNumber{7};
        now.ledger.what = "copies";
        now.ledger.received = now.ledger.stored = copies;
        now.counters = {{"events_recorded", static_cast<double>(copies)},
                        {"bytes_stored", 10.0 * static_cast<double>(copies)}};
        return now;
    }
    json::value get(const std::string& path) {
        const auto answer = client.get(path, 60s);
        EXPECT_TRUE(answer && answer->good()) << (answer ? answer->body : answer.error().message());
        return json::parse(answer ? answer->body : "", {.depth = 32}).value_or(json::value());
    }

    ManualClock clock;
    LogBook log;
    service::Reports reports{"rec", clock, into(log)};
    service::Timers timers{clock};
    std::atomic<std::uint64_t> copies = 0;
    std::atomic<bool> over = false;
    LonePage page{{.name = "rec",
                   .kind = StationKind::record,
                   .status = [this] { return status(); },
                   .over = [this] { return over.load(); }},
                  log,
                  reports,
                  timers,
                  clock};
    Result<service::HttpServer> server = service::HttpServer::start({}, page.routes());
    service::ControlClient client{server ? server->address() : ""};
};

TEST_F(LonePageTest, IsThePageOfItsStationAndNamesNobodyInControl) {
    copies = 5;
    reports.submit({.severity = Severity::warning, .what = "a disk is slow", .alarm = "slow disk"});
    const auto live = get("/live");
    EXPECT_EQ(live.at("kind").as_string(), "station");
    EXPECT_EQ(live.at("partition").at("name").as_string(), "rec");
    EXPECT_EQ(live.at("partition").at("state").as_string(), "running");
    EXPECT_EQ(live.at("partition").at("run").to_number<int>(), 7);
    EXPECT_EQ(live.at("partition").at("events").at("recorded").to_number<int>(), 5);
    EXPECT_EQ(live.at("stations").as_array().size(), 1U);
    EXPECT_EQ(live.at("alarms").at(0).at("name").as_string(), "slow disk");
    EXPECT_TRUE(live.at("control").is_null());
    EXPECT_THAT(std::string(get("/log").at("lines").at(0).at("text").as_string()),
                testing::HasSubstr("a disk is slow"));
    EXPECT_TRUE(get("/files").at("files").as_array().empty());
    EXPECT_NE(client.get("/", 60s).value().body.find("<!DOCTYPE html>"), std::string::npos);
}

TEST_F(LonePageTest, TakesNoCommandsAndHasNoRuns) {
    EXPECT_EQ(client.post("/control", R"({"command":"take","person":"ann"})", 60s).value().status, 404U);
    EXPECT_EQ(client.post("/run", R"({"command":"start"})", 60s).value().status, 404U);
    EXPECT_EQ(client.get("/runs", 60s).value().status, 404U);
    EXPECT_EQ(client.get("/event", 60s).value().status, 404U);
}

TEST_F(LonePageTest, WhatHasEndedIsReadyAndItsTimeStands) {
    clock.advance(3s);
    static_cast<void>(get("/live"));
    over = true;
    clock.advance(60s);
    static_cast<void>(timers.step(clock.now()));
    const auto live = get("/live");
    EXPECT_EQ(live.at("partition").at("state").as_string(), "ready");
    EXPECT_EQ(live.at("partition").at("seconds").to_number<double>(), 3.0);
}

}  // namespace
}  // namespace weir::control

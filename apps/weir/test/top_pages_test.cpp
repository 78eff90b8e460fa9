// SPDX-License-Identifier: Apache-2.0
#include "watch/top/top_pages.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cli/terminal/screen_text.hpp"
#include "watch/top/station_page.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* running =
    R"({"partition":"replay","state":"running","run":12,"comment":"cosmics","seconds":1992.4,
  "stop_reason":"","failure":null,
  "events":{"triggers":40000,"accepted":33000,"rejected":7000,"built":32990,"incomplete":3,"recorded":32980},
  "stations":[
   {"name":"ros-1","kind":"readout","state":"running","host":"","control":"127.0.0.1:1","restarts":0,"rate":1000.4,"error":null,
    "ledger":{"what":"events","received":40000,"stored":39990,"rejected":{"late":2},"in_hand":8},"counters":{},"alarms":[]},
   {"name":"sfi-1","kind":"build","state":"gone","host":"","control":"","restarts":1,"rate":0,"error":null,
    "ledger":{"what":"events","received":5,"stored":5,"rejected":{},"in_hand":0},"counters":{"window_bytes":4000000},"alarms":[]},
   {"name":"rec-1","kind":"record","state":"running","host":"","control":"127.0.0.1:3","restarts":0,"rate":998.2,"error":null,
    "ledger":{"what":"copies","received":32990,"stored":32980,"rejected":{},"in_hand":10},
    "counters":{"bytes_stored":1.2e9,"files":3},"alarms":[]}],
  "sources":[{"source":"0x420000","masked":true,"silent":false,"missing":0}],
  "hosts":[{"name":"b-1","state":"lost","trouble":"no answer for 5 s"}]})";

Watched watched_of(std::string_view document) {
    Watched watched;
    watched.partition = partition_picture(json::parse(document).value());
    watched.seen = SteadyTime{100s};
    return watched;
}

std::string text_of_page(const std::vector<ScreenLine>& lines) {
    std::string text;
    for (const auto& line : lines) text += line.text + "\n";
    return text;
}

TEST(TopPages, APartitionFitsEightyColumnsAnd24RowsAndShowsWhatMatters) {
    auto watched = watched_of(running);
    watched.alarms = {{.station = "run", .name = "sfi-1 died", .text = "signal 9", .severity = "error"}};
    watched.metrics["rec-1"] = metric_pictures(
        "# TYPE x gauge\nweir_volume_free_bytes{volume=\"/d\"} 20000000000\nweir_until_full_seconds 7200\n");
    watched.rates = Watched::Rates{1000, 12, 998, 997.5, 48e6};
    TopView view;
    const auto page = top_page(watched, view, {80, 24}, SteadyTime{101s});
    ASSERT_EQ(page.size(), 24U);
    for (const auto& line : page) EXPECT_EQ(screen_text(line.text, 80), line.text);
    const auto text = text_of_page(page);
    EXPECT_THAT(text, AllOf(HasSubstr("replay  RUNNING  run 12  00:33:12"), HasSubstr("cosmics"), HasSubstr("33,000"),
                            HasSubstr("3 INCOMPLETE"), HasSubstr("full in 2 h 00 min"), HasSubstr("1 masked"),
                            HasSubstr("b-1 is lost"), HasSubstr("ALARMS    1: run: sfi-1 died: signal 9")));
    EXPECT_THAT(text, AllOf(HasSubstr("!sfi-1"), HasSubstr("credit 4.00 MB"), Not(HasSubstr("STALE")),
                            Not(HasSubstr("machine    rate"))));
}

TEST(TopPages, WhatIsOldIsCalledStaleWithTheReason) {
    auto watched = watched_of(running);
    watched.trouble = "127.0.0.1:9400 does not answer";
    TopView view;
    EXPECT_THAT(text_of_page(top_page(watched, view, {80, 24}, SteadyTime{107s})),
                HasSubstr("STALE: what is shown is 7 s old; 127.0.0.1:9400 does not answer"));
}

TEST(TopPages, AStationThatDoesNotAnswerIsMarkedAndHasNoRate) {
    auto watched = watched_of(running);
    watched.partition.stations[2].silent_seconds = 1.9;
    EXPECT_THAT(text_of_page(whole_page(watched, 80, SteadyTime{101s})), Not(HasSubstr("does not answer")));
    watched.partition.stations[2].silent_seconds = 7.3;
    EXPECT_TRUE(watched.partition.stations[2].in_trouble());
    const auto text = text_of_page(whole_page(watched, 80, SteadyTime{101s}));
    EXPECT_THAT(text, AllOf(HasSubstr("!rec-1"), HasSubstr("does not answer for 7 s"), Not(HasSubstr("998.20"))));
    const auto page = text_of_page(station_page(watched.partition.stations[2], watched, 80));
    EXPECT_THAT(page, AllOf(HasSubstr("silent    does not answer for 7 s"), Not(HasSubstr("a second"))));
}

TEST(TopPages, TheChosenStationStaysInSightWhenThereAreMany) {
    Watched watched;
    for (int i = 0; i < 200; ++i) {
        StationPicture station;
        station.name = fmt::format("ros-{}", i);
        station.rate = i;
        watched.partition.stations.push_back(station);
    }
    TopView view;
    for (const auto* chosen : {"ros-0", "ros-199", "ros-100", "ros-3"}) {
        view.selected = chosen;
        EXPECT_THAT(text_of_page(top_page(watched, view, {80, 24}, SteadyTime{})),
                    HasSubstr(fmt::format(" {} ", chosen)));
    }
    EXPECT_EQ(sorted_stations(watched.partition, TopSort::rate).front()->name, "ros-199");
}

TEST(TopPages, EveryPageFitsEveryTerminal) {
    auto watched = watched_of(running);
    watched.alarms = {{.station = "run", .name = "sfi-1 died", .text = std::string(5000, 'x'), .severity = "error"}};
    watched.log = {{1, 1.7e9, "ros-1", "began"}, {2, 1e300, "ros-1", "\x1b[2J"}};
    using enum TopView::Page;
    for (const auto page : {partition, station, alarms, log, help})
        for (const std::size_t columns : {1U, 2U, 10U, 40U, 80U, 300U})
            for (const std::size_t rows : {1U, 2U, 5U, 24U, 100U}) {
                TopView view{.page = page, .selected = "rec-1", .scrolled = 1000};
                const auto lines = top_page(watched, view, {columns, rows}, SteadyTime{200s});
                ASSERT_EQ(lines.size(), rows);
                for (const auto& line : lines) EXPECT_EQ(screen_text(line.text, columns), line.text);
            }
}

// Names, comments, reasons and counters come from stations, files and people.
TEST(TopPages, HostileTextAndDamagedAnswersNeitherReachTheTerminalNorEndTheProgram) {
    const std::string hostile =
        "\x1b]0;owned\x07\x1b[2J\u202E<img onerror=x>\xc2\x9b"
        "31m\r\n" +
        std::string(200'000, 'A');
    auto document = json::parse(running).value();
    const auto poison = [&](auto&& self, json::value& value) -> void {
        if (value.is_string()) value = hostile;
        if (auto* list = value.if_array())
            for (auto& item : *list) self(self, item);
        if (auto* object = value.if_object())
            for (auto& [key, item] : *object) self(self, item);
    };
    poison(poison, document);
    document.at("stations").at(0).at("counters").as_object()[hostile] = 1;
    document.at("stations").at(0).at("ledger").at("rejected").as_object()[hostile] = 1;
    Watched watched;
    watched.partition = partition_picture(document);
    watched.seen = SteadyTime{};
    watched.trouble = hostile;
    watched.alarms = {{hostile, hostile, hostile, hostile, true, 2}};
    watched.log = {{1, -1e300, hostile, hostile}};
    watched.metrics[watched.partition.stations[0].name] =
        metric_pictures("weir_copies_stored_total{stream=\"" + hostile +
                        "\"} nan\nweir_volume_free_bytes{v=\"\x1b\"} 1e400\nx\n{} 1\n");
    watched.histograms[watched.partition.stations[0].name] = {{.name = hostile, .entries = 1e308, .mean_x = NAN},
                                                              {.name = hostile, .counter = true, .entries = -1e308}};
    using enum TopView::Page;
    for (const auto page : {partition, station, alarms, log, help}) {
        TopView view{.page = page};
        for (const auto& line : top_page(watched, view, {80, 24}, SteadyTime{10s})) {
            EXPECT_EQ(screen_text(line.text, 80), line.text);
            for (const char c : line.text) ASSERT_FALSE((c >= 0 && c < 0x20) || c == 0x7f);
            EXPECT_THAT(line.text, AllOf(Not(HasSubstr("\u202E")), Not(HasSubstr("\xc2\x9b"))));
        }
    }
    std::mt19937 draw(11);
    const std::string whole = running;
    for (int i = 0; i < 10'000; ++i) {
        auto damaged = whole;
        for (auto faults = draw() % 4 + 1; faults > 0; --faults)
            damaged[draw() % damaged.size()] = static_cast<char>(draw());
        const auto parsed = json::parse(damaged);
        if (!parsed) continue;
        Watched other;
        other.partition = partition_picture(*parsed);
        TopView view{.page = i % 2 == 0 ? partition : station};
        for (const auto& line : top_page(other, view, {80, 24}, SteadyTime{10s}))
            EXPECT_EQ(screen_text(line.text, 80), line.text);
    }
}

TEST(TopPages, AMonitorShowsItsHistogramsAndCountersAsNumbers) {
    Watched watched;
    watched.partition = partition_picture(json::parse(R"({"name":"p","state":"running","stations":[
        {"name":"beam","kind":"monitor","state":"running","ledger":{"received":5,"stored":5}}]})")
                                              .value());
    watched.histograms["beam"] = histogram_pictures(json::parse(R"({"histograms":[
        {"name":"energy","axes":1,"entries":1234,"mean_x":12.5,"rms_x":2},
        {"name":"where","axes":2,"entries":2468,"mean_x":1,"rms_x":0.5,"mean_y":-3,"rms_y":4}],
        "counters":[{"name":"lost fragments","value":7}]})")
                                                        .value());
    const auto& station = watched.partition.stations[0];
    EXPECT_EQ(station_detail(station, watched), "5 seen, 2 histograms");
    std::string shown;
    for (const auto& line : station_page(station, watched, 80)) shown += line.text + "\n";
    EXPECT_THAT(shown, AllOf(HasSubstr("energy"), HasSubstr("1,234  mean 12.50, rms 2"), HasSubstr("; -3"),
                             HasSubstr("lost fragments")));
}

TEST(TopPages, MetricsAreReadByNameAndLabel) {
    const auto metrics = metric_pictures("a{stream=\"x\\\"y\",other=\"1\"} 2.5\nb 3\nnone\nc{x=\"1\"\n");
    ASSERT_EQ(metrics.size(), 2U);
    EXPECT_EQ(label_of(metrics[0], "stream"), "x\"y");
    EXPECT_EQ(label_of(metrics[0], "other"), "1");
    EXPECT_EQ(label_of(metrics[0], "tream"), "");
    EXPECT_EQ(metrics[0].value, 2.5);
}

TEST(AlarmPictures, TheTextDoesNotRepeatNameStationAndSeverity) {
    const auto document = json::parse(
        R"({"alarms":[{"station":"bad","name":"monitor_threw","severity":"error","text":"error bad: monitor threw: ValueError","latched":true},
        {"station":"run","name":"notifier chat fails","severity":"error","text":"notifier chat fails: http://x: 500","latched":true}]})");
    ASSERT_TRUE(document);
    const auto alarms = alarm_pictures(*document, "");
    ASSERT_EQ(alarms.size(), 2U);
    EXPECT_EQ(alarms[0].text, "ValueError");
    EXPECT_EQ(alarms[1].text, "http://x: 500");
}

}  // namespace
}  // namespace weir::app

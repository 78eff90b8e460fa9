// SPDX-License-Identifier: Apache-2.0
// Notifiers with real commands over a partition that is made by hand. Real web services are in test/run/notify_test.py.
#include "weir/control/notifications.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "notify/notify_watch.hpp"
#include "run_control_fixture.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto patience = 120s;

template <class Condition>
bool eventually(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

class NotificationsTest : public RunControlTest {
protected:
    NotificationsTest() : RunControlTest(few_stations) {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-notify-XXXXXX").native();
        folder = ::mkdtemp(pattern.data());
        options.name = "log";
        options.command = {"/bin/sh", "-c", "cat >> " + (folder / "got").native()};
        options.time_limit = patience;
        options.retry_after = 1ms;
    }
    ~NotificationsTest() override { std::filesystem::remove_all(folder); }

    void notify() {
        notifications.emplace("testbeam", std::vector{options},
                              NotificationParts{*control, reports, timers, metrics, clock});
    }
    void look() {
        clock.advance(1s);
        timers.step(clock.now());
    }
    [[nodiscard]] std::vector<json::value> got() const {
        std::ifstream file(folder / "got");
        std::vector<json::value> documents;
        for (std::string line; std::getline(file, line);) {
            const auto document = json::parse(line);
            if (document) documents.push_back(*document);
        }
        return documents;
    }
    [[nodiscard]] std::vector<std::string> lines() const {
        const std::scoped_lock lock(report_lines_mutex);
        return reported;
    }
    [[nodiscard]] bool come(std::size_t number) const {
        return eventually([&] { return got().size() >= number; });
    }
    [[nodiscard]] std::string metric(const std::string& outcome) const {
        const auto text = metrics.text();
        const auto at = text.find("outcome=\"" + outcome + "\"} ");
        return at == text.npos ? ""
                               : text.substr(text.find(' ', at + 8 + outcome.size()) + 1,
                                             text.find('\n', at) - text.find("} ", at) - 2);
    }
    [[nodiscard]] bool latched(const std::string& name) const {
        return std::ranges::any_of(reports.alarms(),
                                   [&](const auto& alarm) { return alarm.name == name && !alarm.acknowledged_by; });
    }

    std::filesystem::path folder;
    NotifierOptions options;
    service::Timers timers{clock};
    service::Metrics metrics;
    std::optional<Notifications> notifications;
};

TEST_F(NotificationsTest, ARunThatBeginsAndEndsBadlyAndAnAlarmAndItsAcknowledgementAreSent) {
    options.on = {NotifyEvent::start, NotifyEvent::stop, NotifyEvent::bad_run, NotifyEvent::alarm,
                  NotifyEvent::acknowledged};
    notify();
    const auto run = start_run();
    look();
    ASSERT_TRUE(come(1));
    reports.reporter().alarm("disk", "is full");
    look();
    look();
    ASSERT_TRUE(come(2));
    ASSERT_TRUE(reports.acknowledge("disk", "ann"));
    look();
    ASSERT_TRUE(come(3));
    control->abandon("interrupted twice");
    pass(1s);
    look();
    ASSERT_TRUE(come(4));
    look();
    notifications->finish(patience, [] { return false; });
    const auto documents = got();
    ASSERT_EQ(documents.size(), 4U);
    EXPECT_EQ(documents[0].at("event"), "start");
    EXPECT_EQ(documents[0].at("run").to_number<std::uint32_t>(), number(run));
    EXPECT_EQ(documents[0].at("comment"), "a comment");
    EXPECT_EQ(documents[0].at("text"), "testbeam: run 1 has begun: a comment");
    EXPECT_EQ(documents[1].at("event"), "alarm");
    EXPECT_EQ(documents[1].at("station"), "run");
    EXPECT_EQ(documents[1].at("alarm"), "disk");
    EXPECT_EQ(documents[1].at("severity"), "error");
    EXPECT_EQ(documents[2].at("event"), "acknowledged");
    EXPECT_EQ(documents[2].at("text"), "testbeam: alarm of run control acknowledged by ann: disk");
    EXPECT_EQ(documents[3].at("event"), "bad_run");
    EXPECT_EQ(documents[3].at("good"), false);
    EXPECT_GT(documents[3].at("problems").as_array().size(), 0U);
    EXPECT_THAT(std::string(documents[3].at("text").as_string()), HasSubstr("run 1 was not well: "));
}

TEST_F(NotificationsTest, WhatIsNotAskedForIsNotSent) {
    options.on = {NotifyEvent::alarm};
    options.severity = Severity::error;
    notify();
    start_run();
    look();
    reports.submit({.severity = Severity::warning, .what = "warm", .alarm = "warm"});
    reports.submit({.severity = Severity::error, .what = "hot", .alarm = "hot"});
    look();
    ASSERT_TRUE(come(1));
    notifications->finish(patience, [] { return false; });
    ASSERT_EQ(got().size(), 1U);
    EXPECT_EQ(got().front().at("alarm"), "hot");
}

TEST_F(NotificationsTest, ACommandThatFailsIsTriedAgainThenIsAnAlarmThatGoesWhenItWorksAgain) {
    options.command = {"/bin/sh", "-c",
                       "echo try >> '" + (folder / "tries").native() + "'; echo no room >&2; test -e '" +
                           (folder / "works").native() + "' && cat >> '" + (folder / "got").native() + "'"};
    options.tries = 3;
    notify();
    reports.reporter().alarm("disk", "is full");
    look();
    ASSERT_TRUE(eventually([&] { return latched("notifier log fails"); }));
    for (const auto& alarm : reports.alarms())
        if (alarm.name == "notifier log fails") {
            EXPECT_THAT(text_of(alarm.report), HasSubstr("no room"));
        }
    std::ifstream tries(folder / "tries");
    std::stringstream tried;
    tried << tries.rdbuf();
    EXPECT_EQ(tried.str(), "try\ntry\ntry\n");
    std::ofstream(folder / "works") << "yes";
    reports.reporter().alarm("another", "is full");
    look();
    ASSERT_TRUE(come(1));
    EXPECT_EQ(got().front().at("missed"), 1);
    EXPECT_TRUE(eventually([&] { return !latched("notifier log fails"); }));
    EXPECT_THAT(lines(), testing::Contains("notifier log works again"));
    EXPECT_EQ(metric("sent"), "1");
    EXPECT_EQ(metric("failed"), "1");
}

TEST_F(NotificationsTest, ACommandThatHangsHoldsNobodyUpAndIsKilledWithWhatItStarted) {
    options.command = {"/bin/sh", "-c", "sleep 1000 & echo $! > '" + (folder / "pid").native() + "'; wait"};
    notify();
    reports.reporter().alarm("disk", "is full");
    look();
    EXPECT_TRUE(eventually([&] { return metrics.text().contains("weir_notifications_waiting{notifier=\"log\"} 1"); }));
    pid_t pid = 0;
    ASSERT_TRUE(eventually([&] {
        std::ifstream file(folder / "pid");
        return file >> pid && pid > 0;
    }));
    int asked = 0;
    notifications->finish(patience, [&] { return ++asked == 2; });  // a second Ctrl-C
    notifications.reset();
    EXPECT_THAT(lines(), testing::Contains("notifier log has not sent all"));
    EXPECT_TRUE(eventually([&] {
        std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
        std::string line;
        return !std::getline(status, line) || line.contains(") Z ");
    })) << "what the command started lives on";
}

TEST(NotifyWatchTest, AnAlarmThatANewProcessRaisesAgainIsNewsAndOneThatItBringsBackIsNot) {
    NotifyWatch watch(WallTime{});
    PartitionView view;
    StationView station;
    station.entry.name = "ef-1";
    station.state = "running";
    const auto look = [&](bool alarm, const char* state) {
        station.state = state;
        station.report.alarms.clear();
        if (alarm) station.report.alarms.push_back({.name = "selection", .text = "threw", .severity = "error"});
        view.stations = {station};
        return watch.look(view, {}, WallTime{}).size();
    };
    EXPECT_EQ(look(true, "running"), 1U);
    EXPECT_EQ(look(true, "running"), 0U);
    EXPECT_EQ(look(false, "gone"), 0U);
    EXPECT_EQ(look(true, "running"), 0U) << "a recorder keeps its alarms";
    EXPECT_EQ(look(false, "launching"), 0U);
    EXPECT_EQ(look(false, "running"), 0U);
    EXPECT_EQ(look(true, "running"), 1U) << "raised by the new process";
}

TEST_F(NotificationsTest, AProgramThatIsNotThereIsAnAlarm) {
    options.command = {"/nonexistent/elog"};
    notify();
    reports.reporter().alarm("disk", "is full");
    look();
    ASSERT_TRUE(eventually([&] { return latched("notifier log fails"); }));
    look();
    look();
    EXPECT_EQ(metric("failed"), "1") << "that it fails, it does not say itself";
}

TEST_F(NotificationsTest, ItGetsVariablesAndNoOthersThanItNeeds) {
    ::setenv("WEIR_TEST_SECRET", "x", 1);
    options.command = {"/bin/sh", "-c",
                       "env > '" + (folder / "env").native() + "'; cat >> '" + (folder / "got").native() + "'"};
    notify();
    start_run();
    look();
    ASSERT_TRUE(come(1));
    std::ifstream file(folder / "env");
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_THAT(text.str(), HasSubstr("WEIR_EVENT=start\n"));
    EXPECT_THAT(text.str(), HasSubstr("WEIR_PARTITION=testbeam\n"));
    EXPECT_THAT(text.str(), HasSubstr("WEIR_RUN=1\n"));
    EXPECT_THAT(text.str(), HasSubstr("PATH="));
    EXPECT_THAT(text.str(), testing::Not(HasSubstr("WEIR_TEST_SECRET")));
    ::unsetenv("WEIR_TEST_SECRET");
}

}  // namespace
}  // namespace weir::control

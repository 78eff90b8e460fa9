// SPDX-License-Identifier: Apache-2.0
#include "weir/service/alarm_keeper.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "weir/base/file.hpp"

namespace weir::service {
namespace {

using testing::HasSubstr;

Report an_alarm(std::string name, std::string what) {
    return {.severity = Severity::error, .what = std::move(what), .alarm = std::move(name)};
}

class AlarmKeeperTest : public ::testing::Test {
protected:
    AlarmKeeperTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-alarms-XXXXXX").native();
        directory = ::mkdtemp(pattern.data());
        place.directory = directory;
    }
    ~AlarmKeeperTest() override { std::filesystem::remove_all(directory); }

    std::unique_ptr<Reports> make() {
        return std::make_unique<Reports>("recorder-1", clock, std::vector<std::unique_ptr<ReportSink>>{});
    }

    std::filesystem::path directory;
    AlarmPlace place;
    ManualClock clock;
};

TEST_F(AlarmKeeperTest, AnAlarmIsLatchedAgainAfterARestartUntilItIsAcknowledged) {
    {
        const auto reports = make();
        const auto keeper = AlarmKeeper::start(*reports, place);
        ASSERT_TRUE(keeper.has_value());
        reports->submit(an_alarm("disk-full", "no space\ton /data"));
    }
    {
        const auto reports = make();
        const auto keeper = AlarmKeeper::start(*reports, place);
        ASSERT_TRUE(keeper.has_value());
        EXPECT_EQ(reports->latched(), 1U);
        EXPECT_THAT(reports->alarms().at(0).report.what, HasSubstr("no space\\ton /data"));
        EXPECT_EQ(ask_to_acknowledge(place, "disk-empty", "anna").value(), std::optional(false));
        EXPECT_EQ(ask_to_acknowledge(place, "disk-full", "").value(), std::optional(false));
        EXPECT_EQ(ask_to_acknowledge(place, "disk-full", "anna").value(), std::optional(true));
        EXPECT_EQ(ask_to_acknowledge(place, "disk-full", "anna").value(), std::optional(false));
    }
    const auto reports = make();
    const auto keeper = AlarmKeeper::start(*reports, place);
    ASSERT_TRUE(keeper.has_value());
    EXPECT_EQ(reports->latched(), 0U);
    EXPECT_EQ(reports->alarms().at(0).acknowledged_by, "anna");
    reports->submit(an_alarm("disk-full", "again"));
    EXPECT_EQ(reports->latched(), 1U);
}

TEST_F(AlarmKeeperTest, WhoeverAsksSeesTheAlarmsOfTheRunningStationOrThatNoneRuns) {
    EXPECT_FALSE(ask_alarms(place).value().has_value());
    {
        const auto reports = make();
        const auto keeper = AlarmKeeper::start(*reports, place);
        ASSERT_TRUE(keeper.has_value());
        reports->submit(an_alarm("b", "second"));
        reports->submit(an_alarm("a", "first"));
        const auto alarms = ask_alarms(place).value();
        ASSERT_TRUE(alarms.has_value());
        ASSERT_EQ(alarms->size(), 2U);
        EXPECT_EQ(alarms->at(0).name, "a");
        EXPECT_EQ(alarms->at(0).report.severity, Severity::error);
        EXPECT_EQ(alarms->at(0).first, clock.wall());
    }
    EXPECT_FALSE(ask_alarms(place).value().has_value());
    EXPECT_EQ(load_alarms(place).value().size(), 2U);
}

TEST_F(AlarmKeeperTest, APathLongerThanASocketsAddressIsNoObstacle) {
    place.directory = directory / std::string(200, 'x');
    std::filesystem::create_directory(place.directory);
    const auto reports = make();
    const auto keeper = AlarmKeeper::start(*reports, place);
    ASSERT_TRUE(keeper.has_value());
    EXPECT_TRUE(ask_alarms(place).value().has_value());
}

TEST_F(AlarmKeeperTest, ADamagedFileIsPutAsideAndSaidAndRecordingGoesOn) {
    std::ofstream(place.file()) << "weir alarms 1\nname\twithout the rest\n";
    const auto reports = make();
    const auto keeper = AlarmKeeper::start(*reports, place);
    ASSERT_TRUE(keeper.has_value());
    EXPECT_EQ(reports->alarms().at(0).name, "alarms unreadable");
    EXPECT_THAT(reports->alarms().at(0).report.why, HasSubstr("line 2"));
    EXPECT_TRUE(std::filesystem::exists(place.file().native() + ".damaged"));
}

TEST_F(AlarmKeeperTest, ItsEndIsSeenThoughAnAlarmCameJustBefore) {
    const auto reports = make();
    for (int n = 0; n < 100; ++n) {
        const auto keeper = AlarmKeeper::start(*reports, place);
        ASSERT_TRUE(keeper.has_value());
        std::this_thread::sleep_for(std::chrono::milliseconds{2});  // its thread sleeps
        reports->submit(an_alarm("disk-full", "no space"));         // and wakes about now
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds{n % 4};
        while (std::chrono::steady_clock::now() < until) continue;
    }
}

TEST_F(AlarmKeeperTest, NonsenseOnTheSocketIsClosedAndTheNextIsServed) {
    const auto reports = make();
    const auto keeper = AlarmKeeper::start(*reports, place);
    ASSERT_TRUE(keeper.has_value());
    for (const std::string request : {"", "GET / HTTP/1.1\r\n\r\n\n", "acknowledge\n", "acknowledge\t\t\n"}) {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, place.socket().c_str(), sizeof(address.sun_path) - 1);
        ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
        ::shutdown(fd, SHUT_WR);
        char answer[8];
        EXPECT_LE(::recv(fd, answer, sizeof(answer), 0), 2) << request;  // "no", or nothing
        ::close(fd);
    }
    EXPECT_TRUE(ask_alarms(place).value().has_value());
}

TEST(AlarmFile, CutOrChangedAnywhereIsAnErrorOrAlarmsNeverMore) {
    Alarm alarm;
    alarm.name = "name";
    alarm.report = {{.severity = Severity::error, .what = "text"}};
    alarm.acknowledged_by = "anna";
    alarm.acknowledged_at = WallTime{std::chrono::seconds{5}};
    const auto text = to_text({alarm, alarm});
    ASSERT_EQ(alarms_from(text).value().size(), 2U);
    for (std::size_t size = 0; size < text.size(); ++size) {
        const auto cut = alarms_from(std::string_view(text).substr(0, size));
        EXPECT_TRUE(!cut || cut->size() < 2U) << size;
        for (const char c : {'\t', '\n', '\0', '9'}) {
            auto changed = text;
            changed[size] = c;
            const auto read = alarms_from(changed);
            EXPECT_TRUE(!read || read->size() <= 3U) << size;
        }
    }
}

}  // namespace
}  // namespace weir::service

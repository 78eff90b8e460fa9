// SPDX-License-Identifier: Apache-2.0
#include "station_control.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "fake_partition.hpp"
#include "weir/control/local_launcher.hpp"
#include "weir/service/reports.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(StationLog, AnErrorIsOneWithAndWithoutItsTime) {
    for (const std::string time : {"", "2026-11-23T02:36:14.123Z "}) {
        for (const auto severity : {Severity::information, Severity::warning, Severity::error, Severity::fatal}) {
            const auto line = time + service::one_line({{.severity = severity, .what = "no error of a disk"}, "ros-1"});
            EXPECT_EQ(is_error_line(line), severity >= Severity::error) << line;
        }
        EXPECT_TRUE(is_error_line(time + "weir readout: no such file"));
        EXPECT_FALSE(is_error_line(time));
    }
}

TEST(StationLog, TheLastErrorOfAStationIsWhyItEnded) {
    std::string pattern = testing::TempDir() + "station-XXXXXX";
    const std::filesystem::path directory = ::mkdtemp(pattern.data());
    FakeWorld world;
    FakeLinks links(world);
    LocalLauncher launcher;
    const StationTimes times{.poll = 1ms};
    StationControl station(
        {},
        {"ros-1",
         {"/bin/sh", "-c", "echo '2026-11-23T02:36:14.123Z error ros-1: the buffer is broken' >&2; exit 3"},
         directory / "log"},
        times, launcher, links);
    station.add({StationStep::Kind::launch, service::Transition::configure, 60s});
    const SystemClock clock;
    std::optional<StationTrouble> trouble;
    for (const auto end = clock.now() + 60s; !trouble && clock.now() < end; trouble = station.take_trouble()) {
        station.step(clock.now(), clock.now(), RunNumber{1}, {}, [](std::string_view) {});
        std::this_thread::sleep_for(1ms);
    }
    ASSERT_TRUE(trouble.has_value());
    EXPECT_THAT(trouble->what, HasSubstr("ended with code 3"));
    EXPECT_THAT(trouble->what, HasSubstr("the buffer is broken"));
    std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace weir::control

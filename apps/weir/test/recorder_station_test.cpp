// SPDX-License-Identifier: Apache-2.0
// The recorder driven as run control drives it: up, through two runs on one port, and down.
#include "stations/recorder/recorder_station.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "weir/service/station_frame.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;
using Outcome = service::StationAnswer::Outcome;

class RecorderInAPartition : public ::testing::Test {
protected:
    RecorderInAPartition() {
        std::filesystem::remove_all(directory);
        recorder::RecorderOptions options;
        options.directories = {directory};
        options.create_directories = true;
        options.memory = Bytes{64U << 20};
        options.receiver.event_size_max = Bytes{1U << 20};
        options.streams_max = 4;
        station.emplace(options, "rec-1", wire::StationId{9}, services);
    }
    ~RecorderInAPartition() override {
        station.reset();
        std::filesystem::remove_all(directory);
    }
    service::StationAnswer ask(service::StationFrame& frame, service::Transition transition, std::uint32_t run = 0,
                               bool again = false) {
        service::StationRequest request{.transition = transition, .again = again};
        if (transition == service::Transition::start) request.run = RunNumber{run};
        return frame.request(std::move(request));
    }

    const std::filesystem::path directory =
        std::filesystem::path(testing::TempDir()) / ("recorder_station_test." + std::to_string(::getpid()));
    SystemClock clock;
    service::Metrics metrics;
    service::Reports reports{"rec-1", clock, {}};
    ThreadAccounts threads;
    service::Timers timers{clock};
    service::SampledEvents samples;
    service::StationServices services{clock, reports, metrics, threads, timers, samples};
    std::optional<RecorderStation> station;
};

TEST_F(RecorderInAPartition, RecordsSeveralRunsOnOnePort) {
    auto frame =
        service::StationFrame::start(*station, {.name = "rec-1", .kind = StationKind::record}, services).value();
    ASSERT_EQ(ask(*frame, service::Transition::configure).outcome, Outcome::done);
    const auto events = frame->report().self->events;
    EXPECT_THAT(events, testing::StartsWith("127.0.0.1:"));
    ASSERT_EQ(ask(*frame, service::Transition::connect).outcome, Outcome::done);
    for (const std::uint32_t run : {41U, 42U}) {
        const auto started = ask(*frame, service::Transition::start, run);
        ASSERT_EQ(started.outcome, Outcome::done) << started.error;
        EXPECT_EQ(frame->report().self->events, events);
        EXPECT_TRUE(frame->report().status.ledger.balances());
        EXPECT_THAT(metrics.text(), testing::HasSubstr("weir_files_closed_total"));
        const auto stopped = ask(*frame, service::Transition::stop);
        EXPECT_EQ(stopped.outcome, Outcome::done) << stopped.error;
        EXPECT_THAT(metrics.text(), testing::Not(testing::HasSubstr("weir_files_closed_total")));
    }
    const auto again = ask(*frame, service::Transition::start, 42);
    EXPECT_EQ(again.outcome, Outcome::failed) << "a closed run's number is refused";
    EXPECT_EQ(ask(*frame, service::Transition::start, 42, true).outcome, Outcome::done)
        << "but for who goes on with it";
    EXPECT_EQ(ask(*frame, service::Transition::stop).outcome, Outcome::done);
    EXPECT_EQ(frame->state(), service::StationState::connected);
    EXPECT_EQ(ask(*frame, service::Transition::start, 43).outcome, Outcome::done);
    EXPECT_TRUE(frame->wind_down(5s));
}

TEST_F(RecorderInAPartition, AStationThatIsDroppedWhileItRunsEnds) {
    auto frame =
        service::StationFrame::start(*station, {.name = "rec-1", .kind = StationKind::record}, services).value();
    for (const auto transition :
         {service::Transition::configure, service::Transition::connect, service::Transition::start})
        ASSERT_EQ(ask(*frame, transition, 44).outcome, Outcome::done);
    frame.reset();
}

}  // namespace
}  // namespace weir::app

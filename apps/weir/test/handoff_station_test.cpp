// SPDX-License-Identifier: Apache-2.0
// The hand-off driven as run control drives it: up, through two runs, and down.
#include "stations/handoff/handoff_station.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "weir/base/data.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/digest/summer.hpp"
#include "weir/service/station_frame.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;
using Outcome = service::StationAnswer::Outcome;
using service::Transition;

class HandOffInAPartition : public ::testing::Test {
protected:
    HandOffInAPartition() {
        std::filesystem::remove_all(directory);
        for (const auto* name : {"here", "there"}) std::filesystem::create_directories(directory / name);
        catalogue = catalogue::open_own_catalogue(directory / "here", "").value();
        settings.directory = (directory / "here").native();
        settings.destinations = {(directory / "there").native()};
        settings.options.poll = 1h;  // only the end of a run makes it look
        settings.options.retry_most = 10ms;
    }
    ~HandOffInAPartition() override { std::filesystem::remove_all(directory); }

    void record(RunNumber run, const std::string& name) {
        ASSERT_TRUE(catalogue->open_run({run, "rec-1", "receipt", "", WallTime{1s}}));
        std::ofstream(directory / "here" / name) << name;
        catalogue::FileRow file;
        file.guid = Guid::random();
        file.volume = (directory / "here").native();
        file.name = name;
        file.run = run;
        file.recorder = "rec-1";
        file.stream_type = "physics";
        file.stream_name = "Main";
        file.format = "raw-6";
        ASSERT_TRUE(catalogue->file_opened(file));
        catalogue::FileClose close;
        close.guid = file.guid;
        close.volume = file.volume;
        close.name = name;
        close.bytes = name.size();
        close.sums = {{"adler32", digest::sum(digest::Algorithm::adler32, as_data(name)).hex()}};
        close.at = clock.wall();
        ASSERT_TRUE(catalogue->file_closed(close));
    }
    service::StationAnswer ask(service::StationFrame& frame, Transition transition, std::uint32_t run = 0) {
        service::StationRequest request{.transition = transition};
        if (transition == Transition::start) request.run = RunNumber{run};
        if (transition == Transition::stop) request.deadline = 500ms * run;  // 0: what is left is left
        return frame.request(std::move(request));
    }
    [[nodiscard]] bool there(const std::string& name) const {
        return std::filesystem::exists(directory / "there" / name);
    }

    const std::filesystem::path directory =
        std::filesystem::path(testing::TempDir()) / ("handoff_station_test." + std::to_string(::getpid()));
    SystemClock clock;
    service::Metrics metrics;
    service::Reports reports{"out", clock, {}};
    ThreadAccounts threads;
    service::Timers timers{clock};
    service::SampledEvents samples;
    service::StationServices services{clock, reports, metrics, threads, timers, samples};
    std::unique_ptr<catalogue::Catalogue> catalogue;
    HandOffSettings settings;
};

TEST_F(HandOffInAPartition, AtTheEndOfARunItsFilesAreThereAndCounted) {
    HandOffStation station(settings, "out", wire::StationId{9}, services);
    const auto frame =
        service::StationFrame::start(station, {.name = "out", .kind = StationKind::handoff}, services).value();
    ASSERT_EQ(ask(*frame, Transition::configure).outcome, Outcome::done);
    ASSERT_EQ(ask(*frame, Transition::connect).outcome, Outcome::done);
    for (const std::uint32_t run : {41U, 42U}) {
        const auto started = ask(*frame, Transition::start, run);
        ASSERT_EQ(started.outcome, Outcome::done) << started.error;
        EXPECT_THAT(metrics.text(), testing::HasSubstr("weir_handoff_files_total"));
        const auto name = "f" + std::to_string(run) + ".data";
        record(RunNumber{run}, name);
        ASSERT_EQ(ask(*frame, Transition::stop, 240).outcome, Outcome::done);
        EXPECT_TRUE(there(name));
        const auto ledger = frame->report().status.ledger;
        EXPECT_EQ(std::tuple(ledger.what, ledger.received, ledger.stored, ledger.in_hand),
                  std::tuple("files", 1U, 1U, 0U));
        EXPECT_TRUE(ledger.balances());
    }
    EXPECT_TRUE(frame->wind_down(5s));
    EXPECT_THAT(metrics.text(), testing::Not(testing::HasSubstr("weir_handoff_files_total")));
}

TEST_F(HandOffInAPartition, WithoutItsDestinationAStopEndsInTimeAndWhatIsLeftIsInHand) {
    std::filesystem::remove(directory / "there");
    HandOffStation station(settings, "out", wire::StationId{9}, services);
    const auto frame =
        service::StationFrame::start(station, {.name = "out", .kind = StationKind::handoff}, services).value();
    for (const auto transition : {Transition::configure, Transition::connect, Transition::start})
        ASSERT_EQ(ask(*frame, transition, 41).outcome, Outcome::done);
    record(RunNumber{41}, "f.data");
    EXPECT_EQ(ask(*frame, Transition::stop, 8).outcome, Outcome::done);
    EXPECT_EQ(frame->report().status.ledger.in_hand, 1U);
    HandOffStation second(settings, "second", wire::StationId{10}, services);
    ASSERT_TRUE(second.connect({}));
    EXPECT_THAT(second.start(RunNumber{41}).error().message(), testing::HasSubstr("another process"))
        << "the first goes on between runs";
    EXPECT_TRUE(frame->wind_down(5s));
    EXPECT_TRUE(second.connect({}));
    EXPECT_TRUE(second.start(RunNumber{41}));
}

TEST_F(HandOffInAPartition, AScrapeWhileItBeginsAgainEndsAndCountsNothingOfItsFirstLife) {
    HandOffStation station(settings, "out", wire::StationId{9}, services);
    ASSERT_TRUE(station.connect({}));
    ASSERT_TRUE(station.start(RunNumber{41}));
    record(RunNumber{41}, "first.data");
    ASSERT_TRUE(station.stop(120s));
    ASSERT_TRUE(station.start(RunNumber{42}));
    ASSERT_TRUE(station.stop(120s));
    ASSERT_TRUE(station.disconnect());
    record(RunNumber{42}, "second.data");
    std::atomic<bool> scraping = false;
    std::uint64_t stored_most = 0;
    const auto collection = metrics.collect([&](service::MetricSink&) {  // the frame's collection asks the station too
        scraping = true;
        for (int i = 0; i < 100 || !there("second.data"); ++i) {  // it has begun to work, and is held up by the scrape
            stored_most = std::max(stored_most, station.status().ledger.stored);
            std::this_thread::sleep_for(1ms);
        }
    });
    ASSERT_TRUE(station.connect({}));
    {
        const std::jthread scraper([&] { static_cast<void>(metrics.text()); });
        while (!scraping) std::this_thread::yield();
        ASSERT_TRUE(station.start(RunNumber{43}));
    }
    EXPECT_LE(stored_most, 1U);
}

TEST_F(HandOffInAPartition, AStartThatFailedLeavesNothingBehindAndTheNextOneWorks) {
    std::filesystem::create_directory(directory / "here" / "weir-handoff.control");  // its socket cannot be made
    HandOffStation station(settings, "out", wire::StationId{9}, services);
    ASSERT_TRUE(station.connect({}));
    ASSERT_FALSE(station.start(RunNumber{41}));
    EXPECT_TRUE(catalogue::HandOffLock::take(catalogue::own_catalogue_path(directory / "here", "")))
        << "others may hand over meanwhile";
    std::filesystem::remove(directory / "here" / "weir-handoff.control");
    record(RunNumber{41}, "f.data");
    const auto started = station.start(RunNumber{41});
    ASSERT_TRUE(started) << started.error().message();
    EXPECT_TRUE(station.stop(120s));
    EXPECT_TRUE(there("f.data"));
}

}  // namespace
}  // namespace weir::app

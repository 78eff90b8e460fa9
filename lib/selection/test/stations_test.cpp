// SPDX-License-Identifier: Apache-2.0
// The stations over real sockets: a supervisor and two units of one partition, and a filter that has several runs.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "one_unit.hpp"
#include "weir/base/testing/eventually.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/event/event_builder.hpp"
#include "weir/selection/filter_station.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using namespace test;

/// Both events, 5 and 6, are at the unit, whose selection sleeps.
struct TwoEventsUnderWay : OneUnit {
    explicit TwoEventsUnderWay(const std::string& selection) : OneUnit(events(2, 5), running(selection)) {}
    void begin() {
        ASSERT_NO_FATAL_FAILURE(OneUnit::begin());
        ASSERT_TRUE(eventually([&] { return counter("computing") == 2; }));
    }
};

TEST(Stations, ASupervisorAndItsUnitsDecideOnEveryEventOfARun) {
    const SystemClock clock;
    service::Reports reports("test", clock, {});
    memory::BufferPool pool(64_MiB);
    Around<SimpleAssigner> assigner(assigner_id, pool, clock);
    Around<SimpleReadout> readout(readout_id, pool, clock);
    SupervisorStation supervisor({.id = supervisor_id, .supervisor = {.events = 500}, .loop = loop_of(supervisor_id)},
                                 reports.reporter(), clock);
    std::vector<std::unique_ptr<UnitStation>> units;
    for (std::uint16_t i = 0; i < 2; ++i) {
        UnitStationOptions options;
        options.name = "l2pu-" + std::to_string(i);
        options.id = StationId(static_cast<std::uint16_t>(number(unit_id) + i));
        options.selection.selection = "fraction:0.5";
        options.loop = loop_of(options.id);
        if (i == 1) options.loop.input = messaging::InputThread::wake_per_batch;
        units.push_back(std::make_unique<UnitStation>(options, reports.reporter(), clock));
        ASSERT_TRUE(units.back()->configure());
    }
    ASSERT_TRUE(supervisor.configure());
    auto readout_peer = readout.peer(StationKind::readout);
    readout_peer.sources = {SourceId{1}, SourceId{2}, SourceId{3}};
    const std::vector<Peer> peers{supervisor.self(), units[0]->self(), units[1]->self(),
                                  assigner.peer(StationKind::assign), readout_peer};
    assigner.begin({peers[0]}, RunNumber{7}, 100);
    readout.begin({peers[1], peers[2]}, RunNumber{7});
    for (auto& unit : units) {
        ASSERT_TRUE(unit->connect(peers));
        ASSERT_TRUE(unit->start(RunNumber{7}));
    }
    ASSERT_TRUE(supervisor.connect(peers));
    ASSERT_TRUE(supervisor.start(RunNumber{7}));
    ASSERT_TRUE(eventually([&] { return supervisor.status().finished; }));
    ASSERT_TRUE(supervisor.stop(120s));
    const auto status = supervisor.status();
    EXPECT_TRUE(status.ledger.balances());
    EXPECT_EQ(status.ledger.received, 500U);
    EXPECT_EQ(status.ledger.in_hand, 0U);
    std::uint64_t received = 0;
    for (auto& unit : units) {
        ASSERT_TRUE(unit->stop(120s));
        EXPECT_TRUE(unit->status().ledger.balances());
        EXPECT_EQ(unit->status().counters["missing_late"], 0);
        received += unit->status().ledger.received;
        ASSERT_TRUE(unit->disconnect());
        ASSERT_TRUE(unit->unconfigure());
    }
    EXPECT_EQ(received, 500U);
    ASSERT_TRUE(supervisor.disconnect());
    assigner.thread = {};
    EXPECT_EQ(assigner.logic->level1.size(), 500U);
    EXPECT_NEAR(static_cast<double>(assigner.logic->accepted.size()), 250, 80);
}

TEST(Stations, AUnitWhoseSelectionHangsSaysSoAndStillStops) {
    auto options = running(WEIR_FAULTY_SELECTION);  // event 2 never ends
    options.selection.workers_are = WorkersAre::threads;
    options.selection.time_limit = 1ms;
    options.unit.workers = 1;
    OneUnit stations(events(10, 2), options);
    ASSERT_NO_FATAL_FAILURE(stations.begin());
    auto& unit = stations.unit;
    ASSERT_TRUE(eventually([&] { return unit.status().counters["hanging"] == 1; }));
    ASSERT_TRUE(eventually([&] { return unit.status().counters["hanging_seconds"] > 0.05; }));
    EXPECT_EQ(stations.reports.latched(), 1U);
    ASSERT_TRUE(stations.supervisor.stop(200ms));
    EXPECT_EQ(stations.supervisor.status().counters["forced"], 2);  // what the unit had: its credit
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(unit.stop(300ms));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
    EXPECT_TRUE(unit.status().ledger.balances());
    ASSERT_TRUE(unit.disconnect());
    ASSERT_TRUE(unit.unconfigure());
}

TEST(Stations, AUnitThatIsStartedAgainInARunSurvivesEventsThatCrashItsSelectionOfThreads) {
    auto options = running(WEIR_FAULTY_SELECTION);  // events 3 and 4 end the process
    options.selection.workers_are = WorkersAre::threads;
    options.selection.restart_first = 1ms;
    OneUnit stations(events(2, 3), options);
    ASSERT_NO_FATAL_FAILURE(stations.begin(true));
    ASSERT_TRUE(eventually([&] { return stations.supervisor.status().finished; }));
    EXPECT_TRUE(eventually([&] { return stations.counter("crashed") == 2; }));  // its loop shows it a turn later
    ASSERT_TRUE(stations.supervisor.stop(120s));
    ASSERT_TRUE(stations.unit.stop(120s));
    ASSERT_TRUE(stations.supervisor.disconnect());
    ASSERT_TRUE(stations.unit.disconnect());
}

TEST(Stations, AUnitThatStopsWhileItsSelectionRunsInAProcessBlamesItForNothing) {
    auto options = running(WEIR_FAULTY_SELECTION);  // event 2 takes longer than the test
    options.selection.time_limit = 60s;
    OneUnit stations(events(1, 2), options);
    ASSERT_NO_FATAL_FAILURE(stations.begin());
    ASSERT_TRUE(eventually([&] { return stations.counter("computing") == 1; }));
    ASSERT_TRUE(stations.supervisor.stop(200ms));
    ASSERT_TRUE(stations.unit.stop(300ms));
    const auto status = stations.unit.status();
    EXPECT_EQ(status.counters.at("timed_out"), 0);
    EXPECT_EQ(status.ledger.rejected.at("dropped"), 1U);
    EXPECT_TRUE(status.ledger.balances());
    EXPECT_EQ(stations.reports.latched(), 0U);
    ASSERT_TRUE(stations.supervisor.disconnect());
    ASSERT_TRUE(stations.unit.disconnect());
}

TEST(Stations, ASupervisorIsNotFinishedBeforeItsRunAndMayBeAskedAtAnyTime) {
    const SystemClock clock;
    service::Reports reports("test", clock, {});
    memory::BufferPool pool(64_MiB);
    Around<SimpleAssigner> assigner(assigner_id, pool, clock);
    SupervisorStation supervisor({.id = supervisor_id, .supervisor = {.events = 20}, .loop = loop_of(supervisor_id)},
                                 reports.reporter(), clock);
    std::atomic<bool> second_run{false}, finished_in_second{false};
    NamedThread asker("asker", [&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            const bool second = second_run;
            if (supervisor.status().finished && second) finished_in_second = true;
        }
    });
    ASSERT_TRUE(supervisor.configure());
    const std::vector<Peer> peers{supervisor.self(), assigner.peer(StationKind::assign)};
    assigner.begin({peers[0]}, RunNumber{7}, 100);
    ASSERT_TRUE(supervisor.connect(peers));
    ASSERT_TRUE(supervisor.start(RunNumber{7}));
    ASSERT_TRUE(eventually([&] { return supervisor.status().finished; }));
    ASSERT_TRUE(supervisor.stop(120s));
    EXPECT_FALSE(supervisor.status().finished);
    EXPECT_EQ(supervisor.status().ledger.stored, 20U);
    second_run = true;
    ASSERT_TRUE(supervisor.start(RunNumber{8}));  // the DFM is still in the run before: nothing is decided
    std::this_thread::sleep_for(60ms);
    ASSERT_TRUE(supervisor.stop(10ms));
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(supervisor.disconnect());
        ASSERT_TRUE(supervisor.connect(peers));
    }
    asker = {};
    EXPECT_FALSE(finished_in_second);
    ASSERT_TRUE(supervisor.disconnect());
}

TEST(Stations, ASupervisorWhoseDfmIsGoneSaysAtItsEndWhatItAccepted) {
    TwoEventsUnderWay stations("sleep:1h");  // until the unit stops
    ASSERT_NO_FATAL_FAILURE(stations.begin());
    stations.assigner.thread = {};
    ASSERT_TRUE(stations.supervisor.stop(500ms));
    EXPECT_EQ(stations.supervisor.events().at("accepted").text(), "5-6");
    ASSERT_TRUE(stations.unit.stop(300ms));
    ASSERT_TRUE(stations.supervisor.disconnect());
    ASSERT_TRUE(stations.unit.disconnect());
}

TEST(Stations, AUnitStopsThoughItsSupervisorHearsItsLastWordNoMore) {
    TwoEventsUnderWay stations("sleep:2s");
    ASSERT_NO_FATAL_FAILURE(stations.begin());
    ASSERT_TRUE(stations.supervisor.stop(20ms));
    ASSERT_TRUE(stations.supervisor.disconnect());
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(stations.unit.stop(60s));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
    EXPECT_EQ(stations.unit.status().ledger.stored, 2U);
    EXPECT_TRUE(stations.unit.status().ledger.balances());
    ASSERT_TRUE(stations.unit.disconnect());
}

TEST(Stations, AFilterWhoseSelectionHangsWindsDown) {
    const SystemClock clock;
    service::Reports reports("test", clock, {});
    service::Timers timers(clock);
    timers.start();
    FilterStationOptions options;
    options.filter.receiver.threads = 1;
    options.filter.workers = 1;
    options.selection.selection = WEIR_FAULTY_SELECTION;  // event 2 never ends
    options.selection.workers_are = WorkersAre::threads;
    options.selection.time_limit = 1ms;
    options.memory = 16_MiB;
    const auto event = event::build_event({.ids = {.run = RunNumber{1}, .global_id = GlobalEventId{2}}}, {}).value();
    for (const bool in_order : {true, false}) {
        FilterStation filter(options, reports.reporter(), timers, clock);
        ASSERT_TRUE(filter.configure());
        ASSERT_TRUE(filter.connect({}));
        ASSERT_TRUE(filter.start(RunNumber{1}));
        delivery::SenderOptions sending;
        sending.host = filter.self().events;
        sending.run = RunNumber{1};
        sending.format = wire::EventFormat::event_5_0;
        auto sender = delivery::Sender::open(sending).value();
        ASSERT_TRUE(sender->send({.global_id = GlobalEventId{2}}, event));
        const auto before = reports.latched();
        ASSERT_TRUE(eventually([&] {
            return filter.status().ledger.received == 1 && reports.latched() >= before && reports.latched() > 0;
        }));
        if (!in_order) break;  // it is destroyed as it is
        ASSERT_TRUE(filter.stop(50ms));
        EXPECT_TRUE(filter.status().ledger.balances());
        ASSERT_TRUE(filter.disconnect());
        ASSERT_TRUE(filter.unconfigure());
        ASSERT_TRUE(filter.configure());  // and it can be used again
        ASSERT_TRUE(filter.unconfigure());
    }
}

TEST(Stations, AFilterKeepsItsAddressFromRunToRun) {
    const SystemClock clock;
    service::Reports reports("test", clock, {});
    service::Timers timers(clock);
    timers.start();
    FilterStationOptions options;
    options.filter.name = "ef-1";
    options.filter.receiver.threads = 1;
    options.selection.selection = "none";
    options.memory = 16_MiB;
    FilterStation filter(options, reports.reporter(), timers, clock);
    ASSERT_TRUE(filter.configure());
    const auto address = filter.self().events;
    ASSERT_TRUE(filter.connect({}));
    const auto event = event::build_event({.ids = {.run = RunNumber{1}}}, {}).value();
    for (std::uint32_t run = 1; run <= 3; ++run) {
        ASSERT_TRUE(filter.start(RunNumber{run}));
        EXPECT_EQ(filter.self().events, address);
        delivery::SenderOptions sending;
        sending.host = address;
        sending.run = RunNumber{run};
        sending.format = wire::EventFormat::event_5_0;
        auto sender = delivery::Sender::open(sending).value();
        for (std::uint64_t id = 1; id <= 10; ++id) ASSERT_TRUE(sender->send({.global_id = GlobalEventId{id}}, event));
        ASSERT_TRUE(sender->flush(120s).value());
        ASSERT_TRUE(filter.stop(120s));
        const auto status = filter.status();
        EXPECT_EQ(status.ledger.received, 10U);
        EXPECT_EQ(status.ledger.rejected.at("not_selected"), 10U);
        EXPECT_TRUE(status.ledger.balances());
    }
    ASSERT_TRUE(filter.disconnect());
    ASSERT_TRUE(filter.unconfigure());
}

}  // namespace
}  // namespace weir::selection

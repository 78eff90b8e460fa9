// SPDX-License-Identifier: Apache-2.0
// A unit whose selection requests its data in steps, over real sockets: other events go on, the readouts are asked for
// nothing else, and whatever happens while a selection waits ends.
#include <gtest/gtest.h>

#include <thread>

#include "one_unit.hpp"
#include "weir/base/testing/eventually.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using namespace test;

/// A readout with some sources; each event begins with source 1.
struct WithReadout : OneUnit {
    WithReadout(std::uint64_t count, UnitStationOptions of_unit, std::uint64_t first = 100)
        : OneUnit(beginning_with_source_1(count, first), std::move(of_unit)) {}
    static SupervisorOptions beginning_with_source_1(std::uint64_t count, std::uint64_t first) {
        auto options = events(count, first);
        options.regions_of = [](const wire::EventTicket&, std::vector<SourceId>& regions) -> Result<> {
            regions.push_back(SourceId{1});
            return {};
        };
        return options;
    }
    void begin(std::uint32_t silent_from = ~0U) {
        ASSERT_TRUE(unit.configure());
        ASSERT_TRUE(supervisor.configure());
        auto readout_peer = readout.peer(StationKind::readout);
        for (const auto source : {1U, 2U, 3U, 4U, 5U, 50U, 51U}) readout_peer.sources.push_back(SourceId{source});
        const std::vector<Peer> peers{supervisor.self(), unit.self(), assigner.peer(StationKind::assign), readout_peer};
        assigner.begin({peers[0]}, RunNumber{7}, 100);
        readout.begin({peers[1]}, RunNumber{7});
        readout.logic->silent_from = silent_from;
        ASSERT_TRUE(unit.connect(peers));
        ASSERT_TRUE(unit.start(RunNumber{7}));
        ASSERT_TRUE(supervisor.connect(peers));
        ASSERT_TRUE(supervisor.start(RunNumber{7}));
    }
    void stop() {
        ASSERT_TRUE(supervisor.stop(120s));
        ASSERT_TRUE(unit.stop(120s));
        EXPECT_TRUE(unit.status().ledger.balances());
        EXPECT_EQ(unit.status().ledger.in_hand, 0U);
        ASSERT_TRUE(supervisor.disconnect());
        ASSERT_TRUE(unit.disconnect());
    }
    Around<SimpleReadout> readout{readout_id, pool, clock};
};

TEST(Steps, OnlyTheSourcesThatASelectionRequestsAreAskedForAndEachOnceAnEvent) {
    WithReadout stations(200, running("request:2+3+2/1+4/99"));
    ASSERT_NO_FATAL_FAILURE(stations.begin());
    ASSERT_TRUE(eventually([&] { return stations.supervisor.status().finished; }));
    ASSERT_NO_FATAL_FAILURE(stations.stop());
    EXPECT_EQ(stations.supervisor.status().ledger.stored, 200U);
    EXPECT_EQ(stations.counter("steps"), 600);
    EXPECT_EQ(stations.counter("missing_nobody"), 200);  // source 99: known at once
    EXPECT_EQ(stations.counter("missing_late"), 0);
    EXPECT_EQ(stations.counter("waiting"), 0);
    const auto asked = stations.readout.logic->asked_for();
    const auto again = stations.counter("asked_again");
    ASSERT_EQ(asked.size(), 4U);
    for (const auto source : {1U, 2U, 3U, 4U}) {
        EXPECT_GE(asked.at(source), 200U) << source;
        EXPECT_LE(asked.at(source), 200U + again) << source;
    }
}

TEST(Steps, WhatDoesNotComeInTimeIsMissingAndTheSelectionGoesOn) {
    auto options = running("request:2/3");
    options.unit.collector.time_limit = 50ms;
    WithReadout stations(4, options);
    ASSERT_NO_FATAL_FAILURE(stations.begin(1));  // nothing is answered
    ASSERT_TRUE(eventually([&] { return stations.supervisor.status().finished; }));
    ASSERT_NO_FATAL_FAILURE(stations.stop());
    EXPECT_EQ(stations.counter("accepted"), 4);
    EXPECT_EQ(stations.counter("missing_late"), 12);  // 1, 2 and 3 of each event
    EXPECT_EQ(stations.counter("timed_out"), 0);
}

TEST(Steps, AUnitStopsWhileItsSelectionsWaitAndTheirEventsAreDiscarded) {
    for (const auto* selection : {"request:2", WEIR_FAULTY_SELECTION}) {  // in threads, in processes
        auto options = running(selection);
        options.unit.collector.time_limit = 600s;
        WithReadout stations(2, options, 20);  // of the faulty selection, events 20 and 21 request source 50
        ASSERT_NO_FATAL_FAILURE(stations.begin(2));
        ASSERT_TRUE(eventually([&] { return stations.counter("waiting") == 2; })) << selection;
        ASSERT_TRUE(stations.supervisor.stop(100ms));
        const auto begin = std::chrono::steady_clock::now();
        ASSERT_TRUE(stations.unit.stop(300ms));
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << selection;
        const auto status = stations.unit.status();
        EXPECT_EQ(status.ledger.rejected.at("dropped"), 2U) << selection;
        EXPECT_TRUE(status.ledger.balances());
        EXPECT_EQ(status.counters.at("timed_out") + status.counters.at("crashed") + status.counters.at("threw"), 0);
        EXPECT_EQ(stations.reports.latched(), 0U);
        ASSERT_TRUE(stations.supervisor.disconnect());
        ASSERT_TRUE(stations.unit.disconnect());
    }
}

TEST(Steps, ASelectionWhoseSupervisorWasStartedAgainWaitsNoLonger) {
    SimulatedPartition p(1, {}, {.events = 100}, 1);
    auto& unit = *p.unit[0];
    unit.hangs = true;
    ASSERT_TRUE(p.net.run_until([&] { return unit.tasks().size() == 8; }, 10s));  // its credit
    for (auto* readout : p.readouts) readout->mute = true;
    const auto& task = unit.tasks().front();
    unit.unit.requested({.id = 5, .session = task.session, .ticket = task.data->ticket, .sources = {SourceId{1001}}},
                        p.net.clock().now());
    p.net.run_for(10ms);
    EXPECT_EQ(unit.unit.counts().waiting, 1U);
    EXPECT_TRUE(unit.requested.empty());
    const auto old = task.session;
    p.net.restart(supervisor_id);
    ASSERT_TRUE(p.net.run_until([&] { return unit.requested.contains(5); }, 10s));
    EXPECT_EQ(unit.requested.at(5), nullptr);
    EXPECT_EQ(unit.unit.counts().waiting, 0U);
    unit.unit.requested({.id = 6, .session = old, .ticket = {}, .sources = {SourceId{1001}}}, p.net.clock().now());
    EXPECT_EQ(unit.requested.at(6), nullptr);
    EXPECT_TRUE(unit.unit.ledger().balances());
}

TEST(Steps, RequestsOfEventsInHandComeThoughTheNetworkIsBad) {
    SimulatedPartition p(3, {.loss = 0.1, .duplicate = 0.05, .late = 0.05, .jitter = 300us}, {.events = 8}, 1);
    auto& unit = *p.unit[0];
    unit.hangs = true;
    ASSERT_TRUE(p.net.run_until([&] { return unit.tasks().size() == 8; }, 10s));
    std::uint64_t id = 0;
    for (const auto& task : unit.tasks())
        unit.unit.requested({.id = ++id,
                             .session = task.session,
                             .ticket = task.data->ticket,
                             .sources = {SourceId{1001}, SourceId{2002}, SourceId{77}}},
                            p.net.clock().now());
    ASSERT_TRUE(p.net.run_until([&] { return unit.requested.size() == 8; }, 10s));
    for (const auto& [number_of, fragments] : unit.requested) {
        const auto level1 = number(unit.tasks()[number_of - 1].data->ticket.level1_id);
        ASSERT_EQ(fragments->fragments.size(), 3U);
        EXPECT_EQ(load_little<std::uint32_t>(fragments->fragments[0].bytes, 4), level1);
        EXPECT_EQ(load_little<std::uint32_t>(fragments->fragments[1].bytes), 2002U);
        EXPECT_EQ(fragments->fragments[2].state, FragmentState::missing);
    }
    unit.hangs = false;
    ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
    EXPECT_TRUE(p.all_decided(8));
}

}  // namespace
}  // namespace weir::selection

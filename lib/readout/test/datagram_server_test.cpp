// SPDX-License-Identifier: Apache-2.0
// Datagrams from real sockets into the buffers of a run.
#include "datagrams/datagram_server.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <mutex>

#include "datagram_sample.hpp"
#include "store_sample.hpp"
#include "weir/base/testing/eventually.hpp"
#include "weir/event/fragment.hpp"

namespace weir::readout {
namespace {

using namespace std::chrono_literals;
using weir::testing::eventually;

class Datagrams : public ::testing::Test {
protected:
    Datagrams() : server(open({.wait = 10min})) { server->start_run(intake, {}); }
    ~Datagrams() override { server->end_run(); }

    std::unique_ptr<DatagramServer> open(const DatagramInputOptions& options) {
        return DatagramServer::open(
                   options,
                   [this](const Report& report) {
                       const std::scoped_lock lock(mutex);
                       reports.push_back(report);
                   },
                   clock)
            .value();
    }
    void send(ConstData datagram) {
        const auto to = transport::resolve({"127.0.0.1", server->port()}, false).value().front();
        ASSERT_EQ(::sendto(board.fd(), datagram.data(), datagram.size(), 0, to.data(), to.size()),
                  static_cast<ssize_t>(datagram.size()));
    }
    void send(SampleHead head, std::string_view payload = "weir") { send(own_datagram(head, payload)); }
    [[nodiscard]] bool taken(std::uint64_t datagrams) {
        return eventually([&] { return server->stats().datagrams.datagrams == datagrams; });
    }
    [[nodiscard]] std::string payload(std::uint32_t event, std::uint32_t source) {
        const auto asked = ask(store, event, {source});
        const auto rob = event::FragmentView::parse(as_data(asked.data), event::Level::rob, event::Format::event_5_0);
        return rob ? std::string(as_text(event::RodView::parse(rob->payload()).value().data())) : std::string("none");
    }

    SystemClock clock;
    std::mutex mutex;
    std::vector<Report> reports;
    RobStore store{sample_options()};
    FragmentIntake intake{store, {.run = RunNumber{9}}, {}};
    std::unique_ptr<DatagramServer> server;
    const transport::Socket board = transport::open_udp({"127.0.0.1", 0}, {}).value();
};

TEST_F(Datagrams, FragmentsAndPartsOfThemComeIntoTheBuffers) {
    send({.counter = 1}, "weir");
    send({.source = 0x11, .counter = 1, .part = 1, .parts = 2}, "end.");
    send({.source = 0x11, .counter = 1, .part = 0, .parts = 2}, "The ");
    ASSERT_TRUE(taken(3));
    EXPECT_EQ(payload(1, 0x10), "weir");
    EXPECT_EQ(payload(1, 0x11), "The end.");
    EXPECT_EQ(store.ledger().counts().in_hand, 2U);
}

TEST_F(Datagrams, OfAReadoutThatIsBegunAgainInARunAreTakenWhenItKnowsWhereTheRunIs) {
    server->end_run();
    auto options = sample_options();
    options.placed = false;
    RobStore again(options);
    FragmentIntake into(again, {.run = RunNumber{9}}, {});
    server->start_run(into, {});
    send({.counter = 100'000});
    ASSERT_TRUE(eventually([&] { return server->stats().no_run == 1; }));
    again.clear_older(Level1Id{99'990});
    send({.counter = 100'001});
    ASSERT_TRUE(eventually([&] { return server->stats().datagrams.datagrams == 1; }));
    EXPECT_EQ(state(again, 100'001, 0x10), wire::RobState::here);
    EXPECT_EQ(server->stats().sources[0].jumps, 0U);
    server->end_run();
}

TEST_F(Datagrams, WhatDoesNotComeIsLostOnceALaterOneHasBeenHereForAWhile) {
    server = open({.wait = 20ms});
    server->start_run(intake, {});
    EXPECT_EQ(state(store, 1, 0x10), wire::RobState::not_yet);
    send({.counter = 3});
    send({.source = 0x11, .counter = 1, .part = 0, .parts = 2});
    EXPECT_TRUE(eventually([&] { return state(store, 1, 0x10) == wire::RobState::lost; }));
    EXPECT_TRUE(eventually([&] { return state(store, 1, 0x11) == wire::RobState::lost; }));
    EXPECT_EQ(state(store, 2, 0x10), wire::RobState::lost);
    EXPECT_EQ(state(store, 3, 0x10), wire::RobState::here);
    EXPECT_EQ(state(store, 3, 0x11), wire::RobState::not_yet) << "nothing later of this source has come";
    const auto sources = server->stats().sources;
    EXPECT_EQ(sources[0].lost, 2U);
    EXPECT_EQ(sources[1].unfinished, 1U);
}

TEST_F(Datagrams, WhatFindsNoRoomIsRefusedAtOnceAndItsEventDoesNotWait) {
    for (std::uint32_t id = 1; id <= 80; ++id) send({.counter = id});
    ASSERT_TRUE(taken(80));
    EXPECT_EQ(rejected(store, RobReject::full), 16U);
    clear(store, {1, 2});
    send({.source = 0x11, .counter = 3}, "anew");
    ASSERT_TRUE(taken(81));
    EXPECT_EQ(payload(3, 0x11), "anew");
    EXPECT_EQ(store.ledger().counts().received, 81U);
}

TEST_F(Datagrams, GarbageIsCountedAndReportedWithItsSenderAndAFloodOfItIsNot) {
    for (int i = 0; i < 100; ++i) send(as_data("GET / HTTP/1.1"));
    send({.source = 0x99, .counter = 1});
    send(ConstData{});
    ASSERT_TRUE(taken(102));
    const auto counts = server->stats().datagrams;
    EXPECT_EQ(counts.faults[static_cast<std::size_t>(DatagramFault::too_short)], 101U);
    EXPECT_EQ(counts.fates[static_cast<std::size_t>(DatagramFate::unknown_source)], 1U);
    EXPECT_EQ(rejected(store, RobReject::unknown_source), 1U);
    const std::scoped_lock lock(mutex);
    ASSERT_EQ(reports.size(), 7U + 1) << "1, 2, 4 to 64, and the source";
    EXPECT_NE(reports[0].where.find("14 bytes from 127.0.0.1:"), std::string::npos) << reports[0].where;
}

TEST_F(Datagrams, WhatComesWhileNoRunGoesOnIsCountedAndTheNextRunBeginsAnew) {
    send({.counter = 1});
    ASSERT_TRUE(taken(1));
    server->end_run();
    send({.counter = 2});
    ASSERT_TRUE(eventually([&] { return server->stats().no_run == 1; }));
    EXPECT_EQ(server->stats().datagrams.datagrams, 1U) << "of the last run";
    store.reset(Level1Id{1});
    server->start_run(intake, {});
    EXPECT_EQ(server->stats().datagrams.datagrams, 0U);
    send({.counter = 1}, "also");
    ASSERT_TRUE(taken(1));
    EXPECT_EQ(payload(1, 0x10), "also");
}

TEST_F(Datagrams, ASourceThatCountsAheadIsExtendedAndLostByItsOwnCount) {
    server->end_run();
    event::RodRules rules;
    rules.sources[SourceId{0x11}] = {.level1_offset = 10};
    FragmentIntake other(store, {.rules = rules, .run = RunNumber{9}}, {});
    server = open({.wait = 20ms});
    server->start_run(other, rules);
    send({.source = 0x11, .counter = 12});
    EXPECT_TRUE(eventually([&] { return state(store, 1, 0x11) == wire::RobState::lost; }));
    EXPECT_EQ(state(store, 2, 0x11), wire::RobState::here);
    EXPECT_EQ(server->stats().sources[1].lost, 1U);
    server->end_run();
}

TEST_F(Datagrams, AHeaderThatContradictsItselfIsRefusedAtConfigure) {
    const auto opened = DatagramServer::open({.header = {.own = false}}, {}, clock);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Errc::usage);
}

}  // namespace
}  // namespace weir::readout

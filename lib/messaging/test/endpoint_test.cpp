// SPDX-License-Identifier: Apache-2.0
#include "weir/messaging/endpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "weir/base/endian.hpp"
#include "weir/messaging/testing/simulated_network.hpp"

namespace weir::messaging {
namespace {

using namespace std::chrono_literals;
using ::weir::testing::NetworkFaults;
using ::weir::testing::SimulatedNetwork;
using wire::DataflowType;
using wire::StationId;

constexpr StationId one{1}, two{2};
constexpr RunNumber run{7};
constexpr NetworkFaults bad{.loss = 0.2, .duplicate = 0.1, .corrupt = 0.02, .late = 0.05, .jitter = 300us};

std::vector<std::byte> numbered(std::uint64_t value, std::size_t size = 8) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 8; i < size; ++i) bytes[i] = static_cast<std::byte>(value * 31 + i);
    store_little(bytes, 0, value);
    return bytes;
}

/// Counts what it receives; sends `to_send` reliable messages to one peer as fast as they are taken.
class NumberSender final : public MessageHandler {
public:
    void on_message(const IncomingMessage& message, SteadyTime) override {
        const auto value = load_little<std::uint64_t>(message.body);
        EXPECT_TRUE(std::ranges::equal(message.body, numbered(value, message.body.size())));
        EXPECT_EQ(message.memory != nullptr, message.body.size() > 1472 - wire::datagram_header_size);
        ++received[value];
        last_run = message.run;
    }
    void on_peer(StationId, PeerChange change, SteadyTime) override { changes.push_back(change); }
    std::optional<SteadyTime> step(SteadyTime now) override {
        if (endpoint == nullptr || sent == to_send) return std::nullopt;
        while (sent < to_send && endpoint->send_reliably(peer, DataflowType::built, numbered(sent, size_of(sent))))
            ++sent;
        return now + 1ms;
    }
    [[nodiscard]] std::size_t size_of(std::uint64_t value) const { return value % 50 == 49 ? large : 8 + value % 90; }
    [[nodiscard]] bool received_each_once(std::uint64_t count) const {
        return received.size() == count &&
               std::ranges::all_of(received, [](const auto& entry) { return entry.second == 1; });
    }

    std::map<std::uint64_t, int> received;
    std::vector<PeerChange> changes;
    RunNumber last_run{};
    Endpoint* endpoint = nullptr;
    StationId peer = two;
    std::uint64_t to_send = 0, sent = 0;
    std::size_t large = 5000;
};

/// Two stations on one network: `a` sends reliable messages to `b`.
struct Pair {
    explicit Pair(std::uint64_t seed = 1, const NetworkFaults& faults = {}, const EndpointOptions& options = {})
        : net(seed, faults, options) {
        a.endpoint = &net.add(one, a).endpoint();
        net.add(two, b);
    }

    NumberSender a, b;
    SimulatedNetwork net;
};

TEST(Endpoint, ReliableMessagesArriveExactlyOnceUnderLossDuplicationReorderingAndDamage) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        Pair pair(seed, bad);
        auto& [a, b, net] = pair;
        net.start_run(run);
        a.to_send = 1000;
        ASSERT_TRUE(net.run_until([&] { return a.sent == a.to_send && a.endpoint->reliable_in_flight() == 0; }, 60s));
        EXPECT_TRUE(b.received_each_once(1000));
        EXPECT_GT(a.endpoint->stats().reliable_resent, 100U);
        EXPECT_GT(net.endpoint(two).stats().duplicates, 0U);
        EXPECT_GT(net.endpoint(two).stats().malformed, 0U);
        EXPECT_EQ(net.endpoint(two).stats().inconsistent, 0U);
        EXPECT_EQ(net.station(two).pool().stats().in_use, Bytes{0});
    }
}

TEST(Endpoint, AReliableMessageIsSentOnceWhereNothingIsLost) {
    Pair pair;
    auto& [a, b, net] = pair;
    net.start_run(run);
    a.to_send = 10'000;
    ASSERT_TRUE(net.run_until([&] { return a.sent == a.to_send && a.endpoint->reliable_in_flight() == 0; }, 60s));
    EXPECT_TRUE(b.received_each_once(10'000));
    EXPECT_EQ(a.endpoint->stats().reliable_resent, 0U);
    EXPECT_LT(a.endpoint->stats().round_trip, 1ms);
}

TEST(Endpoint, MessagesInManyPartsArriveBitExactOrNotAtAll) {
    Pair pair(3, {.loss = 0.002, .duplicate = 0.1, .corrupt = 0.001, .jitter = 300us});
    auto& [a, b, net] = pair;
    net.start_run(run);
    for (std::uint64_t i = 0; i < 100; ++i) {
        const auto bytes = numbered(i, 100'000 + i);
        const std::array<ConstData, 3> pieces{ConstData(bytes).first(10), ConstData(bytes).subspan(10, 50'000),
                                              ConstData(bytes).subspan(50'010)};
        a.endpoint->send(two, DataflowType::data, pieces);
        net.run_for(1ms);
    }
    net.run_for(3s);
    EXPECT_GT(b.received.size(), 50U);
    EXPECT_LT(b.received.size(), 100U);
    EXPECT_EQ(net.endpoint(two).stats().assemblies_discarded, 100 - b.received.size());
    EXPECT_EQ(net.station(two).pool().stats().in_use, Bytes{0});
}

TEST(Endpoint, KeepsAMessageOfManyPartsWithoutACopy) {
    struct Keeper final : MessageHandler {
        void on_message(const IncomingMessage& message, SteadyTime) override {
            ASSERT_NE(message.memory, nullptr);
            body = message.body;
            kept = std::move(*message.memory);
        }
        void on_peer(StationId, PeerChange, SteadyTime) override {}
        std::optional<SteadyTime> step(SteadyTime) override { return std::nullopt; }
        memory::Buffer kept;
        ConstData body;
    };
    NumberSender a;
    SimulatedNetwork net(1);
    Keeper b;
    auto& endpoint = net.add(one, a).endpoint();
    net.add(two, b);
    net.start_run(run);
    endpoint.send(two, DataflowType::data, numbered(5, 100'000));
    net.run_for(1ms);
    EXPECT_TRUE(std::ranges::equal(b.body, numbered(5, 100'000)));
    EXPECT_EQ(b.body.data(), b.kept.data().data());
    b.kept.release();
}

TEST(Endpoint, AReliableMessageSentBeforeThePeerBeginsTheRunArrivesWhenItDoes) {
    Pair pair;
    auto& [a, b, net] = pair;
    net.run_for(100ms);
    net.start_run(one, run);
    a.to_send = 100;
    net.run_for(3s);
    EXPECT_TRUE(b.received.empty());
    EXPECT_EQ(a.endpoint->reliable_in_flight(), 100U);
    EXPECT_EQ(std::ranges::count(a.changes, PeerChange::silent), 0) << "it answers probes";
    net.start_run(two, run);
    net.run_for(5ms);
    EXPECT_TRUE(b.received_each_once(100)) << "at once, not when the pauses are over";
    EXPECT_EQ(a.endpoint->reliable_in_flight(), 0U);
}

TEST(Endpoint, MessagesOfAnotherRunAreDroppedAndCounted) {
    Pair pair;
    auto& [a, b, net] = pair;
    net.start_run(run);
    net.run_for(10ms);
    net.start_run(two, RunNumber{8});
    a.endpoint->send(two, DataflowType::data, numbered(1));
    EXPECT_TRUE(a.endpoint->send_reliably(two, DataflowType::built, numbered(2)));
    net.run_for(100ms);
    EXPECT_TRUE(b.received.empty());
    EXPECT_GE(net.endpoint(two).stats().foreign_run, 2U);
    EXPECT_EQ(a.endpoint->reliable_in_flight(), 1U);
    net.start_run(one, RunNumber{8});
    EXPECT_EQ(a.endpoint->reliable_in_flight(), 0U) << "those of the run before are discarded";
    net.run_for(1ms);
    EXPECT_TRUE(a.endpoint->send_reliably(two, DataflowType::built, numbered(3)));
    net.run_for(100ms);
    EXPECT_TRUE(b.received_each_once(1));
    EXPECT_EQ(b.last_run, RunNumber{8});
}

TEST(Endpoint, ReliableMessagesOfManyRunsArriveThoughEachNumbersThemFromOne) {
    Pair pair(5, bad);
    auto& [a, b, net] = pair;
    for (std::uint32_t r = 1; r <= 20; ++r) {
        net.start_run(r % 2 == 0 ? one : two, RunNumber{r});
        net.run_for(3ms);
        net.start_run(RunNumber{r});
        a.to_send += 50;
        ASSERT_TRUE(net.run_until([&] { return a.sent == a.to_send && a.endpoint->reliable_in_flight() == 0; }, 20s));
    }
    EXPECT_TRUE(b.received_each_once(1000));
}

TEST(Endpoint, ARunThatIsTakenUpAgainGoesOnWithItsNumbers) {
    Pair pair(5, bad);
    auto& [a, b, net] = pair;
    for (int round = 0; round < 5; ++round) {
        net.start_run(run);
        a.to_send += 50;
        ASSERT_TRUE(net.run_until([&] { return a.sent == a.to_send && a.endpoint->reliable_in_flight() == 0; }, 20s));
        net.start_run(RunNumber{0});
    }
    EXPECT_TRUE(b.received_each_once(250));
}

TEST(Endpoint, AProcessThatRestartsIsNoticedAndMessagesInFlightToItAreDiscarded) {
    Pair pair;
    auto& [a, b, net] = pair;
    net.start_run(run);
    net.run_for(10ms);
    net.kill(two);
    EXPECT_TRUE(a.endpoint->send_reliably(two, DataflowType::built, numbered(1)));
    net.run_for(10ms);
    EXPECT_EQ(a.endpoint->reliable_in_flight(), 1U);
    net.restart(two);
    net.run_for(10ms);
    EXPECT_EQ(a.changes, (std::vector{PeerChange::appeared, PeerChange::restarted}));
    EXPECT_EQ(a.endpoint->reliable_in_flight(), 0U);
    EXPECT_TRUE(b.received.empty()) << "a message is for one process, not for the next one";
    EXPECT_TRUE(a.endpoint->send_reliably(two, DataflowType::built, numbered(2)));
    net.run_for(10ms);
    EXPECT_TRUE(b.received_each_once(1));
}

TEST(Endpoint, ASilentPeerIsReportedItsReliableMessagesAreKeptAndNoNewOnesAreTaken) {
    Pair pair;
    auto& [a, b, net] = pair;
    net.start_run(run);
    net.run_for(10ms);
    net.kill(two);
    EXPECT_TRUE(a.endpoint->send_reliably(two, DataflowType::built, numbered(1)));
    net.run_for(1900ms);
    EXPECT_EQ(a.endpoint->reliable_in_flight(), 1U);
    net.run_for(600ms);
    EXPECT_EQ(a.endpoint->reliable_in_flight(), 1U);
    EXPECT_FALSE(a.endpoint->reachable(two));
    EXPECT_EQ(a.changes, (std::vector{PeerChange::appeared, PeerChange::silent}));
    EXPECT_FALSE(a.endpoint->send_reliably(two, DataflowType::built, numbered(1)));
}

TEST(Endpoint, TheLogicActsAtOnceOnASilence) {
    struct Logic final : MessageHandler {
        void on_message(const IncomingMessage&, SteadyTime) override {}
        void on_peer(StationId, PeerChange change, SteadyTime now) override {
            if (change == PeerChange::silent) notified = now;
        }
        std::optional<SteadyTime> step(SteadyTime now) override {
            if (notified && !acted) acted = now;
            return std::nullopt;
        }
        std::optional<SteadyTime> notified, acted;
    };
    Logic a;
    NumberSender b;
    SimulatedNetwork net(1);
    net.add(one, a);
    net.add(two, b);
    net.run_for(10ms);
    net.kill(two);
    net.run_for(3s);
    ASSERT_TRUE(a.notified && a.acted);
    EXPECT_LE(*a.acted - *a.notified, 1us);
}

TEST(Endpoint, AWatchedPeerWithoutMessagesIsNotSilent) {
    Pair pair(1, {.loss = 0.2});
    auto& [a, b, net] = pair;
    net.run_for(60s);
    EXPECT_EQ(a.changes, std::vector{PeerChange::appeared});
    EXPECT_EQ(b.changes, std::vector{PeerChange::appeared});
}

TEST(Endpoint, ABlackOutIsRecoveredFrom) {
    for (const auto dark : {1500ms, 4000ms}) {  // shorter and longer than silent_after
        Pair pair;
        auto& [a, b, net] = pair;
        net.start_run(run);
        net.run_for(10ms);
        a.to_send = 100;
        net.run_for(10ms);
        net.black_out(one, two);
        net.black_out(two, one);
        a.to_send = 200;
        net.run_for(dark);
        net.black_out(one, two, false);
        net.black_out(two, one, false);
        a.to_send = 300;
        net.run_for(2s);
        EXPECT_EQ(a.sent, 300U);
        EXPECT_EQ(a.endpoint->reliable_in_flight(), 0U);
        EXPECT_TRUE(b.received_each_once(300)) << b.received.size();
        EXPECT_EQ(a.changes.size(), dark > 2s ? 3U : 1U);
    }
}

TEST(Endpoint, AStationThatStoodStillDoesNotTakeTheOthersForSilent) {
    Pair pair;
    auto& [a, b, net] = pair;
    net.start_run(run);
    net.run_for(100ms);
    net.pause(two);
    net.run_for(10s);
    EXPECT_EQ(a.changes.back(), PeerChange::silent);
    net.pause(two, false);
    a.to_send = 10;
    net.run_for(1s);
    EXPECT_EQ(b.changes, std::vector{PeerChange::appeared});
    EXPECT_TRUE(b.received_each_once(10));
}

TEST(Endpoint, ReliableMessagesInFlightAreBounded) {
    Pair pair(1, {}, {.reliable_max = 100, .reliable_bytes_max = Bytes{10'000}});
    auto& [a, b, net] = pair;
    net.start_run(run);
    net.run_for(10ms);
    net.black_out(one, two);
    std::uint64_t taken = 0;
    while (taken < 1000 && a.endpoint->send_reliably(two, DataflowType::built, numbered(taken))) ++taken;
    EXPECT_EQ(taken, 100U);
    net.black_out(one, two, false);
    net.run_for(100ms);
    EXPECT_EQ(a.endpoint->reliable_in_flight(), 0U);
    EXPECT_TRUE(a.endpoint->send_reliably(two, DataflowType::built, numbered(1000, 9'000)));
    EXPECT_FALSE(a.endpoint->send_reliably(two, DataflowType::built, numbered(1001, 2'000)));
    net.run_for(100ms);
    EXPECT_TRUE(a.endpoint->send_reliably(two, DataflowType::built, numbered(1001, 20'000)))
        << "alone it may be as large as it is";
    net.run_for(100ms);
    EXPECT_TRUE(b.received_each_once(102));
}

TEST(Endpoint, APeerThatIsNotWatchedIsProbedWhenItIsFirstNeeded) {
    Pair pair;
    auto& [a, b, net] = pair;
    net.endpoint(two).remove_peer(one);
    net.endpoint(two).add_peer(one, false);
    a.endpoint->remove_peer(two);
    a.endpoint->add_peer(two, false);
    net.start_run(run);
    net.run_for(1s);
    EXPECT_EQ(net.stats().carried, 0U) << "no datagrams";
    EXPECT_FALSE(a.endpoint->send_reliably(two, DataflowType::built, numbered(1)));
    net.run_for(1ms);
    EXPECT_TRUE(a.endpoint->send_reliably(two, DataflowType::built, numbered(1)));
    net.run_for(1ms);
    EXPECT_TRUE(b.received_each_once(1));
}

TEST(Endpoint, DatagramsOfAStationThatIsNoPeerAreDiscarded) {
    Pair pair;
    auto& [a, b, net] = pair;
    net.start_run(run);
    net.endpoint(two).remove_peer(one);
    a.endpoint->send(two, DataflowType::data, numbered(1));
    net.run_for(10ms);
    EXPECT_TRUE(b.received.empty());
    EXPECT_GT(net.endpoint(two).stats().unknown_station, 0U);
}

TEST(Endpoint, APeerThatIsRemovedAndComesBackGoesOn) {
    Pair pair;
    auto& [a, b, net] = pair;
    net.start_run(run);
    net.run_for(10ms);
    for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_TRUE(a.endpoint->send_reliably(two, DataflowType::built, numbered(i)));
        net.run_for(10ms);
        a.endpoint->remove_peer(two);
        a.endpoint->add_peer(two, true);
        net.run_for(10ms);
    }
    EXPECT_TRUE(b.received_each_once(5));
}

TEST(Endpoint, AProbeWithPaddingShowsWhatSizeArrives) {
    Pair pair(1, {.datagram_max = 9000});
    auto& [a, b, net] = pair;
    net.run_for(10ms);
    EXPECT_LT(a.endpoint->probed(two), 1000U);
    a.endpoint->probe(two, 8972);
    net.run_for(10ms);
    EXPECT_EQ(a.endpoint->probed(two), 8972U);
}

TEST(Endpoint, ManyStationsSendToEachOtherOverABadNetwork) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(seed);
        SimulatedNetwork net(seed, bad);
        std::vector<NumberSender> stations(6);
        for (std::size_t i = 0; i < stations.size(); ++i) {
            const auto id = StationId{static_cast<std::uint16_t>(i + 1)};
            stations[i].endpoint = &net.add(id, stations[i]).endpoint();
            stations[i].peer = StationId{static_cast<std::uint16_t>((i + 1) % stations.size() + 1)};
            stations[i].to_send = 100;
        }
        net.start_run(run);
        ASSERT_TRUE(net.run_until(
            [&] {
                return std::ranges::all_of(
                    stations, [](auto& t) { return t.sent == 100 && t.endpoint->reliable_in_flight() == 0; });
            },
            60s));
        for (const auto& station : stations) EXPECT_TRUE(station.received_each_once(100));
    }
}

}  // namespace
}  // namespace weir::messaging

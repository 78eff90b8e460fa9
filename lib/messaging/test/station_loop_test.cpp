// SPDX-License-Identifier: Apache-2.0
#include "weir/messaging/station_loop.hpp"
#include "weir/base/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace weir::messaging {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::DataflowType;
using wire::StationId;

constexpr StationId one{1}, two{2};
constexpr RunNumber run{7};

/// A station on loopback that counts what its loop does with it.
class Node final : public LoopLogic {
public:
    explicit Node(StationId self, StationLoopOptions options = {}) : id(self) {
        options.thread = "node";
        options.speaks_with = options.watches = {StationKind::build};
        options.loop.endpoint.self = id;
        loop = StationLoop::open(std::move(options), clock).value();
    }
    ~Node() override { loop->disconnect(); }

    void on_message(const IncomingMessage&, SteadyTime) override { ++messages; }
    void on_peer(StationId, PeerChange change, SteadyTime) override {
        if (change == PeerChange::appeared) appeared = true;
    }
    void collect() override { ++collected; }
    std::optional<SteadyTime> step(SteadyTime) override {
        ++steps;
        return std::nullopt;
    }
    void publish_status() override { ++published; }

    [[nodiscard]] Peer peer() const {
        return {.name = "sfi-" + std::to_string(number(id)),
                .kind = StationKind::build,
                .id = id,
                .dataflow = loop->address()};
    }
    [[nodiscard]] bool post_to(StationId other) {
        bool posted = false;
        loop->in_loop([&] { posted = loop->endpoint().send_reliably(other, DataflowType::built, ConstData{}); });
        return posted;
    }

    const StationId id;
    const SystemClock clock;
    std::atomic<int> messages{0}, collected{0}, steps{0}, published{0};
    std::atomic<bool> appeared{false};
    std::unique_ptr<StationLoop> loop;
};

/// No status is published by time.
StationLoopOptions silent() { return {.status_interval = 1h}; }

class TwoNodes : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(a.loop->connect({b.peer()}, a));
        ASSERT_TRUE(b.loop->connect({a.peer()}, b));
        ASSERT_TRUE(eventually([&] { return a.appeared.load() && b.appeared.load(); }));
    }
    Node a{one, silent()}, b{two, silent()};
};

TEST_F(TwoNodes, HandOverMessagesWhileARunGoesOnAndNoOthers) {
    a.loop->begin_run(run);
    b.loop->begin_run(run);
    ASSERT_TRUE(a.post_to(two));
    ASSERT_TRUE(eventually([&] { return b.messages == 1; }));
    b.loop->drain();
    ASSERT_TRUE(a.post_to(two));
    ASSERT_TRUE(eventually([&] { return b.messages == 2; }));
    b.loop->halt();  // its endpoint acknowledges, its logic does not receive
    ASSERT_TRUE(a.post_to(two));
    ASSERT_TRUE(eventually([&] {
        std::size_t under_way = 0;
        a.loop->in_loop([&] { under_way = a.loop->endpoint().reliable_in_flight(two); });
        return under_way == 0;
    }));
    b.loop->end_run();
    EXPECT_EQ(b.messages, 2);
}

TEST_F(TwoNodes, MakeStepsWhileARunGoesOnAndCollectAlways) {
    b.loop->begin_run(run);
    ASSERT_TRUE(eventually([&] { return b.steps > 0; }));
    b.loop->end_run();
    const int steps = b.steps, collected = b.collected;
    b.loop->call([] {});
    EXPECT_TRUE(eventually([&] { return b.collected > collected; }));
    EXPECT_EQ(b.steps, steps);
}

TEST_F(TwoNodes, TellWhenARunBeginsAndEndsAndAfterEachStepWhileItDrains) {
    int begun = 0, published = 0;
    ASSERT_TRUE(eventually([&] { return a.published == 1; }));  // when it had connected
    a.loop->begin_run(run, [&] { begun = a.published; });
    EXPECT_EQ(begun, 1);  // the work comes first
    EXPECT_EQ(a.published, 2);
    a.loop->in_loop([] {});
    a.loop->in_loop([] {});
    EXPECT_EQ(a.published, 2);  // not due
    a.loop->drain();
    EXPECT_TRUE(eventually([&] {
        a.loop->in_loop([] {});
        return a.published > 6;
    }));
    a.loop->end_run([&] { published = a.published; });
    EXPECT_EQ(a.published, published + 1);
    a.loop->in_loop([] {});
    EXPECT_EQ(a.published, published + 1);
}

TEST(StationLoop, ListensWhereOthersCanFindIt) {
    for (const auto* host : {"0.0.0.0", "", "::"}) {
        const SystemClock clock;
        StationLoopOptions options;
        options.loop.listen = {host, 0};
        options.loop.endpoint.self = one;
        options.loop.endpoint.epoch = wire::Epoch{1};
        const auto refused = StationLoop::open(options, clock);
        ASSERT_FALSE(refused) << host;
        EXPECT_EQ(refused.error().code, Errc::usage);
    }
}

TEST_F(TwoNodes, SendNothingMoreWhenDisconnectedInTheMiddleOfARun) {
    a.loop->begin_run(run);
    ASSERT_TRUE(a.post_to(two));
    a.loop->disconnect();
    EXPECT_FALSE(a.post_to(two));
    ASSERT_TRUE(a.loop->connect({b.peer()}, a));
    EXPECT_FALSE(a.post_to(two));  // not before the next begins
    a.loop->begin_run(RunNumber{8});
    EXPECT_TRUE(a.post_to(two));
}

TEST(StationLoop, TellsNowAndThenThoughNothingHappens) {
    Node often(one, {.status_interval = 1ms}), never(two, {.status_interval = 0ms});
    ASSERT_TRUE(often.loop->connect({}, often));
    ASSERT_TRUE(never.loop->connect({}, never));
    EXPECT_TRUE(eventually([&] { return often.published > 3; }));
    EXPECT_EQ(never.published, 0);
}

TEST(StationLoop, HasWorkDoneByItsThreadOrWhereThereIsNoneAtOnce) {
    Node node(one);
    std::thread::id worker;
    const auto look = [&] { worker = std::this_thread::get_id(); };
    node.loop->in_loop(look);
    EXPECT_EQ(worker, std::this_thread::get_id());
    ASSERT_TRUE(node.loop->connect({}, node));
    node.loop->in_loop(look);
    EXPECT_NE(worker, std::this_thread::get_id());
    EXPECT_THROW(node.loop->in_loop([] { throw std::runtime_error("no"); }), std::runtime_error);
    node.loop->disconnect();
    node.loop->in_loop(look);
    EXPECT_EQ(worker, std::this_thread::get_id());
}

TEST(StationLoop, ConnectsAgainWithAnotherLogic) {
    Node a(one), b(two), other(StationId{3});
    ASSERT_TRUE(b.loop->connect({a.peer()}, b));
    for (Node* logic : {&a, &other}) {
        ASSERT_TRUE(a.loop->connect({b.peer()}, *logic));
        a.loop->begin_run(run);
        EXPECT_TRUE(eventually([&] { return logic->steps > 0; }));
        a.loop->disconnect();  // in the middle of a run
        EXPECT_FALSE(a.loop->running());
    }
}

TEST(StationLoop, RefusesPeersThatCannotBeReachedAndLeavesAllAsItWas) {
    Node a(one), b(two);
    auto lost = b.peer();
    lost.dataflow = "";
    const auto refused = a.loop->connect({lost}, a);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Errc::usage);
    EXPECT_NE(refused.error().message().find("station sfi-2 has no usable address"), std::string::npos);
    ASSERT_TRUE(a.loop->connect({}, a));
    bool worked = false;
    EXPECT_FALSE(a.loop->change_peers({lost}, [&] { worked = true; }));
    EXPECT_FALSE(worked);
    EXPECT_TRUE(a.loop->change_peers({b.peer()}, [&] { worked = true; }));
    EXPECT_TRUE(worked);
}

TEST(StationLoop, RunsNothingWhenAPeerDoesNotAnswerTheProbe) {
    Node a(one, {.probe = 20ms}), b(two);
    const auto refused = a.loop->connect({b.peer()}, a);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message().find("does not answer"), std::string::npos);
    std::thread::id worker;
    a.loop->in_loop([&] { worker = std::this_thread::get_id(); });
    EXPECT_EQ(worker, std::this_thread::get_id());
}

TEST(StationLoop, IsLinkedToNobodyWhenOneOfSeveralDoesNotAnswerTheProbe) {
    Node a(one, {.probe = 3s}), b(two), silent_one(StationId{3});
    ASSERT_TRUE(b.loop->connect({a.peer()}, b));
    EXPECT_FALSE(a.loop->connect({b.peer(), silent_one.peer()}, a).has_value());
    EXPECT_TRUE(a.appeared);  // the other did
    a.loop->endpoint().set_run(run);
    EXPECT_FALSE(a.post_to(two));
    a.loop->endpoint().set_run(RunNumber{0});
    EXPECT_TRUE(a.loop->connect({b.peer()}, a).has_value());
}

TEST(StationLoop, DoesWhatWasCalledForBeforeItConnectedWhenItDoes) {
    Node node(one);
    std::atomic<bool> done{false};
    node.loop->call([&] { done = true; });
    std::this_thread::sleep_for(5ms);
    EXPECT_FALSE(done);
    ASSERT_TRUE(node.loop->connect({}, node));
    EXPECT_TRUE(eventually([&] { return done.load(); }));
}

TEST(StationLoop, SpeaksWithTheKindsThatItWasToldOnly) {
    Node a(one), b(two);
    auto readout = b.peer();
    readout.kind = StationKind::readout;
    readout.dataflow = "";  // not even looked at
    EXPECT_TRUE(a.loop->connect({readout}, a));
}

TEST(LinksTo, AreOverTcpWhenEitherEndWantsIt) {
    std::vector<Peer> peers(2);
    peers[0] = {.name = "ros-1", .kind = StationKind::readout, .id = one, .dataflow = "127.0.0.1:1"};
    peers[1] = {.name = "ros-2", .kind = StationKind::readout, .id = two, .dataflow = "127.0.0.1:2", .tcp = true};
    const auto ours = links_to(peers, {StationKind::readout}, LinkKind::udp, {}).value();
    EXPECT_EQ(ours[0].link, LinkKind::udp);
    EXPECT_EQ(ours[1].link, LinkKind::tcp);
    const auto with_tcp = links_to(peers, {StationKind::readout}, LinkKind::tcp, {}).value();
    EXPECT_EQ(with_tcp[0].link, LinkKind::tcp);
}

}  // namespace
}  // namespace weir::messaging

// SPDX-License-Identifier: Apache-2.0
#include "readout_node.hpp"

#include <gtest/gtest.h>

#include <map>

#include "store_sample.hpp"
#include "weir/messaging/testing/simulated_network.hpp"
#include "weir/readout/event_feed.hpp"

namespace weir::readout {
namespace {

using namespace std::chrono_literals;
using testing_network = weir::testing::SimulatedNetwork;
using wire::RobState;
using wire::StationId;

constexpr StationId readout_id{1}, asker_id{2};

/// Keeps what it receives.
class Asker final : public messaging::MessageHandler {
public:
    void on_message(const messaging::IncomingMessage& message, SteadyTime) override {
        wire::DataView view;
        ASSERT_EQ(message.type, wire::DataflowType::data);
        ASSERT_TRUE(wire::decode(message.body, view).has_value());
        data.emplace_back(as_text(view.data));
        heads.push_back(std::move(view.head));
    }
    void on_peer(StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime) override { return std::nullopt; }

    std::vector<wire::DataHead> heads;
    std::vector<std::string> data;
};

/// A readout with its feed, in the thread of the test.
class FedNode final : public messaging::MessageHandler {
public:
    FedNode(RobStore& store, ResultInput& input, messaging::MessageSender& messages, EventFeed* feed,
            const ReadoutNodeOptions& options)
        : node(store, input, messages, options), feed_(feed) {}
    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        node.on_message(message, now);
    }
    void on_peer(StationId peer, messaging::PeerChange change, SteadyTime now) override {
        node.on_peer(peer, change, now);
    }
    std::optional<SteadyTime> step(SteadyTime now) override {
        if (feed_ != nullptr) static_cast<void>(feed_->step(now));
        return node.step(now);
    }
    ReadoutNode node;

private:
    EventFeed* feed_;
};

class Node : public ::testing::Test {
protected:
    explicit Node(const weir::testing::NetworkFaults& faults = {}) : net(7, faults) {
        net.add(readout_id, [this](weir::testing::SimulatedStation& self) {
            auto made = std::make_unique<FedNode>(store, input, self.endpoint(), &feed, options);
            node = &made->node;
            return made;
        });
        net.add(asker_id, asker);
        net.start_run(RunNumber{5});
        net.run_for(10ms);
    }

    template <class Message>
    void send(wire::DataflowType type, const Message& message, bool reliable = false) {
        std::vector<std::byte> bytes;
        wire::encode(message, bytes);
        if (reliable) {
            ASSERT_TRUE(net.endpoint(asker_id).send_reliably(readout_id, type, bytes));
        } else {
            net.endpoint(asker_id).send(readout_id, type, ConstData(bytes));
        }
        net.run_for(20ms);
    }
    void request(std::vector<Level1Id> events, std::vector<SourceId> robs = {},
                 wire::RequestKind kind = wire::RequestKind::building) {
        send(wire::DataflowType::data_request,
             wire::DataRequest{
                 .request = ++requests, .kind = kind, .events = std::move(events), .robs = std::move(robs)});
    }

    ReadoutNodeOptions options;
    RobStore store{sample_options()};
    ResultInput input{store, event::Format::event_5_0, RunNumber{1}};
    std::unique_ptr<workload::FragmentMaker> maker =
        workload::make_fragment_generator({.first_source = SourceId{0x10}, .robs = 3, .rob_size = Bytes{900}}).value();
    EventFeed feed{store, *maker, {}};
    ReadoutNode* node = nullptr;
    Asker asker;
    testing_network net;
    std::uint64_t requests = 0;
};

TEST_F(Node, AnswersEachEventOfARequestWithItsRobsBitForBit) {
    request({Level1Id{1}, Level1Id{2}});
    ASSERT_EQ(asker.heads.size(), 2U);
    for (std::uint32_t i = 0; i < 2; ++i) {
        EXPECT_EQ(asker.heads[i].request, 1U);
        std::string expected;
        for (const auto& rob : maker->make(asker.heads[i].level1_id)) expected += as_text(rob.bytes);
        EXPECT_EQ(asker.data[i], expected);
    }
    const auto stats = node->stats();
    EXPECT_EQ(stats.requests_building, 1U);
    EXPECT_EQ(stats.answers, 2U);
    EXPECT_EQ(stats.of(RobState::here), 6U);
}

TEST_F(Node, ALevel2RequestGetsTheRobsThatItNamesAndOneThatIsNotHereIsUnknown) {
    request({Level1Id{3}}, {SourceId{0x12}, SourceId{0x99}}, wire::RequestKind::level2);
    ASSERT_EQ(asker.heads.size(), 1U);
    EXPECT_EQ(asker.heads[0].robs[0].state, RobState::here);
    EXPECT_EQ(asker.heads[0].robs[1].state, RobState::unknown);
    EXPECT_EQ(asker.data[0].size(), 900U);
    EXPECT_EQ(node->stats().requests_level2, 1U);
}

TEST_F(Node, AClearFreesEventsByListAndByAgeAndNewOnesCome) {
    request({Level1Id{65}});
    EXPECT_EQ(asker.heads.back().robs[0].state, RobState::not_yet);  // 64 are held
    send(wire::DataflowType::clear, wire::Clear{.oldest = Level1Id{1}, .events = {Level1Id{2}}}, true);
    request({Level1Id{65}, Level1Id{2}});
    EXPECT_EQ(asker.heads[1].robs[0].state, RobState::here);
    EXPECT_EQ(asker.heads[2].robs[0].state, RobState::cleared);
    send(wire::DataflowType::clear, wire::Clear{.oldest = Level1Id{500}, .events = {}}, true);
    request({Level1Id{499}, Level1Id{500}});
    EXPECT_EQ(asker.heads[3].robs[0].state, RobState::cleared);
    EXPECT_EQ(asker.heads[4].robs[0].state, RobState::here);
}

TEST_F(Node, WhatItDoesNotTakeIsCountedByKind) {
    const std::vector<std::byte> rubbish(7, std::byte{0xff});
    net.endpoint(asker_id).send(readout_id, wire::DataflowType::data_request, ConstData(rubbish));
    net.endpoint(asker_id).send(readout_id, wire::DataflowType::clear, ConstData(rubbish));
    net.endpoint(asker_id).send(readout_id, wire::DataflowType::level2_result, ConstData(rubbish));
    net.run_for(20ms);
    EXPECT_EQ(node->stats().messages_malformed, 2U);
    EXPECT_EQ(node->stats().messages_foreign, 1U);
    EXPECT_TRUE(asker.heads.empty());
}

/// Keeps the triggers that it is to read out.
class TriggersKept final : public FrontEndFeed {
public:
    Result<> begin() override { return {}; }
    void read_out(std::span<const Trigger> triggers) override {
        kept.insert(kept.end(), triggers.begin(), triggers.end());
    }
    void stop(std::chrono::milliseconds) override {}
    FrontEndStats stats() const override { return {}; }
    std::vector<Trigger> kept;
};

TEST_F(Node, TriggersGoToTheFrontEndAndToTheMatchingAndAreForeignWhereThereIsNeither) {
    const wire::Triggers triggers{{{.level1_id = Level1Id{7}, .type = 3, .time_ns = 1000},
                                   {.level1_id = Level1Id{8}, .type = 4, .time_ns = 1000}}};
    send(wire::DataflowType::triggers, triggers, true);
    EXPECT_EQ(node->stats().messages_foreign, 1U);
    TriggersKept front_end;
    FragmentIntake intake(store, {}, {});
    const SystemClock clock;
    MatchedIntake matched(intake, {}, {}, clock);
    node->use_front_end(&front_end);
    node->use_matching(&matched);
    send(wire::DataflowType::triggers, triggers, true);
    const std::vector<std::byte> rubbish(7, std::byte{0xff});
    net.endpoint(asker_id).send(readout_id, wire::DataflowType::triggers, ConstData(rubbish));
    net.run_for(20ms);
    node->use_front_end(nullptr);
    node->use_matching(nullptr);
    matched.end_run();                            // it looks at what came
    EXPECT_EQ(matched.triggers_unordered(), 1U);  // two at the same time
    ASSERT_EQ(front_end.kept.size(), 2U);
    EXPECT_EQ(front_end.kept[1].level1_id, Level1Id{8});
    EXPECT_EQ(front_end.kept[1].type, 4U);
    EXPECT_EQ(front_end.kept[1].time, 1us);
    EXPECT_EQ(node->stats().messages_foreign, 1U);
    EXPECT_EQ(node->stats().messages_malformed, 1U);
}

TEST_F(Node, OfARestartedProcessTheStoreFindsItsPlaceByTheNextClear) {
    net.restart(readout_id);
    store.reset(Level1Id{1});
    net.run_for(1s);
    send(wire::DataflowType::clear, wire::Clear{.oldest = Level1Id{10'000}, .events = {}}, true);
    request({Level1Id{10'000}});
    ASSERT_EQ(asker.heads.size(), 1U);
    EXPECT_EQ(asker.heads[0].robs[0].state, RobState::here);
}

class LossyNode : public Node {
protected:
    LossyNode() : Node({.loss = 0.1, .duplicate = 0.05, .corrupt = 0.02, .jitter = 100us}) {}
};

TEST_F(LossyNode, OverABadNetworkReRequestsGetEveryEventAsItIs) {
    std::map<std::uint32_t, std::string> got;
    for (int round = 0; round < 50 && got.size() < 60; ++round) {
        std::vector<Level1Id> missing;
        for (std::uint32_t id = 1; id <= 60; ++id)
            if (!got.contains(id)) missing.push_back(Level1Id{id});
        request(missing);
        for (std::size_t i = 0; i < asker.heads.size(); ++i)
            if (asker.data[i].size() == 2700) got[number(asker.heads[i].level1_id)] = asker.data[i];
    }
    ASSERT_EQ(got.size(), 60U);
    for (const auto& [id, data] : got) {
        std::string expected;
        for (const auto& rob : maker->make(Level1Id{id})) expected += as_text(rob.bytes);
        ASSERT_EQ(data, expected) << id;
    }
}

TEST_F(Node, WithHandlersWhatIsHereIsAnsweredAtOnceAndTheRestWhenItComes) {
    const SystemClock clock;
    std::atomic<int> made{0};
    RequestHandlers handlers(store, {.handlers = 2, .wait_max = 20s}, clock, [&] { ++made; });
    node->use(&handlers);
    request({Level1Id{1}, Level1Id{70}});  // 70: inside the window, and not fed before there is room
    ASSERT_EQ(asker.heads.size(), 1U);
    EXPECT_EQ(asker.heads[0].level1_id, Level1Id{1});
    send(wire::DataflowType::clear, wire::Clear{.oldest = Level1Id{20}, .events = {}}, true);
    while (made == 0) std::this_thread::yield();
    node->flush();
    net.run_for(10ms);
    ASSERT_EQ(asker.heads.size(), 2U);
    EXPECT_EQ(asker.heads[1].level1_id, Level1Id{70});
    EXPECT_EQ(asker.heads[1].robs[0].state, RobState::here);
    node->use(nullptr);
}

}  // namespace
}  // namespace weir::readout

// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/data_collector.hpp"

#include <gtest/gtest.h>

#include "simulated_partition.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// A collector alone at a station, with two readouts.
class Asker final : public messaging::MessageHandler {
public:
    Asker(messaging::Endpoint& endpoint, const CollectorOptions& options) : collector(options, endpoint) {
        collector.set_readouts(partition(0));
    }
    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        collector.on_data(message, now);
    }
    void on_peer(StationId peer, messaging::PeerChange change, SteadyTime now) override {
        collector.on_peer(peer, change, now);
    }
    std::optional<SteadyTime> step(SteadyTime now) override {
        const auto next = collector.step(now);
        while (auto event = collector.take_ready()) ready.push_back(std::move(event));
        return next;
    }
    void begin(std::uint32_t id, const std::vector<SourceId>& robs, SteadyTime now) {
        collector.begin({.global_id = GlobalEventId{id}, .level1_id = Level1Id{id}}, robs, now);
    }
    DataCollector collector;
    std::vector<std::unique_ptr<CollectedEvent>> ready;
};

struct Simulation {
    explicit Simulation(std::uint64_t seed, const testing::NetworkFaults& faults = {}, std::uint32_t not_yet = 0,
                        const CollectorOptions& options = {.time_limit = 1000ms})
        : net(seed, faults) {
        net.add(unit_id, [this, options](testing::SimulatedStation& self) {
            auto made = std::make_unique<Asker>(self.endpoint(), options);
            asker = made.get();
            return made;
        });
        for (std::uint16_t i = 0; i < 2; ++i) {
            net.add(StationId(std::uint16_t(number(readout_id) + i)),
                    [this, i, not_yet](testing::SimulatedStation& self) {
                        auto made = std::make_unique<SimpleReadout>(self.endpoint(), not_yet);
                        readouts[i] = made.get();
                        return made;
                    });
        }
        net.start_run(RunNumber{7});
        net.run_for(1ms);
    }
    void begin(std::uint32_t id, const std::vector<SourceId>& robs) { asker->begin(id, robs, net.clock().now()); }
    bool collected(std::size_t events, std::chrono::nanoseconds within) {
        return net.run_until([&] { return asker->ready.size() >= events; }, within);
    }
    SimulatedNetwork net;
    Asker* asker = nullptr;
    SimpleReadout* readouts[2]{};
};

const std::vector<SourceId> both{SourceId{1000}, SourceId{2003}, SourceId{1002}};

TEST(DataCollector, FragmentsOfSeveralReadoutsComeInTheOrderAskedFor) {
    Simulation s(1);
    s.begin(5, both);
    ASSERT_TRUE(s.collected(1, 100ms));
    const auto& event = *s.asker->ready[0];
    ASSERT_EQ(event.fragments.size(), 3U);
    EXPECT_EQ(event.missing, 0U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(event.fragments[i].source, both[i]);
        ASSERT_EQ(event.fragments[i].bytes.size(), 16U);
        EXPECT_EQ(load_little<std::uint32_t>(event.fragments[i].bytes), number(both[i]));
        EXPECT_EQ(load_little<std::uint32_t>(event.fragments[i].bytes, 4), 5U);
    }
    EXPECT_EQ(s.asker->collector.counts().requests, 2U);
}

TEST(DataCollector, LossReorderingAndDuplicatesCostRepetitionsAndNoFragment) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        Simulation s(seed, {.loss = 0.2, .duplicate = 0.1, .corrupt = 0.02, .late = 0.1, .jitter = 200us}, 0,
                     {.time_limit = 20s});
        for (std::uint32_t id = 1; id <= 50; ++id) s.begin(id, both);
        ASSERT_TRUE(s.collected(50, 20s)) << "seed " << seed;
        const auto counts = s.asker->collector.counts();
        EXPECT_EQ(counts.complete, 50U) << "seed " << seed;
        EXPECT_EQ(counts.fragments, 150U) << "seed " << seed;
        EXPECT_GT(counts.re_requested, 0U) << "seed " << seed;
        EXPECT_EQ(counts.begun, counts.complete + counts.incomplete + counts.in_hand);
        for (const auto& event : s.asker->ready)
            for (const auto& fragment : event->fragments) {
                EXPECT_EQ(load_little<std::uint32_t>(fragment.bytes), number(fragment.source));
                EXPECT_EQ(load_little<std::uint32_t>(fragment.bytes, 4), number(event->ticket.level1_id));
            }
    }
}

TEST(DataCollector, AFragmentThatIsNotThereYetIsReRequestedAfterAPause) {
    Simulation s(1, {}, 3);
    s.begin(5, both);
    ASSERT_TRUE(s.collected(1, 100ms));
    EXPECT_EQ(s.asker->ready[0]->missing, 0U);
    const auto counts = s.asker->collector.counts();
    EXPECT_EQ(counts.not_yet, 6U);
    EXPECT_EQ(counts.requests, 8U);
}

TEST(DataCollector, ASilentReadoutCostsItsFragmentsAfterTheTimeLimitOnly) {
    Simulation s(1, {}, 0, {.time_limit = 300ms});
    s.readouts[1]->mute = true;
    s.begin(5, both);
    EXPECT_FALSE(s.collected(1, 290ms));
    ASSERT_TRUE(s.collected(1, 20ms));
    const auto& event = *s.asker->ready[0];
    EXPECT_EQ(event.missing, 1U);
    EXPECT_EQ(event.fragments[0].state, FragmentState::here);
    EXPECT_EQ(event.fragments[1].state, FragmentState::missing);
    EXPECT_TRUE(event.fragments[1].bytes.empty());
    EXPECT_EQ(s.asker->collector.counts().missing_late, 1U);
    EXPECT_LT(s.asker->collector.counts().requests, 12U);  // it is not flooded with questions
}

TEST(DataCollector, WhatIsLostOrUnknownIsMissingAtOnce) {
    Simulation s(1);
    s.begin(5, {SourceId{1000}, SourceId{77}});  // no readout has 77
    ASSERT_TRUE(s.collected(1, 10ms));
    EXPECT_EQ(s.asker->ready[0]->missing, 1U);
    EXPECT_EQ(s.asker->collector.counts().missing_no_readout, 1U);
    s.begin(6, {SourceId{77}});
    s.begin(7, {});
    ASSERT_TRUE(s.collected(3, 10ms));
    EXPECT_EQ(s.asker->ready[1]->missing, 1U);
    EXPECT_EQ(s.asker->ready[2]->fragments.size(), 0U);
}

TEST(DataCollector, AReadoutThatWasStartedAgainIsAskedAtOnce) {
    Simulation s(1, {}, 0, {.time_limit = 10s, .reask_min = 1s, .reask_max = 2s});
    s.net.kill(readout_id);
    s.begin(5, both);
    s.net.run_for(20ms);
    s.net.restart(readout_id);
    ASSERT_TRUE(s.collected(1, 900ms));
    EXPECT_EQ(s.asker->ready[0]->missing, 0U);
}

TEST(DataCollector, AnswersThatWereNotAskedForAreCountedAndForgotten) {
    Simulation s(1);
    s.begin(5, both);
    const auto answer = [&](std::uint64_t request, std::uint32_t level1, StationId from) {
        std::vector<std::byte> bytes;
        encode(
            wire::DataHead{
                .request = request, .level1_id = Level1Id{level1}, .robs = {{SourceId{1000}, wire::RobState::lost, 0}}},
            bytes);
        s.asker->collector.on_data({.from = from, .type = wire::DataflowType::data, .body = bytes},
                                   s.net.clock().now());
    };
    answer(99, 5, readout_id);
    answer(1, 6, readout_id);
    answer(1, 5, StationId{42});
    EXPECT_EQ(s.asker->collector.counts().late_or_double, 3U);
    const std::vector<std::byte> junk(5);
    s.asker->collector.on_data({.from = readout_id, .type = wire::DataflowType::data, .body = junk},
                               s.net.clock().now());
    EXPECT_EQ(s.asker->collector.counts().malformed, 1U);
    ASSERT_TRUE(s.collected(1, 10ms));
    EXPECT_EQ(s.asker->ready[0]->missing, 0U);
}

}  // namespace
}  // namespace weir::selection

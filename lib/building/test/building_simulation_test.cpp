// SPDX-License-Identifier: Apache-2.0
// Faults of the network and of stations, under a whole building farm: docs/faults.md, rows B1 to B14.
#include <gtest/gtest.h>

#include "building_farm.hpp"
#include "weir/event/event_view.hpp"

namespace weir::building {
namespace {

using namespace std::chrono_literals;

TEST(BuildingSimulation, WithoutFaultsEveryEventIsBuiltOnceAndNothingIsReRequested) {
    Farm farm(1, {}, {.events = 500});
    ASSERT_TRUE(farm.run(20s));
    EXPECT_EQ(farm.exact(), 500U);
    EXPECT_EQ(farm.store.duplicates, 0U);
    EXPECT_EQ(farm.builders[0]->counts().re_requested + farm.builders[1]->counts().re_requested, 0U);
    EXPECT_GT(farm.builders[0]->counts().built, 100U);
    EXPECT_GT(farm.builders[1]->counts().built, 100U);
    farm.net.run_for(50ms);
    for (const auto& [i, readout] : farm.readouts) EXPECT_EQ(readout->oldest, 501U);
}

TEST(BuildingSimulation, LossDoublesDamageAndReorderingCostNoEventAndNoBit) {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
        const NetworkFaults faults{.loss = 0.01 * static_cast<double>(seed % 11),
                                   .duplicate = 0.05,
                                   .corrupt = 0.02,
                                   .late = 0.02,
                                   .jitter = 200us};
        FarmShape shape{.events = 150, .words = seed % 2 == 0 ? 40U : 900U};
        shape.builder.event_deadline =
            60s;  // two of three answers of eight parts get lost or damaged: some need more than 20 tries
        Farm farm(seed, faults, shape);
        ASSERT_TRUE(farm.run(60s)) << "seed " << seed;
        EXPECT_EQ(farm.exact(), 150U) << "seed " << seed;
        EXPECT_EQ(farm.store.duplicates + farm.store.incomplete, 0U) << "seed " << seed;
        EXPECT_TRUE(farm.dfm->ledger().balances());
        for (const auto& [i, builder] : farm.builders) {
            EXPECT_TRUE(builder->ledger().balances());
            EXPECT_EQ(builder->ledger().in_hand, 0U);
        }
    }
}

TEST(BuildingSimulation, AnOutageOfTwoSecondsIsOnlyAPause) {
    Farm farm(3, {}, {.events = 2000});
    farm.net.run_for(20ms);
    for (unsigned b = 0; b < 2; ++b) {
        for (unsigned i = 0; i < 5; ++i) {
            farm.net.black_out(builder_id(b), readout_id(i));
            farm.net.black_out(readout_id(i), builder_id(b));
        }
        farm.net.black_out(builder_id(b), dfm_id);
        farm.net.black_out(dfm_id, builder_id(b));
    }
    farm.net.run_for(2s);
    const auto before = farm.store.events.size();
    for (unsigned b = 0; b < 2; ++b) {
        for (unsigned i = 0; i < 5; ++i) {
            farm.net.black_out(builder_id(b), readout_id(i), false);
            farm.net.black_out(readout_id(i), builder_id(b), false);
        }
        farm.net.black_out(builder_id(b), dfm_id, false);
        farm.net.black_out(dfm_id, builder_id(b), false);
    }
    farm.net.run_for(1s);
    EXPECT_GT(farm.store.events.size(), before) << "it goes on within a second";
    ASSERT_TRUE(farm.run(60s));
    EXPECT_EQ(farm.exact(), 2000U);
    EXPECT_EQ(farm.store.incomplete, 0U);
}

TEST(BuildingSimulation, ABuilderThatDiesLosesNoEvent) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Farm farm(seed, {.loss = 0.02, .jitter = 100us}, {.events = 400});
        farm.net.run_for(std::chrono::milliseconds(5 + seed * 3));
        farm.net.kill(builder_id(0));
        farm.net.run_for(300ms);
        farm.net.restart(builder_id(0));
        ASSERT_TRUE(farm.run(60s)) << "seed " << seed;
        EXPECT_EQ(farm.exact(), 400U) << "seed " << seed;
        EXPECT_EQ(farm.store.incomplete, 0U);
        EXPECT_TRUE(farm.dfm->ledger().balances());
    }
}

TEST(BuildingSimulation, ABuilderThatStaysDeadIsReplacedByTheOther) {
    Farm farm(5, {}, {.events = 400});
    farm.net.run_for(10ms);
    farm.net.kill(builder_id(0));
    ASSERT_TRUE(farm.net.run_until([&] { return farm.dfm->counts().stored >= 400; }, 30s));
    EXPECT_EQ(farm.exact(), 400U);
}

TEST(BuildingSimulation, AStationThatStandsStillForFiveSecondsHoldsTheRunUpAndLosesNothing) {
    for (const auto station : {dfm_id, builder_id(0), readout_id(2), supervisor_id}) {
        Farm farm(9, {}, {.events = 3000});
        farm.net.run_for(15ms);
        farm.net.pause(station);
        farm.net.run_for(5s);
        farm.net.pause(station, false);
        ASSERT_TRUE(farm.run(60s)) << "station " << number(station) << ": " << farm.dfm->counts().stored;
        EXPECT_EQ(farm.exact(), 3000U) << "station " << number(station);
        EXPECT_EQ(farm.store.incomplete, 0U) << "station " << number(station);
    }
}

TEST(BuildingSimulation, AReadoutThatStaysDeadIsNamedItsRobsAreEmptyAndTheRunGoesOn) {
    FarmShape shape{.events = 300};
    shape.builder.event_deadline = 1s;
    shape.builder.suspect_deadline = 20ms;
    Farm farm(2, {}, shape);
    farm.net.run_for(3ms);
    farm.net.kill(readout_id(3));
    ASSERT_TRUE(farm.net.run_until([&] { return farm.dfm->counts().stored >= 300; }, 60s));
    EXPECT_GT(farm.store.incomplete, 0U);
    EXPECT_EQ(farm.exact() + farm.store.incomplete, 300U);
    std::uint64_t lost = 0;
    for (const auto& [i, builder] : farm.builders) {
        for (const auto& source : builder->sources()) {
            EXPECT_TRUE(source.missing == 0 || (number(source.source) & 0xfff0U) == 0x30U) << number(source.source);
            lost += source.missing;
        }
    }
    EXPECT_EQ(lost, farm.store.incomplete * farm.shape.sources);
    EXPECT_EQ(farm.dfm->counts().incomplete, farm.store.incomplete);
}

TEST(BuildingSimulation, MemoryAndBytesInFlightStayBounded) {
    FarmShape shape{.events = 300, .readouts = 40, .sources = 1, .words = 300};
    shape.builder.window = {.shaping = true, .least = 8 << 10, .most = 32 << 10};
    Farm farm(4, {.loss = 0.03}, shape);
    std::uint64_t most = 0, memory = 0;
    ASSERT_TRUE(farm.net.run_until(
        [&] {
            for (unsigned b = 0; b < 2; ++b) {
                most = std::max(most, farm.builders[b]->counts().in_flight);
                memory = std::max(memory, farm.net.station(builder_id(b)).pool().stats().in_use.count());
            }
            return farm.finished();
        },
        60s));
    EXPECT_LE(most, 32U << 10);
    EXPECT_LE(memory, 256U << 20);
    EXPECT_EQ(farm.exact(), 300U);
}

}  // namespace
}  // namespace weir::building

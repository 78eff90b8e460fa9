// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/supervisor.hpp"

#include <gtest/gtest.h>

#include "simulated_partition.hpp"
#include "triggers/trigger_source.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using namespace test;

testing::NetworkFaults bad_network() {
    return {.loss = 0.1, .duplicate = 0.05, .corrupt = 0.02, .late = 0.05, .jitter = 300us};
}

/// The supervisor holds triggers while the readout says that it is busy.
void heed_the_readout(SimulatedPartition& p) {
    for (auto& peer : p.peers) peer.busy = peer.kind == StationKind::readout;
    p.supervisor->set_peers(p.peers, p.net.clock().now());
}

/// The readout says it; the latest change holds.
void say_busy(SimulatedPartition& p, std::uint64_t change, wire::BusyCause cause, std::uint32_t hold_above = 0) {
    std::vector<std::byte> bytes;
    encode(wire::ReadoutBusy{change, cause != wire::BusyCause::none, cause, hold_above}, bytes);
    ASSERT_TRUE(p.net.endpoint(readout_id).send_reliably(supervisor_id, wire::DataflowType::readout_busy, bytes));
}

TEST(Supervisor, EveryEventIsDecidedOnceAndInOrderOfItsIds) {
    SimulatedPartition p(1, {}, {.events = 500}, 3);
    ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
    EXPECT_EQ(p.assigner->decided, 500U);
    EXPECT_EQ(p.assigner->accepted.size(), 250U);
    EXPECT_EQ(p.assigner->rejected.size(), 250U);
    for (const auto& [id, ticket] : p.assigner->accepted) {
        EXPECT_EQ(id % 2, 0U);
        EXPECT_EQ(number(ticket.level1_id), id);
        EXPECT_EQ(ticket.level2_words, (std::vector<std::uint32_t>{static_cast<std::uint32_t>(id), 0}));
        EXPECT_FALSE(ticket.forced);
        EXPECT_EQ(ticket.lumi_block, LumiBlock{1});
    }
    const auto counts = p.supervisor->counts();
    EXPECT_EQ(counts.made, 500U);
    EXPECT_EQ(counts.forced, 0U);
    EXPECT_TRUE(p.supervisor->ledger().balances());
    for (const auto& unit : p.supervisor->units()) EXPECT_GT(unit.given, 50U) << "a unit was left out";
}

TEST(Supervisor, WithoutUnitsEverythingIsAccepted) {
    SimulatedPartition p(1, {}, {.events = 1000}, 0);
    ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
    EXPECT_EQ(p.assigner->accepted.size(), 1000U);
    EXPECT_EQ(p.supervisor->counts().forced, 0U);
}

TEST(Supervisor, LevelOneIdsWrapAndGlobalIdsDoNot) {
    SimulatedPartition p(
        1, {}, {.events = 100, .first_global = GlobalEventId{0xffff'fff0}, .first_level1 = Level1Id{0xffff'fff0}}, 1);
    ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
    EXPECT_TRUE(p.all_decided(100));
    EXPECT_TRUE(p.assigner->level1.contains(0));
    EXPECT_TRUE(p.assigner->level1.contains(0xffff'ffff));
    EXPECT_TRUE(p.assigner->accepted.contains(0x1'0000'0000));
}

TEST(Supervisor, NeverMoreEventsAreInHandThanTheAssignerHasRoomFor) {
    SimulatedPartition p(1, {}, {.events = 0}, 0, 50);
    p.net.run_for(20ms);
    p.assigner->frozen = true;
    p.net.run_for(2s);
    const auto made = p.supervisor->counts().made;
    EXPECT_LE(made, p.assigner->decided + 50);
    p.net.run_for(1s);
    EXPECT_EQ(p.supervisor->counts().made, made);
    p.assigner->frozen = false;
    p.net.run_for(100ms);
    EXPECT_GT(p.supervisor->counts().made, made);
}

TEST(Supervisor, TicketsComeAtTheRateThatIsAskedFor) {
    SimulatedPartition p(1, {}, {.triggers = {.rate = 1000}, .lumi_block_length = 500ms}, 0);
    p.net.run_for(2s);
    EXPECT_NEAR(static_cast<double>(p.supervisor->counts().made), 2000, 40);
    EXPECT_EQ(p.assigner->accepted.at(1).lumi_block, LumiBlock{1});
    EXPECT_EQ(p.assigner->accepted.at(1900).lumi_block, LumiBlock{4});
    p.supervisor->pause(p.net.clock().now());
    p.net.run_for(50ms);
    const auto made = p.supervisor->counts().made;
    p.net.run_for(1s);
    EXPECT_EQ(p.supervisor->counts().made, made);
    p.supervisor->resume(p.net.clock().now());
    p.net.run_for(1s);
    EXPECT_NEAR(static_cast<double>(p.supervisor->counts().made - made), 1000, 20);
}

TEST(Supervisor, TriggersOfTheClockThatFindNoRoomAreDeadTimeByCause) {
    const SupervisorOptions options{.triggers = {.kind = TriggerKind::periodic, .rate = 1000}};
    SimulatedPartition p(1, {}, options, 0, 50);
    p.net.run_for(1s);
    EXPECT_EQ(p.supervisor->triggers().dead_time, 0U);
    EXPECT_NEAR(p.supervisor->busy_times().dead.value(), 0, 0.02);  // before the DFM gave its first credit
    p.assigner->frozen = true;
    p.net.run_for(2s);
    p.assigner->frozen = false;
    p.net.run_for(1s);
    const auto counts = p.supervisor->counts();
    const auto triggers = p.supervisor->triggers();
    EXPECT_NEAR(static_cast<double>(counts.made + triggers.dead_time), 4000, 2);
    EXPECT_NEAR(static_cast<double>(triggers.dead_time), 1950, 5);  // 50 of them had credit
    const auto busy = p.supervisor->busy_times();
    EXPECT_NEAR(busy.running, 4, 0.01);
    EXPECT_NEAR(busy.dead.value(), 1.95, 0.02);
    EXPECT_NEAR(busy.by_cause.at("dfm"), 1.95, 0.02);
    EXPECT_FALSE(busy.by_cause.contains("units"));
    EXPECT_TRUE(p.supervisor->ledger().balances());
}

TEST(Supervisor, UnitsWithoutRoomAreACauseOfDeadTime) {
    const SupervisorOptions options{.triggers = {.kind = TriggerKind::random, .rate = 1000}, .decision_timeout = 60s};
    SimulatedPartition p(1, {}, options, 1);
    p.unit[0]->hangs = true;
    p.net.run_for(2s);
    const auto busy = p.supervisor->busy_times();
    EXPECT_NEAR(busy.by_cause.at("units"), 2, 0.1);
    EXPECT_GT(p.supervisor->triggers().dead_time, 1700U);
    EXPECT_EQ(p.supervisor->counts().made, 8U);
}

TEST(Supervisor, ABusyReadoutHoldsTriggersOfTheClockUntilItIsNotAnyMore) {
    const SupervisorOptions options{.triggers = {.kind = TriggerKind::periodic, .rate = 1000}};
    SimulatedPartition p(1, bad_network(), options, 1, 200);
    heed_the_readout(p);
    p.net.run_for(1s);
    p.unit[0]->hangs = true;  // events are in hand
    p.net.run_for(4ms);
    say_busy(p, 2, wire::BusyCause::events);
    say_busy(p, 1, wire::BusyCause::none);  // it was sent before, and comes later
    p.net.run_for(100ms);
    const auto made = p.supervisor->counts().made;
    EXPECT_LT(made, 1100U);
    p.net.run_for(1s);
    EXPECT_EQ(p.supervisor->counts().made, made);
    EXPECT_NEAR(p.supervisor->busy_times().by_cause.at("ros"), 1.1, 0.1);
    p.unit[0]->hangs = false;
    say_busy(p, 3, wire::BusyCause::none);
    p.net.run_for(1s);
    EXPECT_GT(p.supervisor->counts().made, made + 900);
    EXPECT_NEAR(p.supervisor->busy_times().by_cause.at("ros"), 1.1, 0.1);
}

TEST(Supervisor, AReadoutThatWasBusyAndDiedOrFellSilentLeavesNoBusyBehind) {
    for (const bool dies : {true, false}) {
        const SupervisorOptions options{.triggers = {.kind = TriggerKind::periodic, .rate = 1000}};
        SimulatedPartition p(1, {}, options, 1);
        heed_the_readout(p);
        p.net.run_for(100ms);
        p.unit[0]->hangs = true;  // events are in hand
        say_busy(p, 1, wire::BusyCause::memory);
        p.net.run_for(500ms);
        EXPECT_NEAR(p.supervisor->busy_times().by_cause.at("ros"), 0.5, 0.1);
        if (dies) {
            p.net.kill(readout_id);
            p.net.restart(readout_id);
        } else {
            p.net.pause(readout_id);
        }
        p.net.run_for(3s);
        const auto before = p.supervisor->busy_times().by_cause.at("ros");
        p.net.run_for(2s);
        EXPECT_DOUBLE_EQ(p.supervisor->busy_times().by_cause.at("ros"), before) << dies;
    }
}

TEST(Supervisor, AReadoutThatIsFullOfFragmentsWithoutATriggerDoesNotStopTheRun) {
    const SupervisorOptions options{.triggers = {.kind = TriggerKind::periodic, .rate = 100}};
    SimulatedPartition p(1, {}, options, 1);
    heed_the_readout(p);
    p.net.run_for(10ms);
    say_busy(p, 1, wire::BusyCause::events);
    p.net.run_for(5s);
    EXPECT_GT(p.supervisor->counts().made, 100U);  // one after the other, as each is done with
}

TEST(Supervisor, ABusyReadoutHoldsTriggersOnlyWhileMoreEventsAreInHandThanItSays) {
    const SupervisorOptions options{.triggers = {.kind = TriggerKind::periodic, .rate = 1000}};
    SimulatedPartition p(1, {}, options, 1, 500, {.workers = 64, .depth = 2});
    heed_the_readout(p);
    p.net.run_for(100ms);
    const auto before = p.supervisor->counts().made;
    p.unit[0]->hangs = true;  // it has room for 128
    say_busy(p, 1, wire::BusyCause::events, 40);
    p.net.run_for(1s);
    const auto made = p.supervisor->counts().made;
    EXPECT_NEAR(static_cast<double>(made - before), 41, 4);
    EXPECT_NEAR(p.supervisor->busy_times().by_cause.at("ros"), 0.96, 0.05);
    p.unit[0]->hangs = false;
    p.net.run_for(1s);
    EXPECT_GT(p.supervisor->counts().made, made + 900);
}

TEST(Supervisor, TheHeadersOfRecordedEventsAreUsedInTurn) {
    SupervisorOptions options{.events = 4};
    options.headers = {{.trigger_type = 1, .seconds = 100, .level1_words = {9}},
                       {.trigger_type = 2, .seconds = 200, .level1_words = {8}}};
    options.lumi_block_length = 0ms;
    SimulatedPartition p(1, {}, options, 0);
    ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
    EXPECT_EQ(p.assigner->accepted.at(3).trigger_type, 1U);
    EXPECT_EQ(p.assigner->accepted.at(4).seconds, 200U);
    EXPECT_EQ(p.assigner->accepted.at(4).level1_words, std::vector<std::uint32_t>{8});
    EXPECT_EQ(p.assigner->accepted.at(4).lumi_block, LumiBlock{0});
}

TEST(Supervisor, ABadNetworkCostsTimeAndNoEventForAnySeed) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        SimulatedPartition p(seed, bad_network(), {.events = 300}, 3);
        ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 120s)) << "seed " << seed;
        ASSERT_TRUE(p.all_decided(300)) << "seed " << seed;
        EXPECT_EQ(p.assigner->decided, 300U) << "seed " << seed;
        EXPECT_TRUE(p.supervisor->ledger().balances()) << "seed " << seed;
    }
}

TEST(Supervisor, EventsOfAUnitThatDiesAreGivenToAnotherForAnySeed) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SimulatedPartition p(seed, bad_network(), {.events = 300, .lost_decision = LostDecision::reassign}, 3);
        p.net.run_for(5ms);
        p.net.kill(unit_id);
        p.net.run_for(20ms);
        p.net.restart(unit_id);
        ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 120s)) << "seed " << seed;
        ASSERT_TRUE(p.all_decided(300)) << "seed " << seed;
        EXPECT_EQ(p.supervisor->counts().forced, 0U) << "seed " << seed;
        EXPECT_TRUE(p.supervisor->ledger().balances()) << "seed " << seed;
    }
}

TEST(Supervisor, EventsOfASilentUnitAreAcceptedByForceAndItWorksAgainWhenItIsBack) {
    SimulatedPartition p(3, {}, {.events = 0, .triggers = {.rate = 2000}, .decision_timeout = 60s}, 2);
    p.net.run_for(100ms);
    p.net.pause(unit_id);
    p.net.run_for(4s);
    const auto counts = p.supervisor->counts();
    EXPECT_EQ(counts.units_lost, 1U);
    EXPECT_GT(counts.forced, 0U);
    EXPECT_LE(counts.forced, 8U);   // no more than its credit
    EXPECT_GT(counts.made, 7900U);  // the other one took over
    EXPECT_EQ(p.reports.size(), 1U);
    p.net.pause(unit_id, false);
    p.net.run_for(100ms);
    const auto given = p.supervisor->units()[0].given;
    p.net.run_for(1s);
    EXPECT_GT(p.supervisor->units()[0].given, given + 500);
    EXPECT_GT(p.supervisor->counts().late_verdicts, 0U);
    EXPECT_TRUE(p.supervisor->ledger().balances());
}

TEST(Supervisor, AnEventWhoseDecisionIsTooLateIsAcceptedByForce) {
    SimulatedPartition p(1, {}, {.events = 20, .decision_timeout = 100ms}, 1);
    p.unit[0]->hangs = true;
    ASSERT_FALSE(p.net.run_until([&] { return p.finished(); }, 2s));  // its credit is used up: the rest waits
    EXPECT_EQ(p.supervisor->counts().forced, 8U);
    p.unit[0]->hangs = false;
    p.net.run_for(10ms);
    p.net.restart(unit_id);
    ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
    EXPECT_TRUE(p.all_decided(20));
}

TEST(Supervisor, ASilentAssignerStopsTheTicketsAndGetsThemAllWhenItIsBack) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SimulatedPartition p(seed, bad_network(), {.events = 2000}, 2, 100);
        p.net.run_for(20ms);
        p.net.pause(assigner_id);
        p.net.run_for(5s);
        EXPECT_LE(p.supervisor->counts().made, 2000U);
        p.net.pause(assigner_id, false);
        ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 120s)) << "seed " << seed;
        ASSERT_TRUE(p.all_decided(2000)) << "seed " << seed;
        EXPECT_EQ(p.assigner->decided, 2000U) << "seed " << seed;
    }
}

TEST(Supervisor, AnAssignerThatWasStartedAgainGetsTheLatestDecisionsAgain) {
    SimulatedPartition p(5, bad_network(), {.events = 1000}, 2, 100);
    ASSERT_TRUE(p.net.run_until([&] { return p.assigner->decided > 300; }, 60s));
    const auto before = p.assigner->level1;
    p.net.kill(assigner_id);
    p.net.restart(assigner_id);
    ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 120s));
    auto all = p.assigner->level1;
    const auto received_again = all.size();
    all.insert(before.begin(), before.end());
    EXPECT_EQ(all.size(), 1000U);
    EXPECT_GE(received_again, 700U);  // and up to a hundred that the first one had received, too
    EXPECT_GT(p.supervisor->counts().resent, 0U);
    EXPECT_TRUE(p.supervisor->ledger().balances());
}

TEST(Supervisor, AnEventAcceptedWithoutAJudgementHasAnEmptyResult) {
    const UnitOptions unit{.workers = 4, .depth = 2};
    {
        SimulatedPartition p(1, {}, {.events = 20}, 1, 200, unit, true);
        ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
        p.net.run_for(100ms);
        EXPECT_TRUE(p.all_have_results());
        EXPECT_EQ(p.empty_results(), 0U);  // the unit's own
    }
    {
        SimulatedPartition p(1, {}, {.events = 20}, 0, 200, unit, true);  // no unit at all
        ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
        EXPECT_TRUE(p.all_have_results());
        EXPECT_EQ(p.empty_results(), 20U);
    }
    {
        SimulatedPartition p(1, {}, {.events = 8, .decision_timeout = 100ms}, 1, 200, unit, true);  // too late
        p.unit[0]->hangs = true;
        ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
        EXPECT_EQ(p.assigner->accepted.size(), 8U);
        EXPECT_TRUE(p.all_have_results());
        EXPECT_EQ(p.empty_results(), 8U);
    }
    {
        SimulatedPartition p(1, {}, {.events = 0, .decision_timeout = 60s}, 1, 200, unit, true);  // the end of the run
        p.unit[0]->hangs = true;
        p.net.run_for(50ms);
        p.supervisor->stop(p.net.clock().now());
        p.supervisor->force_all(p.net.clock().now());
        p.net.run_for(50ms);
        EXPECT_EQ(p.assigner->accepted.size(), 8U);
        EXPECT_EQ(p.empty_results(), 8U);
        EXPECT_TRUE(p.all_have_results());
    }
}

TEST(Supervisor, NoAcceptedEventIsLeftWithoutAResultByAUnitThatDiesForAnySeed) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SimulatedPartition p(seed, bad_network(), {.events = 300}, 3, 200, {.workers = 4, .depth = 2}, true);
        p.net.run_for(5ms);
        p.net.black_out(unit_id, pseudo_id);  // its last results do not get away
        p.net.run_for(5ms);
        p.net.kill(unit_id);
        p.net.black_out(unit_id, pseudo_id, false);
        p.net.run_for(20ms);
        p.net.restart(unit_id);
        ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 120s)) << "seed " << seed;
        ASSERT_TRUE(p.net.run_until([&] { return p.all_have_results(); }, 10s)) << "seed " << seed;
        ASSERT_TRUE(p.all_decided(300)) << "seed " << seed;
    }
}

TEST(Supervisor, APseudoReadoutThatIsAwayHoldsUpNothingAndGetsTheResultsWhenItComes) {
    SimulatedPartition p(1, {}, {.events = 300}, 2, 200, {.workers = 4, .depth = 2}, true);
    p.net.pause(pseudo_id);
    ASSERT_TRUE(p.net.run_until([&] { return p.supervisor->finished(); }, 10s));
    p.net.run_for(5s);
    p.net.pause(pseudo_id, false);
    ASSERT_TRUE(p.net.run_until([&] { return p.all_have_results(); }, 30s));
    EXPECT_GT(p.empty_results(), 0U);  // there was no room for all of them
    EXPECT_EQ(p.unit[0]->unit.counts().results_lost + p.unit[1]->unit.counts().results_lost, p.empty_results());
}

TEST(Supervisor, TheSameSeedDrawsTheSameRegions) {
    const auto regions_of = [](std::uint64_t seed) {
        struct Tasks final : messaging::MessageSender {
            void send(StationId, wire::DataflowType, std::span<const ConstData>) override {}
            bool send_reliably(StationId, wire::DataflowType type, std::span<const ConstData> pieces) override {
                wire::Level2Task task;
                if (type == wire::DataflowType::level2_task && decode(pieces[0], task))
                    for (const auto& event : task.events) all.push_back(event.regions);
                return true;
            }
            std::vector<std::vector<SourceId>> all;
        } tasks;
        ManualClock clock;
        Supervisor supervisor({.events = 50, .regions = 3, .seed = seed}, tasks, clock);
        supervisor.set_peers(partition(1), clock.now());
        supervisor.start_run(clock.now());
        std::vector<std::byte> bytes;
        encode(wire::AcceptCredit{100}, bytes);
        supervisor.on_message({.from = assigner_id, .type = wire::DataflowType::accept_credit, .body = bytes},
                              clock.now());
        bytes.clear();
        encode(wire::Level2Decision{.credit = 50}, bytes);
        supervisor.on_message({.from = unit_id, .type = wire::DataflowType::level2_decision, .body = bytes},
                              clock.now());
        static_cast<void>(supervisor.step(clock.now()));
        return tasks.all;
    };
    const auto first = regions_of(1);
    ASSERT_EQ(first.size(), 50U);
    EXPECT_EQ(first, regions_of(1));
    EXPECT_NE(first, regions_of(2));
    for (auto regions : first) {
        EXPECT_EQ(regions.size(), 3U);
        EXPECT_EQ(std::set<SourceId>(regions.begin(), regions.end()).size(), 3U);
    }
}

/// Every id but 4 to 6 and 10.
class SkippingTriggers final : public TriggerSource {
public:
    void start_run(SteadyTime) override { next_ = 1; }
    void resume(SteadyTime) override {}
    void collect(SteadyTime, std::size_t room) override {
        for (; room > 0 && next_ <= 20; --room) {
            if (next_ == 4) skipped_.push_back({Level1Id{4}, 3}), next_ = 7;
            if (next_ == 10) skipped_.push_back({Level1Id{10}, 1}), next_ = 11;
            ready_.push_back(next_++);
        }
    }
    std::vector<SkippedIds> take_skipped() override { return std::exchange(skipped_, {}); }
    bool due(SteadyTime) override { return !ready_.empty(); }
    wire::EventTicket take(SteadyTime) override {
        wire::EventTicket ticket;
        ticket.level1_id = Level1Id{ready_.front()};
        ready_.pop_front();
        return ticket;
    }
    std::optional<SteadyTime> next() const override { return std::nullopt; }
    bool has_times() const override { return true; }
    bool obeys_readouts() const override { return ready_.empty(); }
    TriggerCounts counts() const override { return {.received = 16, .taken = 16, .lost = 4}; }

private:
    std::uint32_t next_ = 1;
    std::deque<std::uint32_t> ready_;
    std::vector<SkippedIds> skipped_;
};

TEST(Supervisor, IdsWithoutATriggerAreClearedAndAreNoEvents) {
    SkippingTriggers triggers;
    SimulatedPartition p(1, bad_network(), {.events = 16}, 2, 200, {.workers = 4, .depth = 2}, false, &triggers);
    ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 60s));
    EXPECT_EQ(p.assigner->level1.size(), 20U);
    for (const auto id : {4U, 5U, 6U, 10U}) EXPECT_TRUE(p.assigner->rejected.contains(id)) << id;
    const auto counts = p.supervisor->counts();
    EXPECT_EQ(counts.made, 16U);
    EXPECT_EQ(counts.skipped, 4U);
    EXPECT_EQ(counts.accepted + counts.rejected, 16U);
    EXPECT_TRUE(p.supervisor->ledger().balances());
    p.net.kill(assigner_id);  // the next one has to know of them, too
    p.net.restart(assigner_id);
    ASSERT_TRUE(p.net.run_until([&] { return p.assigner->rejected.contains(5) && p.finished(); }, 60s));
    EXPECT_EQ(p.supervisor->counts().skipped, 4U);
}

TEST(Supervisor, BytesThatAreNoMessageAreCountedAndHarmNothing) {
    SimulatedPartition p(1, {}, {.events = 10}, 1);
    const std::vector<std::byte> junk(7, std::byte{0xff});
    for (int type = 0; type < 20; ++type) {
        for (const auto from : {assigner_id, unit_id, StationId{99}})
            p.supervisor->on_message({.from = from, .type = static_cast<wire::DataflowType>(type), .body = junk},
                                     p.net.clock().now());
    }
    EXPECT_EQ(p.supervisor->counts().malformed, 2U);
    ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
    EXPECT_TRUE(p.all_decided(10));
}

}  // namespace
}  // namespace weir::selection

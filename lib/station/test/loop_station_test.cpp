// SPDX-License-Identifier: Apache-2.0
#include "weir/station/loop_station.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace weir::station {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

using Calls = std::vector<std::string>;

/// Records its calls, and is idle when `idle` is set.
class Logic final : public StationLogic {
public:
    struct Plan {
        std::mutex mutex;  // calls are read while the loop's thread goes on
        Calls calls;
        std::atomic<bool> idle{true}, idle_after_force{false};
        bool refuse = false, workers_fail = false, wait_after_force = true;
        std::optional<std::thread::id> awaited_by, stopped_by;

        void add(std::string call) {
            const std::scoped_lock lock(mutex);
            calls.push_back(std::move(call));
        }
        [[nodiscard]] Calls take() {
            const std::scoped_lock lock(mutex);
            return std::exchange(calls, {});
        }
    };
    Logic(Plan& plan, messaging::StationLoop& loop, service::SharedStatus& status)
        : plan_(plan), loop_(loop), status_(status) {}

    void on_message(const messaging::IncomingMessage&, SteadyTime) override {}
    void on_peer(wire::StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime) override { return std::nullopt; }
    void publish_status() override {
        service::StationStatus status;
        status.ledger.received = runs_;
        status.ledger.stored = runs_;
        status_.write(std::move(status), plan_.idle);
    }

    Result<> set_peers(const std::vector<Peer>& peers, SteadyTime) override {
        plan_.add("peers " + std::to_string(peers.size()));
        return {};
    }
    Result<> prepare_run(RunNumber, bool again) override {
        plan_.add(again ? "prepare again" : "prepare");
        return plan_.refuse ? fail(Errc::refused, "not this run") : Result<>{};
    }
    Result<> await_workers() override {
        plan_.awaited_by = std::this_thread::get_id();
        return plan_.workers_fail ? fail(Errc::refused, "a worker is off") : Result<>{};
    }
    void start_run(RunNumber, SteadyTime) override {
        ++runs_;
        plan_.add("start");
    }
    void pause() override { plan_.add("pause"); }
    void resume(SteadyTime) override { plan_.add("resume"); }
    void drain() override { plan_.add("drain"); }
    bool force(SteadyTime) override {
        plan_.add("force");
        if (plan_.idle_after_force) plan_.idle = true;
        return plan_.wait_after_force;
    }
    void stop_workers(bool idle, std::chrono::milliseconds) override {
        plan_.stopped_by = std::this_thread::get_id();
        EXPECT_FALSE(loop_.running());
        plan_.add(idle ? "stop workers" : "stop workers in time");
    }
    void end_run() override { plan_.add("end"); }
    service::StationEvents events() const override { return {{"seen", service::EventIds{}}}; }

private:
    Plan& plan_;
    messaging::StationLoop& loop_;
    service::SharedStatus& status_;
    std::uint64_t runs_ = 0;
};

class LoopStationTest : public ::testing::Test {
protected:
    static LoopStationOptions options() {
        LoopStationOptions made{.name = "dfm", .id = wire::StationId{1}, .loop = {.thread = "dfm"}};
        made.loop.loop.endpoint.self = made.id;
        made.loop.loop.endpoint.epoch = wire::Epoch{1};
        return made;
    }
    LoopStation::Open open() {
        return [this]() -> Result<LoopStation::MakeLogic> {
            if (!there) return fail(Errc::usage, "no such plug-in");
            return [this](messaging::StationLoop& loop, service::SharedStatus& status) {
                return std::make_unique<Logic>(plan, loop, status);
            };
        };
    }
    void connect() {
        ASSERT_TRUE(station.configure());
        ASSERT_TRUE(station.connect({station.self()}));
    }

    const SystemClock clock;
    Logic::Plan plan;
    bool there = true;
    LoopStation station{options(), open(), clock};
};

TEST_F(LoopStationTest, EachTransitionReachesTheLogicInItsOrder) {
    connect();
    ASSERT_TRUE(station.start(RunNumber{1}));
    ASSERT_TRUE(station.pause());
    ASSERT_TRUE(station.resume());
    ASSERT_TRUE(station.change_peers({}));
    EXPECT_EQ(station.status().ledger.received, 1U);
    EXPECT_EQ(station.events().size(), 1U);
    ASSERT_TRUE(station.stop(120s));
    EXPECT_THAT(plan.take(), ElementsAre("peers 1", "prepare", "start", "pause", "resume", "peers 0", "drain",
                                         "stop workers", "end"));
    EXPECT_EQ(plan.stopped_by, std::this_thread::get_id());
    ASSERT_TRUE(station.start_again(RunNumber{2}));
    ASSERT_TRUE(station.stop(120s));
    EXPECT_THAT(plan.take(), ElementsAre("prepare again", "start", "drain", "stop workers", "end"));
    ASSERT_TRUE(station.disconnect());
    EXPECT_TRUE(station.events().empty());
    ASSERT_TRUE(station.unconfigure());
    EXPECT_TRUE(station.self().dataflow.empty());
    EXPECT_EQ(station.status().ledger.received, 2U) << "the account is there until the process ends";
    connect();
    EXPECT_EQ(station.status().ledger.received, 0U);
}

TEST_F(LoopStationTest, WhatIsInHandAtNineTenthsOfTheDeadlineIsDecidedByForceAndWaitedFor) {
    connect();
    plan.idle = false;
    plan.idle_after_force = true;
    ASSERT_TRUE(station.start(RunNumber{1}));
    const auto before = std::chrono::steady_clock::now();
    ASSERT_TRUE(station.stop(500ms));
    EXPECT_GE(std::chrono::steady_clock::now() - before, 450ms);
    EXPECT_THAT(plan.take(), ElementsAre("peers 1", "prepare", "start", "drain", "force", "stop workers", "end"));
}

TEST_F(LoopStationTest, AtTheDeadlineTheRunEndsWhateverIsInHand) {
    connect();
    plan.idle = false;
    for (const bool waits : {true, false}) {
        plan.wait_after_force = waits;
        ASSERT_TRUE(station.start(RunNumber{1}));
        ASSERT_TRUE(station.stop(50ms));
        EXPECT_THAT(plan.take(), testing::Contains("stop workers in time"));
    }
}

TEST_F(LoopStationTest, ARunThatTheLogicRefusesDoesNotBeginAndTheNextMay) {
    connect();
    plan.refuse = true;
    EXPECT_EQ(station.start(RunNumber{1}).error().code, Errc::refused);
    EXPECT_THAT(plan.take(), ElementsAre("peers 1", "prepare"));
    plan.refuse = false;
    EXPECT_EQ(plan.awaited_by, std::nullopt);
    plan.workers_fail = true;
    EXPECT_EQ(station.start(RunNumber{1}).error().code, Errc::refused);
    EXPECT_THAT(plan.take(), ElementsAre("prepare"));
    EXPECT_EQ(plan.awaited_by, std::this_thread::get_id());
    plan.workers_fail = false;
    EXPECT_TRUE(station.start(RunNumber{1}));  // and is destroyed as it is
}

TEST_F(LoopStationTest, WhatCannotBeOpenedIsAnErrorOfConfigureAndMayBeTriedAgain) {
    there = false;
    EXPECT_EQ(station.configure().error().code, Errc::usage);
    EXPECT_TRUE(station.self().dataflow.empty());
    there = true;
    connect();
    EXPECT_FALSE(station.self().dataflow.empty());
}

}  // namespace
}  // namespace weir::station

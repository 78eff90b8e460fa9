// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/readout_station.hpp"

#include <gtest/gtest.h>

#include <future>
#include <semaphore>

#include "sample.hpp"
#include "weir/service/report_sinks.hpp"
#include "weir/service/reports.hpp"

namespace weir::readout {
namespace {

using namespace std::chrono_literals;
using wire::RobState;
using wire::StationId;

constexpr StationId readout_id{1}, asker_id{2};

/// A station that asks, on sockets of its own.
class Asker final : public messaging::MessageHandler {
public:
    explicit Asker(const std::string& readout, RunNumber run) {
        static std::uint64_t processes = 0;  // each is another process of this station
        messaging::MessageLoopOptions options;
        options.endpoint.self = asker_id;
        options.endpoint.epoch = wire::Epoch{++processes};
        loop_ = messaging::MessageLoop::open(options, pool_, clock_).value();
        EXPECT_TRUE(loop_
                        ->set_peers({{.id = readout_id,
                                      .address = transport::parse_host_port(readout).value(),
                                      .link = messaging::LinkKind::udp,
                                      .watched = true}})
                        .has_value());
        loop_->endpoint().set_run(run);
        thread_ = NamedThread(nullptr, "asker", [this](const std::stop_token& stop) { loop_->run(stop, *this); });
    }
    ~Asker() override {
        thread_.request_stop();
        thread_.join();
    }
    [[nodiscard]] Peer peer() const {
        return {.name = "dfm",
                .kind = StationKind::assign,
                .id = asker_id,
                .dataflow = "127.0.0.1:" + std::to_string(loop_->port()),
                .events = {},
                .sources = {}};
    }

    void request(Level1Id event) {
        loop_->call([this, event] {
            std::vector<std::byte> bytes;
            wire::encode(
                wire::DataRequest{.request = 1, .kind = wire::RequestKind::building, .events = {event}, .robs = {}},
                bytes);
            loop_->endpoint().send(readout_id, wire::DataflowType::data_request, ConstData(bytes));
        });
    }
    /// Asks until an answer comes.
    wire::DataHead ask(Level1Id event) {
        for (int attempt = 0; attempt < 400; ++attempt) {
            request(event);
            if (answered_.try_acquire_for(50ms)) {
                const std::scoped_lock lock(mutex_);
                return head_;
            }
        }
        ADD_FAILURE() << "no answer";
        return {};
    }
    void clear(Level1Id oldest) {
        for (bool reliable = false; !reliable; std::this_thread::yield()) {
            std::promise<bool> done;
            loop_->call([&] {
                std::vector<std::byte> bytes;
                wire::encode(wire::Clear{.oldest = oldest, .events = {}}, bytes);
                done.set_value(
                    loop_->endpoint().send_reliably(readout_id, wire::DataflowType::clear, ConstData(bytes)));
            });
            reliable = done.get_future().get();
        }
    }

    void on_message(const messaging::IncomingMessage& message, SteadyTime) override {
        wire::DataView view;
        ASSERT_TRUE(wire::decode(message.body, view).has_value());
        {
            const std::scoped_lock lock(mutex_);
            head_ = view.head;
        }
        answered_.release();
    }
    void on_peer(StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime) override { return std::nullopt; }

private:
    SystemClock clock_;
    memory::BufferPool pool_{Bytes{16 << 20}};
    std::unique_ptr<messaging::MessageLoop> loop_;
    std::mutex mutex_;
    wire::DataHead head_;
    std::counting_semaphore<> answered_{0};
    NamedThread thread_;
};

class ReadoutOverSockets : public testing::Test {
protected:
    static ReadoutStationOptions options() {
        ReadoutStationOptions options;
        options.id = options.loop.endpoint.self = readout_id;
        options.store.events_max = 128;
        options.generator.robs = 4;
        return options;
    }
    SystemClock clock;
    service::Reports reports{"ros-1", clock, {}};
};

TEST_F(ReadoutOverSockets, ServesRunAfterRunOverRealSocketsAndItsLedgerBalances) {
    ReadoutStation station(options(), reports.reporter(), clock);
    ASSERT_TRUE(station.configure().has_value());
    EXPECT_EQ(station.self().sources.size(), 4U);
    ASSERT_TRUE(station.connect({}).has_value());
    for (const auto run : {RunNumber{5}, RunNumber{6}}) {
        ASSERT_TRUE(station.start(run).has_value());
        Asker asker(station.self().dataflow, run);
        ASSERT_TRUE(station.change_peers({asker.peer()}).has_value());
        while (station.status().counters["events_held"] < 128) std::this_thread::yield();
        EXPECT_EQ(asker.ask(Level1Id{1}).robs.size(), 4U);
        asker.clear(Level1Id{100});
        while (station.status().ledger.stored < 99 * 4) std::this_thread::yield();
        EXPECT_EQ(asker.ask(Level1Id{99}).robs.at(0).state, RobState::cleared);
        while (asker.ask(Level1Id{200}).robs.at(0).state != RobState::here) std::this_thread::yield();
        EXPECT_TRUE(station.status().ledger.balances());
        ASSERT_TRUE(station.stop(1s).has_value());
        const auto ledger = station.status().ledger;
        EXPECT_EQ(ledger.in_hand, 0U);
        EXPECT_EQ(ledger.received, ledger.stored + ledger.rejected.at("made_ahead"));
        EXPECT_TRUE(ledger.balances());
    }
    ASSERT_TRUE(station.disconnect().has_value());
    ASSERT_TRUE(station.unconfigure().has_value());
    EXPECT_TRUE(reports.alarms().empty());
}

TEST_F(ReadoutOverSockets, StopEndsWhileHandlersWaitForDataThatNeverComes) {
    for (const auto strategy : {WaitStrategy::yield, WaitStrategy::spin, WaitStrategy::park}) {
        auto slow = options();
        slow.latency = 1h;
        slow.handlers = {.handlers = 2, .strategy = strategy, .wait_max = 1h};
        ReadoutStation station(slow, reports.reporter(), clock);
        ASSERT_TRUE(station.configure().has_value());
        ASSERT_TRUE(station.connect({}).has_value());
        ASSERT_TRUE(station.start(RunNumber{1}).has_value());
        Asker asker(station.self().dataflow, RunNumber{1});
        ASSERT_TRUE(station.change_peers({asker.peer()}).has_value());
        EXPECT_EQ(asker.ask(Level1Id{1'000'000}).robs.at(0).state,
                  RobState::not_yet);  // outside the window: not waited for
        for (std::uint32_t event = 1; station.status().counters["handler_waits"] < 2; event = event % 100 + 1) {
            asker.request(Level1Id{event});
            std::this_thread::sleep_for(1ms);
        }
        const auto began = clock.now();
        ASSERT_TRUE(station.stop(1s).has_value());
        EXPECT_LT(clock.now() - began, 5s);
        ASSERT_TRUE(station.disconnect().has_value());
    }
}

TEST_F(ReadoutOverSockets, WhatCannotBeServedIsReportedAtConfigure) {
    auto absent = options();
    absent.feed = FeedKind::file;
    absent.replay.file = "/nowhere.raw";
    EXPECT_NE(ReadoutStation(absent, reports.reporter(), clock).configure().error().message().find("/nowhere.raw"),
              std::string::npos);
    auto no_input = options();
    no_input.feed = FeedKind::network;
    EXPECT_EQ(ReadoutStation(no_input, reports.reporter(), clock).configure().error().code, Errc::usage);
    auto twice = options();
    twice.sources = {SourceId{0x10}, SourceId{0x10}};
    EXPECT_EQ(ReadoutStation(twice, reports.reporter(), clock).configure().error().code, Errc::usage);
    auto small = options();
    small.store.bytes_max = Bytes{4096};
    small.generator.rob_size = Bytes{10'000};
    EXPECT_EQ(ReadoutStation(small, reports.reporter(), clock).configure().error().code, Errc::usage);
    ReadoutStation first(options(), reports.reporter(), clock);
    ASSERT_TRUE(first.configure().has_value());
    auto taken = options();
    taken.loop.listen = transport::parse_host_port(first.self().dataflow).value();
    EXPECT_FALSE(ReadoutStation(taken, reports.reporter(), clock).configure().has_value());
}

class RealStation : public event::RealFile {};

TEST_F(RealStation, AFileWhoseSourcesCountInAnotherWayThanConfiguredRaisesAnAlarm) {
    SystemClock clock;
    service::Reports reports{"ros-1", clock, {}};
    ReadoutStationOptions options;
    options.loop.endpoint.self = options.id;
    options.feed = FeedKind::file;
    options.format = event::Format::event_3_0;
    options.replay.file = event::test_data_folder() / "bes3/run_0091668_SFO-1_10events.raw";
    ReadoutStation plain(options, reports.reporter(), clock);
    ASSERT_TRUE(plain.configure().has_value());
    EXPECT_EQ(plain.self().sources.size(), 42U);
    ASSERT_EQ(reports.alarms().size(), 1U);
    EXPECT_EQ(reports.alarms()[0].name, "level1_mismatch");
    EXPECT_EQ(reports.alarms()[0].raised, 2U);  // two sources
    auto wrong_format = options;
    wrong_format.format = event::Format::event_5_0;
    EXPECT_EQ(ReadoutStation(wrong_format, reports.reporter(), clock).configure().error().code, Errc::usage);
}

}  // namespace
}  // namespace weir::readout

// SPDX-License-Identifier: Apache-2.0
#include "weir/delivery/sender_group.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "weir/memory/buffer_pool.hpp"

namespace weir::delivery {
namespace {

using namespace std::chrono_literals;

struct RecorderStandIn final : EventSink {
    explicit RecorderStandIn(std::uint16_t port = 0) {
        ReceiverOptions options;
        options.listen.port = port;
        options.threads = 1;
        receiver = Receiver::open(options, pool, *this).value();
        receiver->start();
    }
    std::optional<Refusal> hello(LaneId, const wire::Hello&) override { return std::nullopt; }
    Taken take(IncomingEvent& event) override {
        const auto taken = std::move(event);
        return Taken::yes;
    }
    memory::BufferPool pool{64_MiB};
    std::unique_ptr<Receiver> receiver;
};

/// Two recorders at addresses where nobody listens at first. The time of look_after() is the test's.
struct RecorderOutputTest : testing::Test {
    std::vector<std::string> remarks;
    RecorderOutput output{{.name = "ef-1", .run = RunNumber{1}, .format = wire::EventFormat::opaque, .move_after = 60s},
                          [](Answer, std::optional<wire::RejectReason>) {},
                          [this](std::string text) { remarks.push_back(std::move(text)); }};
    SteadyTime now{1h};
    std::uint16_t ports[2] = {};

    void SetUp() override {
        {
            const RecorderStandIn one, two;
            ports[0] = one.receiver->port();
            ports[1] = two.receiver->port();
        }
        const auto peer = [&](int i) {
            return Peer{.name = "rec-" + std::to_string(i + 1),
                        .kind = StationKind::record,
                        .id = wire::StationId{static_cast<std::uint16_t>(i + 1)},
                        .events = "127.0.0.1:" + std::to_string(ports[i])};
        };
        ASSERT_TRUE(output.set_recorders({peer(0), peer(1)}));
    }
    void pass(std::chrono::seconds time) {
        for (auto passed = 0s; passed < time; ++passed) output.look_after(now += 1s);
    }
    [[nodiscard]] bool connected() const {
        const auto until = std::chrono::steady_clock::now() + 30s;
        while (output.stats().connected != 1 && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(1ms);
        return output.stats().connected == 1;
    }
};

TEST_F(RecorderOutputTest, OnlyTimeInWhichAnotherRecorderIsConnectedMakesOneLost) {
    pass(70s);
    const RecorderStandIn back(ports[0]);
    ASSERT_TRUE(connected());
    pass(59s);
    EXPECT_TRUE(remarks.empty()) << remarks.front();
    pass(2s);
    ASSERT_EQ(remarks.size(), 1U);
    EXPECT_NE(remarks[0].find("recorder rec-2 is away for 60000 ms"), std::string::npos) << remarks[0];
}

TEST_F(RecorderOutputTest, AStandstillOfTheFilterDoesNotMakeARecorderLost) {
    const RecorderStandIn there(ports[0]);
    ASSERT_TRUE(connected());
    output.look_after(now);
    output.look_after(now += 10min);
    EXPECT_TRUE(remarks.empty()) << remarks.front();
}

}  // namespace
}  // namespace weir::delivery

// SPDX-License-Identifier: Apache-2.0
#include "recorder_output.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "weir/memory/buffer_pool.hpp"
#include "weir/transport/reserved_port.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;

struct RecorderStandIn final : delivery::EventSink {
    explicit RecorderStandIn(const transport::ReservedPort& at) {
        const auto lent = at.lend();
        delivery::ReceiverOptions options;
        options.listen = at.address();
        options.threads = 1;
        receiver = delivery::Receiver::open(options, pool, *this).value();
        receiver->start();
    }
    std::optional<delivery::Refusal> hello(delivery::LaneId, const wire::Hello&) override { return std::nullopt; }
    delivery::Taken take(delivery::IncomingEvent& event) override {
        const auto taken = std::move(event);
        return delivery::Taken::yes;
    }
    memory::BufferPool pool{64_MiB};
    std::unique_ptr<delivery::Receiver> receiver;
};

/// Two recorders at addresses where nobody listens at first. The time of look_after() is the test's.
struct RecorderOutputTest : testing::Test {
    std::vector<std::string> remarks;
    RecorderOutput output{{.name = "ef-1", .run = RunNumber{1}, .format = wire::EventFormat::opaque, .move_after = 60s},
                          [](delivery::Answer, std::optional<wire::RejectReason>) {},
                          [this](std::string text) { remarks.push_back(std::move(text)); }};
    SteadyTime now{1h};
    const transport::ReservedPort ports[2] = {transport::ReservedPort::take({"127.0.0.1", 0}).value(),
                                              transport::ReservedPort::take({"127.0.0.1", 0}).value()};

    void SetUp() override {
        const auto peer = [&](int i) {
            return Peer{.name = "rec-" + std::to_string(i + 1),
                        .kind = StationKind::record,
                        .id = wire::StationId{static_cast<std::uint16_t>(i + 1)},
                        .events = transport::to_string(ports[i].address())};
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
}  // namespace weir::selection

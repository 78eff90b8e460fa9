// SPDX-License-Identifier: Apache-2.0
// Fragments from real senders over real sockets into the buffers of a run.
#include "intake/fragment_server.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "store_sample.hpp"
#include "weir/base/testing/eventually.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/event/fragment.hpp"

namespace weir::readout {
namespace {

using namespace std::chrono_literals;
using weir::testing::eventually;

class Server : public ::testing::Test {
protected:
    Server()
        : server(FragmentServer::open(
                     {}, store.largest(),
                     [this](const Report& report) {
                         const std::scoped_lock lock(mutex);
                         reports.push_back(report.what + ": " + report.why);
                     },
                     clock)
                     .value()) {
        server->start_run(RunNumber{9}, intake);
    }
    ~Server() override {
        store.stop_waiting();
        server->end_run();
    }

    std::unique_ptr<delivery::Sender> front_end(const std::string& name) {
        delivery::SenderOptions options;
        options.host = server->address();
        options.name = name;
        options.join_run = true;
        options.format = wire::EventFormat::fragments;
        options.backoff_first = 5ms;
        options.on_refused = [this](Sequence, std::span<const wire::Refusal> records) { refused += records.size(); };
        return delivery::Sender::open(std::move(options)).value();
    }
    static std::vector<std::byte> block(std::uint32_t first, std::uint32_t last, SourceId source,
                                        std::string_view payload = "weir") {
        std::vector<std::byte> bytes;
        for (auto id = first; id <= last; ++id)
            wire::encode(
                wire::InputFragment{
                    .source = source, .level1_id = Level1Id{id}, .status_words = {}, .payload = as_data(payload)},
                bytes);
        return bytes;
    }

    SystemClock clock;
    RobStore store{sample_options()};
    FragmentIntake intake{store, {.run = RunNumber{9}}, {}};
    std::atomic<std::size_t> refused{0};
    std::mutex mutex;
    std::vector<std::string> reports;
    std::unique_ptr<FragmentServer> server;
};

TEST_F(Server, ManyMoreFragmentsThanThereIsRoomForComeInAsEventsAreCleared) {
    const auto first = front_end("board-1"), second = front_end("board-2");
    for (std::uint32_t id = 1; id <= 1000; id += 10) {
        ASSERT_TRUE(first->send({}, block(id, id + 9, SourceId{0x10}, "first")).has_value());
        ASSERT_TRUE(second->send({}, block(id, id + 9, SourceId{0x11}, "second")).has_value());
    }
    for (std::uint32_t id = 1; id <= 1000; ++id) {
        ASSERT_TRUE(
            store.wait_until_ready(Level1Id{id}, std::vector{SourceId{0x10}, SourceId{0x11}}, clock.now() + 60s))
            << id;
        EXPECT_LE(store.events_held(), 129U);
        const auto asked = ask(store, id, {0x10});
        const auto rob =
            event::FragmentView::parse(as_data(asked.data), event::Level::rob, event::Format::event_5_0).value();
        EXPECT_EQ(as_text(event::RodView::parse(rob.payload()).value().data()).substr(0, 5), "first");
        clear(store, {id});
    }
    EXPECT_TRUE(first->flush(10s).value());
    EXPECT_TRUE(second->flush(10s).value());
    const auto counts = store.ledger().counts();
    EXPECT_EQ(counts.received, 2000U);
    EXPECT_EQ(counts.stored, 2000U);
    EXPECT_EQ(refused, 0U);
}

TEST_F(Server, AFrontEndWithoutRoomWaitsAndTheOthersGoOn) {
    const auto far = front_end("far"), near = front_end("near");
    for (std::uint32_t id = 1; id <= 500; id += 10)
        ASSERT_TRUE(far->send({}, block(id, id + 9, SourceId{0x10})).has_value());
    ASSERT_TRUE(eventually([&] { return server->stats().waiting == 1; }));
    ASSERT_TRUE(near->send({}, block(1, 64, SourceId{0x11})).has_value());
    EXPECT_TRUE(near->flush(10s).value());
    EXPECT_FALSE(far->flush(20ms).value());
    EXPECT_EQ(intake.counts()[1].arrived, 64U);
}

TEST_F(Server, AtTheEndOfARunFragmentsThatFoundNoRoomAreRefusedAndCounted) {
    const auto far = front_end("far");
    ASSERT_TRUE(far->send({}, block(1, 100, SourceId{0x10})).has_value());
    ASSERT_TRUE(eventually([&] { return server->stats().waiting == 1; }));
    store.stop_waiting();
    server->end_run();
    ASSERT_TRUE(eventually([&] { return far->failure().has_value(); }));
    EXPECT_EQ(refused, 36U);
    EXPECT_EQ(rejected(store, RobReject::stopping), 36U);
    EXPECT_EQ(store.ledger().counts().received, 100U);
    server->start_run(RunNumber{10}, intake);
    const auto next = front_end("far");
    ASSERT_TRUE(next->send({}, block(1, 1, SourceId{0x10})).has_value());
    EXPECT_TRUE(next->flush(10s).value());
    EXPECT_EQ(rejected(store, RobReject::duplicate), 1U);
}

TEST_F(Server, AFragmentOfAnUnknownSourceIsRefusedAndTheSourceIsNamed) {
    const auto board = front_end("board-1");
    ASSERT_TRUE(board->send({}, block(1, 3, SourceId{0x99})).has_value());
    EXPECT_TRUE(eventually([&] { return refused == 3; }));
    const std::scoped_lock lock(mutex);
    ASSERT_EQ(reports.size(), 2U) << "the first, and the second";
    EXPECT_EQ(reports[0],
              "a fragment of source 0x000099 was refused: this readout has no such source (1 fragments of "
              "such in this run)");
}

}  // namespace
}  // namespace weir::readout

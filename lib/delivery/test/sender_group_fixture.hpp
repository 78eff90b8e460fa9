// SPDX-License-Identifier: Apache-2.0
// A SenderGroup whose receivers are real. The time of look_after() is the test's.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "end_to_end.hpp"
#include "weir/delivery/sender_group.hpp"
#include "weir/transport/reserved_port.hpp"

namespace weir::delivery::test {

struct SenderGroupTest : ::testing::Test {
    struct Event {
        std::uint64_t id;
        std::string bytes;
    };

    SenderGroup& open(SenderGroupOptions options = {}) {
        options.sender.name = "sender-1";
        options.sender.run = run;
        options.sender.backoff_first = 2ms;
        options.sender.backoff_last = 20ms;
        return group.emplace(
            options,
            [this](const std::shared_ptr<const void>& owner, std::optional<wire::RejectReason> rejected) {
                const std::scoped_lock lock(mutex);
                finals[static_cast<const Event*>(owner.get())->id].push_back(rejected);
            },
            [this](const Report& report) {
                const std::scoped_lock lock(mutex);
                reports.push_back(report.what);
            });
    }

    static Peer peer(int number, std::uint16_t port) {
        return {.name = "rec-" + std::to_string(number),
                .kind = StationKind::record,
                .events = "127.0.0.1:" + std::to_string(port)};
    }
    static Peer peer(int number, const Recorder& recorder) { return peer(number, recorder.receiver->port()); }
    static Peer peer(int number, const transport::ReservedPort& port) { return peer(number, port.address().port); }

    /// A receiver at a port that no other program gets when it is gone.
    static std::unique_ptr<Recorder> at(const transport::ReservedPort& port, bool answers = true) {
        const auto lent = port.lend();
        ReceiverOptions options;
        options.listen = port.address();
        auto recorder = std::make_unique<Recorder>(options);
        recorder->sink.answers = answers;
        recorder->start();
        return recorder;
    }
    static transport::ReservedPort reserve() { return transport::ReservedPort::take({"127.0.0.1", 0}).value(); }

    /// By whom it is kept alive.
    static Piece payload(std::uint64_t id, std::size_t size = 20) {
        const auto event = std::make_shared<const Event>(id, std::string(size, 'x'));
        return {as_data(event->bytes), event};
    }
    bool give(std::uint64_t id, std::size_t size = 20) {
        const auto piece = payload(id, size);
        return group->try_send(described(id), std::span(&piece, 1));
    }
    void give_all(std::uint64_t first, std::uint64_t last, std::size_t size = 20) {
        for (auto id = first; id <= last; ++id) ASSERT_TRUE(give(id, size));
    }
    void pass(std::chrono::seconds time) {
        for (auto passed = 0s; passed < time; ++passed) group->look_after(now += 1s);
    }
    bool connected(std::uint64_t receivers) {
        return eventually([&] { return group->stats().connected == receivers; });
    }
    bool all_final(std::size_t events) {
        return eventually([&] {
            const std::scoped_lock lock(mutex);
            return finals.size() == events;
        });
    }
    std::size_t final_events() {
        const std::scoped_lock lock(mutex);
        return finals.size();
    }
    void expect_each_ended_once() {
        const std::scoped_lock lock(mutex);
        for (const auto& [id, ends] : finals) EXPECT_EQ(ends.size(), 1U) << "event " << id;
    }
    void expect_balance() const {
        const auto stats = group->stats();
        EXPECT_EQ(stats.accepted, stats.acknowledged + sum(stats.rejected) + stats.held + stats.released);
    }

    std::mutex mutex;
    std::map<std::uint64_t, std::vector<std::optional<wire::RejectReason>>> finals;
    std::vector<std::string> reports;
    SteadyTime now{1h};
    std::optional<SenderGroup> group;  // the last member: its threads call into the others
};

}  // namespace weir::delivery::test

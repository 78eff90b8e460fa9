// SPDX-License-Identifier: Apache-2.0
// A builder with two readouts, of which a test is the peers and the output.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sent_messages.hpp"
#include "weir/building/builder.hpp"
#include "weir/event/rob_builder.hpp"

namespace weir::building {

using namespace std::chrono_literals;
using wire::DataflowType;
using wire::RobState;

inline constexpr wire::StationId dfm{1}, ros1{2}, ros2{3};
inline constexpr SourceId source_a{0x510000}, source_b{0x510001}, source_c{0x520000};

class KeepingSink final : public BuiltSink {
public:
    bool take(std::unique_ptr<BuiltEvent>& event) override {
        if (full) return false;
        events.push_back(std::move(event));
        return true;
    }
    bool full = false;
    std::vector<std::unique_ptr<BuiltEvent>> events;
};

struct BuilderTest : testing::Test {
    SentMessages sent;
    memory::BufferPool pool{64_MiB};
    KeepingSink sink;
    BuilderOptions options;
    std::vector<std::string> reports;
    std::unique_ptr<Builder> builder;
    SteadyTime now{1h};
    std::size_t rob_words = 20;  // of data, in an answer

    void SetUp() override { make(); }
    void make() {
        builder = std::make_unique<Builder>(options, sent, pool, sink,
                                            [this](const Report& report) { reports.push_back(report.what); });
        builder->set_peers(
            {{.name = "dfm", .kind = StationKind::assign, .id = dfm},
             {.name = "ros-1", .kind = StationKind::readout, .id = ros1, .sources = {source_a, source_b}},
             {.name = "ros-2", .kind = StationKind::readout, .id = ros2, .sources = {source_c}}},
            now);
        builder->start_run(RunNumber{7});
    }
    void step(std::chrono::milliseconds by = 0ms) {
        now += by;
        static_cast<void>(builder->step(now));
    }
    void assign(std::uint32_t id, std::uint32_t count = 1) {
        wire::Assign message;
        for (std::uint32_t i = 0; i < count; ++i) {
            wire::EventTicket ticket;
            ticket.global_id = GlobalEventId{id + i};
            ticket.level1_id = Level1Id{id + i};
            message.events.push_back(ticket);
        }
        give(*builder, dfm, DataflowType::assign, message, now);
        step();
    }
    static std::vector<std::byte> rob(SourceId source, std::uint32_t level1, std::size_t words = 20) {
        std::vector<std::byte> bytes;
        std::vector<std::uint32_t> data(words);
        for (std::size_t i = 0; i < words; ++i)
            data[i] = number(source) * 1000 + level1 * 100 + static_cast<std::uint32_t>(i);
        EXPECT_TRUE(
            event::append_rob(bytes, {.source = source, .run = RunNumber{7}, .level1_id = Level1Id{level1}}, data));
        return bytes;
    }
    /// Answers an event at a readout; a source with another state has no bytes.
    void answer(wire::StationId from, std::uint64_t request, std::uint32_t event, RobState state = RobState::here,
                std::uint32_t level1_in_rod = 0) {
        std::vector<std::pair<SourceId, RobState>> robs{{source_c, state}};
        if (from == ros1) robs = {{source_a, state}, {source_b, state}};
        answer_each(from, request, event, robs, level1_in_rod);
    }
    void answer_each(wire::StationId from, std::uint64_t request, std::uint32_t event,
                     const std::vector<std::pair<SourceId, RobState>>& states, std::uint32_t level1_in_rod = 0) {
        wire::DataHead head{.request = request, .level1_id = Level1Id{event}};
        std::vector<std::byte> robs;
        for (const auto& [source, state] : states) {
            const auto bytes = rob(source, level1_in_rod == 0 ? event : level1_in_rod, rob_words);
            const bool here = state == RobState::here;
            head.robs.push_back(
                {.source = source, .state = state, .size = here ? static_cast<std::uint32_t>(bytes.size()) : 0});
            if (here) robs.insert(robs.end(), bytes.begin(), bytes.end());
        }
        std::vector<std::byte> message;
        encode(head, message);
        message.insert(message.end(), robs.begin(), robs.end());
        builder->on_message({.from = from, .type = DataflowType::data, .run = RunNumber{7}, .body = message}, now);
    }
    /// Answers everything that was asked for.
    void answer_all(RobState state = RobState::here) {
        for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
            for (const auto event : request.events) answer(to, request.request, number(event), state);
        }
    }
    std::vector<wire::EventEnd> outcomes_sent() {
        std::vector<wire::EventEnd> all;
        for (auto& [to, message] : sent.take<wire::Built>(DataflowType::built))
            all.insert(all.end(), message.events.begin(), message.events.end());
        return all;
    }
};

}  // namespace weir::building

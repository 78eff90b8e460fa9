// SPDX-License-Identifier: Apache-2.0
#include "weir/building/builder.hpp"

#include <gtest/gtest.h>

#include <map>

#include "sent_messages.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/rob_builder.hpp"
#include "weir/event/rob_cursor.hpp"

namespace weir::building {
namespace {

using namespace std::chrono_literals;
using wire::DataflowType;
using wire::RobState;

constexpr wire::StationId dfm{1}, ros1{2}, ros2{3};
constexpr SourceId source_a{0x510000}, source_b{0x510001}, source_c{0x520000};

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
        wire::DataHead head{.request = request, .level1_id = Level1Id{event}};
        std::vector<std::byte> robs;
        for (const auto source : from == ros1 ? std::vector{source_a, source_b} : std::vector{source_c}) {
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

TEST_F(BuilderTest, AnEventIsBuiltOfEveryRobBitForBit) {
    assign(5);
    answer_all();
    ASSERT_EQ(sink.events.size(), 1U);
    const auto bytes = sink.events[0]->pieces.to_bytes();
    const auto view = event::EventView::parse(bytes, event::Format::event_5_0);
    ASSERT_TRUE(view) << view.error().message();
    EXPECT_EQ(view->ids().level1_id, Level1Id{5});
    EXPECT_EQ(view->ids().run, RunNumber{7});
    std::vector<std::byte> expected;
    for (const auto source : {source_a, source_b, source_c}) {
        const auto one = rob(source, 5);
        expected.insert(expected.end(), one.begin(), one.end());
    }
    EXPECT_TRUE(std::ranges::equal(view->payload(), expected));
    EXPECT_EQ(view->status(), 0U);
}

TEST_F(BuilderTest, SeveralEventsAreAskedForInOneMessage) {
    assign(1, 8);
    const auto requests = sent.take<wire::DataRequest>(DataflowType::data_request);
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[0].second.events.size(), 8U);
}

TEST_F(BuilderTest, AFinalEventIsReportedToTheDfmOnceAndGivesCredit) {
    step();
    auto credit = sent.take<wire::Built>(DataflowType::built);
    ASSERT_FALSE(credit.empty());
    EXPECT_EQ(credit.back().second.credit, options.events_max);
    assign(1, 2);
    answer_all();
    ASSERT_EQ(sink.events.size(), 2U);
    EXPECT_TRUE(outcomes_sent().empty());  // not final yet
    builder->ended(sink.events[0]->ticket, false, wire::EventOutcome::stored, "");
    builder->ended(sink.events[1]->ticket, false, wire::EventOutcome::rejected, "not_selected");
    step();
    const auto built = sent.take<wire::Built>(DataflowType::built);
    ASSERT_EQ(built.size(), 1U);
    EXPECT_EQ(built[0].second.credit, options.events_max + 2);
    EXPECT_EQ(built[0].second.events.size(), 2U);
    EXPECT_TRUE(builder->ledger().balances());
    EXPECT_EQ(builder->ledger().rejected.at("not_selected"), 1U);
}

TEST_F(BuilderTest, ALostAnswerIsReRequested) {
    assign(1);
    const auto first = sent.take<wire::DataRequest>(DataflowType::data_request);
    ASSERT_EQ(first.size(), 2U);
    answer(first[0].first, first[0].second.request, 1);
    for (int i = 0; i < 100 && sink.events.empty(); ++i) {
        step(5ms);
        answer_all();
    }
    ASSERT_EQ(sink.events.size(), 1U);
    EXPECT_EQ(sink.events[0]->robs_lost, 0U);
    EXPECT_EQ(builder->counts().re_requested, 1U);
}

TEST_F(BuilderTest, WhileAReadoutAnswersInTurnNothingIsReRequested) {
    assign(1, 16);
    std::map<wire::StationId, std::vector<std::pair<std::uint64_t, std::uint32_t>>> asked;
    for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
        for (const auto event : request.events) asked[to].emplace_back(request.request, number(event));
    }
    for (std::size_t i = 0; i < 16; ++i) {
        for (int ms = 0; ms < 5; ++ms) step(1ms);
        for (const auto& [to, all] : asked) answer(to, all.at(i).first, all.at(i).second);
    }
    EXPECT_EQ(sink.events.size(), 16U);
    EXPECT_EQ(builder->counts().re_requested, 0U);
}

TEST_F(BuilderTest, TheTimeInWhichTheBuilderStoodStillIsNotTheReadouts) {
    assign(1);
    step(100ms);  // the answers lie in the socket
    EXPECT_EQ(builder->counts().re_requested, 0U);
    answer_all();
    EXPECT_EQ(sink.events.size(), 1U);
    EXPECT_EQ(builder->counts().late_or_double, 0U);
}

TEST_F(BuilderTest, AnAnswerThatThreeLaterOnesOvertookIsReRequestedAtOnce) {
    assign(1, 8);
    const auto requests = sent.take<wire::DataRequest>(DataflowType::data_request);
    const auto& [to, request] = requests.at(0);
    for (const auto event : {1U, 3U, 4U}) answer(to, request.request, event);
    step();
    EXPECT_EQ(builder->counts().re_requested, 0U);
    answer(to, request.request, 5);
    step();
    EXPECT_EQ(builder->counts().re_requested, 1U);
    const auto again = sent.take<wire::DataRequest>(DataflowType::data_request);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].first, to);
    EXPECT_EQ(again[0].second.events, std::vector{Level1Id{2}});
}

TEST_F(BuilderTest, AReadoutThatAnswersInAnotherOrderGetsTwoReRequestsAtMost) {
    assign(1, 32);
    for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
        for (std::size_t i = 1; i < request.events.size(); ++i) answer(to, request.request, number(request.events[i]));
        step();
        answer(to, request.request, number(request.events[0]));  // it had to wait for its data
    }
    EXPECT_EQ(sink.events.size(), 32U);
    EXPECT_EQ(builder->counts().re_requested, 2U * 2U) << "of four requests to each readout";
}

TEST_F(BuilderTest, AnAnswerThatComesBeforeItsReRequestTeachesTheSame) {
    assign(1, 32);
    for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
        for (std::size_t i = 1; i < request.events.size(); ++i) answer(to, request.request, number(request.events[i]));
        answer(to, request.request, number(request.events[0]));
    }
    EXPECT_EQ(sink.events.size(), 32U);
    EXPECT_EQ(builder->counts().re_requested, 2U * 2U) << "of four requests to each readout";
}

TEST_F(BuilderTest, AnOvertakenAnswerIsReRequestedSoonerThanASilentOne) {
    options.building_max = options.events_max = 64;
    options.source_requests_max = 64;
    make();
    int steps = 0;
    for (std::uint32_t event = 1; event < 64 && builder->counts().re_requested == 0; ++event, ++steps) {
        assign(event);
        for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
            if (to == ros2) answer(to, request.request, event);  // ros1 has not got one of them
        }
        step(1ms);
    }
    EXPECT_GE(steps, 2) << "so much may be usual: no lag was measured yet";
    EXPECT_LT(steps, 8) << "and not the silence of 10 ms and more";
}

TEST_F(BuilderTest, WithoutAnyAnswerNothingIsOvertaken) {
    assign(1, 8);
    for (int ms = 0; ms < 9; ++ms) step(1ms);
    answer_all();
    EXPECT_EQ(sink.events.size(), 8U);
    EXPECT_EQ(builder->counts().re_requested, 0U);
}

TEST_F(BuilderTest, AReadoutThatIsAwayIsAskedLessAndLessOften) {
    assign(1);
    std::uint32_t event = 1;
    for (int ms = 0; ms < 2000; ++ms) {
        if (ms % 4 == 0) assign(++event);
        for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
            for (const auto id : request.events) {
                if (to == ros2) answer(to, request.request, number(id));
            }
        }
        step(1ms);
    }
    EXPECT_LE(builder->counts().re_requested, 10U * options.source_requests_max)
        << "of those that it may be asked for at once";
}

TEST_F(BuilderTest, AnEventThatWaitsOnlyForWhatGotLostKeepsNoOtherFromBeginning) {
    options.building_max = 2;
    options.events_max = 4;
    make();
    assign(1, 4);
    const auto first = sent.take<wire::DataRequest>(DataflowType::data_request);
    for (const auto& [to, request] : first) {
        EXPECT_EQ(request.events.size(), 2U);
        if (to == ros1) answer(to, request.request, 1), answer(to, request.request, 2);
    }
    std::vector<Level1Id> asked;
    for (int ms = 0; ms < 60 && asked.size() < 2; ++ms) {  // ros2's answers are lost
        step(1ms);
        for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
            if (to == ros1) asked.insert(asked.end(), request.events.begin(), request.events.end());
        }
    }
    EXPECT_EQ(asked, (std::vector{Level1Id{3}, Level1Id{4}}));
    EXPECT_TRUE(sink.events.empty());
}

TEST_F(BuilderTest, AnAnswerThatComesTwiceIsCountedAndDoesNoHarm) {
    assign(1, 2);
    const auto requests = sent.take<wire::DataRequest>(DataflowType::data_request);
    for (int twice = 0; twice < 2; ++twice) {
        for (const auto& [to, request] : requests) {
            for (const auto event : request.events) answer(to, request.request, number(event));
        }
    }
    EXPECT_EQ(sink.events.size(), 2U);
    EXPECT_EQ(builder->counts().late_or_double, 4U);
}

TEST_F(BuilderTest, AFragmentThatIsNotYetAtTheReadoutIsReRequestedLater) {
    assign(1);
    answer_all(RobState::not_yet);
    EXPECT_TRUE(sink.events.empty());
    for (int i = 0; i < 50 && sink.events.empty(); ++i) {
        step(1ms);
        answer_all();
    }
    ASSERT_EQ(sink.events.size(), 1U);
    EXPECT_EQ(builder->counts().not_yet, 2U);
    EXPECT_EQ(builder->counts().re_requested, 0U);
}

TEST_F(BuilderTest, WhatStaysLostBecomesAnEmptyRobWithStatusBitsAndTheReadoutIsNamed) {
    options.event_deadline = 1s;
    make();
    assign(9);
    for (int i = 0; i < 1200 && sink.events.empty(); ++i) {
        for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
            if (to == ros2) answer(to, request.request, 9);
        }
        step(1ms);
    }
    ASSERT_EQ(sink.events.size(), 1U);
    const auto bytes = sink.events[0]->pieces.to_bytes();
    const auto view = event::EventView::parse(bytes, event::Format::event_5_0);
    ASSERT_TRUE(view);
    EXPECT_NE(view->status() & event::status::timeout, 0U);
    std::vector<std::uint32_t> statuses;
    ASSERT_TRUE(event::for_each_rob(*view, [&](const event::FragmentView& r) { statuses.push_back(r.status()); }));
    ASSERT_EQ(statuses.size(), 3U);
    EXPECT_NE(statuses[0] & event::status::rob_lost, 0U);
    EXPECT_NE(statuses[1] & event::status::dummy_collection_timeout, 0U);
    EXPECT_EQ(statuses[2], 0U);
    const std::vector<service::SourceStatus> missing{{.source = source_a, .expected = 1, .missing = 1},
                                                     {.source = source_b, .expected = 1, .missing = 1},
                                                     {.source = source_c, .expected = 1}};
    EXPECT_EQ(builder->sources(), missing);
    ASSERT_FALSE(reports.empty());
    EXPECT_NE(reports[0].find("ros-1"), std::string::npos);
}

TEST_F(BuilderTest, AReadoutThatIsAwayHoldsUpTheNextEventsOnlyShortly) {
    options.event_deadline = 1s;
    options.suspect_deadline = 50ms;
    make();
    assign(1);
    const auto only_ros2 = [&] {
        for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
            for (const auto event : request.events) {
                if (to == ros2) answer(to, request.request, number(event));
            }
        }
    };
    for (int i = 0; i < 1200 && sink.events.empty(); ++i) only_ros2(), step(1ms);
    assign(2);
    int waited = 0;
    for (; waited < 1200 && sink.events.size() < 2; ++waited) only_ros2(), step(1ms);
    EXPECT_LT(waited, 60);
    assign(3);
    answer_all();  // it is back
    ASSERT_EQ(sink.events.size(), 3U);
    EXPECT_EQ(sink.events[2]->robs_lost, 0U);
}

TEST_F(BuilderTest, ASourceThatCountsAheadAndOneThatDoesNotCountAreMatchedByTheirRules) {
    options.rules.sources[source_c] = {.level1_offset = 1};
    make();
    assign(4);
    for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request))
        answer(to, request.request, 4, RobState::here, to == ros2 ? 5 : 4);
    ASSERT_EQ(sink.events.size(), 1U);
    EXPECT_EQ(builder->counts().level1_mismatches, 0U);
}

TEST_F(BuilderTest, AShiftedSourceIsCountedMarkedAndNamedAndNeverShiftedSilently) {
    assign(4);
    for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request))
        answer(to, request.request, 4, RobState::here, to == ros2 ? 5 : 4);
    ASSERT_EQ(sink.events.size(), 1U);
    EXPECT_EQ(builder->counts().level1_mismatches, 1U);
    const auto bytes = sink.events[0]->pieces.to_bytes();
    const auto view = event::EventView::parse(bytes, event::Format::event_5_0);
    ASSERT_TRUE(view);
    EXPECT_NE(view->status() & event::status::level1_id, 0U);
    ASSERT_FALSE(reports.empty());
    EXPECT_NE(reports[0].find("0x520000"), std::string::npos) << reports[0];
}

TEST_F(BuilderTest, ShapingBoundsTheBytesInFlight) {
    options.window = {.shaping = true, .least = 4096, .most = 8192};  // two answers of the size that is expected
    make();
    assign(1, 8);
    EXPECT_LE(builder->counts().asked, 2U);
    for (int i = 0; i < 20; ++i) {
        answer_all();
        step();
        EXPECT_LE(builder->counts().in_flight, 8192U);
    }
    EXPECT_EQ(sink.events.size(), 8U);
    options.window.shaping = false;
    make();
    assign(1, 8);
    EXPECT_EQ(builder->counts().asked, 16U);
}

TEST_F(BuilderTest, OneLargeAnswerDoesNotForEverBoundWhatAnUnknownReadoutIsAskedFor) {
    constexpr wire::StationId ros3{4};
    options.window = {.shaping = true, .least = 4096, .most = 128 << 10};
    make();
    rob_words = 16 << 10;
    assign(1);
    answer_all();
    rob_words = 20;
    for (std::uint32_t id = 2; id < 2002; id += 8) {
        assign(id, 8);
        answer_all();
    }
    ASSERT_EQ(sink.events.size(), 2001U);
    builder->set_peers({{.name = "dfm", .kind = StationKind::assign, .id = dfm},
                        {.name = "ros-3", .kind = StationKind::readout, .id = ros3, .sources = {source_c}}},
                       now);
    assign(3000, 8);
    const auto requests = sent.take<wire::DataRequest>(DataflowType::data_request);
    ASSERT_EQ(requests.size(), 1U);
    EXPECT_EQ(requests[0].second.events.size(), 8U);
}

TEST_F(BuilderTest, AFullOutputHoldsBackNewEventsAndLosesNone) {
    sink.full = true;
    assign(1, 4);
    answer_all();
    assign(5, 4);
    EXPECT_TRUE(sent.take<wire::DataRequest>(DataflowType::data_request).empty());
    sink.full = false;
    step(1ms);
    answer_all();
    EXPECT_EQ(sink.events.size(), 8U);
}

TEST_F(BuilderTest, WithoutMemoryAnAnswerIsReRequestedWhenThereIsSome) {
    std::vector<memory::Buffer> taken;
    assign(1);
    while (auto buffer = pool.try_take(1 << 20)) taken.push_back(std::move(*buffer));
    while (auto buffer = pool.try_take(4096)) taken.push_back(std::move(*buffer));
    answer_all();
    EXPECT_GT(builder->counts().no_memory, 0U);
    taken.clear();
    for (int i = 0; i < 100 && sink.events.empty(); ++i) {
        step(5ms);
        answer_all();
    }
    EXPECT_EQ(sink.events.size(), 1U);
}

TEST_F(BuilderTest, GivingUpCountsEverythingInHand) {
    assign(1, 6);
    answer_all();
    assign(7, 3);
    builder->reject_unfinished();
    EXPECT_EQ(builder->ledger().rejected.at("given up"), 9U);
    EXPECT_TRUE(builder->ledger().balances());
    EXPECT_EQ(builder->ledger().in_hand, 0U);
}

TEST_F(BuilderTest, ARobThatIsNoneIsReplacedAndTheEventMarked) {
    assign(3);
    for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
        if (to == ros1) {
            answer(to, request.request, 3);
            continue;
        }
        std::vector<std::byte> message;
        encode(wire::DataHead{.request = request.request,
                              .level1_id = Level1Id{3},
                              .robs = {{.source = source_c, .state = RobState::here, .size = 64}}},
               message);
        message.resize(message.size() + 64, std::byte{0x5a});
        builder->on_message({.from = to, .type = DataflowType::data, .run = RunNumber{7}, .body = message}, now);
    }
    ASSERT_EQ(sink.events.size(), 1U);
    EXPECT_EQ(sink.events[0]->robs_lost, 1U);
    EXPECT_EQ(builder->counts().robs_bad, 1U);
}

TEST_F(BuilderTest, AMaskedSourceIsNotWaitedForFromItsEventOnAndItsRobSaysSo) {
    options.event_deadline = 1h;
    make();
    ASSERT_TRUE(builder->set_masks({{source_a, true, Level1Id{10}}, {source_c, true, Level1Id{10}}}));
    assign(10);
    std::size_t asked = 0;
    for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
        EXPECT_EQ(to, ros1) << "the other one has no source that is not masked";
        ++asked;
        wire::DataHead head{.request = request.request, .level1_id = Level1Id{10}, .robs = {}};
        const auto bytes = rob(source_b, 10);
        head.robs = {{source_a, RobState::not_yet, 0},
                     {source_b, RobState::here, static_cast<std::uint32_t>(bytes.size())}};
        std::vector<std::byte> body;
        encode(head, body);
        body.insert(body.end(), bytes.begin(), bytes.end());
        builder->on_message({.from = ros1, .type = DataflowType::data, .body = body}, now);
    }
    EXPECT_EQ(asked, 1U);
    step(1ms);
    ASSERT_EQ(sink.events.size(), 1U);
    EXPECT_EQ(sink.events[0]->robs_lost, 0U);
    const auto bytes = sink.events[0]->pieces.to_bytes();
    const auto view = event::EventView::parse(bytes, event::Format::event_5_0);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->status(), event::status::dummy_fragment);
    std::vector<std::uint32_t> statuses;
    ASSERT_TRUE(event::for_each_rob(*view, [&](const event::FragmentView& r) { statuses.push_back(r.status()); }));
    EXPECT_EQ(statuses, (std::vector<std::uint32_t>{0x8000'0020, 0, 0x8000'0020}));
    const std::vector<service::SourceStatus> counted{
        {.source = source_a, .masked = 1}, {.source = source_b, .expected = 1}, {.source = source_c, .masked = 1}};
    EXPECT_EQ(builder->sources(), counted);
    assign(9);  // before the mask
    EXPECT_EQ(sent.take<wire::DataRequest>(DataflowType::data_request).size(), 2U);
}

TEST_F(BuilderTest, AMaskThatComesTooLateForItsEventIsReported) {
    assign(10);
    EXPECT_TRUE(builder->set_masks({{source_a, true, Level1Id{11}}}));
    const auto late = builder->set_masks({{source_a, true, Level1Id{11}}, {source_b, true, Level1Id{9}}});
    ASSERT_FALSE(late);
    EXPECT_NE(late.error().message().find("event 10 had begun"), std::string::npos);
    assign(11);
    EXPECT_TRUE(builder->set_masks({{source_a, true, Level1Id{11}}, {source_b, true, Level1Id{9}}})) << "known already";
}

}  // namespace
}  // namespace weir::building

// SPDX-License-Identifier: Apache-2.0
#include "weir/building/builder.hpp"

#include <gtest/gtest.h>

#include <map>

#include "builder_sample.hpp"
#include "weir/event/event_view.hpp"

namespace weir::building {
namespace {

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

TEST_F(BuilderTest, EventsThatLingerDownstreamDoNotCountForTheCreditUpToAsManyAsItIs) {
    step();
    const auto credit = [&] {
        const auto built = sent.take<wire::Built>(DataflowType::built);
        return built.empty() ? std::optional<std::uint64_t>() : built.back().second.credit;
    };
    EXPECT_EQ(credit(), options.events_max);
    assign(1, 4);
    answer_all();
    step(options.lingering_after - 200ms);
    EXPECT_FALSE(credit());
    step(200ms);
    EXPECT_EQ(credit(), options.events_max + 4) << "their recorder is lost, perhaps";
    for (std::uint32_t first = 5; first < 2 * options.events_max; first += 4) {
        assign(first, 4);
        answer_all();
    }
    step(options.lingering_after);
    EXPECT_EQ(credit(), 2 * options.events_max) << "memory has its limits";
    for (std::size_t i = 0; i < 4; ++i) builder->ended(sink.events[i]->ticket, false, wire::EventOutcome::stored, "");
    step(200ms);
    EXPECT_EQ(credit(), 2 * options.events_max + 4);
    for (std::size_t i = 4; i < sink.events.size(); ++i)
        builder->ended(sink.events[i]->ticket, false, wire::EventOutcome::stored, "");
    step(200ms);
    EXPECT_EQ(credit(), sink.events.size() + options.events_max) << "it never falls, and is what it was without them";
    EXPECT_TRUE(builder->ledger().balances());
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

}  // namespace
}  // namespace weir::building

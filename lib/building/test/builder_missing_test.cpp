// SPDX-License-Identifier: Apache-2.0
// Fragments that are not there: yet, at all, or because their source is masked.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "builder_sample.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/fragment.hpp"
#include "weir/event/rob_cursor.hpp"

namespace weir::building {
namespace {

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

/// At ros-1 source_a is there, and source_b not yet; ros-2 answers.
struct OneSourceIsMissing : BuilderTest {
    OneSourceIsMissing() {
        options.event_deadline = 1s;
        options.suspect_deadline = 50ms;
    }
    void answer_what_is_there() {
        for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
            for (const auto event : request.events) {
                if (to == ros2) answer(to, request.request, number(event));
                else
                    answer_each(to, request.request, number(event),
                                {{source_a, RobState::here}, {source_b, RobState::not_yet}});
            }
        }
    }
    void pass(int milliseconds) {
        for (int i = 0; i < milliseconds; ++i) answer_what_is_there(), step(1ms);
    }
};

TEST_F(OneSourceIsMissing, TheOthersOfItsReadoutAreInTheEventBitForBit) {
    assign(9);
    pass(990);
    EXPECT_TRUE(sink.events.empty()) << "it may still come";
    pass(20);
    ASSERT_EQ(sink.events.size(), 1U);
    EXPECT_EQ(sink.events[0]->robs_lost, 1U);
    const auto bytes = sink.events[0]->pieces.to_bytes();
    const auto view = event::EventView::parse(bytes, event::Format::event_5_0);
    ASSERT_TRUE(view);
    std::vector<std::vector<std::byte>> robs;
    ASSERT_TRUE(event::for_each_rob(
        *view, [&](const event::FragmentView& r) { robs.emplace_back(r.bytes().begin(), r.bytes().end()); }));
    ASSERT_EQ(robs.size(), 3U);
    EXPECT_EQ(robs[0], rob(source_a, 9));
    EXPECT_EQ(robs[2], rob(source_c, 9));
    const std::vector<service::SourceStatus> counted{{.source = source_a, .expected = 1},
                                                     {.source = source_b, .expected = 1, .missing = 1},
                                                     {.source = source_c, .expected = 1}};
    EXPECT_EQ(builder->sources(), counted);
}

TEST_F(OneSourceIsMissing, ItsReadoutAnswersAndIsNotTakenForSilent) {
    assign(1);
    pass(500);
    assign(2);
    pass(510);
    EXPECT_EQ(sink.events.size(), 1U) << "the second has as much time as the first";
    EXPECT_TRUE(reports.empty()) << reports[0];
    pass(500);
    EXPECT_EQ(sink.events.size(), 2U);
}

TEST_F(OneSourceIsMissing, EveryEventIsAskedForThoughThoseBeforeItAreAskedForAgainAndAgain) {
    options.building_max = 6;
    options.source_requests_max = 2;
    options.request_events = 1;
    make();
    assign(1, 6);
    std::deque<std::pair<SteadyTime, std::uint64_t>> asked;  // a readout that takes 10 ms for each
    std::map<std::uint64_t, std::uint32_t> events;
    std::set<std::uint32_t> seen;
    for (int i = 0; i < 50; ++i) {
        for (const auto& [to, request] : sent.take<wire::DataRequest>(DataflowType::data_request)) {
            const auto event = number(request.events.at(0));
            if (to == ros2) {
                answer(to, request.request, event);
                continue;
            }
            seen.insert(event);
            events[request.request] = event;
            asked.emplace_back(now + 10ms, request.request);
        }
        for (; !asked.empty() && asked.front().first <= now; asked.pop_front())
            answer_each(ros1, asked.front().second, events[asked.front().second],
                        {{source_a, RobState::here}, {source_b, RobState::not_yet}});
        step(1ms);
    }
    EXPECT_EQ(seen.size(), 6U);
}

TEST_F(OneSourceIsMissing, WhatIsKeptOfTheOthersIsKeptOnceAndReleasedWithTheEvent) {
    rob_words = 10'000;
    assign(1);
    pass(5);
    const auto kept = pool.stats().in_use;
    pass(900);
    EXPECT_EQ(pool.stats().in_use, kept);
    answer_all();  // it comes, after all
    for (int i = 0; i < 200 && sink.events.empty(); ++i) step(1ms), answer_all();
    ASSERT_EQ(sink.events.size(), 1U);
    EXPECT_EQ(sink.events[0]->robs_lost, 0U);
    sink.events.clear();
    EXPECT_EQ(pool.stats().in_use, Bytes{0});
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
    EXPECT_EQ(builder->counts().mask_changes, 2U);
}

}  // namespace
}  // namespace weir::building

// SPDX-License-Identifier: Apache-2.0
// A selection that requests fragments: the same in a thread, in a process and in Python.
#include "workers/requested_fragments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "python_selections.hpp"
#include "sample_event.hpp"
#include "weir/selection/selector.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;

/// Has the sources from 50 to 89, each with as many bytes as its number in units of `unit`.
class FakeStation final : public FragmentRequests {
public:
    explicit FakeStation(std::size_t unit = 4) : unit_(unit) {}
    ~FakeStation() = default;

    std::span<const Fragment> request(std::span<const SourceId> sources) override {
        requests.emplace_back(sources.begin(), sources.end());
        if (before_answer) before_answer();
        answer_.clear();
        for (const auto source : sources) {
            const auto id = number(source);
            Fragment fragment{source, FragmentState::missing, {}};
            if (id >= 50 && id < 90) {
                auto& bytes = data_[id];
                bytes.assign(id * unit_, std::byte(id));
                fragment = {source, FragmentState::here, bytes};
            }
            answer_.push_back(fragment);
        }
        return answer_;
    }
    const Fragment* find(SourceId) const noexcept override { return nullptr; }

    std::vector<std::vector<SourceId>> requests;
    std::function<void()> before_answer;

private:
    const std::size_t unit_;
    std::map<std::uint32_t, std::vector<std::byte>> data_;
    std::vector<Fragment> answer_;
};

using Sources = std::vector<SourceId>;

TEST(RequestedFragments, WhatIsHereIsNotRequestedAgainAndDuplicatesGoOnce) {
    const test::SampleEvent sample;  // sources 7 and 9, and 11 that is missing
    auto event = sample.event(1);
    FakeStation station;
    event.requests = &station;
    RequestedFragments requested(event);
    const auto seen = requested.event();
    const auto first = seen.request({SourceId{50}, SourceId{7}, SourceId{50}, SourceId{11}, SourceId{91}});
    ASSERT_EQ(first.size(), 5U);
    EXPECT_EQ(first[0].bytes.size(), 200U);
    EXPECT_EQ(first[1].bytes.data(), sample.fragments[0].bytes.data());
    EXPECT_EQ(first[2].bytes.data(), first[0].bytes.data());
    EXPECT_EQ(first[3].state, FragmentState::missing);
    EXPECT_EQ(first[4].state, FragmentState::missing);
    const auto second = seen.request({SourceId{51}, SourceId{50}});
    EXPECT_EQ(second[1].bytes.data(), first[0].bytes.data());
    EXPECT_TRUE(seen.request({SourceId{91}})[0].bytes.empty());
    EXPECT_EQ(station.requests, (std::vector<Sources>{{SourceId{50}, SourceId{91}}, {SourceId{51}}}));
    EXPECT_EQ(seen.find(SourceId{51})->bytes.data(), second[0].bytes.data());
    EXPECT_EQ(seen.find(SourceId{52}), nullptr);
    EXPECT_TRUE(requested.within_limits());
}

TEST(RequestedFragments, WithoutAStationOnlyTheEventAnswers) {
    const test::SampleEvent sample;
    const auto event = sample.event(1);
    EXPECT_TRUE(event.request({SourceId{7}}).empty());  // an event that no selection gets
    RequestedFragments requested(event);
    const auto answer = requested.event().request({SourceId{50}, SourceId{9}});
    EXPECT_EQ(answer[0].state, FragmentState::missing);
    EXPECT_EQ(answer[1].bytes.size(), 8U);
}

TEST(RequestedFragments, MoreRequestsThanAreAllowedAreMissingAndAnError) {
    const test::SampleEvent sample;
    auto event = sample.event(1);
    FakeStation station;
    event.requests = &station;
    RequestedFragments requested(event);
    const auto seen = requested.event();
    for (std::size_t i = 0; i < FragmentRequests::requests_max; ++i)
        EXPECT_EQ(seen.request({SourceId{50}})[0].state, FragmentState::here);
    EXPECT_TRUE(requested.within_limits());
    EXPECT_EQ(seen.request({SourceId{51}})[0].state, FragmentState::missing);
    EXPECT_FALSE(requested.within_limits());
    RequestedFragments large(event);
    const Sources many(FragmentRequests::sources_max + 1, SourceId{52});
    EXPECT_EQ(large.event().request(many).size(), many.size());
    EXPECT_FALSE(large.within_limits());
    EXPECT_EQ(station.requests.size(), 1U);
}

struct Place {
    const char* name;
    const char* file;
    WorkersAre workers_are;
};

class EachPlace : public testing::TestWithParam<Place> {
protected:
    void SetUp() override {
        if (!std::string_view(GetParam().file).ends_with(".py")) return;
        if (const auto why = test::why_no_python()) GTEST_SKIP() << *why;
    }
    static std::unique_ptr<Selector> selector(std::chrono::milliseconds time_limit = 20s) {
        SelectionSpec spec;
        spec.selection = GetParam().file;
        spec.workers_are = GetParam().workers_are;
        spec.time_limit = time_limit;
        spec.restart_first = 1ms;
        const auto opened = Selection::open(spec);
        EXPECT_TRUE(opened) << opened.error().message();
        return opened->make();
    }
};

constexpr Place thread{"Thread", WEIR_FAULTY_SELECTION, WorkersAre::threads};
constexpr Place process{"Process", WEIR_FAULTY_SELECTION, WorkersAre::processes};
constexpr Place python{"Python", WEIR_FAULTY_PYTHON, WorkersAre::processes};

std::string name_of(const testing::TestParamInfo<Place>& place) { return place.param.name; }

INSTANTIATE_TEST_SUITE_P(Selector, EachPlace, testing::Values(thread, process, python), name_of);

/// Where a selection may hang and crash.
class EachProcess : public EachPlace {};
INSTANTIATE_TEST_SUITE_P(Selector, EachProcess, testing::Values(process, python), name_of);

// Event 20 requests 50, 7, 51, 50 and 91, then 52 and 51, and answers with the sizes in words, in that order, and with
// the number of those that are missing.
TEST_P(EachPlace, GetsItsFragmentsInSteps) {
    const test::SampleEvent sample;
    auto event = sample.event(20);
    FakeStation station;
    event.requests = &station;
    const auto judgement = selector()->select(event, {});
    EXPECT_EQ(judgement.trouble, Trouble::none) << judgement.why;
    EXPECT_EQ(judgement.decision.level2_words, (std::vector<std::uint32_t>{50, 4, 51, 50, 52, 51, 1}));
    EXPECT_EQ(station.requests, (std::vector<Sources>{{SourceId{50}, SourceId{51}, SourceId{91}}, {SourceId{52}}}));
}

TEST_P(EachPlace, SeesEarlierFragmentsThoughLaterOnesAreLarge) {
    const test::SampleEvent sample;
    auto event = sample.event(20);
    FakeStation station(std::size_t{64} * 1024);  // 50 MiB in all: shared memory grows while the selection looks at it
    event.requests = &station;
    auto one = selector();
    for (int again = 0; again < 2; ++again) {
        const auto judgement = one->select(event, {});
        EXPECT_EQ(judgement.trouble, Trouble::none) << judgement.why;
        EXPECT_EQ(judgement.decision.level2_words.front(), 50U * 16 * 1024);
        EXPECT_EQ(judgement.decision.result, std::vector<std::byte>(4, std::byte{50}));  // read after the last step
    }
}

TEST_P(EachPlace, MayRejectAfterAStep) {
    const test::SampleEvent sample;
    auto event = sample.event(21);  // rejects when 50 has come, and would request 51 otherwise
    FakeStation station;
    event.requests = &station;
    const auto judgement = selector()->select(event, {});
    EXPECT_EQ(judgement.trouble, Trouble::none) << judgement.why;
    EXPECT_FALSE(judgement.decision.accepted);
    EXPECT_EQ(station.requests.size(), 1U);
}

TEST_P(EachPlace, WhoRequestsWithoutEndIsAnErrorOfTheSelection) {
    const test::SampleEvent sample;
    auto event = sample.event(22);
    FakeStation station;
    event.requests = &station;
    auto one = selector();
    const auto judgement = one->select(event, {});
    EXPECT_EQ(judgement.trouble, Trouble::threw);
    EXPECT_NE(judgement.why.find("more than 64 times"), std::string::npos) << judgement.why;
    EXPECT_EQ(one->select(sample.event(100), {}).trouble, Trouble::none);
    EXPECT_EQ(one->restarts(), 0U);
}

TEST_P(EachProcess, TheWaitForFragmentsIsNotItsTime) {
    const test::SampleEvent sample;
    auto event = sample.event(20);
    FakeStation station;
    station.before_answer = [] { std::this_thread::sleep_for(1500ms); };
    event.requests = &station;
    EXPECT_EQ(selector(2s)->select(event, {}).trouble, Trouble::none);  // two waits of 1.5 s
}

TEST_P(EachProcess, AHangOrACrashAfterAStepIsNamed) {
    const test::SampleEvent sample;
    FakeStation station;
    auto hanging = sample.event(23);
    hanging.requests = &station;
    auto crashing = sample.event(24);
    crashing.requests = &station;
    auto one = selector(300ms);
    EXPECT_EQ(one->select(hanging, {}).trouble, Trouble::timed_out);
    auto other = selector();
    const auto crashed = other->select(crashing, {});
    EXPECT_EQ(crashed.trouble, Trouble::crashed);
    EXPECT_NE(crashed.why.find("signal 6"), std::string::npos) << crashed.why;
    EXPECT_EQ(other->select(sample.event(100), {}).trouble, Trouble::none);
}

TEST_P(EachProcess, AProcessThatEndsWhileItWaitsIsNamed) {
    const test::SampleEvent sample;
    FakeStation station;
    auto event = sample.event(25);  // has a timer that ends it while it waits
    event.requests = &station;
    station.before_answer = [] { std::this_thread::sleep_for(400ms); };
    auto one = selector();
    EXPECT_EQ(one->select(event, {}).trouble, Trouble::crashed);
    station.before_answer = {};
    EXPECT_EQ(one->select(sample.event(100), {}).trouble, Trouble::none);
}

TEST_P(EachPlace, AStopWhileItWaitsIsNoFaultOfIt) {
    const test::SampleEvent sample;
    std::stop_source stop;
    FakeStation station;
    auto event = sample.event(20);
    event.requests = &station;
    station.before_answer = [&] { stop.request_stop(); };
    const auto judgement = selector()->select(event, stop.get_token());
    EXPECT_EQ(judgement.trouble, Trouble::stopped) << judgement.why;
}

TEST(Selector, ARequestThatIsNoneEndsItsProcess) {
    const test::SampleEvent sample;
    FakeStation station;
    SelectionSpec spec;
    spec.selection = WEIR_FAULTY_SELECTION;
    spec.restart_first = 1ms;
    const auto one = Selection::open(spec)->make();
    for (const auto id : {26U, 27U}) {  // a request that ends inside a source, one of too many sources
        auto event = sample.event(id);
        event.requests = &station;
        EXPECT_EQ(one->select(event, {}).trouble, Trouble::crashed) << id;
    }
    EXPECT_TRUE(station.requests.empty());
    EXPECT_EQ(one->select(sample.event(100), {}).trouble, Trouble::none);
}

TEST(Selector, APartialStreamNamesItsSources) {
    const test::SampleEvent sample;
    std::vector<Place> places{process};
    if (!test::why_no_python()) places.push_back(python);
    for (const auto& place : places) {
        const auto one = Selection::open({.selection = place.file})->make();
        const auto judgement = one->select(sample.event(30), {});
        EXPECT_EQ(judgement.trouble, Trouble::none) << judgement.why;
        ASSERT_EQ(judgement.decision.tags.size(), 2U) << place.name;
        EXPECT_FALSE(judgement.decision.tags[0].partial());
        EXPECT_EQ(stream_key(judgement.decision.tags[1]), "calibration_Muons");
        EXPECT_EQ(judgement.decision.tags[1].robs, (Sources{SourceId{7}, SourceId{9}}));
        const auto none = one->select(sample.event(31), {});  // without a source it would be the whole event
        EXPECT_EQ(none.trouble, Trouble::threw) << place.name;
        EXPECT_NE(none.why.find("partial stream"), std::string::npos) << none.why;
    }
}

TEST(Selector, ABuiltInSelectionRequestsInSteps) {
    const test::SampleEvent sample;
    FakeStation station;
    auto event = sample.event(1);
    event.requests = &station;
    const auto opened = Selection::open({.selection = "request:0x32+51/52"});
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_TRUE(opened->make()->select(event, {}).decision.accepted);
    EXPECT_EQ(station.requests, (std::vector<Sources>{{SourceId{50}, SourceId{51}}, {SourceId{52}}}));
    for (const auto* text : {"request:", "request:x", "request:1+", "request:1/", "request:1,2"})
        EXPECT_FALSE(Selection::check(text)) << text;
}

}  // namespace
}  // namespace weir::selection

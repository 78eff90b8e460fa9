// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/selector.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "python_selections.hpp"
#include "sample_event.hpp"
#include "weir/base/stoppable_sleep.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Selector> selector_of(const SelectionSpec& spec) {
    const auto selection = Selection::open(spec);
    EXPECT_TRUE(selection.has_value()) << selection.error().message();
    return selection->make();
}

SelectionSpec quick(const std::string& file, WorkersAre workers_are) {
    SelectionSpec spec;
    spec.selection = file;
    spec.workers_are = workers_are;
    spec.time_limit = 20s;  // only who hangs meets it
    spec.restart_first = 1ms;
    spec.restart_last = 4ms;
    return spec;
}

/// For selections that hang.
SelectionSpec impatient(const std::string& file, WorkersAre workers_are) {
    auto spec = quick(file, workers_are);
    spec.time_limit = 100ms;
    return spec;
}

TEST(Selector, BuiltInSelectionsDecideByTheirArgument) {
    const test::SampleEvent sample;
    const auto accepts = [&](const std::string& selection, std::uint64_t id = 1) {
        return selector_of({.selection = selection})->select(sample.event(id), {}).decision.accepted;
    };
    EXPECT_TRUE(accepts("all"));
    EXPECT_FALSE(accepts("none"));
    EXPECT_TRUE(accepts("size:24B"));
    EXPECT_FALSE(accepts("size:25B"));
    EXPECT_TRUE(accepts("busy:1us"));
    EXPECT_TRUE(accepts("sleep:1us"));
    auto tenth = selector_of({.selection = "fraction:0.1"});
    int kept = 0;
    for (std::uint64_t id = 1; id <= 10'000; ++id)
        kept += tenth->select(sample.event(id), {}).decision.accepted ? 1 : 0;
    EXPECT_NEAR(kept, 1000, 100);
}

TEST(Selector, AWrongArgumentIsReportedWhenItIsOpened) {
    for (const auto* text :
         {"fraction:2", "fraction:x", "size:10 apples", "busy:", "sometimes", "nothing.so", "nothing.py", ""}) {
        const auto opened = Selection::open({.selection = text});
        ASSERT_FALSE(opened.has_value()) << text;
        EXPECT_EQ(opened.error().code, Errc::usage) << text;
    }
}

TEST(Selector, ALibraryThatIsNoSelectionIsRefused) {
    for (const auto where : {WorkersAre::threads, WorkersAre::processes}) {
        const auto opened = Selection::open(quick(WEIR_NO_SELECTION, where));
        ASSERT_FALSE(opened.has_value());
        EXPECT_NE(opened.error().context.find("no selection"), std::string::npos) << opened.error().context;
    }
}

TEST(Selector, ALibraryDecidesAndWhatItThrowsIsItsReason) {
    const test::SampleEvent sample;
    for (const auto where : {WorkersAre::threads, WorkersAre::processes}) {
        auto selector = selector_of(quick(WEIR_FAULTY_SELECTION, where));
        const auto good = selector->select(sample.event(100), {});
        EXPECT_EQ(good.trouble, Trouble::none) << good.why;
        EXPECT_TRUE(good.decision.accepted);
        ASSERT_EQ(good.decision.tags.size(), 1U);
        EXPECT_EQ(stream_key(good.decision.tags[0]), "physics_Main");
        EXPECT_EQ(good.decision.level2_words, (std::vector<std::uint32_t>{24, 3}));
        EXPECT_EQ(good.decision.result.size(), 16U);
        EXPECT_FALSE(selector->select(sample.event(108), {}).decision.accepted);
        const auto thrown = selector->select(sample.event(101), {});
        EXPECT_EQ(thrown.trouble, Trouble::threw);
        EXPECT_EQ(thrown.why, "cannot divide by zero");
        EXPECT_EQ(selector->select(sample.event(105), {}).trouble, Trouble::threw);  // a tag that is no stream
        EXPECT_EQ(selector->select(sample.event(106), {}).trouble, Trouble::threw);
        EXPECT_EQ(selector->select(sample.event(109), {}).trouble, Trouble::threw);  // more streams than are allowed
        EXPECT_EQ(selector->restarts(), 0U);
    }
}

TEST(Selector, AProcessThatHangsOrCrashesIsReplacedAndReported) {
    const test::SampleEvent sample;
    auto hanging = selector_of(impatient(WEIR_FAULTY_SELECTION, WorkersAre::processes));
    const auto hung = hanging->select(sample.event(2), {});
    EXPECT_EQ(hung.trouble, Trouble::timed_out);
    EXPECT_EQ(hanging->select(sample.event(2), {}).trouble, Trouble::timed_out);
    EXPECT_EQ(hanging->restarts(), 1U);
    auto selector = selector_of(quick(WEIR_FAULTY_SELECTION, WorkersAre::processes));
    const auto crashed = selector->select(sample.event(3), {});
    EXPECT_EQ(crashed.trouble, Trouble::crashed);
    EXPECT_NE(crashed.why.find("signal 6"), std::string::npos) << crashed.why;
    const auto ended = selector->select(sample.event(4), {});
    EXPECT_EQ(ended.trouble, Trouble::crashed);
    EXPECT_NE(ended.why.find("exit code 3"), std::string::npos) << ended.why;
    EXPECT_EQ(selector->select(sample.event(7), {}).trouble, Trouble::crashed);  // it answered with nonsense
    EXPECT_EQ(selector->select(sample.event(100), {}).trouble, Trouble::none);
    EXPECT_EQ(selector->restarts(), 3U);
    auto judgement = hung;
    judgement.force();
    EXPECT_EQ(stream_key(judgement.decision.tags.at(0)), "debug_SelectionTimeout");
    judgement = crashed;
    judgement.force();
    EXPECT_EQ(stream_key(judgement.decision.tags.at(0)), "debug_SelectionError");
}

TEST(Selector, AnEventThatMayHaveEndedAStationIsJudgedInAProcessThoughWorkersAreThreads) {
    const test::SampleEvent sample;
    const auto opened = Selection::open(quick(WEIR_FAULTY_SELECTION, WorkersAre::threads));
    ASSERT_TRUE(opened) << opened.error().message();
    const auto one = opened->make(), other = opened->make();
    EXPECT_EQ(one->select_apart(sample.event(100), {}).trouble, Trouble::none);  // it was another event
    const auto crashed = one->select_apart(sample.event(3), {});
    EXPECT_EQ(crashed.trouble, Trouble::crashed);
    EXPECT_NE(crashed.why.find("signal 6"), std::string::npos) << crashed.why;
    // From now on the selection is known to be unsafe: the same in an event that is new costs a process, with any
    // worker.
    EXPECT_EQ(other->select(sample.event(203), {}).trouble, Trouble::crashed);
    EXPECT_EQ(other->select(sample.event(200), {}).trouble, Trouble::none);
    const auto hurried = Selection::open(impatient(WEIR_FAULTY_SELECTION, WorkersAre::threads));
    ASSERT_TRUE(hurried) << hurried.error().message();
    const auto hung = hurried->make()->select_apart(sample.event(2), {});
    EXPECT_EQ(hung.trouble, Trouble::timed_out);
}

TEST(Selector, APluginInCppRunsInAProcessUnlessThreadsAreAskedFor) {
    const auto opened = Selection::open({.selection = WEIR_FAULTY_SELECTION});
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_TRUE(opened->in_processes());
    const auto built_in = Selection::open({.selection = "all"});
    ASSERT_TRUE(built_in) << built_in.error().message();
    EXPECT_FALSE(built_in->in_processes());
}

TEST(Selector, AProcessThatDiesAtOnceIsStartedMoreAndMoreRarely) {
    const test::SampleEvent sample;
    auto spec = quick(WEIR_FAULTY_SELECTION, WorkersAre::processes);
    spec.restart_first = 10ms;
    spec.restart_last = 20ms;
    auto selector = selector_of(spec);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(selector->select(sample.event(4), {}).trouble, Trouble::crashed);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 50ms);  // 10 + 20 + 20
}

TEST(Selector, AStopEndsABuiltInSelectionThatWaits) {
    const test::SampleEvent sample;
    for (const auto* text : {"sleep:1h", "busy:1h"}) {
        auto selector = selector_of({.selection = text});
        std::stop_source stop;
        const std::jthread stops([&stop] { stop.request_stop(); });
        EXPECT_EQ(selector->select(sample.event(100), stop.get_token()).trouble, Trouble::stopped) << text;
    }
}

TEST(Selector, TimeIsThatOfItsClock) {
    const test::SampleEvent sample;
    ManualClock clock;
    auto selector = selector_of({.selection = "busy:1h", .clock = &clock});
    const std::jthread advances([&clock](const std::stop_token& stop) {
        do clock.advance(1h);
        while (stoppable_sleep(1ms, stop));
    });
    EXPECT_EQ(selector->select(sample.event(100), {}).trouble, Trouble::none);
}

TEST(Selector, AStopEndsTheWaitForAProcessThatHangs) {
    const test::SampleEvent sample;
    auto spec = quick(WEIR_FAULTY_SELECTION, WorkersAre::processes);
    spec.time_limit = 60s;
    auto selector = selector_of(spec);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(selector->select(sample.event(100), stop.get_token()).trouble, Trouble::stopped);  // not even started
}

TEST(Selector, AStopWhileASelectionRunsIsNoFaultOfIt) {
    const test::SampleEvent sample;
    auto spec = quick(WEIR_FAULTY_SELECTION, WorkersAre::processes);
    spec.time_limit = 60s;
    auto selector = selector_of(spec);
    EXPECT_EQ(selector->select(sample.event(100), {}).trouble, Trouble::none);
    std::stop_source stop;
    std::jthread later([&] {
        std::this_thread::sleep_for(100ms);
        stop.request_stop();
    });
    const auto judgement = selector->select(sample.event(2), stop.get_token());  // it would never answer
    EXPECT_EQ(judgement.trouble, Trouble::stopped);
    EXPECT_EQ(judgement.why, "the station stops");
}

TEST(Selector, ALibraryThatIsDistrustedRunsInProcessesWithEveryWorker) {
    const test::SampleEvent sample;
    auto opened = Selection::open(quick(WEIR_FAULTY_SELECTION, WorkersAre::threads));
    ASSERT_TRUE(opened) << opened.error().message();
    const auto before = opened->make();
    EXPECT_FALSE(opened->in_processes());
    EXPECT_TRUE(opened->distrust());
    EXPECT_TRUE(opened->in_processes());
    EXPECT_EQ(before->select(sample.event(3), {}).trouble, Trouble::crashed);
    EXPECT_EQ(opened->make()->select(sample.event(3), {}).trouble, Trouble::crashed);
    EXPECT_EQ(before->select(sample.event(100), {}).trouble, Trouble::none);
    EXPECT_FALSE(Selection::open({.selection = "all"})->distrust());
}

TEST(Selector, ALargerEventThanEverBeforeFitsIntoSharedMemory) {
    std::vector<std::byte> bytes(3 << 20, std::byte{1});
    const Fragment fragment{SourceId{7}, FragmentState::here, bytes};
    const Event event{.global_id = GlobalEventId{100}, .fragments = std::span(&fragment, 1), .payload = bytes};
    auto selector = selector_of(quick(WEIR_FAULTY_SELECTION, WorkersAre::processes));
    const test::SampleEvent sample;
    EXPECT_EQ(selector->select(sample.event(100), {}).trouble, Trouble::none);
    const auto judgement = selector->select(event, {});
    EXPECT_EQ(judgement.trouble, Trouble::threw);  // its result is larger than is allowed: it saw all of the fragment
    EXPECT_NE(judgement.why.find("3145728"), std::string::npos) << judgement.why;
}

TEST(Selector, PythonSeesFragmentsAsWordsAndDecides) {
    if (const auto why = test::why_no_python()) GTEST_SKIP() << *why;
    const test::SampleEvent sample;
    auto spec = quick(WEIR_FAULTY_PYTHON, WorkersAre::processes);
    spec.time_limit = 20s;
    auto selector = selector_of(spec);
    const auto good = selector->select(sample.event(100), {});
    EXPECT_EQ(good.trouble, Trouble::none) << good.why;
    EXPECT_EQ(good.decision.level2_words, (std::vector<std::uint32_t>{10, 30, 1, 0}));
    EXPECT_EQ(good.decision.result.size(), 16U);
    EXPECT_EQ(selector->select(sample.event(109), {}).decision.tags.size(), 2U);
    EXPECT_FALSE(selector->select(sample.event(108), {}).decision.accepted);
    const auto thrown = selector->select(sample.event(101), {});
    EXPECT_EQ(thrown.trouble, Trouble::threw);
    EXPECT_NE(thrown.why.find("ZeroDivisionError"), std::string::npos) << thrown.why;
    EXPECT_EQ(selector->select(sample.event(105), {}).trouble, Trouble::threw);
    EXPECT_EQ(selector->select(sample.event(110), {}).trouble, Trouble::threw);
    EXPECT_EQ(selector->select(sample.event(103), {}).trouble, Trouble::crashed);
    EXPECT_EQ(selector->select(sample.event(100), {}).trouble, Trouble::none);
    EXPECT_EQ(selector->restarts(), 1U);
}

TEST(Selector, ADecisionBeyondTheLimitsInPythonIsReportedAndItsProcessGoesOn) {
    if (const auto why = test::why_no_python()) GTEST_SKIP() << *why;
    const test::SampleEvent sample;
    auto spec = quick(WEIR_FAULTY_PYTHON, WorkersAre::processes);
    spec.time_limit = 20s;
    auto selector = selector_of(spec);
    for (const auto& [event, reason] : {std::pair{111, "33 streams; 32 are allowed"},
                                        {112, "65537 bytes of result; 65536 are allowed"},
                                        {113, "257 words; 256 are allowed"},
                                        {114, "error"},
                                        {115, "error"}}) {
        const auto judgement = selector->select(sample.event(static_cast<std::uint64_t>(event)), {});
        EXPECT_EQ(judgement.trouble, Trouble::threw) << event << ": " << judgement.why;
        EXPECT_NE(judgement.why.find(reason), std::string::npos) << event << ": " << judgement.why;
    }
    EXPECT_EQ(selector->select(sample.event(100), {}).trouble, Trouble::none);
    EXPECT_EQ(selector->restarts(), 0U);
}

TEST(Selector, APythonFileThatCannotBeLoadedIsReportedWithTheReason) {
    if (const auto why = test::why_no_python()) GTEST_SKIP() << *why;
    const auto opened = Selection::open(quick(std::string(WEIR_PLUGINS) + "/broken_selection.py", WorkersAre::threads));
    ASSERT_FALSE(opened.has_value());
    EXPECT_NE(opened.error().context.find("no function select"), std::string::npos) << opened.error().context;
}

}  // namespace
}  // namespace weir::selection

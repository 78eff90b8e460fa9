// SPDX-License-Identifier: Apache-2.0
// Front-ends with every fault, in a thread, in a process, in Python: what they send correctly is in the buffers bit for
// bit, the rest is named, and a stop ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "front_end/front_end_feed.hpp"
#include "matching/matched_intake.hpp"
#include "plug_in_faults.hpp"
#include "weir/base/random.hpp"
#include "weir/event/fragment.hpp"

namespace weir::readout {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using namespace plugin;  // Fault

enum class Where { thread, process, python };

constexpr auto generous = 100s;  // far more than anything here takes, on a machine with other work too

FrontEndSpec spec_of(Where where) {
    FrontEndSpec spec;
    spec.file = where == Where::python ? WEIR_FRONT_ENDS "/faulty_front_end.py" : WEIR_FAULTY_FRONT_END;
    spec.runs = where == Where::thread ? FrontEndRuns::thread : FrontEndRuns::process;
    spec.time_limit = generous;  // only those that hang meet it
    spec.start_limit = generous;
    spec.restart_first = 1ms;
    spec.restart_last = 4ms;
    return spec;
}

const std::vector<SourceId> two_sources{SourceId{0x10}, SourceId{0x11}};

/// A readout around one front-end.
class Rig {
public:
    Rig(FrontEndSpec spec, std::uint32_t run, std::uint32_t events_max = 4096, const Clock& clock = system_clock(),
        bool by_time = false)
        : store(
              {.sources = two_sources, .events_max = events_max, .bytes_max = Bytes{8ULL << 20}, .first = Level1Id{0}}),
          intake(store, intake_options(run, by_time), {}),
          delivery(intake, store, [this](const Report& report) { note(report); }, "crate.so", clock) {
        spec.clock = &clock;
        if (by_time)
            matched.emplace(
                intake, TimeMatching{.settle = 1ms, .unlocked_after = 10 * generous},
                [this](const Report& report) { note(report); }, clock);
        auto opened = FrontEndPlugin::open(spec);
        EXPECT_TRUE(opened) << opened.error().message();
        feed = make_front_end_feed(*opened, RunNumber{run}, two_sources, delivery);
    }

    void trigger(std::uint32_t first, std::uint32_t last) {
        std::vector<Trigger> triggers;
        for (auto id = first; id <= last; ++id) triggers.push_back({.level1_id = Level1Id{id}, .type = id % 7});
        feed->read_out(triggers);
    }
    /// Until all of these are here or lost.
    [[nodiscard]] bool complete(std::uint32_t first, std::uint32_t last) const {
        const auto deadline = std::chrono::steady_clock::now() + generous;
        for (auto id = first; id <= last; ++id)
            if (!store.wait_until_ready(Level1Id{id}, {}, deadline)) return false;
        return true;
    }
    /// Of one source: here bit for bit, or lost.
    [[nodiscard]] wire::RobState state(std::uint32_t id, SourceId source) const {
        std::vector<wire::RobPart> parts;
        std::vector<std::byte> data;
        store.read(Level1Id{id}, {&source, 1}, parts, data);
        if (parts.at(0).state != wire::RobState::here) return parts[0].state;
        const auto rob = event::FragmentView::parse(data, event::Level::rob, event::Format::event_5_0);
        EXPECT_TRUE(rob);
        const auto rod = event::RodView::parse(rob->payload(), rob->payload_offset());
        EXPECT_TRUE(rod);
        EXPECT_EQ(rod->level1_id(), Level1Id{id});
        std::vector<std::byte> expected;
        for (std::uint32_t i = 0; i < id % 100; ++i) expected.push_back(static_cast<std::byte>(id + i));
        EXPECT_GE(rod->data().size(), expected.size());
        EXPECT_TRUE(std::ranges::equal(rod->data().first(expected.size()), expected)) << id;
        return wire::RobState::here;
    }
    void expect_here(std::uint32_t first, std::uint32_t last) const {
        EXPECT_TRUE(complete(first, last));
        for (auto id = first; id <= last; ++id)
            for (const auto source : two_sources) EXPECT_EQ(state(id, source), wire::RobState::here) << id;
    }
    void clear(std::uint32_t first, std::uint32_t last) {
        std::vector<Level1Id> events;
        for (auto id = first; id <= last; ++id) events.push_back(Level1Id{id});
        store.clear(events);
    }
    void expect_balance() const {
        const auto counts = store.ledger().counts();
        EXPECT_EQ(counts.received, counts.stored + counts.rejected_in_all() + counts.in_hand);
        EXPECT_EQ(counts.in_hand, store.count_robs());
        EXPECT_EQ(counts.received, feed->stats().delivery.fragments);
    }
    [[nodiscard]] std::vector<std::string> alarms() const {
        const std::scoped_lock lock(mutex_);
        std::vector<std::string> names;
        for (const auto& report : reports_)
            if (!report.alarm.empty()) names.push_back(report.alarm + ": " + report.why);
        return names;
    }
    template <class Condition>
    [[nodiscard]] static bool comes_true(Condition&& condition) {
        const auto deadline = std::chrono::steady_clock::now() + generous;
        while (!condition()) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            std::this_thread::sleep_for(1ms);
        }
        return true;
    }

    RobStore store;
    FragmentIntake intake;
    std::optional<MatchedIntake> matched;
    FragmentDelivery delivery;
    std::unique_ptr<FrontEndFeed> feed;

private:
    FragmentIntakeOptions intake_options(std::uint32_t run, bool by_time) {
        FragmentIntakeOptions options{.run = RunNumber{run}};
        if (by_time)
            options.by_time = [this](const wire::InputFragment& f, SteadyTime now) { return matched->add(f, now); };
        return options;
    }
    void note(const Report& report) {
        const std::scoped_lock lock(mutex_);
        reports_.push_back(report);
    }
    mutable std::mutex mutex_;
    std::vector<Report> reports_;
};

class FrontEnds : public testing::TestWithParam<Where> {
protected:
    [[nodiscard]] FrontEndSpec spec() const { return spec_of(GetParam()); }
    [[nodiscard]] bool in_process() const { return GetParam() != Where::thread; }
};
std::string where_name(const testing::TestParamInfo<Where>& where) {
    constexpr std::array names{"Thread", "Process", "Python"};
    return names.at(static_cast<std::size_t>(where.param));
}
INSTANTIATE_TEST_SUITE_P(Everywhere, FrontEnds, testing::Values(Where::thread, Where::process, Where::python),
                         where_name);

TEST_P(FrontEnds, ReadOutEveryTriggerAndTheBytesAreTheirs) {
    Rig rig(spec(), none);
    const auto begun = rig.feed->begin();
    ASSERT_TRUE(begun) << begun.error().message();
    rig.trigger(0, 999);
    rig.expect_here(0, 999);
    rig.feed->stop(generous);
    const auto stats = rig.feed->stats();
    EXPECT_EQ(stats.triggers, 1000U);
    EXPECT_EQ(stats.delivery.fragments, 2001U);  // end_run sends one
    EXPECT_EQ(stats.threw + stats.hung + stats.crashed + stats.restarts + stats.delivery.triggers_lost, 0U);
    rig.expect_balance();
}

TEST_P(FrontEnds, RunFreelyAndWaitWhileTheBuffersAreFull) {
    Rig rig(spec(), runs_freely, 256);
    ASSERT_TRUE(rig.feed->begin());
    rig.clear(0, 0);  // it begins at 1
    for (std::uint32_t id = 1; id <= 3000; id += 100) {
        rig.expect_here(id, id + 99);
        rig.clear(id, id + 99);
    }
    EXPECT_TRUE(Rig::comes_true([&] { return rig.feed->stats().delivery.busy > 0ns; }));
    rig.feed->stop(generous);
    rig.expect_balance();
    EXPECT_TRUE(rig.alarms().empty()) << rig.alarms().front();
    EXPECT_EQ(rig.feed->stats().hung, 0U);
}

TEST_P(FrontEnds, WhoseFragmentsBringOnlyATimeAreMatchedToTheirTriggers) {
    Rig rig(spec(), stamps, 4096, system_clock(), true);
    ASSERT_TRUE(rig.feed->begin());
    rig.clear(0, 0);  // it begins at 1
    constexpr std::uint32_t events = 300, lost = 150;
    Random random(3);
    std::vector<Trigger> triggers;
    std::vector<wire::TriggerNotice> notices;
    auto time = std::chrono::nanoseconds(1'700'000'000s);
    for (std::uint32_t id = 1; id <= events + 1; ++id) {  // behind the last one, which is not waited for then
        time += std::chrono::nanoseconds(50'000 + random.below(200'000));
        notices.push_back({.level1_id = Level1Id{id}, .type = 1, .time_ns = time.count()});
        if (id <= events) triggers.push_back({.level1_id = Level1Id{id}, .type = 1, .time = time});
    }
    rig.matched->start();
    rig.matched->add_triggers(notices);
    rig.feed->read_out(triggers);  // the board has the trigger's signal, and its clock
    ASSERT_TRUE(Rig::comes_true([&] { return rig.store.ledger().counts().received == 2 * events; }));
    rig.feed->stop(generous);
    rig.matched->end_run();
    for (std::uint32_t id = 1; id <= events; ++id)
        for (const auto source : two_sources)
            EXPECT_EQ(rig.state(id, source) == wire::RobState::here, id != lost || source == two_sources[0]) << id;
    EXPECT_EQ(rig.store.ledger().counts().rejected[static_cast<std::size_t>(RobReject::no_trigger)], 1U);
    EXPECT_TRUE(rig.alarms().empty()) << rig.alarms().front();
    rig.expect_balance();
}

TEST_P(FrontEnds, WaitingForRoomIsNoHangingAndAStopEndsIt) {
    ManualClock clock;
    Rig rig(spec(), runs_freely, 16, clock);
    rig.clear(0, 0);  // before it begins: the first time that it finds no room is the last
    ASSERT_TRUE(rig.feed->begin());
    ASSERT_TRUE(Rig::comes_true([&] { return clock.advance(1ms), rig.feed->stats().delivery.busy > 0ns; }));
    // In steps: one that falls between two of its waits is not counted.
    ASSERT_TRUE(
        Rig::comes_true([&] { return clock.advance(generous), rig.feed->stats().delivery.busy > 2 * generous; }));
    EXPECT_EQ(rig.feed->stats().hung, 0U);
    EXPECT_EQ(rig.feed->stats().hanging, 0ns);
    rig.feed->stop(generous);
    EXPECT_EQ(rig.feed->stats().hung, 0U);
    rig.expect_balance();
}

TEST_P(FrontEnds, WhoseBeginThrowsOrCrashesLetTheStartFailWithTheReason) {
    Rig rig(spec(), begin_throws);
    const auto begun = rig.feed->begin();
    ASSERT_FALSE(begun);
    EXPECT_THAT(begun.error().message(), HasSubstr("begin_run threw: "));
    EXPECT_THAT(begun.error().message(), HasSubstr("the crate is off"));
    rig.feed->stop(generous);
    if (!in_process()) return;
    Rig crashed(spec(), begin_crashes);
    const auto ended = crashed.feed->begin();
    ASSERT_FALSE(ended);
    EXPECT_THAT(ended.error().message(), HasSubstr("signal 6"));
}

TEST_P(FrontEnds, WhoseBeginHangsLetTheStartFailWhenItsTimeHasPassed) {
    ManualClock clock;  // of the process alone: a thread is loaded before, and waited for by the real time
    auto hurried = spec();
    if (!in_process()) hurried.start_limit = 100ms;
    const HangMark mark;
    Rig rig(hurried, begin_hangs, 4096, clock);
    auto begun = std::async(std::launch::async, [&] { return rig.feed->begin(); });
    EXPECT_TRUE(Rig::comes_true([&] { return mark.made(); }));
    if (in_process()) clock.advance(2 * generous);
    const auto result = begun.get();
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message(), HasSubstr("begin_run does not return within start_limit"));
    rig.feed->stop(100ms);
}

/// (In a thread it is left behind, as one that hangs.)
TEST(FrontEndProcess, ThatSendsOnAndOnAtTheEndIsEndedAfterItsTime) {
    for (const auto where : {Where::process, Where::python}) {
        Rig rig(spec_of(where), sends_for_ever);
        ASSERT_TRUE(rig.feed->begin());
        ASSERT_TRUE(Rig::comes_true([&] { return rig.feed->stats().delivery.fragments > 0; }));  // it is in its poll
        rig.feed->stop(50ms);
        EXPECT_EQ(rig.feed->stats().hung, 1U);
        EXPECT_EQ(rig.feed->stats().restarts, 0U);
    }
}

TEST_P(FrontEnds, ThatThrowAreNamedAndLoseOneTriggerOnly) {
    Rig rig(spec(), read_out_throws);
    ASSERT_TRUE(rig.feed->begin());
    rig.trigger(0, 99);
    ASSERT_TRUE(rig.complete(0, 99));
    for (std::uint32_t id = 0; id < 100; ++id)
        for (const auto source : two_sources)
            EXPECT_EQ(rig.state(id, source), id % 10 == 5 ? wire::RobState::lost : wire::RobState::here) << id;
    rig.feed->stop(generous);
    EXPECT_EQ(rig.feed->stats().threw, 10U);
    EXPECT_EQ(rig.feed->stats().delivery.triggers_lost, 10U);
    EXPECT_EQ(rig.feed->stats().restarts, 0U);
    EXPECT_THAT(rig.alarms(),
                Contains(AllOf(HasSubstr("front_end_threw: in read_out: "), HasSubstr("no data in the module"))));
    rig.expect_balance();
}

TEST_P(FrontEnds, WhosePollThrowsAreCalledAgainAfterAPause) {
    Rig rig(spec(), poll_throws);
    ASSERT_TRUE(rig.feed->begin());
    rig.clear(0, 0);
    rig.expect_here(1, 20);
    rig.feed->stop(generous);
    EXPECT_GE(rig.feed->stats().threw, 2U);
    EXPECT_THAT(rig.alarms(), Contains(HasSubstr("in poll: ")));
    rig.expect_balance();
}

TEST_P(FrontEnds, ThatSendWrongFragmentsAreNamedAndTheirGoodOnesStay) {
    Rig rig(spec(), wrong_fragments);
    ASSERT_TRUE(rig.feed->begin());
    rig.trigger(0, 9);
    rig.expect_here(0, 9);
    rig.feed->stop(generous);
    const auto counts = rig.store.ledger().counts();
    for (const auto reason : {RobReject::unknown_source, RobReject::duplicate, RobReject::too_far_ahead,
                              RobReject::too_large, RobReject::malformed}) {
        EXPECT_EQ(counts.rejected[static_cast<std::size_t>(reason)], 1U) << name(reason);
        EXPECT_THAT(rig.alarms(), Contains(HasSubstr(std::string("front_end_refused: ") + name(reason))))
            << name(reason);
    }
    rig.expect_balance();
}

TEST_P(FrontEnds, ThatHangInAProcessAreStartedAgainAndInAThreadAreLeftBehind) {
    ManualClock clock;
    const auto passes = [&](std::chrono::nanoseconds time) { return clock.advance(time), true; };
    const HangMark mark;
    Rig rig(spec(), hangs, 4096, clock);
    ASSERT_TRUE(rig.feed->begin());
    rig.trigger(0, 4);
    rig.expect_here(0, 4);
    EXPECT_EQ(rig.feed->stats().hung, 0U);
    rig.trigger(5, 5);
    ASSERT_TRUE(Rig::comes_true([&] { return mark.made(); }));
    ASSERT_TRUE(Rig::comes_true([&] { return !rig.alarms().empty() || !passes(1s); }));
    EXPECT_THAT(rig.alarms().front(), HasSubstr("front_end_hangs: read_out does not return within time_limit"));
    if (in_process()) {
        ASSERT_TRUE(rig.complete(5, 5));
        EXPECT_EQ(rig.state(5, two_sources[0]), wire::RobState::lost);
        ASSERT_TRUE(Rig::comes_true([&] { return passes(1ms) && rig.feed->stats().restarts == 1; }));
        rig.trigger(6, 14);
        rig.expect_here(6, 14);
    } else {
        EXPECT_GT(rig.feed->stats().hanging, 0ns);
    }
    rig.feed->stop(200ms);
    EXPECT_EQ(rig.feed->stats().hung, 1U);
    rig.expect_balance();
}

TEST_P(FrontEnds, WhoseEndThrowsOrHangsDoNotHoldUpTheStop) {
    Rig rig(spec(), end_throws);
    ASSERT_TRUE(rig.feed->begin());
    rig.feed->stop(generous);
    EXPECT_THAT(rig.alarms(), Contains(HasSubstr("in end_run: ")));
    Rig hanging(spec(), end_hangs);
    ASSERT_TRUE(hanging.feed->begin());
    hanging.feed->stop(200ms);
    EXPECT_THAT(hanging.alarms(), Contains(HasSubstr("front_end_hangs")));
}

TEST_P(FrontEnds, ThatAreDestroyedWithoutAStopAreNotSaidToHang) {
    for (const auto fault : {none, runs_freely, end_hangs}) {
        Rig rig(spec(), fault);
        ASSERT_TRUE(rig.feed->begin());
        rig.feed.reset();
        EXPECT_TRUE(rig.alarms().empty()) << fault << ": " << rig.alarms().front();
    }
}

class FrontEndsInProcesses : public FrontEnds {};  // in a thread a crash ends the readout
INSTANTIATE_TEST_SUITE_P(Everywhere, FrontEndsInProcesses, testing::Values(Where::process, Where::python), where_name);

TEST_P(FrontEndsInProcesses, ThatEndOrSendNonsenseAreStartedAgain) {
    for (const auto& [fault, why] :
         {std::pair{crashes, "signal 6"}, {exits, "exit code 3"}, {sends_garbage, "not an answer"}}) {
        Rig rig(spec(), fault);
        ASSERT_TRUE(rig.feed->begin());
        rig.trigger(0, 4);
        rig.expect_here(0, 4);
        rig.trigger(5, 5);
        ASSERT_TRUE(Rig::comes_true([&] { return rig.feed->stats().restarts == 1; })) << why;
        EXPECT_THAT(rig.alarms(), Contains(AllOf(HasSubstr("front_end_crashed"), HasSubstr(why))));
        rig.trigger(6, 14);
        rig.expect_here(6, 14);
        ASSERT_TRUE(rig.complete(5, 5));
        rig.feed->stop(generous);
        EXPECT_EQ(rig.feed->stats().crashed, 1U);
        rig.expect_balance();
    }
}

TEST(FrontEndPlugin, AFileThatIsNoFrontEndIsRefusedWithTheReason) {
    const auto why = [](const std::string& file, FrontEndRuns runs = FrontEndRuns::thread) {
        FrontEndSpec spec;
        spec.file = file;
        spec.runs = runs;
        const auto opened = FrontEndPlugin::open(spec);
        return opened ? std::string("it was opened") : opened.error().context;
    };
    EXPECT_THAT(why("nothing.so"), HasSubstr("is not there"));
    EXPECT_THAT(why("front_end.txt"), HasSubstr("give a file NAME.so or NAME.py"));
    EXPECT_THAT(why(WEIR_FRONT_ENDS "/broken_front_end.py"), HasSubstr("there is no such crate"));
    EXPECT_THAT(why(WEIR_FRONT_ENDS "/no_front_end.py"), HasSubstr("neither poll(out) nor read_out(trigger, out)"));
    for (const auto runs : {FrontEndRuns::thread, FrontEndRuns::process})
        EXPECT_THAT(why(WEIR_NO_FRONT_END, runs), HasSubstr("no front-end: it has no WEIR_FRONT_END"));
}

}  // namespace
}  // namespace weir::readout

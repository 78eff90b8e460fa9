// SPDX-License-Identifier: Apache-2.0
// Trigger plug-ins with every fault, in C++ and in Python: their triggers come in order and as they were sent, as many
// as there is room for, and what goes wrong is named and survived.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "plug_in_faults.hpp"
#include "triggers/plug_in/trigger_process.hpp"
#include "triggers/trigger_time.hpp"
#include "weir/base/testing/eventually.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using weir::testing::eventually;
using namespace plugin;  // Fault

constexpr auto generous = 120s;  // far more than anything here takes, on a machine with other work too

TriggerPlugInSpec spec_of(const std::string& file, const Clock& clock = system_clock()) {
    TriggerPlugInSpec spec;
    spec.file = file;
    spec.time_limit = generous;  // only those that hang meet it
    spec.start_limit = generous;
    spec.restart_first = 1ms;
    spec.restart_last = 4ms;
    spec.poll_interval = 100us;
    spec.clock = &clock;
    return spec;
}

/// A supervisor around one plug-in.
class Rig {
public:
    Rig(const std::string& file, Fault fault, const Clock& clock = system_clock())
        : triggers(Level1Id{1}, reporter),
          opened(open_trigger_plug_in(spec_of(file, clock)).value()),
          process(opened, RunNumber{fault}, triggers, reporter, [this] { ++wakes; }) {}
    ~Rig() { end(); }

    void start() {
        const auto begun = process.begin();
        ASSERT_TRUE(begun) << begun.error().message();
        EXPECT_EQ(triggers.waiting(), 0U) << "without a run there is no credit";
        triggers.start_run({});
    }
    /// As a supervisor with so much room at each step does, until so many came.
    [[nodiscard]] bool take(std::size_t count, std::size_t room = 50) {
        return eventually(
            [&] {
                triggers.collect({}, std::min(room, count - std::min(count, taken.size())));
                for (auto& skipped : triggers.take_skipped()) lost.push_back(skipped);
                while (triggers.due({})) taken.push_back(triggers.take({}));
                return taken.size() >= count;
            },
            generous);
    }
    void end() {
        triggers.end_input();
        process.end();
        process.join();
    }
    /// From `first` on, each as it was sent.
    void expect_as_sent(std::uint32_t first = 1) const {
        for (std::size_t i = 0; i < taken.size(); ++i) {
            const auto id = first + static_cast<std::uint32_t>(i);
            ASSERT_EQ(taken[i].level1_id, Level1Id{id});
            ASSERT_EQ(time_ns(taken[i]), 1'700'000'000'000'000'000 + 1000 * std::int64_t{id});
            ASSERT_EQ(taken[i].trigger_type, id % 7);
            ASSERT_EQ(taken[i].bunch_crossing_id, id % 3564);
            ASSERT_EQ(taken[i].level1_words, std::vector<std::uint32_t>(id % 5, id));
        }
    }
    void expect_balance() const {
        const auto counts = triggers.counts();
        EXPECT_EQ(counts.received, counts.taken + counts.doubled + counts.out_of_order + counts.too_far_ahead +
                                       counts.stopping + counts.in_hand);
        EXPECT_EQ(counts.in_hand, 0U);
    }
    [[nodiscard]] std::vector<std::string> alarms() const {
        const std::scoped_lock lock(mutex);
        return seen;
    }

    mutable std::mutex mutex;
    std::vector<std::string> seen;
    const Reporter reporter{[this](const Report& report) {
        const std::scoped_lock lock(mutex);
        if (!report.alarm.empty()) seen.push_back(report.alarm + ": " + report.why);
    }};
    std::atomic<int> wakes{0};
    PlugInTriggers triggers;
    std::vector<wire::EventTicket> taken;
    std::vector<SkippedIds> lost;
    const plugin::PlugInProgram opened;
    TriggerProcess process;
};

class TriggerPlugIns : public ::testing::TestWithParam<const char*> {
protected:
    [[nodiscard]] static std::string file() {
        return GetParam() == std::string("Python") ? WEIR_PLUGINS "/faulty_triggers.py" : WEIR_FAULTY_TRIGGERS;
    }
};
INSTANTIATE_TEST_SUITE_P(Both, TriggerPlugIns, ::testing::Values("Cpp", "Python"),
                         [](const auto& language) { return std::string(language.param); });

TEST_P(TriggerPlugIns, SendTriggersThatComeInOrderAndAsTheyWereSent) {
    Rig rig(file(), none);
    rig.start();
    ASSERT_TRUE(rig.take(1000));
    rig.end();
    rig.expect_as_sent();
    rig.expect_balance();
    EXPECT_EQ(rig.triggers.counts().taken, 1000U);
    EXPECT_GT(rig.wakes, 0);
    EXPECT_TRUE(rig.alarms().empty()) << rig.alarms().front();
    const auto stats = rig.process.stats();
    EXPECT_EQ(stats.threw + stats.hung + stats.crashed + stats.restarts, 0U);
}

TEST_P(TriggerPlugIns, WaitWhileThereIsNoRoomAndGoOnWhereTheyWere) {
    Rig rig(file(), none);
    rig.start();
    const auto all_wait = [&] { return rig.triggers.waiting() == PlugInTriggers::waiting_max; };
    ASSERT_TRUE(eventually(all_wait, generous));
    EXPECT_EQ(rig.triggers.counts().received, 0U);
    ASSERT_TRUE(rig.take(100));
    ASSERT_TRUE(eventually(all_wait, generous));
    EXPECT_EQ(rig.triggers.counts().received, 100U);
    ASSERT_TRUE(rig.take(2000, 7));
    rig.expect_as_sent();
    rig.end();
    rig.expect_balance();
    EXPECT_EQ(rig.process.stats().hung, 0U);
}

TEST_P(TriggerPlugIns, CanLookWhetherThereIsRoomInsteadOfWaiting) {
    Rig rig(file(), looks_for_busy);
    rig.start();
    // Those that it sends first are followed by some of which it knows that it has waited.
    std::size_t wanted = 0;
    do {
        ASSERT_TRUE(eventually([&] { return rig.triggers.waiting() == PlugInTriggers::waiting_max; }, generous));
        ASSERT_TRUE(rig.take(wanted += PlugInTriggers::waiting_max));
    } while (rig.taken.back().trigger_type == rig.taken.front().trigger_type);
}

TEST_P(TriggerPlugIns, WhoseBeginThrowsLetTheStartFailWithTheReason) {
    Rig rig(file(), begin_throws);
    const auto begun = rig.process.begin();
    ASSERT_FALSE(begun);
    EXPECT_THAT(begun.error().context, AllOf(HasSubstr("begin_run threw: "), HasSubstr("the unit is off")));
}

TEST_P(TriggerPlugIns, ThatThrowAreNamedAndCalledAgain) {
    for (const auto& [fault, why] :
         {std::pair{poll_throws, "the bus does not answer"}, {too_many_words, "300 words"}}) {
        Rig rig(file(), fault);
        rig.start();
        ASSERT_TRUE(rig.take(60)) << why;
        if (fault == poll_throws) rig.expect_as_sent();
        rig.end();
        EXPECT_GE(rig.process.stats().threw, 1U);
        EXPECT_THAT(rig.alarms(), Contains(HasSubstr("trigger_plug_in_threw: in poll: ")));
        EXPECT_EQ(rig.process.stats().crashed, 0U);
        rig.expect_balance();
    }
}

TEST_P(TriggerPlugIns, ThatHangAreNamedKilledAndStartedAgain) {
    ManualClock clock;
    const HangMark mark;
    Rig rig(file(), hangs, clock);
    rig.start();
    ASSERT_TRUE(rig.take(40));
    ASSERT_TRUE(eventually([&] { return mark.made(); }, generous));
    ASSERT_TRUE(eventually(
        [&] {
            if (rig.process.stats().hung == 0) clock.advance(1s);
            return rig.process.stats().hung > 0;
        },
        generous));
    ASSERT_TRUE(eventually([&] { return clock.advance(1ms), rig.process.stats().restarts == 1; }, generous));
    ASSERT_TRUE(rig.take(200));
    rig.expect_as_sent();  // it was given the next id
    EXPECT_THAT(rig.alarms(), Contains(HasSubstr("trigger_plug_in_hangs: poll does not return within time_limit")));
    rig.end();
    rig.expect_balance();
}

TEST_P(TriggerPlugIns, ThatEndOrSendNonsenseAreNamedAndStartedAgain) {
    for (const auto& [fault, why] :
         {std::pair{crashes, "signal 6"}, {exits, "exit code 3"}, {sends_garbage, "not an answer"}}) {
        Rig rig(file(), fault);
        rig.start();
        ASSERT_TRUE(rig.take(200)) << why;
        rig.expect_as_sent();
        EXPECT_EQ(rig.process.stats().crashed, 1U);
        EXPECT_EQ(rig.process.stats().restarts, 1U);
        EXPECT_THAT(rig.alarms(), Contains(AllOf(HasSubstr("trigger_plug_in_crashed"), HasSubstr(why))));
        rig.end();
        rig.expect_balance();
    }
}

TEST_P(TriggerPlugIns, ThatDieBehindAWrongLevel1IdGoOnWithTheOneThatComesNext) {
    Rig rig(file(), wrong_id_then_crashes);
    rig.start();
    ASSERT_TRUE(rig.take(200));
    rig.expect_as_sent();
    EXPECT_EQ(rig.triggers.faults().at("triggers doubled").ranges(9), "10") << "the wrong one only";
    EXPECT_EQ(rig.process.stats().restarts, 1U);
    rig.end();
    rig.expect_balance();
}

TEST_P(TriggerPlugIns, RestAsLongAsPollIntervalSaysAlsoBelowAMillisecond) {
    Rig rig(file(), rests_briefly);
    rig.start();
    ASSERT_TRUE(rig.take(1)) << "it sends one when it was called again within a millisecond often enough";
}

TEST_P(TriggerPlugIns, WhoseLevel1IdsAreWrongAreNamedAndTheirGoodOnesStay) {
    Rig rig(file(), wrong_ids);
    rig.start();
    ASSERT_TRUE(rig.take(100));
    std::vector<std::uint32_t> ids;
    for (const auto& ticket : rig.taken) ids.push_back(number(ticket.level1_id));
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(ids[i], i < 10 ? i + 1 : i + 4);
    EXPECT_THAT(rig.lost, ElementsAre(SkippedIds{Level1Id{11}, 3}));
    EXPECT_EQ(rig.triggers.faults().at("triggers lost").ranges(9), "11-13");
    EXPECT_EQ(rig.triggers.faults().at("triggers doubled").ranges(9), "14");
    EXPECT_THAT(rig.alarms(), Contains(HasSubstr("triggers_lost")));
    rig.end();
    rig.expect_balance();
}

TEST_P(TriggerPlugIns, WhoseEndThrowsDoNotHoldUpTheStop) {
    Rig rig(file(), end_throws);
    rig.start();
    ASSERT_TRUE(rig.take(10));
    rig.end();
    EXPECT_THAT(rig.alarms(), Contains(HasSubstr("in end_run: ")));
    EXPECT_EQ(rig.process.stats().hung, 0U);
    rig.expect_balance();
}

TEST_P(TriggerPlugIns, ThatSendOnAndOnAtTheEndAreEndedAfterTheirTime) {
    ManualClock clock;
    Rig rig(file(), sends_for_ever, clock);
    rig.start();
    ASSERT_TRUE(rig.take(100));
    rig.triggers.end_input();
    rig.process.end();
    std::jthread passes([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) clock.advance(1s), std::this_thread::sleep_for(1ms);
    });
    rig.process.join();
    EXPECT_EQ(rig.process.stats().hung, 1U);
    EXPECT_EQ(rig.process.stats().restarts, 0U);
    rig.expect_balance();
}

TEST(TriggerPlugIn, AFileThatIsNoTriggerPlugInIsRefusedWithTheReason) {
    const auto why = [](const std::string& file) {
        const auto opened = open_trigger_plug_in(spec_of(file));
        return opened ? std::string("it was opened") : opened.error().context;
    };
    EXPECT_THAT(why("nothing.so"), HasSubstr("is not there"));
    EXPECT_THAT(why("unit.txt"), HasSubstr("give a file NAME.so or NAME.py"));
    EXPECT_THAT(why(WEIR_PLUGINS "/no_triggers.py"), HasSubstr("has no poll(out)"));
    EXPECT_THAT(why(WEIR_NO_SELECTION), HasSubstr("no trigger plug-in: it has no WEIR_TRIGGER_PLUG_IN"));
}

}  // namespace
}  // namespace weir::selection

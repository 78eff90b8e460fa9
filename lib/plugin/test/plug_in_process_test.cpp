// SPDX-License-Identifier: Apache-2.0
// Shell scripts play the worker: its socket is descriptor 3, its shared memory descriptor 4. Real workers are tested
// where there are plug-ins: in lib/readout and lib/selection.
#include "weir/plugin/plug_in_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "weir/base/testing/eventually.hpp"

namespace weir::plugin {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using weir::testing::eventually;

constexpr auto generous = 120s;  // far more than anything here takes, on a machine with other work too

// What the scripts send: each without a body, but for `ready`, with has_poll, and `records`, with two bytes.
const std::string ready = R"(printf 'WRSA\001\000\000\000\004\000\000\000\001\000\000\000' >&3; )";
const std::string begun = R"(printf 'WRSA\003\000\000\000\000\000\000\000' >&3; )";
const std::string alive = R"(printf 'WRSA\004\000\000\000\000\000\000\000' >&3; )";
const std::string ended = R"(printf 'WRSA\005\000\000\000\000\000\000\000' >&3; )";
const std::string records = R"(printf 'WRSA\006\000\000\000\002\000\000\000hi' >&3; )";
const std::string threw = R"(printf 'WRSA\002\000\000\000\015\000\000\000\003\000\000\000\000\000\000\000a bus' >&3; )";
const std::string polls = R"(printf '\003\000\000\000' >&4; )";  // in shared memory
const std::string takes_begin_run = "head -c 24 <&3 >/dev/null; ";
const std::string takes_end_run = "head -c 12 <&3 >/dev/null; ";
const std::string hangs = "sleep 1000; ";

/// A station around a script. `FIRST` in it is a file that the first process finds missing and makes.
class Rig final : private PlugInProcess::Station {
public:
    explicit Rig(const std::string& script, const Clock& clock = system_clock())
        : process(program(script, clock), RunNumber{7}, reporter, *this) {}

    void expect_begun() {
        const auto result = process.begin();
        ASSERT_TRUE(result) << result.error().message();
    }
    /// In which time passes by a second for each real millisecond.
    [[nodiscard]] static bool passes_until(ManualClock& clock, const auto& condition) {
        return eventually([&] { return condition() || (clock.advance(1s), false); }, generous);
    }
    [[nodiscard]] std::vector<std::string> alarms() const {
        const std::scoped_lock lock(mutex);
        return seen;
    }

    mutable std::mutex mutex;
    std::vector<std::string> seen;
    const Reporter reporter{[this](const Report& report) {
        const std::scoped_lock lock(mutex);
        seen.push_back(report.alarm + ": " + report.why);
    }};
    std::atomic<int> taken{0}, given{0}, lost{0};
    std::atomic<bool> late{false};  // what is taken is looked at when the run ends
    PlugInProcess process;

private:
    [[nodiscard]] PlugInProgram program(const std::string& script, const Clock& clock) const {
        PlugInSpec spec;
        spec.file = "board.py";
        spec.time_limit = spec.start_limit = generous;
        spec.restart_first = spec.restart_last = 1ms;
        spec.clock = &clock;
        return {.kind = {.name = "board",
                         .alarm = "board",
                         .program = "",
                         .script = "",
                         .limits = {.kind_max = 7, .size_max = 1000},
                         .threw = "look",
                         .hangs = "look",
                         .crashed = "look"},
                .spec = spec,
                .command = {"/bin/sh", "-c", script},
                .has = has_poll};
    }
    std::vector<std::uint32_t> begin_words() override { return {1}; }
    void give(WorkerProcess&) override { ++given; }
    Result<> take(const WorkerMessage& message, const std::stop_token&) override {
        if (message.kind != static_cast<std::uint32_t>(FromPlugIn::records)) return fail(Errc::limit, "unknown");
        ++taken;
        return {};
    }
    void gone() override { ++lost; }
};

/// Of the test, and this process: a file that is not there yet.
std::string absent() {
    auto path = ::testing::TempDir() + "weir_plug_in_" + std::to_string(::getpid()) + "_" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove(path);
    return path;
}

TEST(PlugInProcess, BeginsServesAndEnds) {
    Rig rig(ready + takes_begin_run + begun + threw + records + alive + takes_end_run + records + ended + hangs);
    rig.expect_begun();
    ASSERT_TRUE(eventually([&] { return rig.taken == 1; }, generous));
    rig.process.end(generous);
    rig.process.join();
    EXPECT_EQ(rig.taken, 2);
    EXPECT_EQ(rig.lost, 1);
    EXPECT_THAT(rig.alarms(), ElementsAre("board_threw: in poll: a bus"));
    const auto stats = rig.process.stats();
    EXPECT_EQ(stats.threw, 1U);
    EXPECT_EQ(stats.hung + stats.crashed + stats.restarts, 0U);
}

TEST(PlugInProcess, AWakeLetsTheStationGiveWhatIsNew) {
    Rig rig(ready + takes_begin_run + begun + hangs);
    rig.expect_begun();
    ASSERT_TRUE(eventually([&] { return rig.given > 0; }, generous));
    const int before = rig.given;
    rig.process.wake();
    EXPECT_TRUE(eventually([&] { return rig.given > before; }, generous));
}

TEST(PlugInProcess, ABeginThatFailsIsNamedToTheStartAndNotCounted) {
    const auto why = [](const std::string& script) {
        Rig rig(script);
        const auto begin = rig.process.begin();
        EXPECT_EQ(rig.process.stats().crashed + rig.process.stats().hung, 0U);
        EXPECT_EQ(rig.lost, 0) << "nothing had begun";
        return begin ? "it began" : begin.error().context;
    };
    EXPECT_THAT(why("exit 3"), HasSubstr("exit code 3"));
    EXPECT_THAT(why(ready + "exit 4"), HasSubstr("exit code 4"));
    EXPECT_THAT(why(ready + takes_begin_run + threw + hangs), HasSubstr("poll threw: a bus"));
    EXPECT_THAT(why(ready + ready + hangs), HasSubstr("not its turn"));
    EXPECT_THAT(why("printf 'GET / HTTP/1.1' >&3; " + hangs), HasSubstr("not an answer"));
}

TEST(PlugInProcess, ABeginHasItsTimeAlsoWhenItSaysOnAndOnThatItIsAlive) {
    const auto mark = absent(), marks = "touch " + mark + "; ";
    for (const auto& [script, why] :
         {std::pair{marks + hangs, "it did not load within start_limit"},
          {ready + takes_begin_run + marks + hangs, "begin_run does not return within start_limit"},
          {ready + takes_begin_run + marks + "while :; do " + alive + "done", "begin_run does not return within"}}) {
        std::filesystem::remove(mark);
        ManualClock clock;
        Rig rig(script, clock);
        EXPECT_TRUE(eventually([&] { return std::filesystem::exists(mark); }, generous));
        const std::jthread passes([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) clock.advance(1s), std::this_thread::sleep_for(1ms);
        });
        const auto begin = rig.process.begin();
        ASSERT_FALSE(begin);
        EXPECT_EQ(begin.error().code, Errc::limit);
        EXPECT_THAT(begin.error().context, HasSubstr(why));
    }
    std::filesystem::remove(mark);
}

TEST(PlugInProcess, AHangNamesTheCallAndIsKilledAndStartedAgain) {
    ManualClock clock;
    Rig rig(ready + takes_begin_run + polls + begun + records + hangs, clock);
    rig.expect_begun();
    ASSERT_TRUE(eventually([&] { return rig.taken == 1; }, generous));
    ASSERT_TRUE(Rig::passes_until(clock, [&] { return rig.process.stats().hung == 1; }));
    ASSERT_TRUE(eventually([&] { return clock.advance(1ms), rig.process.stats().restarts == 1; }, generous));
    EXPECT_THAT(rig.alarms(), ElementsAre("board_hangs: poll does not return within time_limit"));
    EXPECT_EQ(rig.process.stats().crashed, 0U);
    EXPECT_EQ(rig.lost, 1);
}

TEST(PlugInProcess, AHangWhoseCallIsNotKnownIsNamedWithoutIt) {
    ManualClock clock;
    Rig rig(ready + takes_begin_run + R"(printf '\377\377\377\377' >&4; )" + begun + records + hangs, clock);
    rig.expect_begun();
    ASSERT_TRUE(eventually([&] { return rig.taken == 1; }, generous));
    ASSERT_TRUE(Rig::passes_until(clock, [&] { return !rig.alarms().empty(); }));
    EXPECT_EQ(rig.alarms().front(), "board_hangs: a call does not return within time_limit");
}

TEST(PlugInProcess, AHangWhileItIsStartedAgainIsAHangAndNoCrash) {
    ManualClock clock;
    const auto first = absent(), second = first + "_again";
    std::filesystem::remove(second);
    Rig rig(ready + takes_begin_run + "if [ -e " + first + " ]; then touch " + second + "; " + hangs + "fi; touch " +
                first + "; " + begun + "exit 3",
            clock);
    rig.expect_begun();
    ASSERT_TRUE(eventually([&] { return clock.advance(1ms), std::filesystem::exists(second); }, generous));
    ASSERT_TRUE(Rig::passes_until(clock, [&] { return rig.alarms().size() == 2; }));
    EXPECT_EQ(rig.process.stats().crashed, 1U);
    EXPECT_EQ(rig.process.stats().hung, 1U);
    EXPECT_THAT(rig.alarms(), ElementsAre(AllOf(HasSubstr("board_crashed"), HasSubstr("exit code 3")),
                                          "board_hangs: begin_run does not return within start_limit"));
    std::filesystem::remove(first);
    std::filesystem::remove(second);
}

TEST(PlugInProcess, NonsenseIsACrashWithItsReason) {
    const auto unknown = std::string(R"(printf 'WRSA\007\000\000\000\000\000\000\000' >&3; )");
    for (const auto& [nonsense, why] : {std::pair{unknown, "unknown"},
                                        {begun, "not its turn"},
                                        {std::string("printf 0123456789ab >&3; "), "not an answer"}}) {
        Rig rig(ready + takes_begin_run + begun + nonsense + hangs);
        rig.expect_begun();
        ASSERT_TRUE(eventually([&] { return rig.process.stats().restarts > 0; }, generous));
        EXPECT_THAT(rig.alarms().front(), AllOf(HasSubstr("board_crashed"), HasSubstr(why)));
        EXPECT_EQ(rig.process.stats().hung, 0U);
    }
}

TEST(PlugInProcess, OneThatSendsOnAndOnAtTheEndIsKilledAfterItsTime) {
    Rig rig(ready + takes_begin_run + polls + begun + "while :; do " + records + "done");
    rig.expect_begun();
    ASSERT_TRUE(eventually([&] { return rig.taken > 0; }, generous));
    rig.process.end(20ms);
    rig.process.end(generous);  // counts no more
    rig.process.join();
    EXPECT_EQ(rig.process.stats().hung, 1U);
    EXPECT_THAT(rig.alarms(), ElementsAre("board_hangs: poll does not return within time_limit"));
}

TEST(PlugInProgram, AFileThatCannotBeLoadedIsRefusedWithTheReason) {
    PlugInSpec spec;
    const PlugInKind kind{.name = "board",
                          .alarm = "board",
                          .program = "none",
                          .script = "none.py",
                          .limits = {},
                          .threw = "",
                          .hangs = "",
                          .crashed = ""};
    spec.file = "board.txt";
    EXPECT_THAT(PlugInProgram::open(kind, spec).error().context, HasSubstr("give a file NAME.so or NAME.py"));
    spec.file = "nothing.py";
    EXPECT_THAT(PlugInProgram::open(kind, spec).error().context, HasSubstr("the board"));
}

}  // namespace
}  // namespace weir::plugin

// SPDX-License-Identifier: Apache-2.0
// The engines of a partition: for which machines they are asked, how often, and when what they gave is taken back.
#include "engines_fixture.hpp"

namespace weir::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EnginesOfAPartition : public EnginesTest {
protected:
    HostView view(const std::string& state, bool answers = false) {
        HostView host;
        host.name = "h1";
        host.state = state;
        host.asked = true;
        host.answers = answers;
        return host;
    }
    /// How often ssh was called in all when this look has had its time.
    std::size_t calls_after(HostEngines& engines, const HostView& host) {
        engines.step({host});
        engines.settle();
        return calls_of("ssh");
    }
    Reporter reporter() {
        return [this](const Report& report) { reports.push_back(text_of(report)); };
    }
    std::vector<std::string> reports;
};

TEST_F(EnginesOfAPartition, AreAskedAgainWithGrowingPausesAndWarnOnce) {
    script("ssh", "echo 'No route to host' >&2; exit 255");
    const auto partition = partition_with(one_ssh);
    ManualClock clock;
    HostEngines engines(partition, {}, reporter(), clock);
    EXPECT_FALSE(engines.has_begun(0));
    std::size_t calls = 0;
    for (const auto pause : {0s, 1s, 2s, 4s, 8s, 15s, 15s}) {
        if (pause > 0s) {
            clock.advance(pause - 1ms);
            EXPECT_EQ(calls_after(engines, view("unknown")), calls) << to_string(pause);
            clock.advance(1ms);
        }
        EXPECT_EQ(calls_after(engines, view("unknown")), ++calls) << to_string(pause);
        EXPECT_TRUE(engines.has_begun(0));
    }
    EXPECT_THAT(reports, ElementsAre("ssh did not bring h1: ssh: No route to host; it is tried again"));
    EXPECT_EQ(calls_after(engines, view("up", true)), calls);
    script("ssh", "");
    EXPECT_EQ(calls_after(engines, view("lost")), calls + 1) << "it was there: at once";
    EXPECT_EQ(reports.back(), "h1: its agent was started by ssh h1");
}

TEST_F(EnginesOfAPartition, GiveATokenToMachinesThatJoinAndAFreshOneWhenItMayBeUsedOrHasEnded) {
    script("ssh", "cat >>" + (folder / "tokens").native() + "; exit 1");
    const auto partition = partition_with(one_ssh + "join = \"10.77.0.10:7300\"\ncertificates = \"/c\"\n");
    ManualClock clock;
    Result<std::string> token = "first ";
    std::size_t made = 0;
    HostEngines engines(
        partition,
        [&](const std::string& host) {
            EXPECT_EQ(host, "h1");
            ++made;
            return token;
        },
        reporter(), clock);
    for (int i = 0; i < 3; ++i) {
        calls_after(engines, view("unknown"));
        clock.advance(15s);
    }
    token = "second ";
    calls_after(engines, view("up", true));
    calls_after(engines, view("lost"));
    clock.advance(9min);
    token = "third ";
    calls_after(engines, view("lost"));
    EXPECT_EQ(text_of_file("tokens"), "first first first second third ");
    EXPECT_EQ(made, 3U);
    clock.advance(9min);
    token = fail(Errc::limit, "too many tokens");
    EXPECT_EQ(calls_after(engines, view("lost")), 5U) << "it is of no use without one";
    EXPECT_EQ(reports.back(), "ssh did not bring h1: too many tokens; it is tried again");
}

TEST_F(EnginesOfAPartition, AreNotAskedForAMachineThatAnswersOrWasNotAskedItself) {
    script("ssh", "");
    const auto partition = partition_with(one_ssh);
    const ManualClock clock;
    HostEngines engines(partition, {}, reporter(), clock);
    HostView fresh;
    fresh.state = "unknown";
    for (const auto& host : {fresh, view("up", true), view("suspected"), view("unknown", true), view("lost", true)}) {
        engines.step({host});
        EXPECT_FALSE(engines.has_begun(0)) << host.state;
    }
}

TEST_F(EnginesOfAPartition, TakeBackOnlyWhatDoesNotAnswer) {
    script("sbatch", "echo 17");
    script("squeue", "");
    script("scancel", "");
    const auto partition = partition_with(one_slurm);
    const ManualClock clock;
    HostEngines engines(partition, {}, reporter(), clock);
    engines.step({view("unknown")});
    engines.settle();
    auto ends = view("up", true);
    ends.ends = true;
    engines.end({ends});
    engines.end({view("up", true)});  // it obeys another run control
    EXPECT_EQ(calls_of("scancel"), 0U);
    engines.end({view("lost")});
    EXPECT_EQ(calls_of("scancel"), 1U);
    EXPECT_EQ(reports.back(), "h1: its job 17 is cancelled");

    engines.end({view("lost")});
    EXPECT_EQ(calls_of("scancel"), 1U) << "there is nothing more";
    script("scancel", "echo 'no controller' >&2; exit 1");
    ManualClock later;
    HostEngines others(partition, {}, reporter(), later);
    others.step({view("unknown")});
    others.settle();
    others.end({view("unknown")});
    EXPECT_THAT(reports.back(), HasSubstr("job 17 of h1 may still be there: slurm did not take it back"));
}

}  // namespace
}  // namespace weir::control

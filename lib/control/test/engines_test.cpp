// SPDX-License-Identifier: Apache-2.0
// Engines with scripts in the place of ssh and of Slurm's commands: what is asked, when, and what is made of the
// answers. The real ones run in test/hosts/ssh_engine_test.py and slurm_engine_test.py.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "engines/agent_command.hpp"
#include "engines/engine_command.hpp"
#include "engines/host_engine.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/control/host_engines.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Environment = EngineCommand::Environment;

constexpr auto patience = 120s;

/// What `look` gives once it gives something.
template <class Look>
auto awaited(const Look& look) {
    const auto until = std::chrono::steady_clock::now() + patience;
    auto got = look();
    while (!got && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(1ms);
        got = look();
    }
    EXPECT_TRUE(got) << "it did not come";
    return got;
}

class EnginesTest : public testing::Test {
protected:
    EnginesTest() {
        std::string pattern = testing::TempDir() + "engines-XXXXXX";
        folder = ::mkdtemp(pattern.data());
        path_before = std::getenv("PATH");
        ::setenv("PATH", (folder.native() + ":" + path_before).c_str(), 1);
    }
    ~EnginesTest() override {
        ::setenv("PATH", path_before.c_str(), 1);
        std::filesystem::remove_all(folder);
    }
    /// A command that the engine finds in PATH; it notes how it was called in `calls`.
    void script(const std::string& name, const std::string& then) const {
        const auto path = folder / name;
        std::ofstream(path) << "#!/bin/sh\necho \"" << name << " $*\" >>" << (folder / "calls").native() << "\n"
                            << then << "\n";
        ::chmod(path.c_str(), 0755);
    }
    [[nodiscard]] std::string text_of_file(const std::string& name) const {
        std::ifstream file(folder / name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    [[nodiscard]] std::size_t calls_of(const std::string& name) const {
        std::ifstream file(folder / "calls");
        std::size_t count = 0;
        for (std::string line; std::getline(file, line);)
            if (line.starts_with(name + " ")) ++count;
        return count;
    }
    static Result<std::string> run(const std::vector<std::string>& words, std::string_view input = {},
                                   std::chrono::milliseconds deadline = patience) {
        auto command = EngineCommand::start(words, input, Environment::whole, deadline, system_clock());
        if (!command) return std::unexpected(command.error());
        return *awaited([&] { return command->ended(); });
    }
    static Result<std::string> outcome(HostEngine& engine) {
        return *awaited([&] { return engine.step(); });
    }
    static Partition partition_with(const std::string& hosts) {
        auto partition = parse_partition(hosts + stations, "p.toml");
        EXPECT_TRUE(partition) << partition.error().message();
        return partition.value_or(Partition{});
    }
    static std::string error_of(const std::string& hosts) {
        const auto partition = parse_partition(hosts + stations, "p.toml");
        return partition ? "" : partition.error().message();
    }

    static constexpr const char* stations =
        "[readout.ros-1]\n[supervise.l2sv]\n[assign.dfm]\n[build.sfi-1]\n[record.rec-1]\n";
    std::filesystem::path folder;
    std::string path_before;
};

const std::string one_slurm =
    "[hosts.h1]\naddress = \"10.77.0.11:7400\"\nengine = \"slurm\"\nmachine = \"node1\"\n"
    "[engine.slurm]\ndir = \"/data/weir\"\ncertificates = \"/etc/weir\"\noptions = [\"--exclusive\"]\n";
const std::string one_slurm_bare =
    "[hosts.h1]\naddress = \"127.0.0.1:7400\"\nengine = \"slurm\"\n[engine.slurm]\ndir = \"/data/weir\"\n";
const std::string one_ssh =
    "[hosts.h1]\naddress = \"127.0.0.1:7400\"\nengine = \"ssh\"\n[engine.ssh]\ndir = \"/data/weir\"\n";

TEST_F(EnginesTest, ACommandGivesWhatItPrintsOrTheLastLineOfItsComplaint) {
    EXPECT_EQ(*run({"cat"}, "a line\n"), "a line\n");
    EXPECT_EQ(run({"sh", "-c", "echo first >&2; echo the last >&2; exit 3"}).error().message(), "sh: the last");
    EXPECT_EQ(run({"sh", "-c", "exit 3"}).error().message(), "sh: ended with code 3");
    EXPECT_EQ(run({"sh", "-c", "kill -9 $$"}).error().message(), "sh: was killed by signal 9");
    EXPECT_THAT(run({"weir-has-no-such-program"}).error().message(),
                HasSubstr("cannot start weir-has-no-such-program"));
    EXPECT_EQ(run({"sh", "-c", "head -c 1000000 /dev/zero; echo end"})->size(), std::size_t{16} << 10)
        << "it is bounded";
}

TEST_F(EnginesTest, ACommandThatHangsIsKilledWithWhatItStarted) {
    const auto end = run({"sh", "-c", "sleep 1000 & echo $!; wait"}, {}, 50ms);
    EXPECT_EQ(end.error().message(), "sh did not end within 50ms");
}

TEST_F(EnginesTest, TheEnvironmentOfAJobHasNoSecretsOfThisProcess) {
    ::setenv("WEIR_TEST_SECRET", "secret", 1);
    ::setenv("SLURM_TEST", "kept", 1);
    auto narrow = EngineCommand::start({"env"}, {}, Environment::narrow, patience, system_clock());
    ASSERT_TRUE(narrow);
    const auto shown = *awaited([&] { return narrow->ended(); });
    ::unsetenv("SLURM_TEST");
    ::unsetenv("WEIR_TEST_SECRET");
    EXPECT_THAT(*shown,
                testing::AllOf(HasSubstr("PATH="), HasSubstr("SLURM_TEST=kept"), testing::Not(HasSubstr("secret"))));
}

TEST_F(EnginesTest, AWordForAShellIsThatWord) {
    for (const std::string word : {"a b", "it's", "$(date)", "`date`", "a\nb", "\"", "\\", "*", "", "''"})
        EXPECT_EQ(*run({"sh", "-c", "printf %s " + shell_word(word)}), word);
}

TEST_F(EnginesTest, AMachineSaysOrItsEngineSaysHowItsAgentIsStarted) {
    auto partition = partition_with(one_slurm + "[hosts.h2]\naddress = \"10.77.0.12:7400\"\ndir = \"/other\"\n");
    EXPECT_EQ(partition.hosts[0].start.machine, "node1");
    EXPECT_EQ(partition.hosts[0].start.program, "weir");
    EXPECT_EQ(agent_command(partition.hosts[0], true),
              "'weir' host --name 'h1' --listen '10.77.0.11:7400' --dir '/data/weir' --ends-with-run --certificates "
              "'/etc/weir' --background");
    EXPECT_EQ(partition.hosts[1].start.engine, EngineKind::none);
    ASSERT_TRUE(set_engine(partition, EngineKind::slurm));
    EXPECT_EQ(partition.hosts[1].start.engine, EngineKind::slurm);
    EXPECT_EQ(partition.hosts[1].start.directory, "/other");
    EXPECT_EQ(partition.hosts[1].start.machine, "h2");
}

TEST_F(EnginesTest, WhatAnEngineLacksIsSaidInOneLine) {
    const std::string host = "[hosts.h1]\naddress = \"10.77.0.11:7400\"\nengine = \"ssh\"\n";
    EXPECT_EQ(
        error_of(host),
        "p.toml:1: [hosts.h1] is brought by ssh and has no dir for its agent; write dir = \"/data/weir\" there or "
        "in [engine.ssh]");
    EXPECT_THAT(error_of(host + "dir = \"/d\"\n"),
                HasSubstr("has no certificates, and beyond 127.0.0.1 its agent needs them"));
    EXPECT_THAT(error_of(host + "dir = \"d\"\n"), HasSubstr("is not from the root"));
    EXPECT_THAT(error_of(host + "dir = \"/d\"\ncertificates = \"/c\"\nmachine = \"-oProxyCommand=x\"\n"),
                HasSubstr("is an option"));
    EXPECT_THAT(error_of("[hosts.h1]\naddress = \"10.77.0.11:7400\"\nengine = \"shh\"\n"), HasSubstr("p.toml:3: "));
    EXPECT_THAT(error_of("[engine.kubernetes]\n"), HasSubstr("p.toml:1: [engine.kubernetes] is no engine"));
    EXPECT_THAT(error_of("[engine.ssh]\noptions = []\n"), HasSubstr("unknown key \"options\""));
    auto partition = partition_with("[hosts.h1]\naddress = \"10.77.0.11:7400\"\n");
    EXPECT_THAT(set_engine(partition, EngineKind::ssh).error().message(), HasSubstr("[hosts.h1] is brought by ssh"));
}

TEST_F(EnginesTest, SshStartsTheAgentAndReportsWhyItCannot) {
    script("ssh", "printf '%s\\n' \"$@\" >" + (folder / "words").native());
    const auto partition = partition_with(one_ssh);
    const auto engine = make_ssh_engine(partition.hosts.front(), system_clock());
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "its agent was started by ssh h1");
    EXPECT_EQ(text_of_file("words"),
              "-T\n-o\nBatchMode=yes\n-o\nConnectTimeout=5\n--\nh1\n'weir' host --name 'h1' --listen "
              "'127.0.0.1:7400' --dir '/data/weir' --ends-with-run --background\n");
    script("ssh", "echo 'h1: Permission denied (publickey).' >&2; exit 255");
    engine->bring({});
    EXPECT_EQ(outcome(*engine).error().message(), "ssh: h1: Permission denied (publickey).");
}

TEST_F(EnginesTest, SlurmGetsOneJobAndAFreshOneWhenThatHasEnded) {
    script("sbatch", "cat >" + (folder / "script").native() + "; echo 17");
    script("squeue", "echo 'PENDING (Resources)'");
    script("scancel", "");
    const auto partition = partition_with(one_slurm);
    const auto engine = make_slurm_engine(partition.hosts.front(), system_clock());
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "job 17 of Slurm shall start its agent");
    EXPECT_THAT(text_of_file("calls"), HasSubstr("--no-requeue"));
    EXPECT_THAT(text_of_file("calls"), HasSubstr("--job-name=weir-h1 --nodelist=node1 --exclusive\n"));
    EXPECT_EQ(text_of_file("script"),
              "#!/bin/sh\nmkdir -p '/data/weir' && exec >>'/data/weir'/agent.log 2>&1 && exec 'weir' host --name 'h1' "
              "--listen "
              "'10.77.0.11:7400' --dir '/data/weir' --ends-with-run --certificates '/etc/weir'\n");
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "its job 17 is PENDING (Resources)");
    EXPECT_EQ(calls_of("sbatch"), 1U) << "it is waited for";
    script("squeue", "");  // it has ended
    script("sbatch", "echo '18;cluster'");
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "job 18 of Slurm shall start its agent");
    script("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");  // long ago
    script("sbatch", "echo 19");
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "job 19 of Slurm shall start its agent");
    engine->take_back();
    EXPECT_EQ(*outcome(*engine), "its job 19 is cancelled");
    EXPECT_THAT(text_of_file("calls"), testing::EndsWith("scancel 19\n"));
}

TEST_F(EnginesTest, AJobThatARunControlBeforeAskedForIsFoundByItsName) {
    script("sbatch", "echo 99");
    script("squeue", "printf '15 other RUNNING (None)\\n16 node1 PENDING (Resources)\\n'");
    script("scancel", "");
    const auto partition = partition_with(one_slurm);
    const auto engine = make_slurm_engine(partition.hosts.front(), system_clock());
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "its job 16 is PENDING (Resources)");
    EXPECT_THAT(text_of_file("calls"), HasSubstr("--me --name=weir-h1 "));
    EXPECT_EQ(calls_of("sbatch"), 0U);
    script("squeue", "");
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "job 99 of Slurm shall start its agent");
}

TEST_F(EnginesTest, AJoinTokenGoesByStdinAlone) {
    script("ssh", "cat >" + (folder / "input").native() + "; env >>" + (folder / "calls").native());
    script("sbatch", "cat >" + (folder / "script").native() + "; env >>" + (folder / "calls").native() + "; echo 17");
    script("squeue", "");
    const std::string joins = "join = \"10.77.0.10:7300\"\ncertificates = \"/data/weir/c\"\n";
    for (auto make : {make_ssh_engine, make_slurm_engine}) {
        const auto partition = partition_with((make == make_ssh_engine ? one_ssh : one_slurm_bare) + joins);
        const auto engine = make(partition.hosts.front(), system_clock());
        engine->bring("THE-TOKEN");
        EXPECT_TRUE(outcome(*engine).has_value());
    }
    EXPECT_EQ(text_of_file("input"), "THE-TOKEN");
    EXPECT_THAT(text_of_file("script"),
                testing::EndsWith("--join '10.77.0.10:7300' --token-file - <<'TOKEN'\nTHE-TOKEN\nTOKEN\n"));
    EXPECT_THAT(text_of_file("calls"), testing::Not(HasSubstr("THE-TOKEN")));
    EXPECT_THAT(text_of_file("calls"), HasSubstr("--token-file -"));
}

TEST_F(EnginesTest, AControllerThatIsNotThereCostsNoJob) {
    script("sbatch", "echo 17");
    script("squeue", "");
    script("scancel", "echo 'Unable to contact slurm controller' >&2; exit 1");
    const auto partition = partition_with(one_slurm);
    const auto engine = make_slurm_engine(partition.hosts.front(), system_clock());
    engine->bring({});
    EXPECT_TRUE(outcome(*engine).has_value());
    script("squeue", "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1");
    engine->bring({});
    EXPECT_EQ(outcome(*engine).error().message(), "squeue: Unable to contact slurm controller (connect failure)");
    EXPECT_EQ(calls_of("sbatch"), 1U);
    engine->take_back();
    EXPECT_EQ(outcome(*engine).error().message(), "scancel: Unable to contact slurm controller");
    EXPECT_EQ(engine->remains(), "job 17");
    script("squeue", "echo 'RUNNING (None)'");
    engine->bring({});
    EXPECT_EQ(*outcome(*engine),
              "its job 17 runs, and no agent answers at 10.77.0.11:7400; look at /data/weir/agent.log there");
    script("squeue", "");
    script("sbatch", "echo 'x; rm -rf /'");
    engine->bring({});
    EXPECT_THAT(outcome(*engine).error().message(), HasSubstr("which is no job"));
}

const std::string group_slurm =
    "[hosts.disk]\naddress = \"10.77.0.11:7400\"\n[hosts.worker]\naddress = \":7400\"\nengine = \"slurm\"\ncount = 2\n"
    "constraint = \"bigmem\"\n[engine.slurm]\ndir = \"/data/weir\"\ncertificates = \"/etc/weir\"\n";

TEST_F(EnginesTest, SlurmChoosesTheNodeOfAMachineOfAGroupAndIsAskedWhereItIs) {
    script("sbatch", "cat >" + (folder / "script").native() + "; echo 17");
    script("scontrol", "echo 'NodeName=n3 Arch=x86_64 NodeAddr=10.77.0.13 NodeHostName=n3'");
    const auto partition = partition_with(group_slurm);
    const auto engine = make_slurm_engine(partition.hosts[1], system_clock());
    script("squeue", "");
    engine->avoid({"n1", "n2"});
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "job 17 of Slurm shall start its agent");
    EXPECT_THAT(text_of_file("calls"), HasSubstr("squeue --noheader --me --name=weir-weir-worker-1 --format=%i %T %N"));
    EXPECT_THAT(text_of_file("calls"), HasSubstr("--job-name=weir-weir-worker-1 --exclusive --constraint=bigmem "
                                                 "--exclude=n1,n2\n"));
    EXPECT_THAT(text_of_file("script"), HasSubstr("--name 'worker-1' --listen '0.0.0.0:7400' "));
    EXPECT_EQ(*engine->place(), (HostPlace{.job = "17"}));
    script("squeue", "echo 'weir-weir-worker-1 PENDING  (Resources)'");
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "its job 17 is PENDING (Resources)");
    script("squeue", "echo 'weir-weir-worker-1 RUNNING n3 (None)'");
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "its job 17 runs on n3, at 10.77.0.13:7400");
    EXPECT_EQ(*engine->place(), (HostPlace{"17", "n3", "10.77.0.13:7400", ""}));
    engine->bring({});
    EXPECT_THAT(*outcome(*engine), HasSubstr("its job 17 runs, and no agent answers at 10.77.0.13:7400"));
    script("squeue", "echo 'another RUNNING n9 (None)'");  // of somebody else by now
    script("sbatch", "echo 18");
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "job 18 of Slurm shall start its agent");
    EXPECT_EQ(*engine->place(), (HostPlace{.job = "18"}));
}

TEST_F(EnginesTest, ANodeOnWhichNoAgentComesToBeIsLeftOutForAWhile) {
    script("sbatch", "echo 17");
    script("squeue", "");
    const auto partition = partition_with(group_slurm);
    ManualClock clock;
    const auto engine = make_slurm_engine(partition.hosts[1], clock);
    const auto bring_with = [&](const std::string& line) {
        script("squeue", "echo '" + line + "'");
        engine->avoid({"n1"});
        engine->bring({});
        return *outcome(*engine);
    };
    EXPECT_EQ(bring_with(""), "job 17 of Slurm shall start its agent");
    script("sbatch", "echo 18");
    EXPECT_EQ(bring_with("weir-weir-worker-1 FAILED n3 (NonZeroExitCode)"),
              "job 17 ended on n3 without an agent that answered (FAILED (NonZeroExitCode)), and n3 is left out for "
              "10min; job 18 of Slurm shall start its agent");
    EXPECT_THAT(text_of_file("calls"), testing::EndsWith("--exclude=n1,n3\n"));
    engine->answered();
    script("sbatch", "echo 19");
    EXPECT_EQ(bring_with("weir-weir-worker-1 NODE_FAIL n4 (None)"), "job 19 of Slurm shall start its agent");
    EXPECT_THAT(text_of_file("calls"), testing::EndsWith("--exclude=n1,n3\n")) << "it had an agent";
    engine->answered();
    clock.advance(10min);
    script("sbatch", "echo 20");
    EXPECT_EQ(bring_with("weir-weir-worker-1 CANCELLED n4 (None)"), "job 20 of Slurm shall start its agent");
    EXPECT_THAT(text_of_file("calls"), testing::EndsWith("--exclude=n1\n"));
}

TEST_F(EnginesTest, AMachineThatKeepsItsNodeIsAskedForThatAlone) {
    script("sbatch", "echo 18");
    script("squeue", "");
    auto text = group_slurm;
    text.replace(text.find("count = 2"), 9, "count = 2\npinned = true");
    auto partition = partition_with(text);
    partition.hosts[1].place = {"17", "n3", "10.77.0.13:7400", "agent"};
    const auto engine = make_slurm_engine(partition.hosts[1], system_clock());
    engine->avoid({"n1"});
    engine->bring({});
    EXPECT_EQ(*outcome(*engine), "job 18 of Slurm shall start its agent");
    EXPECT_EQ(calls_of("squeue"), 2U) << "for job 17, and for one by that name that is not known";
    EXPECT_THAT(text_of_file("calls"), HasSubstr("--exclusive --nodelist=n3\n"));
    EXPECT_EQ(*engine->place(), (HostPlace{.job = "18", .node = "n3"}));
}

TEST_F(EnginesTest, WhatSlurmPrintsOfANodeIsChecked) {
    script("scontrol", "echo NodeAddr=127.0.0.1");
    auto partition = partition_with(group_slurm);
    partition.hosts[1].place.job = "17";
    const auto error_with = [&](const std::string& line) {
        script("squeue", "echo '" + line + "'");
        const auto engine = make_slurm_engine(partition.hosts[1], system_clock());
        engine->bring({});
        const auto end = outcome(*engine);
        return end ? *end : end.error().message();
    };
    EXPECT_EQ(error_with("weir-weir-worker-1 RUNNING --help (None)"),
              "squeue printed \"--help\" for the node of job 17, which is no name");
    EXPECT_THAT(error_with("weir-weir-worker-1 RUNNING n[1-2] (None)"), HasSubstr("is no name"));
    EXPECT_EQ(error_with("weir-weir-worker-1 RUNNING n3 (None)"),
              "scontrol printed no address of n3 that others can reach");
    script("scontrol", "echo NodeAddr=n3.example");
    script("getent", "printf '127.0.1.1 STREAM n3\nfe80::1 STREAM\n10.77.0.13 STREAM\n'");
    EXPECT_EQ(error_with("weir-weir-worker-1 RUNNING n3 (None)"), "its job 17 runs on n3, at 10.77.0.13:7400");
    EXPECT_THAT(text_of_file("calls"), HasSubstr("getent ahosts n3.example\n"));
    script("getent", "exit 2");
    EXPECT_THAT(error_with("weir-weir-worker-1 RUNNING n3 (None)"), HasSubstr("no address of n3 is known here"));
    script("scontrol", "echo NodeAddr=fd00:77::13");
    EXPECT_THAT(error_with("weir-weir-worker-1 RUNNING n3 (None)"), HasSubstr("at [fd00:77::13]:7400"));
}

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

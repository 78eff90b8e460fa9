// SPDX-License-Identifier: Apache-2.0
// Each engine alone: what is asked of ssh and of Slurm's commands, when, and what is made of the answers.
#include "engines_fixture.hpp"

namespace weir::control {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace weir::control

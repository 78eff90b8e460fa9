// SPDX-License-Identifier: Apache-2.0
#include "hosts/host_choice.hpp"

#include <gtest/gtest.h>

namespace weir::control {
namespace {

constexpr const char* five_stations = R"(
[readout.ros-1]
[supervise.l2sv]
[assign.dfm]
[build.sfi-1]
host = "h2"
[build.sfi-2]
[record.rec-1]
[handoff.out]
destinations = ["/permanent"]
)";

Partition with(const std::string& hosts) {
    auto partition = parse_partition(hosts + five_stations, "p.toml");
    EXPECT_TRUE(partition) << partition.error().message();
    return partition.value_or(Partition{});
}

const Partition two = with(
    "[hosts.h1]\naddress = \"10.77.0.11:7400\"\nkinds = [\"readout\", \"record\"]\n"
    "[hosts.h2]\naddress = \"10.77.0.12:7400\"\nkinds = [\"build\", \"assign\", \"supervise\"]\n");

TEST(HostChoiceTest, AStationIsOnTheMachineThatItNamesElseOnOneForItsKind) {
    const auto homes = homes_of(two);
    EXPECT_EQ(homes.at("ros-1"), 0U);
    EXPECT_EQ(homes.at("rec-1"), 0U);
    EXPECT_EQ(homes.at("dfm"), 1U);
    EXPECT_EQ(homes.at("sfi-1"), 1U);
    EXPECT_EQ(homes.at("sfi-2"), 1U);
    EXPECT_EQ(homes.at("out"), homes.at("rec-1")) << "it reads the recorder's files";
}

TEST(HostChoiceTest, EachInTurnGoesWhereFewestAre) {
    const auto homes = homes_of(with("[hosts.h1]\naddress = \"a:1\"\n[hosts.h2]\naddress = \"b:1\"\n"));
    std::size_t first = 0;
    for (const auto& [name, home] : homes) first += home == 0 ? 1U : 0U;
    EXPECT_GE(first, 3U);
    EXPECT_LE(first, 4U);
}

TEST(HostChoiceTest, WhenItsMachineIsLostAStationMovesUnlessItsDiskOrHardwareIsThere) {
    const auto* builder = two.find("sfi-1");
    const auto* recorder = two.find("rec-1");
    ASSERT_TRUE(builder != nullptr && recorder != nullptr);
    EXPECT_EQ(choose_host(two, *builder, 1, {{true, 2}, {true, 9}}), 1U);
    EXPECT_EQ(choose_host(two, *builder, 1, {{true, 2}, {false, 0}}), 0U) << "no machine for builders is there";
    EXPECT_EQ(choose_host(two, *recorder, 0, {{false, 0}, {true, 1}}), 0U);
    EXPECT_EQ(choose_host(two, *builder, 1, {{false, 0}, {false, 0}}), 1U) << "none is there: it waits for its own";
}

const std::string of_engine = "[engine.slurm]\ndir = \"/data/weir\"\ncertificates = \"/etc/weir\"\n";
const std::string disk =
    "[hosts.h1]\naddress = \"10.77.0.11:7400\"\nkinds = [\"readout\", \"record\", \"supervise\", \"assign\"]\n";
std::string group(const std::string& more, const std::string& name = "h2") {
    return "[hosts." + name + "]\nengine = \"slurm\"\naddress = \":7400\"\n" + more;
}

TEST(HostChoiceTest, AGroupStandsForItsMachinesAndTheSpareOnesAreNoHomes) {
    const auto partition = with(
        of_engine + disk + group("count = 2\nspare = 1\nmin = 2\nconstraint = \"big&fast\"\nkinds = [\"build\"]\n"));
    ASSERT_EQ(partition.hosts.size(), 4U);
    EXPECT_EQ(partition.hosts[1].name, "h2-1");
    EXPECT_EQ(partition.hosts[3].name, "h2-3");
    EXPECT_TRUE(partition.hosts[3].spare && !partition.hosts[2].spare);
    EXPECT_EQ(partition.hosts[2].group, "h2");
    EXPECT_EQ(partition.hosts[2].start.constraint, "big&fast");
    EXPECT_EQ(partition.hosts[2].start.job, "weir-weir-h2-2");
    const auto homes = homes_of(partition);
    EXPECT_EQ(homes.at("sfi-1"), 1U) << "any of the group that it names";
    EXPECT_EQ(homes.at("sfi-2"), 2U) << "the one with the fewest";
    EXPECT_EQ(homes.at("rec-1"), 0U) << "machines of the group may get another node";
}

TEST(HostChoiceTest, TheStationsOfALostMachineGoToASpareOneAsLongAsThatHasNotAsMany) {
    const auto partition = with(of_engine + disk + group("count = 2\nspare = 1\n"));
    const auto* builder = partition.find("sfi-1");
    ASSERT_TRUE(builder);
    EXPECT_EQ(choose_host(partition, *builder, 1, {{true, 3, 3}, {false, 2, 2}, {true, 0, 0}, {true, 1, 0}}), 3U);
    EXPECT_EQ(choose_host(partition, *builder, 1, {{true, 3, 3}, {false, 2, 2}, {true, 1, 1}, {true, 2, 0}}), 2U)
        << "it stands in for another one already";
    EXPECT_EQ(choose_host(partition, *builder, 1, {{true, 0, 0}, {false, 2, 2}, {true, 5, 5}, {false, 0, 0}}), 2U)
        << "another one of its group, before one that is not for its kind";
    EXPECT_EQ(choose_host(partition, *builder, 1, {{true, 9, 9}, {false, 2, 2}, {false, 0, 0}, {false, 0, 0}}), 0U);
}

TEST(HostChoiceTest, AGroupThatKeepsItsNodesMayHaveRecordersAndAStationNamesOneOfItsMachines) {
    const auto partition = with(of_engine + group("count = 2\npinned = true\n"));
    for (const auto& [name, home] : homes_of(partition)) EXPECT_LT(home, 2U) << name;
    auto text = std::string(five_stations);
    text.replace(text.find("host = \"h2\""), 11, "host = \"h2-2\"");
    const auto named = parse_partition(of_engine + group("count = 2\npinned = true\n") + text, "p.toml");
    ASSERT_TRUE(named) << named.error().message();
    EXPECT_EQ(homes_of(*named).at("sfi-1"), 1U);
}

TEST(HostChoiceTest, WhatIsWrongWithAGroupIsOneLine) {
    const auto error = [](const std::string& text) {
        const auto partition = parse_partition(of_engine + text + five_stations, "p.toml");
        return partition ? std::string("good") : partition.error().message();
    };
    EXPECT_EQ(error("[hosts.h2]\naddress = \":7400\"\ncount = 2\n"),
              "p.toml:4: [hosts.h2] has count, and only Slurm can choose machines; write engine = \"slurm\"");
    EXPECT_EQ(
        error(group("spare = 1\n")),
        "p.toml:4: [hosts.h2] has spare, min, constraint or pinned, which are of a group; write count = N for its "
        "machines");
    EXPECT_EQ(error(group("count = 2\nmachine = \"node1\"\n")),
              "p.toml:4: [hosts.h2] has machine beside count, and Slurm chooses the nodes; remove one of the two");
    EXPECT_EQ(error("[hosts.h2]\nengine = \"slurm\"\naddress = \"10.77.0.11:7400\"\ncount = 2\n"),
              "p.toml:4: [hosts.h2] has address = \"10.77.0.11:7400\", and the nodes of a group have their own; write "
              "the port alone, as address = \":7400\", or their network before it, \"10.77.0.0/16:7400\"");
    EXPECT_EQ(error(disk + "[hosts.h2]\nengine = \"slurm\"\naddress = \"fd00:77::/64:7400\"\ncount = 2\n"), "good");
    EXPECT_TRUE(
        error("[hosts.h2]\nengine = \"slurm\"\naddress = \"$(x)/64:7400\"\ncount = 2\n").contains("port alone"));
    EXPECT_EQ(error(group("count = 2\nmin = 3\n")), "p.toml:4: [hosts.h2] has min = 3 and only 2 machines; write less");
    EXPECT_EQ(
        error(group("count = 2\nkinds = [\"record\"]\n")),
        "p.toml:4: [hosts.h2] is for record stations, which keep files or hardware on their machine; write pinned "
        "= true, so that a machine keeps its node");
    EXPECT_EQ(
        error(group("count = 2\n")),
        "p.toml:9: [readout.ros-1] keeps files or hardware on its machine, and all machines may get another node; "
        "write pinned = true in [hosts.h2]");
    EXPECT_EQ(
        error(disk + group("count = 2\n") + "[readout.ros-2]\nhost = \"h2-1\"\n"),
        "p.toml:12: [readout.ros-2] keeps files or hardware on its machine, and those of [hosts.h2] may get another "
        "node; write pinned = true there");
    EXPECT_EQ(error(disk + group("count = 2\nspare = 1\n") + "[build.sfi-3]\nhost = \"h2-3\"\n"),
              "p.toml:13: host = \"h2-3\" of [build.sfi-3]: there is no [hosts.h2-3]; did you mean \"h2-1\"?");
    EXPECT_EQ(error(disk + group("count = 2\n") + "[hosts.h2-1]\naddress = \"a:1\"\n"),
              "p.toml:11: [hosts.h2-1] has a machine h2-1, which is another one of line 7; rename one");
    EXPECT_TRUE(error(group("count = 2000\n")).contains("more than 1024 machines"));
}

TEST(HostChoiceTest, WhatIsWrongInAFileIsOneLine) {
    const auto error = [](const std::string& text) {
        const auto partition = parse_partition(text + five_stations, "p.toml");
        return partition ? std::string("good") : partition.error().message();
    };
    EXPECT_EQ(error("[hosts.h1]\naddress = \"a:1\"\n"),
              "p.toml:8: host = \"h2\" of [build.sfi-1]: there is no [hosts.h2]; did you mean \"h1\"?");
    EXPECT_EQ(error("[hosts.h2]\n"),
              "p.toml:1: [hosts.h2] has no address; where does its agent listen? address = \"10.77.0.11:7400\"");
    EXPECT_EQ(error("[hosts.h1]\naddress = \"a:1\"\n[hosts.h2]\naddress = \"a:1\"\n"),
              "p.toml:3: [hosts.h2] has the address of [hosts.h1] (line 1)");
    EXPECT_TRUE(error("[hosts.h2]\naddress = \"a:1\"\nkinds = [\"bild\"]\n").contains("did you mean \"build\"?"));
    EXPECT_TRUE(error("[hosts.h2]\nadress = \"a:1\"\n").contains("did you mean \"address\"?"));
}

}  // namespace
}  // namespace weir::control

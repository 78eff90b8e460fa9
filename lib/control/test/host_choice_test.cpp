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

// SPDX-License-Identifier: Apache-2.0
#include "weir/control/partition.hpp"

#include <gmock/gmock.h>

namespace weir::control {
namespace {

using testing::HasSubstr;

constexpr std::string_view good = R"([partition]
name = "test"
[data]
sources = ["0x10", "0x11"]
[readout.ros-1]
listen = "127.0.0.1:0"
[assign.dfm]
[build.sfi-1]
[supervise.l2sv]
[record.rec-1]
directories = ["/data"]
)";

std::string error_of(const std::string& text) {
    const auto partition = parse_partition(text, "p.toml");
    return partition ? "no error" : partition.error().context;
}

std::string with(std::string_view more) {
    std::string text;
    text += good;
    text += more;
    return text;
}

std::string without(std::string_view part, std::string_view more = {}) {
    auto text = with(more);
    text.erase(text.find(part), part.size());
    return text;
}

TEST(Partition, StationsAreNumberedInTheOrderOfTheFile) {
    const auto partition = parse_partition(good, "p.toml");
    ASSERT_TRUE(partition) << partition.error().message();
    EXPECT_EQ(partition->name, "test");
    ASSERT_EQ(partition->stations.size(), 5U);
    EXPECT_EQ(partition->stations[0].section(), "readout.ros-1");
    EXPECT_EQ(partition->stations[0].line, 5U);
    EXPECT_EQ(partition->stations[3].kind, StationKind::supervise);
    EXPECT_EQ(partition->stations[3].id, wire::StationId{4});
    EXPECT_EQ(partition->sources, (std::vector{SourceId{0x10}, SourceId{0x11}}));
}

TEST(Partition, AnUnknownSectionNamesTheNearest) {
    EXPECT_EQ(error_of(with("[bild.sfi-2]\n")), "p.toml:12: unknown section [bild.sfi-2]; did you mean \"build\"?");
}

TEST(Partition, AStationWithoutANameIsAnError) {
    EXPECT_THAT(error_of(with("[filter]\n")), HasSubstr("[filter] has no name; a station's section is [filter.NAME]"));
}

TEST(Partition, ANameIsOfTheWholePartition) {
    EXPECT_EQ(error_of(with("[filter.sfi-1]\n")),
              "p.toml:12: [filter.sfi-1] has the name of [build.sfi-1] (line 8); names are of the whole partition");
}

TEST(Partition, TwoStationsOnOnePortAreAnErrorWithBothPlaces) {
    EXPECT_EQ(error_of(with("listen = \"localhost:7000\"\n[build.sfi-2]\ncontrol = \"127.0.0.1:7000\"\n")),
              "p.toml:14: control = \"127.0.0.1:7000\" of [build.sfi-2] is the port of [record.rec-1] already (line "
              "12); give each its own, or port 0 for a free one");
}

TEST(Partition, ADatagramPortIsAnotherThanTheTcpPortOfTheSameNumber) {
    const auto udp = [](const char* name) {
        return std::string("[readout.") + name + "]\nsource = \"network\"\ninput_udp = \"127.0.0.1:7000\"\n";
    };
    const std::string tcp = "listen = \"localhost:7000\"\n";
    EXPECT_EQ(error_of(with(tcp + udp("ros-8"))), "no error");
    EXPECT_THAT(error_of(with(tcp + udp("ros-8") + udp("ros-9"))),
                HasSubstr("input_udp = \"127.0.0.1:7000\" of [readout.ros-9] is the port of [readout.ros-8] already"));
}

TEST(Partition, OneDfmAndOneSupervisor) {
    EXPECT_THAT(error_of(with("[assign.dfm-2]\n")),
                HasSubstr("[assign.dfm-2] is a second assign station beside [assign.dfm] (line 7)"));
    EXPECT_THAT(error_of(without("[assign.dfm]\n")),
                HasSubstr("no [assign.NAME]: no station would give events to builders"));
    EXPECT_THAT(error_of(with("[supervise.two]\n")), HasSubstr("a second supervise station"));
}

TEST(Partition, FiltersNeedARecorder) {
    EXPECT_THAT(error_of(without("[record.rec-1]\n", "[filter.ef-1]\n")),
                HasSubstr("no [record.NAME]: filters would have nowhere to send events"));
}

TEST(Partition, AHandOffHasTheFilesOfOneRecorder) {
    EXPECT_EQ(parse_partition(with("[handoff.out]\n"), "p.toml")->find("out")->recorder, "rec-1");
    EXPECT_EQ(parse_partition(with("[handoff.out]\nrecorder = \"\"\n"), "p.toml")->find("out")->recorder, "rec-1");
    EXPECT_EQ(
        parse_partition(with("[record.rec-2]\n[handoff.out]\nrecorder = \"rec-2\"\n"), "p.toml")->find("out")->recorder,
        "rec-2");
    EXPECT_EQ(error_of(with("[record.rec-2]\n[handoff.out]\n")),
              "p.toml:13: [handoff.out]: whose files? name one of the recorders rec-1, rec-2, as recorder = \"rec-1\"");
    EXPECT_EQ(error_of(with("[handoff.out]\nrecorder = \"rec-3\"\n")),
              "p.toml:13: recorder = \"rec-3\" of [handoff.out]: there is no [record.rec-3]; did you mean \"rec-1\"?");
    EXPECT_EQ(
        error_of(with("[handoff.out]\n[handoff.copy]\n")),
        "p.toml:13: [handoff.copy] hands over the files of rec-1, as [handoff.out] does (line 12); name all places "
        "in `destinations` of one of them");
    EXPECT_THAT(error_of(without("[record.rec-1]\n", "[handoff.out]\n")), HasSubstr("no [record.NAME]"));
}

TEST(Partition, ASourceIsNamedOnceAndReadable) {
    EXPECT_THAT(error_of("[data]\nsources = [\"0x10\", \"16\"]\n"),
                HasSubstr("p.toml:2: data.sources: 0x10 is named twice"));
    EXPECT_THAT(error_of("[data]\nsources = [\"tracker\"]\n"), HasSubstr("\"tracker\" is not a source"));
}

TEST(Partition, ASourceOfTwoReadoutsIsAnErrorWithBothPlaces) {
    const auto readout = [](const char* name, const char* sources, const char* fed = "network") {
        return std::string("[readout.") + name + "]\nsource = \"" + fed + "\"\nsources = [" + sources + "]\n";
    };
    EXPECT_EQ(error_of(with(readout("ros-2", R"("0x420000")") + readout("ros-3", R"("0x420001")"))), "no error");
    EXPECT_EQ(
        error_of(with(readout("ros-2", R"("0x420000", "0x420001")") + readout("ros-3", R"("0x430000", "0x42_0001")"))),
        "no error")
        << "what is no source is reported with its key";
    for (const auto* fed : {"network", "generator", "file", "board.py"})
        EXPECT_EQ(
            error_of(with(readout("ros-2", R"("0x420000", "0x420001")") +
                          readout("ros-3", R"("0x430000", "4325377")", fed))),
            "p.toml:17: source 0x420001 of [readout.ros-3] is a source of [readout.ros-2] already (line 14); remove it "
            "from one of them, a source is served by one readout");
    EXPECT_EQ(error_of(with(readout("ros-2", R"("0x420000")") + readout("ros-3", R"("0x420000")", "level2"))),
              "no error")
        << "its source is always that of the second level";
    EXPECT_EQ(error_of(with(readout("ros-2", R"("0x420000", "0x420000")"))),
              "p.toml:14: source 0x420000 is named twice in sources of [readout.ros-2]; name it once");
}

TEST(Partition, ReadoutsThatShareAFileCoverAllOfIt) {
    const auto shares = [](std::initializer_list<const char*> parts, std::string_view more = "") {
        std::string text(more);
        text += "[assign.dfm]\n[build.sfi-1]\n[supervise.l2sv]\n[record.rec-1]\n";
        int number = 0;
        for (const auto* part : parts)
            text += "[readout.ros-" + std::to_string(++number) + "]\nsource = \"file\"\npart = \"" + part + "\"\n";
        return text;
    };
    EXPECT_EQ(error_of(shares({"1/3", "2/3", "3/3"})), "no error");
    EXPECT_EQ(error_of(shares({"2/4", "2/2", "1/4"})), "no error");
    EXPECT_THAT(
        error_of(shares({"1/6", "2/6", "3/6", "4/6", "6/6"})),
        HasSubstr(
            "p.toml:7: the parts of the readouts do not cover the file: no readout has its sources from 4/6 to 5/6"));
    EXPECT_THAT(error_of(shares({"1/2"})), HasSubstr("from 1/2 to 1/1"));
    EXPECT_THAT(error_of(shares({"2/2"})), HasSubstr("from 0/1 to 1/2"));
    EXPECT_EQ(error_of(shares({"1/2"}, "[data]\nsources = [\"0x10\"]\n")), "no error");
}

TEST(Partition, PeersMustServeEverySourceOnce) {
    const auto partition = *parse_partition(good, "p.toml");
    const Peer one{"ros-1", StationKind::readout, {}, "127.0.0.1:1", "", {SourceId{0x10}}};
    Peer two{"ros-2", StationKind::readout, {}, "127.0.0.1:2", "", {SourceId{0x11}}};
    EXPECT_TRUE(check_peers(partition, {one, two}));
    EXPECT_EQ(check_peers(partition, {one}).error().context,
              "p.toml: source 0x11 of [data] sources is served by no readout");
    two.sources.push_back(SourceId{0x10});
    EXPECT_THAT(check_peers(partition, {one, two}).error().context,
                HasSubstr("source 0x10 is served by ros-1 and by ros-2"));
    two.sources = {SourceId{0x11}};
    two.dataflow = one.dataflow;
    EXPECT_THAT(check_peers(partition, {one, two}).error().context,
                HasSubstr("ros-1 and ros-2 are both at 127.0.0.1:1"));
}

}  // namespace
}  // namespace weir::control

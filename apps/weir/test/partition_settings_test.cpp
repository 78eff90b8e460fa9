// SPDX-License-Identifier: Apache-2.0
// A partition file as one of its stations reads it: its own section and the shared ones, and the errors for mistakes.
#include "stations/frame/partition_settings.hpp"

#include <gmock/gmock.h>

#include "stations/recorder/recorder_station.hpp"

namespace weir::app {
namespace {

using testing::HasSubstr;

constexpr std::string_view replay = R"(
[partition]
name = "replay"
key = 7
[data]
first_level1_id = 4_294_967_290
format = "event-3.0"
level1_offset = ["0xa80010:1", "0xa80011:-2"]
level1_exempt = ["0x7c0000"]
sources = ["0x7c0000", "0xa80010"]
[network]
link = "tcp"
[readout.ros-1]
part = "1/6"
[readout.ros-2]
[record.rec-1]
directories = ["/data/1"]
memory = "2GiB"
[record.rec-2]
)";

Result<StationPlace> read_as(std::string_view text, const std::string& name, StationOptions options = {}) {
    const auto stations = WEIR_TRY(list_stations(text, "p.toml"));
    const auto station = std::ranges::find(stations, name, &ListedStation::name);
    if (station == stations.end()) return fail(Errc::usage, "no such station");
    RecorderStationSettings settings;
    return read_station(text, "p.toml", *station, settings, options);
}

std::string mistake(std::string_view text) {
    const auto place = read_as(text, "rec-1");
    return place ? "" : place.error().message();
}

TEST(PartitionSettings, AreReadAndConverted) {
    const auto place = read_as(replay, "rec-1");
    ASSERT_TRUE(place) << place.error().message();
    EXPECT_EQ(place->partition.name, "replay");
    EXPECT_EQ(place->partition.key, 7U);
    EXPECT_EQ(place->partition.format(), event::Format::event_3_0);
    EXPECT_EQ(place->partition.data.first_level1_id, 4'294'967'290U);
    EXPECT_EQ(place->partition.link(), messaging::LinkKind::tcp);
    EXPECT_EQ(place->partition.sources(), (std::vector{SourceId{0x7c0000}, SourceId{0xa80010}}));
    auto rules = place->partition.rules();
    EXPECT_EQ(rules.sources[SourceId{0xa80010}].level1_offset, 1);
    EXPECT_EQ(rules.sources[SourceId{0xa80011}].level1_offset, -2);
    EXPECT_TRUE(rules.sources[SourceId{0x7c0000}].exempt);
}

TEST(PartitionSettings, AStationsNumberIsItsPlaceInTheFileUnlessItIsGiven) {
    EXPECT_EQ(read_as(replay, "rec-1")->id, wire::StationId{3});
    EXPECT_EQ(read_as(replay, "rec-2")->id, wire::StationId{4});
    StationOptions options;
    options.id = 40;
    EXPECT_EQ(read_as(replay, "rec-2", options)->id, wire::StationId{40});
}

TEST(PartitionSettings, EveryMistakeIsOneLineWithItsPlace) {
    EXPECT_EQ(mistake("[record.rec-1]\n[reedout.x]\n"),
              "p.toml:2: unknown section [reedout]; did you mean \"readout\"?");
    EXPECT_EQ(mistake("[record.rec-1]\nmemroy = \"1GiB\"\n"),
              "p.toml:2: unknown key \"memroy\" in [record.rec-1]; did you mean \"memory\"?");
    EXPECT_EQ(mistake("[record.rec-1]\n[data]\nformat = \"event-4.0\"\n"),
              "p.toml:3: data.format = \"event-4.0\" is none of \"event-5.0\", \"event-3.0\"");
    EXPECT_THAT(mistake("[record.rec-1]\n[data]\nsources = [\"x\"]\n"),
                HasSubstr("p.toml:3: data.sources: \"x\" is no source"));
    EXPECT_THAT(mistake("[record.rec-1]\n[data]\nsources = [\"0x1\", \"1\"]\n"), HasSubstr("0x1 stands there twice"));
    EXPECT_THAT(mistake("[record.rec-1]\n[data]\nlevel1_offset = [\"0x1\"]\n"),
                HasSubstr("p.toml:3: data.level1_offset: \"0x1\" is not SOURCE:N"));
    EXPECT_THAT(mistake("[record.rec-1]\nlisten = \"9000\"\n"),
                HasSubstr("p.toml:2: record.rec-1.listen: \"9000\" is not an address"));
    EXPECT_THAT(mistake("[record.rec-1]\ntls_ca = \"ca.pem\"\n"),
                HasSubstr("p.toml:1: [record.rec-1]: the stations that send to it use plain TCP"));
    EXPECT_EQ(mistake("[record.rec-1]\n[readout.rec-1]\n"),
              "p.toml:2: a second station \"rec-1\"; the first is in line 1, and names are unique in a partition");
    EXPECT_THAT(mistake("[record]\nmemory = \"1GiB\"\n"), HasSubstr("p.toml:1: [record] has no name"));
    EXPECT_THAT(mistake("[record.rec-1]\nmemory = \"1MiB\"\n"),
                HasSubstr("p.toml:1: [record.rec-1]: memory of 1MiB is too small"));
    EXPECT_THAT(mistake("[record.rec-1\n"), HasSubstr("p.toml:1"));
}

}  // namespace
}  // namespace weir::app

// SPDX-License-Identifier: Apache-2.0
// A partition file as one of its stations reads it: its own section and the shared ones, and the errors for mistakes.
#include "stations/frame/partition_settings.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "stations/recorder/recorder_station.hpp"

namespace weir::app {
namespace {

using testing::AllOf;
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

constexpr std::string_view secured =
    "[security]\ntls_certificate = \"c.pem\"\ntls_key = \"k.pem\"\ntls_ca = \"ca.pem\"\n";

std::string with_data(std::string_view network, std::string_view more = {}) {
    return fmt::format("[record.rec-1]\n[network]\ndata = \"{}\"\n{}", network, more);
}

TEST(PartitionSettings, NetworksAreReadAndAddressesOfOthersNeedCertificatesOrTheWordPlain) {
    const auto place = read_as(with_data("fd00:77::/64", secured), "rec-1");
    ASSERT_TRUE(place) << place.error().message();
    EXPECT_EQ(transport::to_string(place->partition.data_network().value()), "fd00:77::/64");
    EXPECT_FALSE(place->partition.control_network().has_value());
    EXPECT_EQ(mistake(with_data("127.0.0.0/8")), "");
    EXPECT_EQ(mistake(with_data("10.77.0.0/16", "plain = true\n")), "");
    EXPECT_THAT(
        mistake(with_data("10.77.0.0/16")),
        AllOf(HasSubstr("data in [network]: 10.77.0.0/16 is reached by other machines"), HasSubstr("plain = true")));
    EXPECT_THAT(mistake(with_data("10.77.0.1/40")),
                HasSubstr("p.toml:3: network.data: \"10.77.0.1/40\" is not a network"));
}

TEST(StationPlace, APortForOtherStationsIsAtTheStationsAddressUnlessItsKeyNamesAnother) {
    StationPlace place;
    EXPECT_EQ(place.listen("").value(), (transport::HostPort{"127.0.0.1", 0}));
    place.address = "10.77.0.3";
    EXPECT_EQ(place.listen("").value(), (transport::HostPort{"10.77.0.3", 0}));
    EXPECT_EQ(place.listen("127.0.0.1:9000").value(), (transport::HostPort{"127.0.0.1", 9000}));
    place.partition.network.data = "127.0.0.0/8";
    EXPECT_THAT(place.listen("10.77.0.3:0").error().message(), HasSubstr("10.77.0.3:0 is reached by other machines"));
    place.partition.network.plain = true;
    EXPECT_EQ(place.listen("10.77.0.3:0").value(), (transport::HostPort{"10.77.0.3", 0}));
}

TEST(PartitionSettings, TheFilesOfTheCommandLineReplaceThoseOfTheFileForAllPortsOfAStation) {
    StationOptions options;
    const auto text = fmt::format("[record.rec-1]\n{}", secured);
    EXPECT_EQ(read_as(text, "rec-1")->partition.data_tls().certificate, "c.pem");
    options.tls = {"host.pem", "host.key", "authority.pem"};
    for (const auto& file : {text, std::string("[record.rec-1]\n")}) {
        const auto place = read_as(file, "rec-1", options);
        ASSERT_TRUE(place) << place.error().message();
        const auto between = place->partition.data_tls();
        EXPECT_EQ(between.certificate, "host.pem");
        EXPECT_EQ(between.key, "host.key");
        EXPECT_EQ(between.authority, "authority.pem");
        EXPECT_EQ(between.unit, "weir-station");
        EXPECT_EQ(place->partition.access({})->tls.certificate, "host.pem");
        EXPECT_EQ(place->partition.access({})->tls.unit, "");
    }
    options.tls.key.clear();
    EXPECT_THAT(read_as(text, "rec-1", options).error().message(), HasSubstr("are given together"));
    EXPECT_FALSE(read_as("[record.rec-1]\n", "rec-1")->partition.data_tls().any());
}

TEST(PartitionSettings, TheAddressThatIsGivenIsOneInTheNetworkOfTheData) {
    StationOptions options;
    const auto refused = [&](const std::string& address, const std::string& text) {
        options.address = address;
        const auto place = read_as(text, "rec-1", options);
        return place ? "taken: " + place->address : place.error().message();
    };
    EXPECT_EQ(refused("10.77.0.3", with_data("10.77.0.0/16", secured)), "taken: 10.77.0.3");
    EXPECT_THAT(refused("10.78.0.3", with_data("10.77.0.0/16", secured)), HasSubstr("is not in [network] data"));
    EXPECT_THAT(refused("10.77.0.3", "[record.rec-1]\n"), HasSubstr("is reached by other machines"));
    EXPECT_EQ(refused("127.0.0.2", "[record.rec-1]\n"), "taken: 127.0.0.2");
    for (const auto* address : {"0.0.0.0", "::", "localhost", "10.77.0.3:80"})
        EXPECT_THAT(refused(address, with_data("10.77.0.0/16", secured)),
                    HasSubstr("is not an address of one machine"));
}

}  // namespace
}  // namespace weir::app

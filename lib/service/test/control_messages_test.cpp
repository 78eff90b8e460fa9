// SPDX-License-Identifier: Apache-2.0
#include "weir/service/control_messages.hpp"

#include <gmock/gmock.h>

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Peer sample_peer() {
    Peer peer{"ros-1",
              StationKind::readout,
              wire::StationId{3},
              "127.0.0.1:40001",
              "",
              {SourceId{0x7c0000}, SourceId{0xa80010}}};
    peer.control = "127.0.0.1:40002";
    return peer;
}

std::string refusal(std::string_view text) {
    const auto request = parse_station_request(text);
    EXPECT_TRUE(request || !request.error().message().contains('\n'));
    return request ? "" : request.error().message();
}

TEST(ControlMessages, APeerIsWrittenAsTheDocumentShows) {
    const StationRequest request{.kind = StationRequestKind::change_peers, .peers = {sample_peer()}};
    EXPECT_THAT(
        to_json(request),
        HasSubstr(
            R"([{"name":"ros-1","kind":"readout","id":3,"dataflow":"127.0.0.1:40001","events":"","sources":["0x7c0000","0xa80010"],"link":"udp","control":"127.0.0.1:40002"}])"));
}

TEST(ControlMessages, EveryRequestIsReadBack) {
    for (const auto transition : transitions) {
        StationRequest request{.transition = transition, .deadline = 1500ms};
        if (transition == Transition::start) {
            request.run = RunNumber{91668};
            request.again = true;
            request.masks = {{SourceId{0x420000}, true, std::nullopt}};
        }
        if (transition == Transition::connect) {
            request.peers = {sample_peer(), sample_peer()};
            request.peers.back().tcp = true;
            request.peers.back().busy = true;
            request.peers.back().triggers = true;
            request.peers.front().first = SourceId{0x420001};
        }
        EXPECT_EQ(parse_station_request(to_json(request)).value(), request) << name(transition);
    }
    for (const auto kind : {StationRequestKind::change_peers, StationRequestKind::exit}) {
        const StationRequest request{.kind = kind, .peers = {sample_peer()}};
        EXPECT_EQ(parse_station_request(to_json(request)).value(), request);
    }
    const StationRequest mask{
        .kind = StationRequestKind::mask,
        .masks = {{SourceId{0x420000}, true, Level1Id{7}}, {SourceId{0x420000}, false, Level1Id{0xffff'ffff}}}};
    EXPECT_EQ(parse_station_request(to_json(mask)).value(), mask);
}

TEST(ControlMessages, AMaskThatIsNoneIsRefused) {
    for (const auto* mask :
         {"7", "{}", R"({"source":"0x7"})", R"({"source":"x","masked":true})", R"({"source":"0x7","masked":1})",
          R"({"source":"0x7","masked":true,"from":4294967296})", R"({"source":"0x7","masked":true,"form":3})"})
        EXPECT_NE(refusal(std::string(R"({"name":"mask","masks":[)") + mask + "]}"), "") << mask;
    EXPECT_THAT(refusal(R"({"name":"stop","masks":[]})"), HasSubstr("masks"));
}

TEST(ControlMessages, WhatIsWrongInARequestIsSaidInOneLine) {
    EXPECT_THAT(refusal(""), HasSubstr("not a JSON document"));
    EXPECT_THAT(refusal("[]"), HasSubstr("not an object"));
    EXPECT_THAT(refusal("{}"), HasSubstr("has no \"name\""));
    EXPECT_THAT(refusal(R"({"name":"strat"})"), HasSubstr("\"strat\" is no transition; did you mean \"start\"?"));
    EXPECT_THAT(refusal(R"({"name":"start"})"), HasSubstr("has no \"run\""));
    EXPECT_THAT(refusal(R"({"name":"start","run":-1})"), HasSubstr("\"run\""));
    EXPECT_THAT(refusal(R"({"name":"start","run":4294967296})"), HasSubstr("\"run\""));
    EXPECT_THAT(refusal(R"({"name":"stop","deadline":1e300})"), HasSubstr("\"deadline\""));
    EXPECT_THAT(refusal(R"({"name":"stop","deadline":-1})"), HasSubstr("\"deadline\""));
    EXPECT_THAT(refusal(R"({"name":"stop","deadlin":1})"), HasSubstr("did you mean \"deadline\"?"));
    EXPECT_THAT(refusal(R"({"name":"connect","peers":[{}]})"), HasSubstr("peers[0] has no \"name\""));
    EXPECT_THAT(refusal(R"({"name":"connect","peers":[{"name":"a","kind":"x","id":1}]})"),
                HasSubstr("no kind of station"));
    EXPECT_THAT(refusal(R"({"name":"connect","peers":[{"name":"a","kind":"build","id":65536}]})"), HasSubstr("\"id\""));
    EXPECT_THAT(refusal(R"({"name":"connect","peers":[{"name":"a","kind":"build","id":1,"sources":[7]}]})"),
                HasSubstr("\"sources\""));
    EXPECT_THAT(refusal(R"({"name":"connect","peers":[{"name":"a","kind":"build","id":1,"link":"pigeon"}]})"),
                HasSubstr("neither udp nor tcp"));
    EXPECT_THAT(refusal(R"({"name":"connect","peers":7})"), HasSubstr("\"peers\""));
    EXPECT_NE(refusal(std::string(200'000, '[')), "");
}

TEST(ControlMessages, AReportIsReadBack) {
    StationReport report;
    report.station = "ros-1";
    report.kind = StationKind::filter;
    report.id = wire::StationId{7};
    report.pid = 4711;
    report.state = StationState::running;
    report.run = RunNumber{91668};
    report.transition = {"pause", std::chrono::duration<double>(1.5)};
    report.error = "one \"line\"";
    report.status = {
        .ledger = {.what = "requests", .received = 10, .stored = 8, .rejected = {{"late", 1}}, .in_hand = 1},
        .finished = true,
        .counters = {{"re_asked", 2.5}},
        .sources = {{.source = SourceId{0x7c0000},
                     .outside = true,
                     .arrived = 9,
                     .bytes = 900,
                     .late = 1,
                     .lost = 2,
                     .duplicated = 3,
                     .disordered = 6,
                     .jumps = 7,
                     .refused = 4,
                     .last_seen = WallTime(std::chrono::seconds(1'790'000'000))},
                    {.source = SourceId{0xa80010}, .expected = 82, .missing = 81, .masked = 5}}};
    report.alarms = {{"gap", "text", "error", 2, "Marie", 1'790'000'000.5, 1'790'000'060.25},
                     {"full", "other", "warning", 1, std::nullopt}};
    report.self = sample_peer();
    const auto back = parse_station_report(to_json(report));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(to_json(*back), to_json(report));
    EXPECT_EQ(back->run, report.run);
    EXPECT_EQ(back->self, report.self);
    EXPECT_EQ(back->alarms.at(0).last, 1'790'000'060.25);
    EXPECT_TRUE(back->status.ledger.balances());
    EXPECT_EQ(back->status.sources, report.status.sources);
    EXPECT_EQ(to_json(parse_station_report(to_json(StationReport{})).value()), to_json(StationReport{}));
}

TEST(ControlMessages, AReportWithAnImpossibleSourceIsRefused) {
    const auto with = [](const std::string& source) {
        return parse_station_report(R"({"station":"a","kind":"build","state":"running","sources":[)" + source + "]}");
    };
    EXPECT_EQ(with(R"({"source":"0x7"})").value().status.sources, (std::vector<SourceStatus>{{.source = SourceId{7}}}));
    for (const auto* source : {"7", "{}", R"({"source":"x"})", R"({"source":"0x7","arrived":-1})",
                               R"({"source":"0x7","last_seen":1e300})", R"({"source":"0x7","last_seen":-1})"})
        EXPECT_FALSE(with(source)) << source;
}

}  // namespace
}  // namespace weir::service

// SPDX-License-Identifier: Apache-2.0
#include "weir/service/control_messages.hpp"

#include <gmock/gmock.h>

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Peer sample_peer() {
    return {"ros-1",
            StationKind::readout,
            wire::StationId{3},
            "127.0.0.1:40001",
            "",
            {SourceId{0x7c0000}, SourceId{0xa80010}}};
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
            R"([{"name":"ros-1","kind":"readout","id":3,"dataflow":"127.0.0.1:40001","events":"","sources":["0x7c0000","0xa80010"],"link":"udp"}])"));
}

TEST(ControlMessages, EveryRequestIsReadBack) {
    for (const auto transition : transitions) {
        StationRequest request{.transition = transition, .deadline = 1500ms};
        if (transition == Transition::start) {
            request.run = RunNumber{91668};
            request.again = true;
        }
        if (transition == Transition::connect) {
            request.peers = {sample_peer(), sample_peer()};
            request.peers.back().tcp = true;
        }
        EXPECT_EQ(parse_station_request(to_json(request)).value(), request) << name(transition);
    }
    for (const auto kind : {StationRequestKind::change_peers, StationRequestKind::exit}) {
        const StationRequest request{.kind = kind, .peers = {sample_peer()}};
        EXPECT_EQ(parse_station_request(to_json(request)).value(), request);
    }
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
        .counters = {{"re_asked", 2.5}}};
    report.alarms = {{"gap", "text", "error", 2, "Marie"}, {"full", "other", "warning", 1, std::nullopt}};
    report.self = sample_peer();
    const auto back = parse_station_report(to_json(report));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(to_json(*back), to_json(report));
    EXPECT_EQ(back->run, report.run);
    EXPECT_EQ(back->self, report.self);
    EXPECT_TRUE(back->status.ledger.balances());
    EXPECT_EQ(to_json(parse_station_report(to_json(StationReport{})).value()), to_json(StationReport{}));
}

}  // namespace
}  // namespace weir::service

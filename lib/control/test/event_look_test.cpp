// SPDX-License-Identifier: Apache-2.0
#include "page/event_look.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <thread>

#include "weir/json/parse.hpp"
#include "weir/service/event_tap.hpp"

namespace weir::control {
namespace {

using testing::HasSubstr;

/// What a station's control port answers to GET /tap.
struct TapOfAStation {
    std::mutex mutex;
    service::HttpResponse response{.status = 200, .body = "an event", .content_type = "application/octet-stream"};
    std::vector<std::string> queries{};
    std::vector<service::HttpAnswer> held{};
    bool hold = false;
    Result<service::HttpServer> server = service::HttpServer::start(
        {}, {{service::HttpRoute::Method::get, "/tap", [this](const auto& request, const auto& answer) {
                  const std::scoped_lock lock(mutex);
                  queries.push_back(request.query);
                  if (hold) held.push_back(answer);
                  else answer(response);
              }}});
};

StationView station(const std::string& name, StationKind kind, const TapOfAStation& tap) {
    StationView view;
    view.entry.name = name;
    view.entry.kind = kind;
    view.state = "running";
    view.control = tap.server->address();
    return view;
}

struct EventLookTest : testing::Test {
    service::HttpResponse ask(const std::string& query) {
        std::mutex mutex;
        std::condition_variable answered;
        std::optional<service::HttpResponse> response;
        look.next(stations, {.path = "/event", .query = query, .body = ""}, [&](service::HttpResponse got) {
            const std::scoped_lock lock(mutex);
            response = std::move(got);
            answered.notify_all();
        });
        std::unique_lock lock(mutex);
        EXPECT_TRUE(answered.wait_for(lock, std::chrono::minutes{2}, [&] { return response.has_value(); }));
        return response.value_or(service::HttpResponse{.status = 0});
    }
    json::value document(const std::string& query) {
        const auto got = ask(query);
        EXPECT_EQ(got.status, 200U) << got.body;
        return json::parse(got.body).value_or(json::value());
    }

    TapOfAStation builder, filter_1, filter_2;
    std::vector<StationView> stations{
        station("sfi-1", StationKind::build, builder), station("ef-1", StationKind::filter, filter_1),
        station("ef-2", StationKind::filter, filter_2), station("rec-1", StationKind::record, builder)};
    EventLook look{{}, [](ConstData event) { return json::object{{"bytes", event.size()}}; }, Bytes{64U << 10}};
};

TEST_F(EventLookTest, AnEventIsDescribedAndItsBytesAreKept) {
    const auto got = document("station=sfi-1&stream=physics_Main&source=0x420000&incomplete=1&size_min=5&wait=10");
    EXPECT_EQ(got.at("station").as_string(), "sfi-1");
    EXPECT_EQ(got.at("event").at("bytes").to_number<int>(), 8);
    EXPECT_THAT(builder.queries, testing::ElementsAre("wait=10&size_min=5&size_max=18446744073709551615&incomplete=1&"
                                                      "stream=physics_Main&source=0x420000"));
    const auto bytes = look.bytes(std::to_string(got.at("id").to_number<int>()));
    EXPECT_EQ(bytes.body, "an event");
    EXPECT_EQ(bytes.content_type, "application/octet-stream");
    EXPECT_EQ(look.bytes("99").status, 404U);
    EXPECT_EQ(look.bytes("1x").status, 400U);
    EXPECT_EQ(look.bytes("").status, 400U);
}

TEST_F(EventLookTest, WithoutAStationFiltersAreAskedInTurnAndBuildersWhereThereAreNone) {
    EXPECT_EQ(document("").at("station").as_string(), "ef-1");
    EXPECT_EQ(document("").at("station").as_string(), "ef-2");
    EXPECT_EQ(document("wait=0").at("station").as_string(), "ef-1");
    stations.erase(stations.begin() + 1, stations.begin() + 3);
    EXPECT_EQ(document("").at("station").as_string(), "sfi-1");
    stations.erase(stations.begin());
    const auto none = ask("");
    EXPECT_EQ(none.status, 409U);
    EXPECT_THAT(none.body, HasSubstr("neither a builder nor a filter"));
}

TEST_F(EventLookTest, AWishThatIsWrongAndAStationThatHasNoEventsAreRefusedInOneLine) {
    EXPECT_EQ(ask("station=sfi-9").status, 400U);
    EXPECT_EQ(ask("colour=red").status, 400U);
    EXPECT_EQ(ask("source=x").status, 400U);
    const auto recorder = ask("station=rec-1");
    EXPECT_EQ(recorder.status, 409U);
    EXPECT_THAT(recorder.body, HasSubstr("rec-1 is running of kind record"));
    EXPECT_TRUE(builder.queries.empty());
}

TEST_F(EventLookTest, AnAnswerOfAnyKindIsAnswered) {
    filter_1.response = {.status = 200,
                         .body = R"({"passed":1200,"too_large":3,"streams":["physics_Main"],"later":1})"};
    const auto none = document("station=ef-1");
    EXPECT_TRUE(none.at("event").is_null());
    EXPECT_EQ(none.at("passed").to_number<int>(), 1200);
    EXPECT_EQ(none.at("too_large").to_number<int>(), 3);
    EXPECT_EQ(none.at("streams").at(0).as_string(), "physics_Main");
    for (const auto& [status, body] : {std::pair{200U, "[]"},
                                       {200U, "no JSON"},
                                       {200U, R"({"passed":"x"})"},
                                       {200U, R"({"passed":1,"streams":"x"})"},
                                       {503U, "{\"error\":\"eight wait\"}"}}) {
        filter_1.response = {.status = status, .body = body};
        const auto got = ask("station=ef-1");
        EXPECT_EQ(got.status, 502U);
        EXPECT_THAT(got.body, HasSubstr("ef-1: "));
    }
    filter_1.response = {
        .status = 200, .body = std::string((16U << 20) + 1, 'x'), .content_type = "application/octet-stream"};
    EXPECT_EQ(ask("station=ef-1").status, 502U) << "larger than any event of a tap";
}

TEST_F(EventLookTest, OldEventsMakeRoomForNewOnes) {
    filter_1.response.body.assign(8U << 10, 'x');
    for (std::size_t i = 1; i <= 9; ++i) EXPECT_EQ(document("station=ef-1").at("id").to_number<std::size_t>(), i);
    EXPECT_EQ(look.bytes("1").status, 404U);
    EXPECT_EQ(look.bytes("2").body.size(), 8U << 10);
    filter_1.response.body = "x";
    for (std::size_t i = 0; i < EventLook::kept_max; ++i) static_cast<void>(document("station=ef-1"));
    EXPECT_EQ(look.bytes("9").status, 404U);
    EXPECT_EQ(look.bytes("10").body, "x");
}

TEST_F(EventLookTest, TooManyAtOnceAreRefusedAndTheOthersAnswered) {
    builder.hold = true;
    std::atomic<std::size_t> answered = 0, good = 0;
    for (std::size_t i = 0; i < EventLook::under_way_max; ++i)
        look.next(stations, {.path = "/event", .query = "station=sfi-1&wait=10000", .body = ""},
                  [&](const service::HttpResponse& got) {
                      good += got.status == 200 ? 1U : 0U;
                      ++answered;
                  });
    EXPECT_EQ(ask("station=ef-1").status, 503U);
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes{2};
    const auto wait_for = [&](const auto& condition) {
        while (!condition() && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        return condition();
    };
    ASSERT_TRUE(wait_for([&] {
        const std::scoped_lock lock(builder.mutex);
        return builder.held.size() == EventLook::under_way_max;
    }));
    for (const auto& answer : builder.held) answer(builder.response);
    ASSERT_TRUE(wait_for([&] { return answered == EventLook::under_way_max; }));
    EXPECT_EQ(good, EventLook::under_way_max);
    EXPECT_EQ(document("station=ef-1").at("id").to_number<std::size_t>(), EventLook::under_way_max + 1);
}

}  // namespace
}  // namespace weir::control

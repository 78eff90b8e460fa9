// SPDX-License-Identifier: Apache-2.0
#include "weir/page/live_document.hpp"

#include <gmock/gmock.h>

namespace weir::page {
namespace {

using testing::HasSubstr;

TEST(LiveDocumentTest, IsMadeOnceATickHoweverManyAsk) {
    int things = 0;
    LiveDocument live([&] { return boost::json::object{{"things", ++things}}; });
    EXPECT_EQ(live.made(), 0U);
    for (int client = 0; client < 50; ++client) EXPECT_EQ(live.answer({}).body, R"({"things":1,"tick":1})");
    live.tick();
    for (int client = 0; client < 50; ++client) EXPECT_EQ(live.answer({}).body, R"({"things":2,"tick":2})");
    EXPECT_EQ(live.made(), 2U);
}

TEST(LiveDocumentTest, IsMadeAnewAfterAChangeWithoutATick) {
    int things = 0;
    LiveDocument live([&] { return boost::json::object{{"things", ++things}}; });
    static_cast<void>(live.answer({}));
    live.renew();
    EXPECT_EQ(live.answer({}).body, R"({"things":2,"tick":1})");
}

TEST(LiveDocumentTest, IsCompressedForWhoTakesThat) {
    LiveDocument live([] { return boost::json::object{{"text", std::string(10'000, 'x')}}; });
    service::HttpRequest request;
    request.takes_gzip = true;
    const auto small = live.answer(request);
    EXPECT_LT(small.body.size(), 200U);
    EXPECT_THAT(small.headers, testing::Contains(testing::Pair("Content-Encoding", "gzip")));
    EXPECT_GT(live.answer({}).body.size(), 10'000U);
    EXPECT_EQ(live.made(), 1U);
}

}  // namespace
}  // namespace weir::page

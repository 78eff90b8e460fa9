// SPDX-License-Identifier: Apache-2.0
#include "weir/page/page_routes.hpp"

#include <gmock/gmock.h>

#include "assets.hpp"
#include "gzip.hpp"

namespace weir::page {
namespace {

using service::HttpRequest;
using service::HttpResponse;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

HttpRequest of(std::string path) {
    HttpRequest request;
    request.path = std::move(path);
    return request;
}

HttpResponse ask(const HttpRequest& request) {
    HttpResponse response;
    for (const auto& route : page_routes()) {
        if (route.path == request.path || (route.path == "/page/*" && request.path.starts_with("/page/")))
            route.handle(request, [&](HttpResponse given) { response = std::move(given); });
    }
    return response;
}

std::string header(const HttpResponse& response, std::string_view name) {
    for (const auto& [key, value] : response.headers)
        if (key == name) return value;
    return {};
}

TEST(PageRoutesTest, ThePageTakesNothingFromElsewhere) {
    const auto page = ask(of("/"));
    EXPECT_EQ(page.status, 200U);
    EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
    EXPECT_THAT(page.headers, Contains(Pair("Content-Security-Policy", StartsWith("default-src 'self';"))));
    EXPECT_THAT(page.headers, Contains(Pair("X-Content-Type-Options", "nosniff")));
    for (const auto& [name, bytes] : assets()) {
        EXPECT_EQ(bytes.find("http://"), name == "icon.svg" ? bytes.find("http://www.w3.org/2000/svg") : bytes.npos)
            << name;
        EXPECT_EQ(bytes.find("https://"), bytes.npos) << name;
        EXPECT_EQ(bytes.find("innerHTML"), bytes.npos) << name;
        EXPECT_EQ(bytes.find("eval("), bytes.npos) << name;
    }
}

TEST(PageRoutesTest, EveryFileHasItsTypeAndScriptsAreScripts) {
    EXPECT_EQ(ask(of("/page/main.js")).content_type, "text/javascript; charset=utf-8");
    EXPECT_EQ(ask(of("/page/page.css")).content_type, "text/css; charset=utf-8");
    EXPECT_EQ(ask(of("/page/nothing.js")).status, 404U);
    EXPECT_EQ(ask(of("/page/../etc/passwd")).status, 404U);
    EXPECT_EQ(content_type_of("x.exe"), "application/octet-stream");
}

TEST(PageRoutesTest, AFileThatTheBrowserHasIsNotSentAgain) {
    HttpRequest request = of("/page/main.js");
    request.takes_gzip = true;
    const auto first = ask(request);
    EXPECT_EQ(header(first, "Content-Encoding"), "gzip");
    request.if_none_match = header(first, "ETag");
    const auto again = ask(request);
    EXPECT_EQ(again.status, 304U);
    EXPECT_TRUE(again.body.empty());
    request.takes_gzip = false;
    EXPECT_EQ(ask(request).status, 200U) << "the tag of the compressed one is not that of the plain one";
}

TEST(PageRoutesTest, EveryScriptIsAskedForWithThePageAndNotOnlyWhenAnotherNamesIt) {
    const auto page = ask(of("/")).body;
    for (const auto& [name, bytes] : assets()) {
        if (!name.ends_with(".js")) continue;
        EXPECT_THAT(page, HasSubstr("=\"/page/" + std::string(name) + "\"")) << name;
    }
}

TEST(PageRoutesTest, AllFilesTogetherAreAtMost60KilobytesCompressed) {
    std::size_t sum = 0;
    for (const auto& [name, bytes] : assets()) sum += gzipped(bytes, 9).size();
    RecordProperty("bytes", static_cast<int>(sum));
    EXPECT_LE(sum, 60'000U);
}

}  // namespace
}  // namespace weir::page

// SPDX-License-Identifier: Apache-2.0
#include "weir/json/parse.hpp"

#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>

namespace weir::json {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view text, const Limits& limits = {}) {
    const auto parsed = parse(text, limits);
    return parsed ? "" : parsed.error().message();
}

TEST(ParseJson, TakesOneDocumentAndNothingBehindIt) {
    EXPECT_EQ(error_of(" {\"a\":[1,2.5,\"x\",null,true]} \n"), "");
    EXPECT_THAT(error_of("{} {}"), HasSubstr("something follows"));
    EXPECT_THAT(error_of("{\"a\":"), HasSubstr("ends too early"));
    EXPECT_THAT(error_of(""), HasSubstr("ends too early"));
    EXPECT_THAT(error_of("{'a':1}"), HasSubstr("not a JSON document"));
}

TEST(ParseJson, SizeAndDepthAreLimited) {
    EXPECT_THAT(error_of("\"" + std::string(100, 'x') + "\"", {Bytes{50}, 16}), HasSubstr("more than 50B"));
    EXPECT_NE(error_of(std::string(100'000, '[')), "");
    EXPECT_EQ(error_of(std::string(16, '[') + std::string(16, ']')), "");
    EXPECT_NE(error_of(std::string(17, '[') + std::string(17, ']')), "");
}

TEST(JsonFields, AllFieldsAreReadInARow) {
    const auto value = parse(R"({"name":"start","run":7,"deadline":1.5,"list":[1],"on":true,"inner":{}})").value();
    Fields fields(value, "the request");
    EXPECT_EQ(fields.text("name"), "start");
    EXPECT_EQ(fields.number("run"), 7U);
    EXPECT_EQ(fields.real("deadline"), 1.5);
    EXPECT_EQ(fields.real("run"), 7.0);
    EXPECT_TRUE(fields.flag("on"));
    ASSERT_NE(fields.array("list", 1), nullptr);
    ASSERT_NE(fields.object("inner"), nullptr);
    EXPECT_EQ(fields.number("absent", 3), 3U);
    EXPECT_EQ(fields.array("none", 1), nullptr);
    fields.no_others();
    EXPECT_TRUE(fields.result());
}

TEST(JsonFields, TheFirstFaultIsReported) {
    const auto reason = [](const char* text, auto read) {
        const auto value = parse(text).value();
        Fields fields(value, "the request");
        read(fields);
        fields.no_others();
        const auto result = fields.result();
        return result ? std::string() : result.error().message();
    };
    EXPECT_EQ(reason("[]", [](auto& f) { f.text("name"); }), "the request is not an object");
    EXPECT_EQ(reason("{}", [](auto& f) { f.text("name"), f.number("run"); }), "the request has no \"name\"");
    EXPECT_THAT(reason(R"({"run":-1})", [](auto& f) { f.number("run"); }),
                HasSubstr("\"run\" of the request is not a whole number"));
    EXPECT_THAT(reason(R"({"run":1.5})", [](auto& f) { f.number("run"); }), HasSubstr("not a whole number"));
    EXPECT_THAT(reason(R"({"run":256})", [](auto& f) { f.number("run", 0, 255); }), HasSubstr("from 0 to 255"));
    EXPECT_THAT(reason(R"({"name":"a\nb"})", [](auto& f) { f.text("name"); }), HasSubstr("on one line"));
    EXPECT_THAT(reason(R"({"l":[1,2]})", [](auto& f) { f.array("l", 1); }), HasSubstr("a list of at most 1"));
    EXPECT_THAT(reason(R"({"nmae":"x"})", [](auto& f) { f.text("name", ""); }), HasSubstr("did you mean \"name\"?"));
}

TEST(JsonSafe, BytesThatAreNotUtf8AreReplaced) {
    const std::string bad = std::string("a\xff") + "b\xc3(\xed\xa0\x80\xf4\x90\x80\x80 \xc3\xa9 \xe2\x82\xac";
    boost::json::value document{{"x", safe(bad)}};
    const auto again = parse(boost::json::serialize(document));
    ASSERT_TRUE(again.has_value()) << again.error().message();
    EXPECT_THAT(std::string(again->as_object().at("x").as_string()), HasSubstr("\xc3\xa9 \xe2\x82\xac"));
}

}  // namespace
}  // namespace weir::json

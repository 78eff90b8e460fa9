// SPDX-License-Identifier: Apache-2.0
#include "page/files_of_recorders.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>
#include <limits>
#include <random>

#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

using testing::HasSubstr;

json::object a_file(const std::string& name, double opened) {
    return {{"name", name},
            {"volume", "/data"},
            {"stream", "physics_Main"},
            {"recorder", "rec"},
            {"lumi_block", 1},
            {"events", 10},
            {"bytes", 1000},
            {"sums", {{"adler32", "01020304"}}},
            {"state", "CLOSED"},
            {"transfer", "ONDISK"},
            {"health", "SANE"},
            {"opened", opened},
            {"copies", {{{"destination", "/eos"}, {"state", "FAILED"}, {"attempts", 2}, {"error", "disk\nfull"}}}}};
}

/// What a recorder answers that has so many files of the run, opened one second after the other.
json::object an_answer(std::uint32_t run, std::size_t count = 1, double first = 100, std::uint64_t left_out = 0) {
    json::array files;
    for (std::size_t i = 0; i < count; ++i)
        files.push_back(a_file(fmt::format("file-{}", i), first + static_cast<double>(i)));
    return {{"run", run},
            {"streams",
             {{{"stream", "physics_Main"},
               {"files", count},
               {"open", 1},
               {"handed_over", 2},
               {"deleted", 3},
               {"not_sane", 4},
               {"events", 10 * count},
               {"bytes", 1000 * count}}}},
            {"files", std::move(files)},
            {"left_out", left_out},
            {"volumes", {{{"volume", "/data"}, {"device", 2049}, {"bytes", 5000}, {"free", 1000}}}},
            {"troubles", json::array{}},
            {"silent", json::array{}}};
}

std::string text_of(const json::value& document) { return json::serialize(document); }

std::string trouble_of(const json::object& document) {
    return document.at("troubles").as_array().empty() ? std::string()
                                                      : std::string(document.at("troubles").at(0).as_string());
}

TEST(FilesOfRecorders, SumsStreamsAndNamesTheMachineOfEachFileAndDisk) {
    FilesOfRecorders files(RunNumber{7});
    files.add("rec-1", "h1", text_of(an_answer(7, 2, 100)));
    files.add("rec-2", "h2", text_of(an_answer(7, 1, 100.5)));
    const auto document = files.document();
    EXPECT_EQ(document.at("run").to_number<int>(), 7);
    ASSERT_EQ(document.at("streams").as_array().size(), 1U);
    const auto& stream = document.at("streams").at(0);
    EXPECT_EQ(stream.at("files").to_number<int>(), 3);
    EXPECT_EQ(stream.at("open").to_number<int>(), 2);
    EXPECT_EQ(stream.at("not_sane").to_number<int>(), 8);
    EXPECT_EQ(stream.at("events").to_number<int>(), 30);
    EXPECT_EQ(stream.at("bytes").to_number<int>(), 3000);
    ASSERT_EQ(document.at("files").as_array().size(), 3U);
    EXPECT_EQ(document.at("files").at(0).at("host").as_string(), "h1");
    EXPECT_EQ(document.at("files").at(1).at("host").as_string(), "h2") << "the newest first";
    EXPECT_EQ(document.at("files").at(0).at("sums").at("adler32").as_string(), "01020304");
    EXPECT_EQ(document.at("files").at(0).at("copies").at(0).at("error").as_string(), "disk\nfull");
    EXPECT_TRUE(document.at("troubles").as_array().empty());
    EXPECT_TRUE(document.at("silent").as_array().empty());
}

TEST(FilesOfRecorders, DisksOfTwoMachinesAreTwoThoughTheirNamesAndNumbersAreOne) {
    FilesOfRecorders files(RunNumber{7});
    files.add("rec-1", "h1", text_of(an_answer(7)));
    files.add("rec-2", "h2", text_of(an_answer(7)));
    files.add("rec-3", "h2", text_of(an_answer(7)));
    const auto document = files.document();
    const auto& volumes = document.at("volumes").as_array();
    ASSERT_EQ(volumes.size(), 2U) << "two recorders of one machine share its disk";
    EXPECT_EQ(volumes.at(0).at("host").as_string(), "h1");
    EXPECT_EQ(volumes.at(1).at("host").as_string(), "h2");
    EXPECT_EQ(volumes.at(1).at("free").to_number<int>(), 1000);
}

TEST(FilesOfRecorders, TheNewestTwoHundredOfAllAreShownAndTheOthersCounted) {
    FilesOfRecorders files(RunNumber{7});
    files.add("rec-1", "h1", text_of(an_answer(7, 200, 1000, 11)));
    files.add("rec-2", "h2", text_of(an_answer(7, 150, 1100.5, 5)));
    const auto document = files.document();
    EXPECT_EQ(document.at("files").as_array().size(), 200U);
    EXPECT_EQ(document.at("left_out").to_number<int>(), 11 + 5 + 150);
    EXPECT_EQ(document.at("files").at(0).at("opened").as_double(), 1249.5);
    EXPECT_EQ(document.at("files").at(199).at("opened").as_double(), 1125);
    EXPECT_EQ(document.at("streams").at(0).at("files").to_number<int>(), 350);
}

TEST(FilesOfRecorders, TheOrderOfTheAnswersDoesNotMatter) {
    const std::vector answers{an_answer(7, 120, 50), an_answer(7, 120, 50), an_answer(6, 9), an_answer(7, 3)};
    std::vector<std::size_t> order{0, 1, 2, 3};
    std::string first;
    do {
        FilesOfRecorders files(std::nullopt);
        for (const auto i : order) files.add(fmt::format("rec-{}", i), fmt::format("h{}", i), text_of(answers.at(i)));
        const auto text = text_of(files.document());
        if (first.empty()) first = text;
        EXPECT_EQ(text, first);
    } while (std::ranges::next_permutation(order).found);
}

TEST(FilesOfRecorders, WithoutANumberTheNewestRunThatARecorderHasIsShown) {
    FilesOfRecorders files(std::nullopt);
    files.add("rec-1", "h1", text_of(an_answer(6, 5)));
    files.add("rec-2", "h2", text_of(an_answer(7, 2)));
    auto nothing_yet = an_answer(1, 0);
    nothing_yet["run"] = nullptr;
    files.add("rec-3", "h3", text_of(nothing_yet));
    const auto document = files.document();
    EXPECT_EQ(document.at("run").to_number<int>(), 7);
    EXPECT_EQ(document.at("files").as_array().size(), 2U);
    EXPECT_EQ(document.at("streams").at(0).at("files").to_number<int>(), 2);
    EXPECT_EQ(document.at("volumes").as_array().size(), 3U) << "each has its disks";
}

TEST(FilesOfRecorders, WhoDoesNotAnswerOrAnswersForAnotherRunIsNamedWithItsMachine) {
    FilesOfRecorders files(RunNumber{7});
    files.add("rec-1", "h1", Error{Errc::io, 0, "no answer from 10.0.0.1"});
    files.add("rec-2", "", text_of(an_answer(8)));
    files.add("rec-3", "h3", text_of(an_answer(7)));
    const auto document = files.document();
    EXPECT_EQ(document.at("silent"), (json::array{"rec-1", "rec-2"}));
    EXPECT_THAT(trouble_of(document), HasSubstr("rec-1 on h1: its files are not shown: no answer from 10.0.0.1"));
    EXPECT_THAT(std::string(document.at("troubles").at(1).as_string()), HasSubstr("it was asked for run 7"));
    EXPECT_EQ(document.at("files").as_array().size(), 1U);
}

TEST(FilesOfRecorders, SumsThatOverflowStayAtTheirEnd) {
    constexpr auto most = (std::uint64_t{1} << 53U) - 1;
    auto large = an_answer(7);
    large["streams"].as_array()[0].as_object()["bytes"] = most;
    large["left_out"] = most;
    FilesOfRecorders files(RunNumber{7});
    for (int i = 0; i < 3; ++i) files.add(fmt::format("rec-{}", i), "h1", text_of(large));
    const auto document = files.document();
    EXPECT_EQ(document.at("streams").at(0).at("bytes").to_number<std::uint64_t>(), most);
    EXPECT_EQ(document.at("left_out").to_number<std::uint64_t>(), most);
    EXPECT_EQ(document.at("streams").at(0).at("events").to_number<int>(), 30);
}

TEST(FilesOfRecorders, WhatIsNoJsonOrTooLongOrTooDeepIsATrouble) {
    const std::string of_everything = std::string(recorder_answer_max.count() + 1, '[');
    const std::string too_deep = R"({"run":)" + std::string(100, '[') + std::string(100, ']') + "}";
    for (const std::string& text :
         {std::string(), std::string("null"), std::string("[]"), std::string("{}"), std::string("<html>"),
          std::string("{\"run\":7"), std::string(1000, '\0'), std::string("\xff\xfe"), of_everything, too_deep}) {
        FilesOfRecorders files(std::nullopt);
        files.add("rec-1", "h1", text);
        const auto document = files.document();
        EXPECT_EQ(document.at("silent"), (json::array{"rec-1"})) << text.substr(0, 40);
        EXPECT_THAT(trouble_of(document), HasSubstr("rec-1 on h1"));
        EXPECT_LT(text_of(document).size(), 1000U);
    }
}

TEST(FilesOfRecorders, MoreThanALimitOfAnythingIsATrouble) {
    for (const auto* name : {"streams", "files", "volumes", "troubles"}) {
        auto answer = an_answer(7);
        auto& array = answer[name].as_array();
        const json::value one = array.empty() ? json::value("a line") : array.at(0);
        array = json::array(5000, one);
        FilesOfRecorders files(RunNumber{7});
        files.add("rec-1", "h1", text_of(answer));
        EXPECT_EQ(files.document().at("silent"), (json::array{"rec-1"})) << name;
        EXPECT_THAT(trouble_of(files.document()), HasSubstr(name));
    }
}

TEST(FilesOfRecorders, ATextOfAnyLengthIsCutAndKeepsItsCharacters) {
    auto answer = an_answer(7);
    answer["files"].as_array()[0].as_object()["name"] =
        "<img src=x onerror=alert(1)>\x01\xe2\x80\xae" + std::string(100'000, 'x');
    answer["troubles"] = json::array{std::string(100'000, 'y')};
    FilesOfRecorders files(RunNumber{7});
    files.add("rec-1", "h1", text_of(answer));
    const auto document = files.document();
    EXPECT_THAT(std::string(document.at("files").at(0).at("name").as_string()), HasSubstr("onerror=alert(1)>\x01"));
    EXPECT_LT(text_of(document).size(), 10'000U);
}

/// Every place of a document, one after the other, gets a value of another kind.
template <class Change>
void at_each_place(json::value& value, const Change& change) {
    change(value);
    if (value.is_object())
        for (auto& field : value.as_object()) at_each_place(field.value(), change);
    if (value.is_array())
        for (auto& one : value.as_array()) at_each_place(one, change);
}

TEST(FilesOfRecorders, AValueOfAnotherKindAtAnyPlaceIsShownOrATroubleAndNothingElse) {
    const std::vector<json::value> values{nullptr,
                                          true,
                                          -1,
                                          1.5,
                                          1e300,
                                          -1e300,
                                          std::numeric_limits<std::uint64_t>::max(),
                                          std::numeric_limits<std::int64_t>::min(),
                                          "x",
                                          json::array{},
                                          json::object{},
                                          json::array{json::array{json::object{{"a", 1}}}}};
    json::value good = an_answer(7, 2);
    std::size_t places = 0;
    at_each_place(good, [&](const json::value&) { ++places; });
    ASSERT_GT(places, 50U);
    for (std::size_t place = 0; place < places; ++place) {
        for (const auto& value : values) {
            json::value changed = an_answer(7, 2);
            std::size_t at = 0;
            at_each_place(changed, [&](json::value& here) {
                if (at++ == place) here = value;
            });
            FilesOfRecorders files(RunNumber{7});
            files.add("rec-1", "h1", text_of(changed));
            files.add("rec-2", "h2", text_of(an_answer(7, 1)));
            const auto document = files.document();
            const bool refused = !document.at("silent").as_array().empty();
            EXPECT_EQ(refused, !trouble_of(document).empty()) << text_of(changed);
            EXPECT_GE(document.at("files").as_array().size(), 1U) << "another recorder's files are shown in any case";
            for (const auto& file : document.at("files").as_array()) {
                EXPECT_TRUE(file.at("health").is_string() && file.at("name").is_string());
                EXPECT_TRUE(file.at("sums").is_object() && file.at("copies").is_array());
            }
        }
    }
}

TEST(FilesOfRecorders, TenThousandDamagedAnswersLeaveADocument) {
    const auto seed = std::random_device{}();
    std::mt19937 random(seed);
    const auto whole = text_of(an_answer(7, 3));
    for (int i = 0; i < 10'000; ++i) {
        auto text = whole;
        const auto at = [&] { return random() % text.size(); };
        for (auto n = random() % 4 + 1; n > 0; --n) text[at()] = static_cast<char>(random());
        if (random() % 4 == 0) text.resize(at());
        FilesOfRecorders files(RunNumber{7});
        files.add("rec-1", "h1", text);
        const auto document = files.document();
        ASSERT_TRUE(json::parse(text_of(document))) << "seed " << seed;
        ASSERT_LT(text_of(document).size(), 10'000U) << "seed " << seed;
    }
}

}  // namespace
}  // namespace weir::control

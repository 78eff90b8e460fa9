// SPDX-License-Identifier: Apache-2.0
#include "weir/handoff/place.hpp"

#include <gtest/gtest.h>

#include "weir/handoff/priorities.hpp"
#include "weir/handoff/xrootd_destination.hpp"

namespace weir::handoff {
namespace {

catalogue::FileRow file_named(std::string name) {
    catalogue::FileRow file;
    file.volume = "/data/1";
    file.name = std::move(name);
    file.run = RunNumber{7};
    file.stream_type = "physics";
    file.stream_name = "Main";
    return file;
}

TEST(Target, IsCutBeforeTheDirectoryOfItsFirstVariable) {
    EXPECT_EQ(parse_target("root://h:1094//raw/x{run}/{stream}/").value(),
              (Target{"root://h:1094//raw/x{run}/{stream}", "root://h:1094//raw", "x{run}/{stream}"}));
    EXPECT_EQ(parse_target("eos=root://h//raw").value(), (Target{"eos", "root://h//raw", ""}));
    EXPECT_EQ(parse_target("/mnt/backup/").value(), (Target{"/mnt/backup", "/mnt/backup", ""}));
    EXPECT_TRUE(is_xrootd(parse_target("eos=roots://h//raw").value()));
    EXPECT_FALSE(is_xrootd(parse_target("/mnt/root").value()));
}

TEST(Target, HasOneSpellingHoweverItIsWritten) {
    const auto spelling = [](const char* text) { return spelling_of(parse_target(text).value()); };
    EXPECT_EQ(spelling("a=root://Host//raw//x/{run}"), spelling("b=roots://me@host:1094//raw/./x/{run}/"));
    EXPECT_NE(spelling("root://host//raw"), spelling("root://host:1095//raw"));
    EXPECT_NE(spelling("root://host//raw/{run}"), spelling("root://host//raw"));
    EXPECT_EQ(spelling("/tmp/../tmp//{run}"), spelling("/tmp/{run}"));
    EXPECT_EQ(spelling("a=/proc/self/cwd"), spelling("b=."));
    EXPECT_NE(spelling("/tmp/{run}"), spelling("/tmp/{stream}"));
}

TEST(Target, ThatMeansNothingIsAUsageError) {
    for (const char* text :
         {"", "eos=", "s3://bucket/x", "https://h/x", "/mnt/{moon}", "/mnt/{run", "/mnt/run}", "{run}"}) {
        const auto target = parse_target(text);
        ASSERT_FALSE(target.has_value()) << text;
        EXPECT_EQ(target.error().code, Errc::usage) << text;
    }
    EXPECT_FALSE(parse_target("/" + std::string(300, 'x')).has_value());
}

TEST(Place, HasTheVariablesFilledIn) {
    EXPECT_EQ(place_of(file_named("f.data"), "{run}/x_{stream}").value(), "00000007/x_physics_Main/f.data");
    EXPECT_EQ(place_of(file_named("f.data"), "").value(), "f.data");
}

TEST(Place, ANameThatWouldMeanSomethingElseThereIsRefused) {
    for (const char* name : {"", "..", ".", "a/b", "a?b", "a b", "a\nb", "a&b", "a%2e"}) {
        EXPECT_FALSE(place_of(file_named(name), "").has_value()) << name;
    }
}

TEST(Place, NoTwoAttemptsHaveTheSameTemporaryName) {
    const auto guid = Guid::random();
    EXPECT_NE(temporary_place("run/f", guid, 1), temporary_place("run/f", guid, 2));
    EXPECT_NE(temporary_place("run/f", guid, 1), temporary_place("run/f", Guid::random(), 1));
    EXPECT_EQ(temporary_place("run/f", guid, 1), "run/" + to_string(guid) + ".1.weir-part");
    EXPECT_EQ(temporary_place("f", guid, 12), to_string(guid) + ".12.weir-part");
}

TEST(Priorities, TheFirstPatternThatMatchesCounts) {
    const auto priorities = Priorities::parse({"express_*=1", "*_Main=5", "physics_*=7"}).value();
    EXPECT_EQ(priorities.of("express_Main"), 1);
    EXPECT_EQ(priorities.of("physics_Main"), 5);
    EXPECT_EQ(priorities.of("physics_Delayed"), 7);
    EXPECT_EQ(priorities.of("calibration_x"), Priorities::usual);
    for (const char* rule : {"", "x", "x=", "=1", "x=1a", "x=99999999999999"})
        EXPECT_FALSE(Priorities::parse({rule}).has_value()) << rule;
}

TEST(Priorities, AStarStandsForAnyLettersAndNoneToo) {
    EXPECT_TRUE(matches("*", ""));
    EXPECT_TRUE(matches("a*b*c", "axxbxbc"));
    EXPECT_TRUE(matches("abc", "abc"));
    EXPECT_TRUE(matches("abc**", "abc"));
    EXPECT_FALSE(matches("a*b", "axc"));
    EXPECT_FALSE(matches("", "x"));
    EXPECT_FALSE(matches("abc", "abcd"));
}

TEST(ChecksumAnswer, IsANumberWhateverItsZerosAndNothingElse) {
    const auto sum = digest::Digest::of_number(digest::Algorithm::adler32, 0xabc);
    for (const char* answer : {"adler32 abc", "adler32 00000abc", " adler32  0ABC\n"}) {
        EXPECT_EQ(parse_checksum_answer(answer, digest::Algorithm::adler32), sum) << answer;
    }
    for (const char* answer :
         {"", "adler32", "abc", "crc32 abc", "adler32 xyz", "adler32 123456789", "adler32 abc abc", "adler32 -1"}) {
        EXPECT_FALSE(parse_checksum_answer(answer, digest::Algorithm::adler32)) << answer;
    }
    EXPECT_NE(parse_checksum_answer("adler32 0", digest::Algorithm::adler32), sum);
    EXPECT_FALSE(parse_checksum_answer("crc32 abc", digest::Algorithm::crc32)) << "XRootD's crc32 is the cksum";
    EXPECT_TRUE(parse_checksum_answer("crc32 abc", digest::Algorithm::cksum));
}

}  // namespace
}  // namespace weir::handoff

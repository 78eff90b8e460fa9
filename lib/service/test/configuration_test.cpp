// SPDX-License-Identifier: Apache-2.0
#include "weir/service/configuration.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "weir/service/configuration_sections.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

struct Options {
    std::string listen = "127.0.0.1:9100";
    std::string mode = "receipt";
    Bytes file_size_max = 4_GiB;
    std::chrono::milliseconds flush_interval{200};
    std::uint16_t receivers = 4;
    std::uint64_t seed = 1;
    bool direct = true;
    std::vector<std::string> volumes{"/data/1"};
};

class Configuration : public ::testing::Test {
protected:
    Configuration() {
        settings.add("record", "listen", options.listen, "address and port that senders connect to");
        settings.add("record", "mode", options.mode, "how sums are made").one_of({"receipt", "parallel", "off"});
        settings.add("record", "volumes", options.volumes, "directories to write to");
        settings.add("record", "direct", options.direct, "write around the page cache | when possible");
        settings.add("record", "receivers", options.receivers, "threads that receive").at_least(std::int64_t{1});
        settings.add("record", "seed", options.seed, "of the generator");
        settings.add("record.limits", "file_size_max", options.file_size_max, "a file is closed at this size")
            .at_least(1_MiB);
        settings.add("record.limits", "flush_interval", options.flush_interval, "between syncs").at_most(10s);
        settings.ignore_section("build");
    }

    std::string error_of(std::string_view text) {
        const auto read = settings.read_text(text, "p.toml");
        return read ? "no error" : read.error().context;
    }

    Options options;
    Settings settings;
};

TEST_F(Configuration, EveryKindOfKeyIsRead) {
    const auto read = settings.read_text(R"(
[record]
listen = "0.0.0.0:7000"
mode = "parallel"
volumes = ["/a", "/b"]
direct = false
receivers = 8
[record.limits]
file_size_max = "512MiB"
flush_interval = "50ms"
)",
                                         "p.toml");
    ASSERT_TRUE(read.has_value()) << read.error().message();
    EXPECT_EQ(options.listen, "0.0.0.0:7000");
    EXPECT_EQ(options.mode, "parallel");
    EXPECT_EQ(options.volumes, (std::vector<std::string>{"/a", "/b"}));
    EXPECT_FALSE(options.direct);
    EXPECT_EQ(options.receivers, 8);
    EXPECT_EQ(options.file_size_max, 512_MiB);
    EXPECT_EQ(options.flush_interval, 50ms);
}

TEST_F(Configuration, WhatIsNotSaidKeepsItsDefault) {
    ASSERT_TRUE(settings.read_text("", "p.toml").has_value());
    EXPECT_EQ(options.listen, "127.0.0.1:9100");
    EXPECT_EQ(options.file_size_max, 4_GiB);
}

TEST_F(Configuration, AnUnknownKeyIsAnErrorWithFileLineAndTheNearestKey) {
    EXPECT_EQ(error_of("[record]\nmode = \"off\"\nlisetn = \"x\"\n"),
              "p.toml:3: unknown key \"lisetn\" in [record]; did you mean \"listen\"?");
    EXPECT_EQ(error_of("[recrod]\nlisten = \"x\"\n"), "p.toml:1: unknown section [recrod]; did you mean \"record\"?");
    EXPECT_EQ(error_of("[record]\nflush_interval = \"1s\"\n"),
              "p.toml:2: unknown key \"flush_interval\" in [record]; it belongs into [record.limits]");
    EXPECT_EQ(error_of("zzz = 1\n"), "p.toml:1: unknown key \"zzz\" before the first section");
}

TEST_F(Configuration, AWrongTypeOrValueSaysWhatToWrite) {
    const std::vector<std::pair<const char*, const char*>> cases{
        {"[record]\nlisten = 5\n", "p.toml:2: record.listen has the wrong type; write a text in quotes"},
        {"[record]\ndirect = \"yes\"\n",
         "p.toml:2: record.direct = \"yes\" has the wrong type; write true or false without quotes"},
        {"[record]\nreceivers = 2.5\n",
         "p.toml:2: record.receivers has the wrong type; write a whole number without quotes"},
        {"[record]\nvolumes = \"/a\"\n",
         "p.toml:2: record.volumes = \"/a\" has the wrong type; write a list of texts, for example [\"a\", \"b\"]"},
        {"[record]\nvolumes = [1]\n",
         "p.toml:2: record.volumes has the wrong type; write a list of texts, for example [\"a\", \"b\"]"},
        {"[record]\nlisten = [\"a\"]\n", "p.toml:2: record.listen has the wrong type; write a text in quotes"},
        {"[record]\nmode = \"fast\"\n",
         "p.toml:2: record.mode = \"fast\" is none of \"receipt\", \"parallel\", \"off\""},
        {"[record]\nreceivers = 0\n", "p.toml:2: record.receivers is too small; the least is 1"},
        {"[record]\nreceivers = 65536\n", "p.toml:2: record.receivers is too large; the most is 65535"},
        {"[record]\nseed = -1\n", "p.toml:2: record.seed is too small; the least is 0"},
        {"[record.limits]\nfile_size_max = 4096\n",
         "p.toml:2: record.limits.file_size_max has the wrong type; write a size with its unit, for example \"64MiB\""},
        {"[record.limits]\nfile_size_max = \"64 blocks\"\n",
         "p.toml:2: record.limits.file_size_max = \"64 blocks\" is no size; write a size with its unit, for example "
         "\"64MiB\""},
        {"[record.limits]\nfile_size_max = \"1KiB\"\n",
         "p.toml:2: record.limits.file_size_max = \"1KiB\" is too small; the least is \"1MiB\""},
        {"[record.limits]\nflush_interval = \"11s\"\n",
         "p.toml:2: record.limits.flush_interval = \"11s\" is too large; the most is \"10s\""},
        {"[record.limits]\nflush_interval = \"1.5ms\"\n",
         "p.toml:2: record.limits.flush_interval = \"1.5ms\" is finer than this key can be; its unit is \"1ms\""},
        {"[record]\nlisten = \"a\\u0000b\"\n", "p.toml:2: record.listen = \"a\\x00b\" holds a zero byte"},
    };
    for (const auto& [text, expected] : cases) EXPECT_EQ(error_of(text), expected);
}

TEST_F(Configuration, AKeysOwnCheckIsReportedWithTheLineOfTheText) {
    Settings checked;
    std::string listen;
    std::vector<std::string> volumes;
    const auto below_root = [](const std::string& text) -> Result<> {
        if (!text.starts_with('/')) return fail(Errc::usage, "\"" + text + "\" is no absolute path");
        return {};
    };
    checked.add("record", "listen", listen, "a path").each(below_root);
    checked.add("record", "volumes", volumes, "paths").each(below_root);
    const auto error_in = [&](std::string_view text) {
        const auto read = checked.read_text(text, "p.toml");
        return read ? "no error" : read.error().context;
    };
    EXPECT_EQ(error_in("[record]\nlisten = \"/a\"\nvolumes = [\"/a\", \"/b\"]\n"), "no error");
    EXPECT_EQ(error_in("[record]\nlisten = \"a\"\n"), "p.toml:2: record.listen: \"a\" is no absolute path");
    EXPECT_EQ(error_in("[record]\nvolumes = [\"/a\",\n  \"b\"]\n"),
              "p.toml:3: record.volumes: \"b\" is no absolute path");
    EXPECT_EQ(volumes, (std::vector<std::string>{"/a", "/b"}));  // of the good file
}

TEST_F(Configuration, ASectionWithKeysInTheTableIsReadAlthoughItIsIgnored) {
    settings.ignore_section("record");
    EXPECT_THAT(error_of("[record]\nreceivers = 0\n"), HasSubstr("p.toml:2: record.receivers is too small"));
}

TEST_F(Configuration, AnErrorAnywhereLeavesEveryFieldAsItWas) {
    const auto before = settings.effective();
    EXPECT_THAT(error_of("[record]\nlisten = \"changed\"\nreceivers = 9\nmode = \"fast\"\nodd = 1\n"),
                StartsWith("p.toml:4: record.mode"));
    EXPECT_EQ(settings.effective(), before);
    EXPECT_THAT(error_of("[record]\nlisten = \"changed\"\nmode = \"fast\"\nodd = 1\n"), HasSubstr("(and 1 more)"));
}

TEST_F(Configuration, BrokenTomlIsAnErrorWithItsLine) {
    EXPECT_THAT(error_of("[record]\nlisten = \"open\n"), StartsWith("p.toml:2: "));
    EXPECT_THAT(error_of("[record]\nmode = \"off\"\nmode = \"off\"\n"), StartsWith("p.toml:3: "));
    for (const char* header : {"\n[[[1]]]\n", "\n[[=", "\n[[[]]", "\n[="})
        EXPECT_THAT(error_of(header), StartsWith("p.toml:2: "));
}

TEST_F(Configuration, LettersBeyondAsciiAreForTextsAndComments) {
    EXPECT_THAT(error_of("\ngr\u00f6\u00dfe = 1\n"), StartsWith("p.toml:2: "));
    EXPECT_THAT(error_of("\n\u0488"), StartsWith("p.toml:2: "));
    EXPECT_THAT(error_of("\n\xcc\xaa"), StartsWith("p.toml:2: "));
    EXPECT_THAT(error_of("\n\xff"), StartsWith("p.toml:2: "));
    ASSERT_EQ(error_of("[record] # gr\u00f6\u00dfer\nlisten = \"\"\"\\\n\u00a7 \u20ac\"\"\""), "no error");
    EXPECT_EQ(options.listen, "\u00a7 \u20ac");
}

TEST_F(Configuration, TheSectionsOfOtherStationsAreNotLookedAt) {
    EXPECT_EQ(error_of("[build]\nanything = 1\n[build.more]\nx = 2\n"), "no error");
}

TEST_F(Configuration, TextThatWouldUseUpTheStackIsRefusedBeforeItIsParsed) {
    std::string deep = "a";
    for (int i = 0; i < 400'000; ++i) deep += ".a";
    EXPECT_THAT(error_of("\n" + deep + " = 1\n"), StartsWith("p.toml:2: more than 256 dots in one line"));
    EXPECT_THAT(error_of("x = " + std::string(100'000, '[')), StartsWith("p.toml:1: "));
    std::string deepest;  // as deep as the limits allow is parsed, or refused, but ends
    for (int level = 0; level < 15; ++level) {
        std::string inner = "a";
        for (int i = 0; i < 250; ++i) inner += ".a";
        deepest = (level < 14 ? inner : "build." + inner) + (level == 0 ? " = 1" : " = [\n{ " + deepest + " }\n]");
    }
    EXPECT_THAT(error_of(deepest + "\n"), testing::AnyOf(testing::Eq("no error"), StartsWith("p.toml:")));
    EXPECT_THAT(error_of(std::string((1 << 20) + 1, '#')), HasSubstr("more than 1MiB"));
}

TEST_F(Configuration, WhatIsInEffectReadsBackToTheSame) {
    options.listen = "odd \"quoted\" \\ \n\x01 text";
    options.volumes = {};
    options.flush_interval = 1500ms;
    const auto effective = settings.effective();
    EXPECT_THAT(effective, HasSubstr("flush_interval = \"1500ms\"  # default: \"200ms\"\n"));
    EXPECT_THAT(effective, HasSubstr("file_size_max = \"4GiB\"\n"));
    const auto listen = options.listen;
    options = Options{};
    ASSERT_EQ(error_of(effective), "no error");
    EXPECT_EQ(options.listen, listen);
    EXPECT_TRUE(options.volumes.empty());
    EXPECT_EQ(settings.effective(), effective);
}

TEST_F(Configuration, TheDocumentationNamesKindDefaultAndMeaning) {
    const auto text = settings.documentation();
    EXPECT_THAT(text, HasSubstr("### [record]\n"));
    EXPECT_THAT(text, HasSubstr("### [record.limits]\n"));
    EXPECT_THAT(text, HasSubstr("| `file_size_max` | size | `\"4GiB\"` | a file is closed at this size |\n"));
    EXPECT_THAT(
        text,
        HasSubstr(
            "| `mode` | text | `\"receipt\"` | how sums are made; one of \"receipt\", \"parallel\", \"off\" |\n"));
    EXPECT_THAT(text, HasSubstr("write around the page cache \\| when possible"));
}

TEST_F(Configuration, AFileIsNamedInItsErrors) {
    const auto path =
        std::filesystem::temp_directory_path() / ("weir-configuration-" + std::to_string(::getpid()) + ".toml");
    std::ofstream(path) << "[record]\nlisten = 1\n";
    const auto read = settings.read_file(path);
    std::filesystem::remove(path);
    ASSERT_FALSE(read.has_value());
    EXPECT_THAT(read.error().context, StartsWith(path.native() + ":2: "));
    const auto missing = settings.read_file(path);
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().os_errno, ENOENT);
}

TEST(ConfigurationOfAStation, ReadsItsOwnSectionAndLeavesTheOthersToThem) {
    int handlers = 1;
    Settings settings;
    settings.add("readout.ros-1", "handlers", handlers, "threads");
    settings.ignore_section("readout.*");
    settings.ignore_section("build.*");
    const auto why = [&](std::string_view text) {
        const auto read = settings.read_text(text, "p.toml");
        return read ? std::string() : read.error().message();
    };
    EXPECT_EQ(why("[readout.ros-1]\nhandlers = 3\n[readout.ros-2]\nanything = 1\n[build.sfi-1]\n"), "");
    EXPECT_EQ(handlers, 3);
    EXPECT_EQ(why("[readout.ros-1]\nhandelrs = 3\n"),
              "p.toml:2: unknown key \"handelrs\" in [readout.ros-1]; did you mean \"handlers\"?");
    EXPECT_EQ(why("[reedout.x]\na = 1\n"), "p.toml:1: unknown section [reedout]; did you mean \"readout\"?");
    EXPECT_EQ(why("[readout]\na = 1\n"), "p.toml:2: unknown key \"a\" in [readout]");
}

TEST(Settings, ATextThatMayBeANumberTakesBoth) {
    std::string limit = "0.1%";
    Settings settings;
    settings.add("run", "limit", limit, "a share or a number").or_number();
    ASSERT_TRUE(settings.read_text("[run]\nlimit = 17\n", "p.toml"));
    EXPECT_EQ(limit, "17");
    ASSERT_TRUE(settings.read_text("[run]\nlimit = \"2%\"\n", "p.toml"));
    EXPECT_EQ(limit, "2%");
    EXPECT_FALSE(settings.read_text("[run]\nlimit = true\n", "p.toml"));
}

TEST(ListValues, HasEveryKeyWithItsSectionInTheOrderOfTheirNames) {
    const auto values = list_values(
        "[run]\nb = true\na = \"x\"\n[build.sfi-1]\n[build.sfi-2]\nn = 7\n[data]\n"
        "sources = [\"0x1\", \"0x2\"]\nreal = 1.5\n",
        "p.toml");
    ASSERT_TRUE(values);
    std::vector<std::string> keys;
    for (const auto& value : *values) keys.push_back(value.section + " " + value.key);
    EXPECT_THAT(keys, testing::ElementsAre("build.sfi-2 n", "data sources", "run a", "run b")) << "no key has a real";
    EXPECT_EQ(values->at(0).value, SettingValue{std::int64_t{7}});
    EXPECT_EQ(values->at(1).value, (SettingValue{std::vector<std::string>{"0x1", "0x2"}}));
    EXPECT_EQ(values->at(3).value, SettingValue{true});
    EXPECT_EQ(list_values("[run", "p.toml").error().code, Errc::usage);
}

}  // namespace
}  // namespace weir::service

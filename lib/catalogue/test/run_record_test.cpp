// SPDX-License-Identifier: Apache-2.0
#include "weir/catalogue/run_record.hpp"

#include <gtest/gtest.h>

namespace weir::catalogue {
namespace {

RunRecord sample() {
    const WallTime start{std::chrono::seconds{1'790'000'000} + std::chrono::milliseconds{250}};
    RunRecord record;
    record.run = RunNumber{12};
    record.weir = "0.1.0";
    record.file = "/daq/test.toml";
    record.directory = "/home/daq";
    record.text = "[partition]\nname = \"test\"\n";
    record.sha256 = "8a4f";
    record.sources = {"/data/x.raw"};
    record.events = 1000;
    record.duration = "30s";
    record.started = start;
    record.parameters = {{"comment", "cosmics,\nsecond line"}, {"stop reason", "enough"}};
    record.changes = {{start, "mask", "0x420000", "partition file", "from the begin of the run", {}},
                      {start + std::chrono::seconds{5}, "mask", "0x430000", "ann", "", Level1Id{501}},
                      {start + std::chrono::seconds{6}, "stop", "", "", "enough", {}}};
    record.changes_left_out = 2;
    return record;
}

/// The sample as a document with one thing in it replaced.
std::string changed(std::string_view from, std::string_view to) {
    auto text = to_text(sample());
    const auto at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(RunRecord, IsReadAsItWasWritten) {
    EXPECT_EQ(parse_run_record(to_text(sample())), sample());
    EXPECT_EQ(sample().masked_from_begin(), std::vector<std::string>{"0x420000"});
    RunRecord least;
    least.weir = "0.1.0";
    EXPECT_EQ(parse_run_record(to_text(least)), least);
}

TEST(RunRecord, CutShortAtAnyByteIsCorruptAndNeverMisread) {
    const auto whole = to_text(sample());
    for (std::size_t size = 0; size + 1 < whole.size(); ++size) {  // the last byte is the end of the line
        const auto record = parse_run_record(std::string_view(whole).substr(0, size));
        ASSERT_FALSE(record) << size;
        EXPECT_EQ(record.error().code, Errc::corrupt);
    }
}

TEST(RunRecord, WhatIsNotKnownIsIgnoredAndALaterVersionIsRefused) {
    EXPECT_EQ(parse_run_record(changed("\"run\":12", "\"run\":12,\"later\":{\"a\":[1]}")), sample());
    EXPECT_EQ(parse_run_record(changed("\"weir_run_record\":1", "\"weir_run_record\":2")).error().code,
              Errc::unsupported);
}

TEST(RunRecord, AWrongValueIsNamed) {
    const auto wrong = [](std::string_view from, std::string_view to) {
        const auto record = parse_run_record(changed(from, to));
        EXPECT_FALSE(record) << to;
        return record ? std::string{} : record.error().context;
    };
    EXPECT_EQ(wrong("\"run\":12", "\"run\":4294967296"),
              "\"run\" of the record is not a whole number from 0 to 4294967295");
    EXPECT_EQ(wrong("\"started\":1", "\"started\":-1"), "\"started\" of the record is no time");
    EXPECT_EQ(wrong("\"started\":1", "\"started\":1e300,\"x\":1"), "\"started\" of the record is no time");
    EXPECT_EQ(wrong("\"events\":1000", "\"events\":-1"),
              "\"events\" of the record is not a whole number from 0 to 18446744073709551615");
    EXPECT_EQ(wrong("[\"/data/x.raw\"]", "[7]"), "\"sources\" of the record is not a text of at most 4096 bytes");
    EXPECT_EQ(wrong("\"partition_file\":\"", "\"partition_file\":\"a\\u0000"),
              "\"partition_file\" of the record is not a text of at most 1048576 bytes");
    EXPECT_EQ(wrong("\"partition_file\"", "\"partition_life\""),
              "\"partition_file\" of the record is not a text of at most 1048576 bytes");
    EXPECT_EQ(wrong("\"from_level1_id\":501", "\"from_level1_id\":\"x\""),
              "\"from_level1_id\" of a change of the record is not a whole number from 0 to 4294967295");
    EXPECT_EQ(wrong("\"comment\":\"cosmics", "\"comment\":7,\"x\":\""),
              "\"comment\" of the record is not a text of at most 4194304 bytes");
}

}  // namespace
}  // namespace weir::catalogue

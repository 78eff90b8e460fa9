// SPDX-License-Identifier: Apache-2.0
#include "weir/event/stream_tags.hpp"

#include <gtest/gtest.h>

#include "weir/event/markers.hpp"

namespace weir::event {
namespace {

StreamTag tag(std::string type, std::string name) {
    return {.type = std::move(type), .name = std::move(name), .obeys_lumi_block = true, .robs = {}, .detectors = {}};
}

TEST(StreamTags, TheTextIsTheDocumentedOne) {
    auto partial = tag("calibration", "Tile");
    partial.obeys_lumi_block = false;
    partial.robs = {SourceId{0x520001}, SourceId{0x1f}};
    partial.detectors = {0x51, 0x5};
    const std::vector tags{tag("physics", "Main"), partial};
    const auto words = encode_stream_tags(tags).value();
    EXPECT_EQ(as_text(words), std::string_view("Main physics yes\0\0\0\0"
                                               "Tile calibration no robs:520001,1f detectors:51,5\0\0\0",
                                               72));
    EXPECT_EQ(decode_stream_tags(words).value(), tags);
}

TEST(StreamTags, NoTagsAreNoWords) {
    EXPECT_TRUE(encode_stream_tags({}).value().empty());
    EXPECT_TRUE(decode_stream_tags({}).value().empty());
}

TEST(StreamTags, ManyTagsOfEveryLengthComeBack) {
    std::vector<StreamTag> tags;
    for (std::size_t length = 1; length <= stream_tags_max; ++length)
        tags.push_back(tag("t", std::string(length, 'n')));
    const auto words = encode_stream_tags(tags).value();
    EXPECT_EQ(words.size() % word_bytes, 0U);
    EXPECT_EQ(decode_stream_tags(words).value(), tags);
    tags.push_back(tag("one", "more"));
    EXPECT_EQ(encode_stream_tags(tags).error().code, Errc::limit);
}

TEST(StreamTags, TextThatIsNotOursIsUnsupportedNeverMisread) {
    for (const std::string_view text :
         {"Main", "Main physics", "Main physics maybe", "Main physics yes colour:blue", "Main  physics yes",
          "Main physics yes robs:", "Main physics yes robs:12,", "Main physics yes robs:xyz",
          "Main physics yes robs:1 robs:2", "Main physics yes detectors:100", "../x physics yes",
          "Main physics yes robs:,1", "Main;physics;1"}) {
        std::string words(text);
        words.resize((words.size() / 4 + 1) * 4);
        EXPECT_EQ(decode_stream_tags(as_data(words)).error().code, Errc::unsupported) << text;
    }
}

TEST(StreamTags, AMissingEndIsTruncated) {
    EXPECT_EQ(decode_stream_tags(as_data("Main physics yes")).error().code, Errc::truncated);
}

TEST(StreamTags, WhatCannotBeReadBackIsNotWritten) {
    EXPECT_EQ(encode_stream_tags(std::vector{tag("physics", "Ma in")}).error().code, Errc::usage);
    EXPECT_EQ(encode_stream_tags(std::vector{tag("", "Main")}).error().code, Errc::usage);
    auto large = tag("physics", "Main");
    large.robs.resize(stream_tag_sources_max + 1);
    EXPECT_EQ(encode_stream_tags(std::vector{large}).error().code, Errc::limit);
}

}  // namespace
}  // namespace weir::event

// SPDX-License-Identifier: Apache-2.0
#include "weir/base/stream_tag.hpp"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(StreamTag, ItsKeyIsTypeAndName) {
    const auto tag = parse_stream_key("calibration_LAr_Noise").value();
    EXPECT_EQ(tag.type, "calibration");
    EXPECT_EQ(tag.name, "LAr_Noise");
    EXPECT_EQ(stream_key(tag), "calibration_LAr_Noise");
}

TEST(StreamTag, WordsThatCouldLeaveTheDirectoryAreRefused) {
    for (const char* text : {"", "physics", "_Main", "physics_", "physics_../x", "phys.ics_Main", "physics_a/b"})
        EXPECT_EQ(parse_stream_key(text).error().code, Errc::usage) << text;
    EXPECT_FALSE(valid_stream_name(std::string(65, 'a')));
}

TEST(StreamTag, APartialTagWantsOnlyItsRobsAndDetectors) {
    StreamTag tag{.type = "calibration",
                  .name = "Tile",
                  .obeys_lumi_block = false,
                  .robs = {SourceId{0x420001}},
                  .detectors = {0x51}};
    EXPECT_TRUE(tag.partial());
    EXPECT_TRUE(tag.wants(SourceId{0x420001}));
    EXPECT_TRUE(tag.wants(SourceId{0x510007}));
    EXPECT_FALSE(tag.wants(SourceId{0x420002}));
    EXPECT_TRUE(StreamTag{}.wants(SourceId{0x420002}));
}

}  // namespace
}  // namespace weir

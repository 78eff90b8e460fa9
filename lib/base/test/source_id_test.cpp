// SPDX-License-Identifier: Apache-2.0
#include "weir/base/source_id.hpp"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(SourceId, IsReadAsHexadecimalOrDecimal) {
    EXPECT_EQ(parse_source_id("0x7c0000"), SourceId{0x7c0000});
    EXPECT_EQ(parse_source_id("0X7C0000"), SourceId{0x7c0000});
    EXPECT_EQ(parse_source_id("8126464"), SourceId{0x7c0000});
    EXPECT_EQ(parse_source_id("0xffffffff"), SourceId{0xffffffff});
    EXPECT_EQ(parse_source_id("0"), SourceId{0});
}

TEST(SourceId, AnythingElseIsNone) {
    for (const char* text :
         {"", "0x", "7c0000", "0x7c0000 ", " 1", "-1", "+1", "0x-1", "0x100000000", "4294967296", "0x0x1", "ros-1"})
        EXPECT_EQ(parse_source_id(text), std::nullopt) << text;
}

}  // namespace
}  // namespace weir

// SPDX-License-Identifier: Apache-2.0
#include "weir/catalogue/file_sums.hpp"

#include <gtest/gtest.h>

namespace weir::catalogue {
namespace {

TEST(FileSums, AreKeptInLowerCaseWithTheirLeadingZeros) {
    EXPECT_EQ(normal_sum("adler32", "ABC").value(), "00000abc");
    EXPECT_EQ(normal_sum("adler32", "0").value(), "00000000");
    EXPECT_EQ(normal_sum("crc64-nvme", "0000000000000000FF").value(), "00000000000000ff");
    EXPECT_EQ(normal_sum("md5", "D41D8CD98F00B204E9800998ECF8427E").value(), "d41d8cd98f00b204e9800998ecf8427e");
    EXPECT_EQ(normal_sum("of-tomorrow", "0A").value(), "0a");
}

TEST(FileSums, WhatIsNotHexOrTooLongIsRefused) {
    for (const char* text : {"", "xyz", "123456789", "0x12", " 12", "12\n"}) {
        const auto result = normal_sum("adler32", text);
        ASSERT_FALSE(result.has_value()) << text;
        EXPECT_EQ(result.error().code, Errc::usage);
    }
    EXPECT_FALSE(normal_sum("of-tomorrow", std::string(129, '1')).has_value());
}

TEST(FileSums, AreComparedAsNumbers) {
    EXPECT_TRUE(same_sum("abc", "00000ABC"));
    EXPECT_TRUE(same_sum("0", "00000000"));
    EXPECT_FALSE(same_sum("abc", "abd"));
    EXPECT_FALSE(same_sum("abc", "abc0"));
    EXPECT_FALSE(same_sum("", ""));
    EXPECT_FALSE(same_sum("no sum", "no sum"));
}

}  // namespace
}  // namespace weir::catalogue

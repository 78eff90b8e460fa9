// SPDX-License-Identifier: Apache-2.0
#include "weir/base/bytes.hpp"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Bytes, ReadsNumbersWithUnits) {
    EXPECT_EQ(parse_bytes("4GiB").value(), 4_GiB);
    EXPECT_EQ(parse_bytes("64 KiB").value(), 64_KiB);
    EXPECT_EQ(parse_bytes("500MB").value(), 500'000'000_B);
    EXPECT_EQ(parse_bytes("1.5MiB").value(), 1536_KiB);
    EXPECT_EQ(parse_bytes("17").value(), 17_B);
}

TEST(Bytes, WholeNumbersAreExactUpToTheLargest) {
    EXPECT_EQ(parse_bytes("9007199254740993").value(), Bytes{(1ULL << 53) + 1});
    EXPECT_EQ(parse_bytes("9223372036854775808").value(), Bytes{1ULL << 63});
    EXPECT_EQ(parse_bytes("18446744073709551615").value(), Bytes{~0ULL});
    EXPECT_FALSE(parse_bytes("18446744073709551616"));
    EXPECT_FALSE(parse_bytes("18014398509481984KiB"));
}

TEST(Bytes, AFractionOfAByteIsNoSize) {
    EXPECT_FALSE(parse_bytes("0.4"));
    EXPECT_FALSE(parse_bytes("3.5B"));
}

TEST(Bytes, AWrongTextIsAUsageErrorThatNamesIt) {
    for (const char* text : {"", "GiB", "4GibiBytes", "-1MB", "1e30GB", "4 GiB x"}) {
        const auto result = parse_bytes(text);
        ASSERT_FALSE(result.has_value()) << text;
        EXPECT_EQ(result.error().code, Errc::usage);
        EXPECT_NE(result.error().context.find(text), std::string::npos);
    }
}

TEST(Bytes, TheExactTextIsReadBack) {
    for (const auto amount : {0_B, 1_B, 1023_B, 1_KiB, 1500_B, 3_MiB, 4_GiB})
        EXPECT_EQ(parse_bytes(to_string(amount)).value(), amount) << to_string(amount);
}

TEST(Bytes, PeopleReadThreeDigits) {
    EXPECT_EQ(human(999_B), "999 B");
    EXPECT_EQ(human(1'430'000'000_B), "1.43 GB");
    EXPECT_EQ(human(17'000_B), "17.0 kB");
    EXPECT_EQ(human(999'960_B), "1.00 MB");
}

}  // namespace
}  // namespace weir

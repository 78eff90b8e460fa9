// SPDX-License-Identifier: Apache-2.0
#include "weir/base/utf8.hpp"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Utf8, ACharacterIsAsLongAsItsFirstByteSays) {
    EXPECT_EQ(utf8_length("a\xc3"), 1U);
    EXPECT_EQ(utf8_length("\xc3\xa9z"), 2U);
    EXPECT_EQ(utf8_length("\xe2\x82\xac"), 3U);
    EXPECT_EQ(utf8_length("\xf0\x9f\x99\x82"), 4U);
    EXPECT_EQ(utf8_length(std::string_view("\0", 1)), 1U);
    EXPECT_EQ(utf8_length(""), 0U);
}

TEST(Utf8, OverlongFormsSurrogatesWhatIsAboveTheLastCharacterAndWhatIsCutShortAreNone) {
    for (const char* bad : {"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\xaf", "\xf0\x8f\xbf\xbf", "\x80",
                            "\xc3", "\xe2\x82", "\xf0\x9f\x99", "\xf5\x80\x80\x80", "\xff"})
        EXPECT_EQ(utf8_length(bad), 0U) << testing::PrintToString(bad);
    for (const char* good :
         {"\xc2\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf", "\xe0\xa0\x80", "\xf0\x90\x80\x80"})
        EXPECT_EQ(utf8_length(good), std::string_view(good).size()) << testing::PrintToString(good);
}

TEST(Utf8, EachByteThatIsNoneIsReplaced) {
    EXPECT_EQ(valid_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82"), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82");
    EXPECT_EQ(valid_utf8("x\xff\xc3y"), "x\xef\xbf\xbd\xef\xbf\xbdy");
}

}  // namespace
}  // namespace weir

// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/screen_text.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir::app {
namespace {

TEST(ScreenText, ControlsDirectionMarksAndWhatIsNoCharacterAreMadeVisible) {
    EXPECT_EQ(screen_text("a\x1b[31mred\x07\n", 80), R"(a\x1b[31mred\x07\x0a)");
    EXPECT_EQ(screen_text("\xc2\x9b"
                          "31m",
                          80),
              R"(\x9b31m)");                                // the C1 introducer, as UTF-8
    EXPECT_EQ(screen_text("\x9b\xff", 80), R"(\x9b\xff)");  // bytes that are no UTF-8
    EXPECT_EQ(screen_text("abc\u202Efdp.exe\u2066x", 80), R"(abc\u{202e}fdp.exe\u{2066}x)");  // bidi
    EXPECT_EQ(screen_text("a\u200Bb\u0301c\U000E0041", 80), R"(a\u{200b}b\u{301}c\u{e0041})");
    EXPECT_EQ(screen_text("\u05D0\u0627", 80), R"(\u{5d0}\u{627})");  // right to left: would turn what stands around
}

TEST(ScreenText, TextOfPeopleStays) {
    EXPECT_EQ(screen_text("Zürich, Ω = 5 µm → ok", 80), "Zürich, Ω = 5 µm → ok");
    EXPECT_EQ(screen_text("北京 run", 80), "北京 run");
}

TEST(ScreenText, IsCutToItsColumnsWithAMark) {
    EXPECT_EQ(screen_text("abcdef", 6), "abcdef");
    EXPECT_EQ(screen_text("abcdefg", 6), "abcde…");
    EXPECT_EQ(screen_text("ab\x1b", 4), "ab…");  // an escape is not cut in its middle
    EXPECT_EQ(screen_text("北京北京", 4), "北…");
    EXPECT_EQ(screen_text("abc", 0), "");
    EXPECT_EQ(screen_cell("ab", 4), "ab  ");
    EXPECT_EQ(screen_cell("ab", 4, true), "  ab");
    EXPECT_EQ(screen_cell("北京北京", 4), "北… ");
}

TEST(ScreenText, ALongTextTakesTheLinesThatItMayHave) {
    const std::vector<std::string> two{"abcd", "efg…"};
    EXPECT_EQ(screen_lines("abcdefghijk", 4, 2), two);
    EXPECT_TRUE(screen_lines("", 4, 2).empty());
    EXPECT_TRUE(screen_lines("abc", 0, 2).empty());
}

TEST(ScreenText, OfAMegabyteOnlyWhatIsShownIsReadAndAnyBytesFit) {
    const std::string large(1'000'000, '\x1b');
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(screen_text(large, 10).size(), std::string(R"(\x1b\x1b…)").size());
    std::mt19937 draw(7);
    for (int i = 0; i < 10'000; ++i) {
        std::string bytes;
        for (auto size = draw() % 60; size > 0; --size) bytes += static_cast<char>(draw());
        const auto width = draw() % 40;
        for (const char c : screen_cell(bytes, width)) EXPECT_FALSE((c >= 0 && c < 0x20) || c == 0x7f);
        const auto cell = screen_cell(bytes, width);
        EXPECT_EQ(screen_text(cell, width), cell);  // it fits: it is not cut again
    }
}

}  // namespace
}  // namespace weir::app

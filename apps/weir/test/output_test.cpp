// SPDX-License-Identifier: Apache-2.0
// Text from outside on its way to a terminal or a document, and amounts as people read them.
#include "cli/output.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <random>

namespace weir::app {
namespace {

using namespace std::chrono_literals;

TEST(PrintableText, KeepsWordsOfEveryLanguage) {
    for (const std::string text : {"physics_Main", "Büchse", "Ω→ππ", "日本", "\U0001F600", ""})
        EXPECT_EQ(printable(text), text);
}

TEST(PrintableText, MakesControlCharactersVisible) {
    EXPECT_EQ(printable("\x1b[2J\n\t\x7f"), R"(\x1b[2J\x0a\x09\x7f)");
    EXPECT_EQ(printable("\xc2\x9b"), R"(\xc2\x9b)");  // U+009B begins a command on some terminals
}

TEST(PrintableText, MakesWhatIsNoUtf8Visible) {
    EXPECT_EQ(printable("\xff"), R"(\xff)");
    EXPECT_EQ(printable("\xc0\x80"), R"(\xc0\x80)");                  // overlong
    EXPECT_EQ(printable("\xed\xa0\x80"), R"(\xed\xa0\x80)");          // a surrogate
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");  // above U+10FFFF
    EXPECT_EQ(printable("a\xe2\x82"), R"(a\xe2\x82)");                // cut off
}

TEST(JsonText, OfAnyBytesIsAValidDocumentThatReadsBack) {
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        std::string text(random() % 12, '\0');
        for (auto& c : text) c = static_cast<char>(random() % 3 == 0 ? 0xc0 + random() % 64 : random() % 256);
        const auto safe = json_text(text);
        const auto document = json::serialize(json::value(safe));
        boost::system::error_code error;
        const auto back = boost::json::parse(document, error);
        ASSERT_FALSE(error) << document;
        EXPECT_EQ(back.as_string(), safe);
    }
}

TEST(JsonText, KeepsControlCharactersWhichJsonCanSay) { EXPECT_EQ(json_text("a\nb"), "a\nb"); }

TEST(Amounts, HaveCommasBetweenThousands) {
    EXPECT_EQ(with_commas(0), "0");
    EXPECT_EQ(with_commas(999), "999");
    EXPECT_EQ(with_commas(1000), "1,000");
    EXPECT_EQ(with_commas(18446744073709551615U), "18,446,744,073,709,551,615");
}

TEST(Amounts, AreCountedInOneOrMany) {
    EXPECT_EQ(counted(1, "event"), "1 event");
    EXPECT_EQ(counted(0, "event"), "0 events");
    EXPECT_EQ(counted(2, "copy", "copies"), "2 copies");
}

TEST(Amounts, OfTimeHaveTwoUnitsAtMost) {
    EXPECT_EQ(human(43s), "43 s");
    EXPECT_EQ(human(192s), "3 min 12 s");
    EXPECT_EQ(human(2h + 5min + 59s), "2 h 05 min");
}

TEST(Amounts, RateOfNoTimeIsZero) {
    EXPECT_EQ(gb_per_s(1'000'000'000, 0), 0);
    EXPECT_EQ(gb_per_s(3'000'000'000, 2), 1.5);
}

TEST(TableText, IsAlignedByCharactersNotBytes) {
    Table table({{"name"}, {"size", Table::Align::right}, {"state"}});
    table.add({"Ω", "1", ""});
    table.add({"muons", "1,000", "ok"});
    EXPECT_EQ(table.text(), "name    size  state\nΩ          1\nmuons  1,000  ok\n");
}

TEST(TableText, CannotBeBrokenByACell) {
    Table table({{"name"}});
    table.add({"two\nlines"});
    EXPECT_EQ(table.text(), "name\ntwo\\x0alines\n");
}

}  // namespace
}  // namespace weir::app

// SPDX-License-Identifier: Apache-2.0
#include "weir/base/hex.hpp"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Hex, EveryByteIsTwoDigitsAndComesBack) {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
    const auto text = hex_of(as_data(bytes));
    EXPECT_EQ(text.size(), 512U);
    EXPECT_EQ(text.substr(0, 6), "000102");
    EXPECT_EQ(text.substr(506), "fdfeff");
    EXPECT_EQ(bytes_of_hex(text), bytes);
    EXPECT_EQ(bytes_of_hex("aBAb"), "\xab\xab");
    EXPECT_EQ(bytes_of_hex(""), "");
}

TEST(Hex, HalfAByteAndWhatIsNoDigitAreNoBytes) {
    for (const char* bad : {"a", "abc", "0x", "-1", "1 ", "0g", "/0", ":0", "@0", "G0", "`0"})
        EXPECT_EQ(bytes_of_hex(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace weir

// SPDX-License-Identifier: Apache-2.0
#include "weir/base/guid.hpp"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Guid, ItsTextIsReadBack) {
    const auto guid = Guid::random();
    const auto text = to_string(guid);
    EXPECT_EQ(text.size(), 36U);
    EXPECT_EQ(text[14], '4');
    EXPECT_EQ(parse_guid(text).value(), guid);
}

TEST(Guid, TwoAreDifferent) { EXPECT_NE(Guid::random(), Guid::random()); }

TEST(Guid, AWrongTextIsCorrupt) {
    for (const char* text : {"", "01234567-89ab-cdef-0123-456789abcde", "0123456789ab-cdef-0123-456789abcdef0",
                             "01234567-89ab-cdef-0123-456789abcdeg"})
        EXPECT_EQ(parse_guid(text).error().code, Errc::corrupt) << text;
}

}  // namespace
}  // namespace weir

// SPDX-License-Identifier: Apache-2.0
#include "weir/base/suggest.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weir {
namespace {

const std::array<std::string, 4> known{"listen", "sync_interval", "project", "memory"};

TEST(Suggest, ASlipOfTheFingerFindsItsWord) {
    EXPECT_EQ(nearest_word("lisetn", known), "listen");
    EXPECT_EQ(nearest_word("sync-interval", known), "sync_interval");
    EXPECT_EQ(did_you_mean("memry", known), "; did you mean \"memory\"?");
}

TEST(Suggest, AWordLikeNoOtherFindsNothing) {
    EXPECT_EQ(nearest_word("xyzzy", known), std::nullopt);
    EXPECT_EQ(did_you_mean("", known), "");
}

}  // namespace
}  // namespace weir

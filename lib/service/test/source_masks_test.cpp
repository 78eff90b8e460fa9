// SPDX-License-Identifier: Apache-2.0
#include "weir/service/source_masks.hpp"

#include <gtest/gtest.h>

namespace weir::service {
namespace {

constexpr SourceId a{1}, b{2};

TEST(SourceMasks, CountFromTheirEventOnAndUntilTheChangeThatEndsThem) {
    SourceMasks masks;
    EXPECT_FALSE(masks.masked(a, Level1Id{5}));
    masks.set({{a, true, Level1Id{100}}, {b, true, {}}, {a, false, Level1Id{200}}});
    EXPECT_FALSE(masks.masked(a, Level1Id{99}));
    EXPECT_TRUE(masks.masked(a, Level1Id{100}));
    EXPECT_TRUE(masks.masked(a, Level1Id{199}));
    EXPECT_FALSE(masks.masked(a, Level1Id{200}));
    EXPECT_TRUE(masks.masked(b, Level1Id{0}));
    masks.set({});
    EXPECT_FALSE(masks.masked(b, Level1Id{0}));
}

TEST(SourceMasks, GoOverTheWrapOfTheIds) {
    SourceMasks masks;
    masks.set({{a, true, Level1Id{0xffff'fff0}}});
    EXPECT_FALSE(masks.masked(a, Level1Id{0xffff'ffef}));
    EXPECT_TRUE(masks.masked(a, Level1Id{3}));
}

TEST(SourceMasks, OfLongAgoHoldForGood) {
    SourceMasks masks;
    masks.set({{a, true, Level1Id{100}}});
    masks.settle(Level1Id{100 + (1U << 30)});
    EXPECT_TRUE(masks.masked(a, Level1Id{50 + (1U << 31) + 100}));
}

}  // namespace
}  // namespace weir::service

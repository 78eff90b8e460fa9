// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/range_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "samples.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {
namespace {

struct Range {
    std::uint64_t offset, length;
};

std::vector<Range> cut_up(std::uint64_t size, std::mt19937_64& random) {
    std::vector<Range> ranges;
    for (std::uint64_t at = 0; at < size;) {
        const auto length = std::min<std::uint64_t>(size - at, 1 + random() % 400);
        ranges.push_back({at, length});
        at += length;
    }
    std::ranges::shuffle(ranges, random);
    return ranges;
}

TEST(RangeSum, PartsInAnyOrderGiveTheSumOfTheWhole) {
    const auto data = test::random_bytes(20'000, 1);
    std::mt19937_64 random(2);
    for (const auto algorithm : algorithms) {
        auto whole = RangeSum::of(algorithm);
        ASSERT_EQ(whole.has_value(), combinable(algorithm));
        if (!whole) continue;
        for (const auto& [offset, length] : cut_up(data.size(), random))
            ASSERT_TRUE(whole->add(offset, sum(algorithm, ConstData(data).subspan(offset, length)), length));
        EXPECT_EQ(whole->value(data.size()), sum(algorithm, data)) << name(algorithm);
        EXPECT_EQ(whole->pieces(), 1U);
    }
}

TEST(RangeSum, AGapIsNamedAndAnOverlapIsRefused) {
    auto whole = RangeSum::of(Algorithm::crc32c).value();
    const auto part = sum(Algorithm::crc32c, std::vector<std::byte>(100));
    ASSERT_TRUE(whole.add(0, part, 100));
    ASSERT_TRUE(whole.add(200, part, 100));
    EXPECT_EQ(whole.pieces(), 2U);
    const auto missing = whole.value(300);
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().context.find("from 100 on"), std::string::npos) << missing.error().context;
    EXPECT_FALSE(whole.add(50, part, 100));
    EXPECT_FALSE(whole.add(150, part, 100));
    EXPECT_FALSE(whole.add(0, part, 100));
    EXPECT_FALSE(whole.add(~0ULL, part, 100));
    ASSERT_TRUE(whole.add(100, part, 100));
    EXPECT_EQ(whole.value(300), sum(Algorithm::crc32c, std::vector<std::byte>(300)));
    EXPECT_FALSE(whole.value(299));
}

TEST(RangeSum, NothingHasTheSumOfNoBytes) {
    for (const auto algorithm : algorithms) {
        if (combinable(algorithm)) {
            EXPECT_EQ(RangeSum::of(algorithm).value().value(0), sum(algorithm, {}));
        }
    }
}

}  // namespace
}  // namespace weir::digest

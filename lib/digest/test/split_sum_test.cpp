// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/split_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "samples.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {
namespace {

/// Parts in any order, each given in pieces of any size.
std::optional<Digest> split_sum(Algorithm algorithm, ConstData data, std::uint64_t part_size, std::mt19937_64& random) {
    SplitSum sum(algorithm, data.size(), part_size);
    std::vector<std::uint64_t> order(sum.parts());
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::ranges::shuffle(order, random);
    for (const auto index : order) {
        if (sum.value()) return std::nullopt;  // too soon
        const auto engine = sum.begin(index);
        auto part = data.subspan(index * part_size, std::min<std::size_t>(part_size, data.size() - index * part_size));
        while (!part.empty()) {
            const auto piece = part.first(std::min<std::size_t>(part.size(), 1 + random() % (2 * part_size)));
            engine->add(piece);
            part = part.subspan(piece.size());
        }
        sum.add(index, engine->value());
    }
    return sum.value();
}

TEST(SplitSum, PartsInAnyOrderGiveTheSumOfTheWholeAroundEveryBorder) {
    const auto data = test::random_bytes(150'000, 1);
    std::mt19937_64 random(2);
    for (const auto algorithm : algorithms) {
        for (const std::uint64_t part : {1024U, 2048U, 4096U, 8192U}) {
            ASSERT_EQ(SplitSum::possible(algorithm, part), combinable(algorithm) || algorithm == Algorithm::blake3);
            if (!SplitSum::possible(algorithm, part)) continue;
            for (std::uint64_t parts = 0; parts <= 17; ++parts) {
                for (const std::int64_t more : {-1025, -1024, -1023, -65, -1, 0, 1, 64, 1023, 1024, 1025}) {
                    const auto size = static_cast<std::int64_t>(parts * part) + more;
                    if (size < 0) continue;
                    const auto whole = ConstData(data).first(static_cast<std::size_t>(size));
                    ASSERT_EQ(split_sum(algorithm, whole, part, random), sum(algorithm, whole))
                        << name(algorithm) << " of " << size << " bytes in parts of " << part;
                }
            }
        }
    }
}

TEST(SplitSum, ManyPartsOfBlake3HaveTheTreeOfTheWhole) {
    const auto data = test::random_bytes(600 * 1024, 3);
    std::mt19937_64 random(4);
    for (const std::size_t chunks : {31U, 32U, 33U, 255U, 256U, 257U, 383U, 512U, 600U}) {
        for (const std::size_t less : {0U, 1U}) {
            const auto whole = ConstData(data).first(chunks * 1024 - less);
            ASSERT_EQ(split_sum(Algorithm::blake3, whole, 1024, random), sum(Algorithm::blake3, whole)) << whole.size();
            ASSERT_EQ(split_sum(Algorithm::blake3, whole, 128 * 1024, random), sum(Algorithm::blake3, whole))
                << whole.size();
        }
    }
}

TEST(SplitSum, Blake3IsSplitOnlyWhereSubtreesBegin) {
    for (const std::uint64_t part : {0U, 1U, 64U, 512U, 1023U, 1025U, 3072U, 12288U}) {
        EXPECT_FALSE(SplitSum::possible(Algorithm::blake3, part));
        EXPECT_EQ(SplitSum::possible(Algorithm::crc32c, part), part != 0);
        EXPECT_FALSE(SplitSum::possible(Algorithm::md5, part));
    }
    EXPECT_TRUE(SplitSum::possible(Algorithm::blake3, 1ULL << 63U));
}

}  // namespace
}  // namespace weir::digest

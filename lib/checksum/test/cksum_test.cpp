// SPDX-License-Identifier: Apache-2.0
#include "weir/checksum/cksum.hpp"

#include <gtest/gtest.h>

#include <random>

#include "known_answers.hpp"
#include "samples.hpp"
#include "williams.hpp"

namespace weir::checksum {
namespace {

using test::random_bytes;

/// As POSIX writes it: the bytes of the length follow, then all is inverted.
std::uint32_t finished(std::uint64_t running, std::uint64_t length) {
    const test::Williams sum{32, 0x04c11db7, false, 0};
    for (; length != 0; length >>= 8) {
        const auto byte = static_cast<std::byte>(length);
        running = sum.sum({&byte, 1}, running);
    }
    return ~static_cast<std::uint32_t>(running);
}

TEST(Cksum, KnownAnswersAreThoseOfTheUtility) {
    for (const auto& answer : test::known_answers())
        EXPECT_EQ(cksum(answer.data), answer.sums.at("cksum")) << answer.input;
}

TEST(Cksum, LengthsOfEveryNumberOfBytesAreAppendedAndTakenAway) {
    std::mt19937_64 random{41};
    for (int round = 0; round < 2000; ++round) {
        const auto running = static_cast<std::uint32_t>(random());
        const std::uint64_t length = round < 64 ? std::uint64_t{1} << round : random() >> random() % 64;
        const auto value = cksum_finish(running, length);
        ASSERT_EQ(value, finished(running, length)) << length;
        ASSERT_EQ(cksum_running(value, length), running) << length;
    }
    EXPECT_EQ(cksum_finish(0x12345678, 0), ~std::uint32_t{0x12345678});
    EXPECT_EQ(cksum_running(~std::uint32_t{0x12345678}, 0), 0x12345678U);
}

TEST(Cksum, FinishedValuesOfTwoPartsJoinToThatOfTheWholeAtEveryCut) {
    const auto bytes = random_bytes(70'000, 42);  // lengths of none to three bytes
    const ConstData data = bytes;
    for (std::size_t cut = 0; cut <= data.size(); cut += cut < 300 ? 1 : 997) {
        const auto a = data.first(cut);
        const auto b = data.subspan(cut);
        ASSERT_EQ(cksum_combine(cksum(a), a.size(), cksum(b), b.size()), cksum(data)) << cut;
    }
    EXPECT_EQ(cksum_combine(cksum(data), data.size(), cksum({}), 0), cksum(data));
    EXPECT_EQ(cksum_combine(cksum({}), 0, cksum(data), data.size()), cksum(data));
}

TEST(Cksum, FinishedValuesOfHugePartsJoinLikeTheirRunningValues) {
    std::mt19937_64 random{43};
    for (int round = 0; round < 1000; ++round) {
        const auto a = static_cast<std::uint32_t>(random());
        const auto b = static_cast<std::uint32_t>(random());
        const std::uint64_t length_of_a = random() >> (1 + random() % 63);
        const std::uint64_t length_of_b = random() >> (1 + random() % 63);
        ASSERT_EQ(cksum_combine(cksum_finish(a, length_of_a), length_of_a, cksum_finish(b, length_of_b), length_of_b),
                  cksum_finish(cksum_combine_running(a, b, length_of_b), length_of_a + length_of_b));
    }
}

}  // namespace
}  // namespace weir::checksum

// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/many_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "lanes/block_hash.hpp"
#include "lanes/lane_streams.hpp"
#include "samples.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {
namespace {

using test::random_bytes;

constexpr std::array block_hashes{Algorithm::md5, Algorithm::sha1, Algorithm::sha256};

TEST(ManySums, KnownAnswersAreGivenWhenAllAreSummedAtOnce) {
    const auto answers = test::known_answers();
    ASSERT_GE(answers.size(), 60U);
    std::vector<ConstData> data;
    for (const auto& answer : answers) data.emplace_back(answer.data);
    for (std::size_t column = 0; column < algorithms.size(); ++column) {
        const auto digests = sum_many(answers.front().digests[column].algorithm(), data);
        ASSERT_EQ(digests.size(), answers.size());
        for (std::size_t i = 0; i < answers.size(); ++i)
            EXPECT_EQ(digests[i].hex(), answers[i].digests[column].hex())
                << name(digests[i].algorithm()) << " " << answers[i].input;
    }
}

TEST(ManySums, OfNothingAreNone) {
    EXPECT_TRUE(sum_many(Algorithm::md5, {}).empty());
    EXPECT_TRUE(sum_many(Algorithm::crc32c, {}).empty());
    ManySums none(Algorithm::md5, 0);
    none.add({});
    ManySums one(Algorithm::sha1, 1);
    EXPECT_EQ(one.value(0), sum(Algorithm::sha1, {}));
}

TEST(ManySums, AnyNumberOfPiecesOfAnyLengthHasTheSumsOfEachAlone) {
    const auto data = random_bytes(100'000, 1);
    std::mt19937_64 random(2);
    for (const auto algorithm : block_hashes) {
        for (std::size_t count = 1; count <= 150; count += count < 40 ? 1 : 37) {
            std::vector<ConstData> pieces;
            for (std::size_t i = 0; i < count; ++i) {
                const auto size = random() % (random() % 4 == 0 ? 9000 : 200);
                pieces.push_back(ConstData(data).subspan(random() % (data.size() - size), size));
            }
            const auto digests = sum_many(algorithm, pieces);
            for (std::size_t i = 0; i < count; ++i)
                ASSERT_EQ(digests[i], sum(algorithm, pieces[i])) << name(algorithm) << ", " << i << " of " << count;
        }
    }
}

/// Streams that come and go: each call has parts of some of them, of any size; some are asked on the way.
void interleave_at_random(Algorithm algorithm, LaneStreams& sums, std::uint64_t seed) {
    const auto data = random_bytes(200'000, seed);
    std::mt19937_64 random(seed);
    std::vector<Summer> models;
    for (std::size_t i = 0; i < sums.size(); ++i) models.emplace_back(algorithm);
    std::vector<ManySums::Part> parts;
    const std::size_t largest = std::array{70U, 700U, 20'000U}[random() % 3];
    for (int call = 0; call < 40; ++call) {
        parts.clear();
        for (std::size_t i = 0; i < sums.size(); ++i) {
            if (random() % 3 == 0) continue;
            const auto size = random() % largest;
            parts.push_back({i, ConstData(data).subspan(random() % (data.size() - size), size), random() % 8 == 0});
        }
        std::ranges::shuffle(parts, random);
        sums.add(parts);
        for (const auto& part : parts) {
            models[part.stream].add(part.data);
            if (!part.last && random() % 4 != 0) continue;
            ASSERT_EQ(sums.value(part.stream), models[part.stream].value())
                << name(algorithm) << ", seed " << seed << ", call " << call;
            if (!part.last) continue;
            sums.reset(part.stream);
            models[part.stream].reset();
        }
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
        ASSERT_EQ(sums.value(i), models[i].value()) << name(algorithm) << ", seed " << seed;
}

TEST(ManySums, StreamsInAnyOrderHaveTheSumsOfEachAloneInEveryKernel) {
    for (const auto algorithm : block_hashes) {
        for (const auto& kernel : lane_kernels(algorithm)) {
            if (!kernel.usable(LaneFeatures::detect())) continue;
            for (const std::size_t streams : {kernel.lanes / 2 + 1, kernel.lanes, kernel.lanes + 3}) {
                LaneStreams sums(algorithm, streams, kernel);
                interleave_at_random(algorithm, sums, streams);
            }
        }
    }
}

TEST(ManySums, StreamsInAnyOrderHaveTheSumsOfEachAloneInTheChosenKernels) {
    for (const auto algorithm : block_hashes) {
        for (const std::size_t streams : {1U, 2U, 5U, 17U, 40U, 70U}) {
            LaneStreams sums(algorithm, streams);
            interleave_at_random(algorithm, sums, 100 + streams);
        }
    }
}

TEST(ManySums, EveryAlgorithmCanBeSummedThatWay) {
    const auto data = random_bytes(5000, 3);
    for (const auto algorithm : algorithms) {
        ManySums sums(algorithm, 3);
        EXPECT_GE(ManySums::useful_streams(algorithm), 1U);
        const std::array<ManySums::Part, 3> begin{
            {{0, ConstData(data).first(1000)}, {1, ConstData(data).first(10)}, {2, {}, true}}};
        const std::array<ManySums::Part, 2> end{
            {{1, ConstData(data).subspan(10), true}, {0, ConstData(data).subspan(1000, 1000)}}};
        sums.add(begin);
        EXPECT_EQ(sums.value(0), sum(algorithm, ConstData(data).first(1000))) << name(algorithm);
        sums.add(end);
        EXPECT_EQ(sums.value(0), sum(algorithm, ConstData(data).first(2000))) << name(algorithm);
        EXPECT_EQ(sums.value(1), sum(algorithm, data)) << name(algorithm);
        EXPECT_EQ(sums.value(2), sum(algorithm, {})) << name(algorithm);
        sums.reset(2);
        EXPECT_EQ(sums.value(2), sum(algorithm, {})) << name(algorithm);
    }
}

TEST(ManySums, TheEndOfAStreamHasItsLengthInBitsBeyond4GiB) {
    constexpr std::uint64_t length = (5ULL << 32) + 3;  // 0x28'0000'0018 bits
    const std::array rest{std::byte{7}, std::byte{8}, std::byte{9}};
    std::array<std::byte, 2 * block_size> end;
    const auto at = [&](std::size_t i) { return std::to_integer<int>(end[i]); };
    ASSERT_EQ(write_end(block_hash(Algorithm::sha256), rest, length, end), 1U);
    EXPECT_EQ(at(2), 9);
    EXPECT_EQ(at(3), 0x80);
    EXPECT_EQ(at(59), 0x28);
    EXPECT_EQ(at(63), 0x18);
    ASSERT_EQ(write_end(block_hash(Algorithm::md5), rest, length, end), 1U);
    EXPECT_EQ(at(56), 0x18);
    EXPECT_EQ(at(60), 0x28);
    const std::vector<std::byte> no_room(56);
    EXPECT_EQ(write_end(block_hash(Algorithm::md5), no_room, length, end), 2U);
    EXPECT_EQ(at(64 + 60), 0x28);
}

}  // namespace
}  // namespace weir::digest

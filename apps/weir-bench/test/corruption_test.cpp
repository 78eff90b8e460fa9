// SPDX-License-Identifier: Apache-2.0
#include "undetected/corruption.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "weir/checksum/adler32.hpp"

namespace weir::app {
namespace {

std::vector<Corruption> all_corruptions() {
    auto all = lane_corruptions(64);
    for (auto& more : {block_corruptions(), bit_corruptions()}) all.insert(all.end(), more.begin(), more.end());
    return all;
}

std::uint64_t bits_that_differ(ConstData a, ConstData b) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        bits += static_cast<std::uint64_t>(std::popcount(std::to_integer<unsigned>(a[i] ^ b[i])));
    return bits;
}

TEST(Corruption, EveryKindChangesRandomDataNearlyAlways) {
    Randomness random(1);
    for (const auto& corruption : all_corruptions()) {
        int changed = 0;
        for (int trial = 0; trial < 50; ++trial) {
            std::vector<std::byte> good(corruption.size);
            fill(good, DataKind::random, random);
            auto bad = good;
            corruption.apply(bad, random);
            changed += bad != good ? 1 : 0;
        }
        EXPECT_GE(changed, 45) << corruption.name;
    }
}

TEST(Corruption, TheSameSeedDoesTheSameDamage) {
    for (const auto& corruption : all_corruptions()) {
        std::vector<std::byte> first(corruption.size), second(corruption.size);
        for (auto* data : {&first, &second}) {
            Randomness random(7);
            fill(*data, DataKind::hits, random);
            corruption.apply(*data, random);
        }
        EXPECT_EQ(first, second) << corruption.name;
    }
}

TEST(Corruption, AsManyBitsFlipAsTheNameSays) {
    Randomness random(3);
    const auto all = bit_corruptions();
    for (std::size_t i = 0; i < 4; ++i) {
        std::vector<std::byte> data(all[i].size);
        all[i].apply(data, random);
        EXPECT_EQ(bits_that_differ(data, std::vector<std::byte>(data.size())), i + 1) << all[i].name;
    }
}

TEST(Corruption, SwappedLanesAndPagesKeepTheFirstSumOfAdler32) {
    Randomness random(4);
    for (const auto& corruption : {lane_corruptions(64)[1], block_corruptions()[0], block_corruptions()[1]}) {
        std::vector<std::byte> good(corruption.size);
        fill(good, DataKind::random, random);
        auto bad = good;
        corruption.apply(bad, random);
        EXPECT_EQ(checksum::adler32(bad) & 0xffff, checksum::adler32(good) & 0xffff) << corruption.name;
    }
}

TEST(Corruption, PlusMinusMinusPlusIsNeverSeenByAdler32) {
    Randomness random(5);
    const auto corruption = bit_corruptions().back();
    for (int trial = 0; trial < 100; ++trial) {
        std::vector<std::byte> good(corruption.size);
        fill(good, DataKind::random, random);
        auto bad = good;
        corruption.apply(bad, random);
        EXPECT_EQ(checksum::adler32(bad), checksum::adler32(good));
    }
}

TEST(DataKinds, DetectorDataIsMoreRegularThanNoise) {
    Randomness random(6);
    std::vector<std::byte> data(8192);
    const auto values_of_low_bytes = [&](DataKind kind) {
        fill(data, kind, random);
        std::vector<bool> seen(256);
        for (std::size_t i = 0; i < data.size(); i += 2) seen[std::to_integer<std::size_t>(data[i])] = true;
        return std::ranges::count(seen, true);
    };
    EXPECT_LT(values_of_low_bytes(DataKind::pedestal), 40);
    EXPECT_GT(values_of_low_bytes(DataKind::random), 250);
}

}  // namespace
}  // namespace weir::app

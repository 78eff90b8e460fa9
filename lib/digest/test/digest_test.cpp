// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/digest.hpp"

#include <gtest/gtest.h>

#include "samples.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {
namespace {

TEST(Names, AreReadAsTheyAreWrittenAndNoOthersAre) {
    for (const auto algorithm : algorithms) {
        EXPECT_EQ(parse_algorithm(name(algorithm)), algorithm);
        EXPECT_NE(algorithm_names().find(name(algorithm)), std::string_view::npos);
    }
    EXPECT_EQ(parse_algorithm("adler"), Algorithm::adler32);  // EOS's names
    EXPECT_EQ(parse_algorithm("xxhash64"), Algorithm::xxh64);
    for (const auto* other : {"", "ADLER32", "crc", "crc64", "blake7", "md5 "})
        EXPECT_FALSE(parse_algorithm(other)) << other;
}

TEST(Digests, AreWrittenInLowerCaseWithLeadingZerosAndReadBack) {
    const auto digest = Digest::of_number(Algorithm::adler32, 0x00620062);
    EXPECT_EQ(digest.hex(), "00620062");
    EXPECT_EQ(digest.number(), 0x00620062U);
    EXPECT_EQ(Digest::parse(Algorithm::adler32, "00620062"), digest);
    EXPECT_EQ(Digest::parse(Algorithm::adler32, "620062"), digest) << "old tools leave leading zeros out";
    EXPECT_EQ(Digest::parse(Algorithm::crc64_xz, "00FFab").value().number(), 0xffabU);
    EXPECT_EQ(Digest::parse(Algorithm::cksum, "4294967295", true).value().number(), 0xffffffffU);
}

TEST(Digests, WhatIsNoValueIsRefused) {
    EXPECT_FALSE(Digest::parse(Algorithm::adler32, ""));
    EXPECT_FALSE(Digest::parse(Algorithm::adler32, "123456789"));
    EXPECT_FALSE(Digest::parse(Algorithm::adler32, "0x12"));
    EXPECT_FALSE(Digest::parse(Algorithm::md5, "d41d8cd98f00b204e9800998ecf842")) << "a short md5 is a broken one";
    EXPECT_FALSE(Digest::parse(Algorithm::cksum, "4294967296", true));
    EXPECT_FALSE(Digest::parse(Algorithm::cksum, "12a", true));
}

TEST(Combine, GivesTheSumOfBothForEveryCombinableAlgorithm) {
    const auto data = test::random_bytes(9000, 1);
    for (const auto algorithm : algorithms) {
        for (const std::size_t cut : {0U, 1U, 500U, 8191U, 9000U}) {
            const auto a = ConstData(data).first(cut);
            const auto b = ConstData(data).subspan(cut);
            const auto joined = combine(sum(algorithm, a), sum(algorithm, b), b.size(), a.size());
            EXPECT_EQ(joined.has_value(), combinable(algorithm));
            if (joined) {
                EXPECT_EQ(*joined, sum(algorithm, data)) << name(algorithm) << " cut at " << cut;
            }
        }
    }
}

TEST(Combine, RefusesSumsOfDifferentAlgorithms) {
    EXPECT_FALSE(combine(sum(Algorithm::crc32, {}), sum(Algorithm::crc32c, {}), 0, 0));
}

}  // namespace
}  // namespace weir::digest

// SPDX-License-Identifier: Apache-2.0
// One suite over every kernel of every CRC that this processor can run.
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "any_crc.hpp"
#include "guarded_page.hpp"
#include "known_answers.hpp"
#include "weir/base/testing/number_in_environment.hpp"

namespace weir::checksum {
namespace {

using test::AnyCrc;
using test::random_bytes;

class Crc : public ::testing::TestWithParam<AnyCrc> {};

INSTANTIATE_TEST_SUITE_P(All, Crc, ::testing::ValuesIn(test::every_crc()), test::case_name);

TEST_P(Crc, KnownAnswersAreGivenByEveryKernel) {
    const auto& crc = GetParam();
    const auto answers = test::known_answers();
    ASSERT_GE(answers.size(), 30U);
    for (const auto& answer : answers) {
        // cksum's answers are finished ones; their running values are tested through the way back.
        const auto known = answer.sums.at(crc.name);
        const auto right =
            crc.name == "cksum" ? cksum_running(static_cast<std::uint32_t>(known), answer.data.size()) : known;
        for (const auto& [name, sum] : crc.kernels)
            EXPECT_EQ(sum(answer.data, 0), right) << name << " " << answer.input;
        EXPECT_EQ(crc.sum(answer.data, 0), right) << answer.input;
        EXPECT_EQ(crc.definition.sum(answer.data), right) << answer.input;
    }
}

TEST_P(Crc, EverySizeUpToThreeKiBAtEveryAlignmentOfALineIsRight) {
    const auto& crc = GetParam();
    const auto bytes = random_bytes(3072 + 64, 12);
    const auto start = crc.word(0x9abcdef012345678);
    const auto& portable = crc.kernels.front().second;
    for (std::size_t size = 0; size <= 3072; ++size) {
        const auto data = ConstData(bytes).subspan(size * 37 % 64, size);
        const auto right = portable(data, start);
        if (size < 300) {
            ASSERT_EQ(right, crc.definition.sum(data, start)) << size;
        }
        for (const auto& [name, sum] : crc.kernels) ASSERT_EQ(sum(data, start), right) << name << " " << size;
    }
}

TEST_P(Crc, SizesFromWhereLongDataTakesOtherLoopsAreRight) {
    const auto& crc = GetParam();
    const auto bytes = random_bytes(9000 + 64, 13);
    const auto start = crc.word(0x9abcdef012345678);
    const auto& portable = crc.kernels.front().second;
    for (std::size_t size = 4080; size <= 8900; size += size < 4500 ? 1 : 37) {
        const auto data = ConstData(bytes).subspan(size * 37 % 64, size);
        const auto right = portable(data, start);
        for (const auto& [name, sum] : crc.kernels) ASSERT_EQ(sum(data, start), right) << name << " " << size;
    }
}

TEST_P(Crc, SizesFromWhereLinesAreAskedForAheadAreRight) {
    const auto& crc = GetParam();
    const auto bytes = random_bytes(18'000 + 64, 14);
    const auto start = crc.word(0x9abcdef012345678);
    const auto& portable = crc.kernels.front().second;
    for (std::size_t size = 16'300; size <= 17'900; size += size < 16'500 ? 1 : 41) {
        const auto data = ConstData(bytes).subspan(size * 37 % 64, size);
        const auto right = portable(data, start);
        for (const auto& [name, sum] : crc.kernels) ASSERT_EQ(sum(data, start), right) << name << " " << size;
    }
}

TEST_P(Crc, NoKernelReadsBeyondItsBytes) {
    const auto& crc = GetParam();
    const test::GuardedPage page;
    const auto start = crc.word(0x9abcdef012345678);
    const auto& portable = crc.kernels.front().second;
    for (std::size_t size = 0; size <= 1100; size += size < 300 ? 1 : 7) {
        for (const auto data : {page.first(size), page.last(size)}) {
            const auto right = portable(data, start);
            for (const auto& [name, sum] : crc.kernels) ASSERT_EQ(sum(data, start), right) << name << " " << size;
        }
    }
}

TEST_P(Crc, RandomStretchesFromRandomStartsAgreeWithThePortableKernel) {
    const auto& crc = GetParam();
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937_64 random{seed};
    const auto bytes = random_bytes(200'000, seed);
    for (int round = 0; round < 60; ++round) {
        const std::size_t begin = random() % bytes.size();
        const auto data = ConstData(bytes).subspan(begin, random() % (bytes.size() - begin));
        const auto start = crc.word(random());
        const auto right = crc.kernels.front().second(data, start);
        for (const auto& [name, sum] : crc.kernels) ASSERT_EQ(sum(data, start), right) << name << " " << data.size();
    }
}

TEST_P(Crc, SumsContinueAcrossAnyCut) {
    const auto& crc = GetParam();
    const auto bytes = random_bytes(7000, 13);
    const ConstData data = bytes;
    const auto whole = crc.sum(data, 0);
    for (const auto& [name, sum] : crc.kernels)
        for (std::size_t cut = 0; cut <= data.size(); cut += 61)
            ASSERT_EQ(sum(data.subspan(cut), sum(data.first(cut), 0)), whole) << name << " " << cut;
}

TEST_P(Crc, NoBytesLeaveTheValueAsItWas) {
    const auto& crc = GetParam();
    const auto value = crc.word(0xe3069283e3069283);
    for (const auto& [name, sum] : crc.kernels) EXPECT_EQ(sum({}, value), value) << name;
    EXPECT_EQ(crc.sum({}, 0), 0U);
}

TEST_P(Crc, EveryBitOfALongMessageChangesTheSumOfEveryKernel) {
    const auto& crc = GetParam();
    auto bytes = random_bytes(1553, 14);
    for (const auto& [name, sum] : crc.kernels) {
        const auto right = sum(bytes, 0);
        for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 13) {
            auto& byte = bytes[bit / 8];
            byte ^= std::byte{1} << bit % 8;
            ASSERT_NE(sum(bytes, 0), right) << name << " " << bit;
            byte ^= std::byte{1} << bit % 8;
        }
    }
}

TEST_P(Crc, TheBestUsableKernelIsTheLastOfItsList) {
    EXPECT_EQ(GetParam().kernel_name, GetParam().kernels.back().first);
    EXPECT_EQ(GetParam().kernels.front().first, "portable");
}

TEST(Crc32, EqualsZlib) {
    std::mt19937_64 random{15};
    const auto bytes = random_bytes(100'000, 15);
    for (int round = 0; round < 200; ++round) {
        const std::size_t begin = random() % bytes.size();
        const auto data = ConstData(bytes).subspan(begin, random() % (bytes.size() - begin));
        const auto start = static_cast<std::uint32_t>(random());
        const auto* const at = reinterpret_cast<const Bytef*>(data.data());
        ASSERT_EQ(crc32(data, start), data.empty() ? start : ::crc32_z(start, at, data.size())) << data.size();
    }
}

TEST(Crc64, VarietiesAreTheThreeThatTheirHeaderNames) {
    const auto digits = as_data("123456789");
    EXPECT_EQ(crc64_xz(digits), 0x995dc9bbdf1939faU);
    EXPECT_EQ(crc64_nvme(digits), 0xae8b14860a799888U);
    EXPECT_EQ(crc64_ecma182(digits), 0x6c40df5f0b497347U);
}

}  // namespace
}  // namespace weir::checksum

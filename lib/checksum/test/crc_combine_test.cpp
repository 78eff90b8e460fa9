// SPDX-License-Identifier: Apache-2.0
// Joining the sums of every CRC, against concatenation and against arithmetic that shares nothing with ours.
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "any_crc.hpp"

namespace weir::checksum {
namespace {

using test::AnyCrc;
using test::random_bytes;

constexpr std::uint64_t lengths_of_note[] = {0,
                                             1,
                                             255,
                                             256,
                                             65'536,
                                             0x7ffffffe,
                                             0x7fffffff,
                                             0x80000000,
                                             0xfffffffe,
                                             0xffffffff,
                                             0x100000000,
                                             0x100000005,
                                             0x1ffffffff,
                                             0x1fffffffe,
                                             std::uint64_t{1} << 61,
                                             (std::uint64_t{1} << 63) + 12'345,
                                             ~std::uint64_t{0} - 1,
                                             ~std::uint64_t{0}};

class CrcCombine : public testing::TestWithParam<AnyCrc> {};

INSTANTIATE_TEST_SUITE_P(All, CrcCombine, testing::ValuesIn(test::every_crc()), test::case_name);

TEST_P(CrcCombine, SumsOfTwoPartsJoinToTheSumOfTheWholeAtEveryCut) {
    const auto& crc = GetParam();
    const auto bytes = random_bytes(3001, 31);
    const ConstData data = bytes;
    const auto whole = crc.sum(data, 0);
    for (std::size_t cut = 0; cut <= data.size(); ++cut) {
        const auto a = crc.sum(data.first(cut), 0);
        const auto b = crc.sum(data.subspan(cut), 0);
        ASSERT_EQ(crc.combine(a, b, data.size() - cut), whole) << cut;
        ASSERT_EQ(crc.combiner(data.size() - cut)(a, b), whole) << cut;
    }
}

TEST_P(CrcCombine, ManyPartsInOrderJoinToTheSumOfTheWhole) {
    const auto& crc = GetParam();
    const auto bytes = random_bytes(200'000, 32);
    std::mt19937_64 random{32};
    std::uint64_t joined = 0;
    for (ConstData rest = bytes; !rest.empty();) {
        const auto part = rest.first(std::min<std::size_t>(rest.size(), random() % 5000));
        joined = crc.combine(joined, crc.sum(part, 0), part.size());
        rest = rest.subspan(part.size());
    }
    EXPECT_EQ(joined, crc.sum(bytes, 0));
}

TEST_P(CrcCombine, AnyLengthOfSixtyFourBitsShiftsAsDefined) {
    const auto& crc = GetParam();
    std::mt19937_64 random{33};
    const auto check = [&](std::uint64_t length) {
        const auto a = crc.word(random());
        const auto b = crc.word(random());
        const auto right = crc.definition.combine(a, b, length);
        ASSERT_EQ(crc.combine(a, b, length), right) << length;
        ASSERT_EQ(crc.combiner(length)(a, b), right) << length;
    };
    for (const auto length : lengths_of_note) check(length);
    for (int round = 0; round < 500; ++round) check(random() >> random() % 64);
}

TEST_P(CrcCombine, MoreThanFourGiBOfZerosAreOneStepOrManyAndTheSame) {
    const auto& crc = GetParam();
    // 2^32 + 5 zero bytes behind three that are not, never in memory: 4096 pieces of a MiB each, then five.
    const auto head = as_data("abc");
    const std::vector<std::byte> zeros(1 << 20);
    const auto of_piece = crc.sum(zeros, 0);
    const auto join = crc.combiner(zeros.size());
    auto of_zeros = crc.sum(ConstData(zeros).first(5), 0);
    auto whole = crc.sum(ConstData(zeros).first(5), crc.sum(head, 0));
    for (int piece = 0; piece < 4096; ++piece) {
        of_zeros = join(of_zeros, of_piece);
        whole = piece % 64 == 0 ? crc.sum(zeros, whole) : join(whole, of_piece);
    }
    EXPECT_EQ(crc.combine(crc.sum(head, 0), of_zeros, (std::uint64_t{1} << 32) + 5), whole);
}

TEST_P(CrcCombine, HugeLengthsMayBeSplitAnywhere) {
    const auto& crc = GetParam();
    std::mt19937_64 random{34};
    for (int round = 0; round < 300; ++round) {
        const auto sum = crc.word(random());
        const auto length = random();
        const auto first = random() % length;
        ASSERT_EQ(crc.combine(crc.combine(sum, 0, first), 0, length - first), crc.combine(sum, 0, length))
            << length << " " << first;
    }
}

TEST_P(CrcCombine, EveryMultiplicationKernelAgreesWithTheDefinition) {
    const auto& crc = GetParam();
    std::mt19937_64 random{35};
    for (int round = 0; round < 3000; ++round) {
        const auto a = crc.word(random()) >> random() % 32;
        const auto b = crc.word(random());
        const auto right = crc.definition.product(a, b);
        for (const auto& [name, product] : crc.products) {
            ASSERT_EQ(product(a, b), right) << name << " " << a << " " << b;
            ASSERT_EQ(product(b, a), right) << name << " " << a << " " << b;
        }
    }
}

TEST(Crc32Combine, AgreesWithZlib) {
    std::mt19937_64 random{36};
    for (int round = 0; round < 1000; ++round) {
        const auto a = static_cast<std::uint32_t>(random());
        const auto b = static_cast<std::uint32_t>(random());
        const std::uint64_t length = random() >> (1 + random() % 60);  // zlib takes a signed length
        ASSERT_EQ(crc32_combine(a, b, length), ::crc32_combine64(a, b, static_cast<z_off64_t>(length))) << length;
    }
}

}  // namespace
}  // namespace weir::checksum

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "samples.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/kernels.hpp"

namespace weir::checksum {
namespace {

using test::random_bytes;
using test::usable;

TEST(Combine, SumsOfTwoPartsJoinToTheSumOfTheWholeAtEveryCut) {
    const auto bytes = random_bytes(3001, 1);
    const ConstData data = bytes;
    for (std::size_t cut = 0; cut <= data.size(); ++cut) {
        const auto a = data.first(cut);
        const auto b = data.subspan(cut);
        ASSERT_EQ(adler32_combine(adler32(a), adler32(b), b.size()), adler32(data)) << cut;
        ASSERT_EQ(crc32c_combine(crc32c(a), crc32c(b), b.size()), crc32c(data)) << cut;
        ASSERT_EQ(Crc32cCombiner(b.size())(crc32c(a), crc32c(b)), crc32c(data)) << cut;
    }
}

TEST(Combine, ManyPartsInOrderJoinToTheSumOfTheWhole) {
    const auto bytes = random_bytes(200'000, 2);
    ConstData rest = bytes;
    std::mt19937_64 random{2};
    std::uint32_t adler = 1;
    std::uint32_t crc = 0;
    while (!rest.empty()) {
        const auto part = rest.first(std::min<std::size_t>(rest.size(), random() % 5000));
        adler = adler32_combine(adler, adler32(part), part.size());
        crc = crc32c_combine(crc, crc32c(part), part.size());
        rest = rest.subspan(part.size());
    }
    EXPECT_EQ(adler, adler32(bytes));
    EXPECT_EQ(crc, crc32c(bytes));
}

TEST(Combine, Adler32AgreesWithZlibForLengthsBeyondFourGiB) {
    std::mt19937_64 random{3};
    for (int round = 0; round < 2000; ++round) {
        const auto a = static_cast<std::uint32_t>((random() % 65521) << 16 | random() % 65521);
        const auto b = static_cast<std::uint32_t>((random() % 65521) << 16 | random() % 65521);
        const std::uint64_t length = random() >> (1 + random() % 60);  // zlib takes a signed length
        ASSERT_EQ(adler32_combine(a, b, length), ::adler32_combine64(a, b, static_cast<z_off64_t>(length))) << length;
    }
}

/// n zero bytes behind a message, the slow way: each doubles what one combine of half the length does.
std::uint32_t crc32c_of_zeros(std::uint64_t length) {
    std::uint32_t sum = 0;
    const std::byte zero{0};
    for (int bit = 63; bit >= 0; --bit) {
        const std::uint64_t half = bit == 63 ? 0 : length >> (bit + 1);
        sum = crc32c_combine(sum, sum, half);
        if ((length >> bit & 1) != 0) sum = test::crc32c_bitwise({&zero, 1}, sum);
    }
    return sum;
}

TEST(Combine, Crc32cOfZerosIsTheSameByDoublingAndByOneStepForAnyLength) {
    std::mt19937_64 random{4};
    for (int round = 0; round < 500; ++round) {
        const std::uint64_t length = random() >> random() % 64;
        const std::uint64_t cut = length == 0 ? 0 : random() % length;
        ASSERT_EQ(crc32c_combine(crc32c_of_zeros(length - cut), crc32c_of_zeros(cut), cut), crc32c_of_zeros(length))
            << length << " " << cut;
    }
    const std::vector<std::byte> zeros(70'000);
    EXPECT_EQ(crc32c_of_zeros(zeros.size()), test::crc32c_bitwise(zeros));
}

TEST(Combine, PartsOfFiveGiBJoinLikePartsThatAreReallySummed) {
    // Five GiB of a repeated MiB, never in memory: summed by continuing, and by joining.
    const auto piece = random_bytes(1 << 20, 6);
    std::uint32_t adler = adler32(piece);
    std::uint32_t crc = crc32c(piece);
    std::uint64_t length = piece.size();
    while (length < std::uint64_t{4} << 30) {  // doubling: a message behind itself
        adler = adler32_combine(adler, adler, length);
        crc = crc32c_combine(crc, crc, length);
        length *= 2;
    }
    const std::uint32_t adler_then = adler32(piece, adler);
    const std::uint32_t crc_then = crc32c(piece, crc);
    EXPECT_EQ(adler32_combine(adler32(piece), adler32_combine(adler, 1, 0), length),
              adler_then);  // all pieces are equal, so the odd one may stand in front
    EXPECT_EQ(crc32c_combine(crc32c(piece), crc, length), crc_then);
}

TEST(Combine, LengthsThatDifferByTheFullPeriodShiftAlike) {
    constexpr std::uint64_t period = 0x7fffffff;  // of the powers of x, and 8 has an inverse modulo it
    for (std::uint64_t length : {0ULL, 1ULL, 4096ULL, 123'456'789ULL})
        EXPECT_EQ(crc32c_combine(0x12345678, 0, length), crc32c_combine(0x12345678, 0, length + 5 * period));
    EXPECT_EQ(crc32c_combine(0xdeadbeef, 0x1234, 0), 0xdeadbeefU ^ 0x1234U);
    EXPECT_EQ(crc32c_combine(0x12345678, 0, ~std::uint64_t{0}),
              crc32c_combine(0x12345678, 0, ~std::uint64_t{0} % period));
}

TEST(Combine, EveryMultiplicationKernelAgreesWithThePortableOne) {
    std::mt19937 random{7};
    for (int round = 0; round < 5000; ++round) {
        const auto a = static_cast<std::uint32_t>(random());
        const auto b = static_cast<std::uint32_t>(random());
        const auto right = crc32c_multiply_kernels().front().run(a, b);
        for (const auto& kernel : usable(crc32c_multiply_kernels()))
            ASSERT_EQ(kernel.run(a, b), right) << kernel.name << " " << a << " " << b;
    }
}

}  // namespace
}  // namespace weir::checksum

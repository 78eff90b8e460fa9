// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/summer.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <set>

#include "samples.hpp"

namespace weir::digest {
namespace {

using test::known_answers;
using test::random_bytes;

TEST(Sums, KnownAnswersAreGivenAtOnceAndPieceByPiece) {
    const auto answers = known_answers();
    ASSERT_GE(answers.size(), 50U);
    for (const auto& answer : answers) {
        ASSERT_EQ(answer.digests.size(), algorithms.size());
        for (const auto& right : answer.digests) {
            EXPECT_EQ(sum(right.algorithm(), answer.data).hex(), right.hex())
                << name(right.algorithm()) << " " << answer.input;
            Summer summer(right.algorithm());
            const auto cut = answer.data.size() / 3;
            summer.add(ConstData(answer.data).first(cut));
            summer.add(ConstData(answer.data).subspan(cut));
            EXPECT_EQ(summer.value().hex(), right.hex()) << name(right.algorithm()) << " " << answer.input;
        }
    }
}

TEST(Sums, PiecesOfAnySizeGiveTheSumOfTheWhole) {
    const auto data = random_bytes(200'000, 1);
    std::mt19937_64 random(2);
    for (const auto algorithm : algorithms) {
        Summer summer(algorithm);
        for (ConstData rest = data; !rest.empty();) {
            const auto part =
                rest.first(std::min<std::size_t>(rest.size(), random() % 5 == 0 ? random() % 20'000 : random() % 300));
            summer.add(part);
            rest = rest.subspan(part.size());
        }
        EXPECT_EQ(summer.value(), sum(algorithm, data)) << name(algorithm);
    }
}

TEST(Sums, AValueMayBeAskedForOnTheWayAndASumBegunAnew) {
    const auto data = random_bytes(5000, 3);
    for (const auto algorithm : algorithms) {
        Summer summer(algorithm);
        summer.add(ConstData(data).first(1234));
        EXPECT_EQ(summer.value(), sum(algorithm, ConstData(data).first(1234))) << name(algorithm);
        summer.add(ConstData(data).subspan(1234));
        EXPECT_EQ(summer.value(), sum(algorithm, data)) << name(algorithm);
        summer.reset();
        summer.add(ConstData(data).first(7));
        EXPECT_EQ(summer.value(), sum(algorithm, ConstData(data).first(7))) << name(algorithm);
    }
}

TEST(Sums, ACopyGoesOnAlone) {
    const auto data = random_bytes(5000, 6);
    const auto other = random_bytes(3000, 7);
    for (const auto algorithm : algorithms) {
        // Before anything was added, inside the first block, on the edge of blocks and of a chunk of BLAKE3, far
        // behind.
        for (const std::size_t cut : {0U, 1U, 31U, 64U, 777U, 1024U, 2048U, 4321U}) {
            const auto begin = ConstData(data).first(cut);
            Summer first(algorithm);
            first.add(begin);
            Summer second(first), third(Algorithm::adler32);  // an assignment brings its algorithm along
            third = first;
            EXPECT_EQ(second.value(), sum(algorithm, begin)) << name(algorithm) << " at " << cut;
            first.add(other);
            second.add(ConstData(data).subspan(cut));
            third.reset();
            third.add(other);
            auto both = std::vector(begin.begin(), begin.end());
            both.insert(both.end(), other.begin(), other.end());
            EXPECT_EQ(first.value(), sum(algorithm, both)) << name(algorithm) << " at " << cut;
            EXPECT_EQ(second.value(), sum(algorithm, data)) << name(algorithm) << " at " << cut;
            EXPECT_EQ(third.value(), sum(algorithm, other)) << name(algorithm) << " at " << cut;
        }
    }
}

TEST(Sums, ACopyOutlivesWhatItWasMadeFrom) {
    const auto data = random_bytes(200'000, 8);
    for (const auto algorithm : algorithms) {
        auto original = std::make_unique<Summer>(algorithm);
        original->add(ConstData(data).first(123'456));
        auto copy = *original;
        original.reset();
        const auto& same = copy;
        copy = same;  // to itself: nothing is lost
        copy.add(ConstData(data).subspan(123'456));
        EXPECT_EQ(copy.value(), sum(algorithm, data)) << name(algorithm);
    }
}

TEST(Sums, AnyPlaceInMemoryGivesTheSameSum) {
    const auto data = random_bytes(3000, 4);
    for (const auto algorithm : algorithms) {
        const auto right = sum(algorithm, data);
        for (std::size_t offset = 1; offset < 64; offset += 7) {
            std::vector<std::byte> moved(offset + data.size());
            std::ranges::copy(data, moved.begin() + static_cast<std::ptrdiff_t>(offset));
            EXPECT_EQ(sum(algorithm, ConstData(moved).subspan(offset)), right) << name(algorithm) << " at " << offset;
        }
    }
}

TEST(Sums, MoreThan4GiBInOneCallAreTheSumOfTheirParts) {
    // Zeros that the system has only once, however many are read.
    constexpr std::size_t size = (std::size_t{1} << 32) + 4099;
    void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    ::madvise(memory, size, MADV_HUGEPAGE);
    const ConstData data(static_cast<const std::byte*>(memory), size);
    for (const auto algorithm : {Algorithm::adler32, Algorithm::crc32, Algorithm::crc32c, Algorithm::crc64_nvme}) {
        const auto half = sum(algorithm, data.first(size / 2));
        const auto rest = sum(algorithm, data.subspan(size / 2));
        EXPECT_EQ(sum(algorithm, data), combine(half, rest, size - size / 2, size / 2)) << name(algorithm);
    }
    Summer pieces(Algorithm::xxh3_64);
    pieces.add(data.first(size / 2));
    pieces.add(data.subspan(size / 2));
    EXPECT_EQ(sum(Algorithm::xxh3_64, data), pieces.value());
    ::munmap(memory, size);
}

TEST(Sums, ASetGivesEverySumInOnePass) {
    const auto data = random_bytes(100'001, 5);
    SumSet set(algorithms);
    set.add(ConstData(data).first(70'000));
    set.add(ConstData(data).subspan(70'000));
    const auto values = set.values();
    ASSERT_EQ(values.size(), algorithms.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(values[i], sum(algorithms[i], data)) << name(algorithms[i]);
}

}  // namespace
}  // namespace weir::digest

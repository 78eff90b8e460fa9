// SPDX-License-Identifier: Apache-2.0
#include "weir/checksum/copy_and_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "samples.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/kernels.hpp"

namespace weir::checksum {
namespace {

using test::random_bytes;
using test::usable;
constexpr Stores both_stores[] = {Stores::ordinary, Stores::non_temporal};

/// Copies `size` bytes between any alignments and looks at every byte of the target's surroundings.
template <class Copy>
void expect_exact_copy(std::size_t size, std::size_t to_offset, std::size_t from_offset, Copy&& copy) {
    const auto source = random_bytes(size + from_offset, size);
    std::vector<std::byte> memory(size + to_offset + 200, std::byte{0xa5});
    const auto from = ConstData(source).subspan(from_offset);
    const auto to = MutableData(memory).subspan(100 + to_offset, size);
    copy(to, from);
    ASSERT_TRUE(std::ranges::equal(to, from)) << size << " " << to_offset << " " << from_offset;
    const auto untouched = [](std::byte byte) { return byte == std::byte{0xa5}; };
    ASSERT_TRUE(std::all_of(memory.data(), to.data(), untouched)) << "written before the target, size " << size;
    ASSERT_TRUE(std::all_of(to.data() + size, memory.data() + memory.size(), untouched)) << "written behind " << size;
}

constexpr std::size_t sizes[] = {0, 1, 2, 63, 64, 65, 127, 128, 200, 4095, 4096, 4097, 4160, 8191, 8192, 8200, 50001};

TEST(CopyAndSum, EverySizeAroundLinesAndBlocksIsCopiedExactlyAndSummed) {
    for (const auto stores : both_stores) {
        for (const std::size_t size : sizes) {
            for (const std::size_t offset : {0UL, 1UL, 28UL, 63UL}) {
                expect_exact_copy(size, offset, 3, [&](MutableData to, ConstData from) {
                    EXPECT_EQ(copy_adler32(to, from, 1, stores), adler32(from));
                });
                expect_exact_copy(size, offset, 0, [&](MutableData to, ConstData from) {
                    EXPECT_EQ(copy_crc32c(to, from, 0x1234, stores), crc32c(from, 0x1234));
                });
                expect_exact_copy(size, offset, 17,
                                  [&](MutableData to, ConstData from) { copy_only(to, from, stores); });
            }
        }
    }
}

TEST(CopyAndSum, SumsContinueOverEventsThatAreCopiedOneBehindTheOther) {
    const auto source = random_bytes(30'000, 9);
    std::vector<std::byte> segment(source.size());
    std::uint32_t sum = adler32_start;
    std::size_t place = 0;
    for (std::size_t size = 1; place < source.size(); size = size * 2 + 3) {
        const auto event = ConstData(source).subspan(place, std::min(size, source.size() - place));
        sum = copy_adler32(MutableData(segment).subspan(place, event.size()), event, sum, Stores::non_temporal);
        place += event.size();
    }
    EXPECT_EQ(segment, source);
    EXPECT_EQ(sum, adler32(source));
}

TEST(CopyAndSum, EveryKernelOfStoresAroundTheCacheCopiesWholeLinesFromAnyAddress) {
    const auto source = random_bytes(1024 + 64 + 20'000, 10);
    alignas(64) std::array<std::byte, 1024> target;
    for (const auto& kernel : usable(non_temporal_kernels())) {
        for (std::size_t offset = 0; offset < 64; ++offset) {
            // How much is fetched behind it changes nothing: none, some of the lines, all.
            for (const std::size_t behind : {0U, 1U, 3071U, 3072U, 3136U, 3583U, 3584U, 4096U, 20'000U}) {
                target.fill(std::byte{0});
                kernel.run(target.data(), source.data() + offset, target.size(), behind);
                EXPECT_TRUE(std::ranges::equal(target, ConstData(source).subspan(offset, 1024)))
                    << kernel.name << offset << ", " << behind;
            }
        }
        target.fill(std::byte{1});
        kernel.run(target.data(), source.data(), 0, 10'000);
        EXPECT_EQ(target[0], std::byte{1}) << kernel.name;
    }
    EXPECT_EQ(non_temporal_name(), best(non_temporal_kernels(), CpuFeatures::detect()).name);
}

TEST(CopyAndSum, EveryKernelThatStoresWhatItSumsCopiesAndSumsFromAnyAddress) {
    const auto source = random_bytes(6000 + 64, 11);
    alignas(64) std::array<std::byte, 6016> target;
    const auto check = [&](const CopySumKernel& kernel, auto sum) {
        for (std::size_t size = 128; size <= 5888; size += size < 1024 ? 128 : 640) {
            for (std::size_t offset = 0; offset < 64; offset += 9) {
                target.fill(std::byte{0});
                const auto data = ConstData(source).subspan(offset, size);
                EXPECT_EQ(kernel.run(target.data(), data.data(), size, 77), sum(data, 77))
                    << kernel.name << size << offset;
                EXPECT_TRUE(std::ranges::equal(ConstData(target).first(size), data)) << kernel.name << size << offset;
                EXPECT_EQ(target[size], std::byte{0}) << kernel.name << ": nothing behind it is touched";
            }
        }
    };
    for (const auto& kernel : usable(copy_adler32_kernels())) check(kernel, adler32);
    for (const auto& kernel : usable(copy_crc32c_kernels())) check(kernel, crc32c);
}

TEST(CopyAndSumDeathTest, SizesThatDifferStopTheProgram) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    std::array<std::byte, 8> to{};
    const std::array<std::byte, 7> from{};
    EXPECT_DEATH(copy_only(to, from, Stores::ordinary), "to.size\\(\\) == from.size\\(\\)");
    EXPECT_DEATH((void)copy_adler32(to, from, 1, Stores::non_temporal), "to.size\\(\\) == from.size\\(\\)");
}

}  // namespace
}  // namespace weir::checksum

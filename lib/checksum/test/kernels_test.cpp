// SPDX-License-Identifier: Apache-2.0
// One suite over every implementation that this processor can run.
#include "weir/checksum/kernels.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>
#include <thread>

#include "guarded_page.hpp"
#include "known_answers.hpp"
#include "samples.hpp"
#include "weir/base/testing/number_in_environment.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/chosen.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"

namespace weir::checksum {
namespace {

using test::crc32c_bitwise;
using test::random_bytes;
using test::usable;

std::uint32_t plus_one(ConstData, std::uint32_t value) noexcept { return value + 1; }
constexpr SumKernel own_kernels[] = {{"one", [](const CpuFeatures&) noexcept { return true; }, plus_one}};
std::span<const SumKernel> own_list() noexcept { return own_kernels; }
std::span<const SumKernel> never_run_list() noexcept { return own_kernels; }

std::uint32_t zlib_adler32(ConstData data, std::uint32_t value) {
    if (data.empty()) return value;
    return static_cast<std::uint32_t>(::adler32_z(value, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

TEST(Kernels, KnownAnswersAreGivenByEveryKernel) {
    const auto answers = test::known_answers();
    ASSERT_GE(answers.size(), 30U);
    for (const auto& answer : answers) {
        const auto adler = answer.sums.at("adler32");
        const auto crc = answer.sums.at("crc32c");
        for (const auto& kernel : usable(adler32_kernels()))
            EXPECT_EQ(kernel.run(answer.data, 1), adler) << kernel.name << " " << answer.input;
        for (const auto& kernel : usable(crc32c_kernels()))
            EXPECT_EQ(kernel.run(answer.data, 0), crc) << kernel.name << " " << answer.input;
        EXPECT_EQ(adler32(answer.data), adler);
        EXPECT_EQ(crc32c(answer.data), crc);
    }
}

TEST(Kernels, EverySizeUpToTwoKiBAtEveryAlignmentOfALineIsRight) {
    const auto bytes = random_bytes(2048 + 64, 11);
    for (std::size_t size = 0; size <= 2048; ++size) {
        const auto data = ConstData(bytes).subspan((size * 37) % 64, size);
        const auto adler = zlib_adler32(data, 0x12345678 % 65521);
        const auto crc = crc32c_bitwise(data, 0x9abcdef0);
        for (const auto& kernel : usable(adler32_kernels()))
            ASSERT_EQ(kernel.run(data, 0x12345678 % 65521), adler) << kernel.name << size;
        for (const auto& kernel : usable(crc32c_kernels()))
            ASSERT_EQ(kernel.run(data, 0x9abcdef0), crc) << kernel.name << " " << size;
    }
}

TEST(Kernels, NoKernelOfAdler32ReadsBeyondItsBytes) {
    const test::GuardedPage page;
    for (std::size_t size = 0; size <= 4096; size += size < 700 ? 1 : 13) {
        for (const auto data : {page.first(size), page.last(size)}) {
            const auto right = zlib_adler32(data, 0x12345678);
            for (const auto& kernel : usable(adler32_kernels()))
                ASSERT_EQ(kernel.run(data, 0x12345678), right) << kernel.name << " " << size;
        }
    }
}

TEST(Kernels, ShortMessagesOfTheLargestBytesFromTheLargestSumsAreRight) {
    const std::vector<std::byte> bytes(4200, std::byte{0xff});
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        const auto data = ConstData(bytes).first(size);
        const auto right = zlib_adler32(data, 0xfff0fff0);
        for (const auto& kernel : usable(adler32_kernels()))
            ASSERT_EQ(kernel.run(data, 0xfff0fff0), right) << kernel.name << " " << size;
    }
}

TEST(Kernels, TheFirstCallChoosesForAllAndWhatACallerKeepsIsTheKernelItself) {
    // A list of its own, so that nothing else in this program has called it.
    using Own = ChosenKernel<own_list>;
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < 8; ++i) threads.emplace_back([i] { EXPECT_EQ(Own::run({}, i), i + 1); });
    threads.clear();
    EXPECT_EQ(Own::function(), &plus_one);
    EXPECT_EQ(ChosenKernel<never_run_list>::function(), &plus_one)
        << "kept before the first call, it would choose at each";
}

TEST(Kernels, RandomStretchesAreWhatZlibAndABitwiseCrcSay) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937_64 random{seed};
    const auto bytes = random_bytes(100'000, seed);
    for (int round = 0; round < 60; ++round) {
        const std::size_t begin = random() % bytes.size();
        const auto data = ConstData(bytes).subspan(begin, random() % (bytes.size() - begin));
        const auto start = adler32(ConstData(bytes).first(static_cast<std::size_t>(round % 7)));
        const auto adler = zlib_adler32(data, start);
        const auto crc = crc32c_bitwise(data, start);
        for (const auto& kernel : usable(adler32_kernels()))
            ASSERT_EQ(kernel.run(data, start), adler) << kernel.name << " " << data.size();
        for (const auto& kernel : usable(crc32c_kernels()))
            ASSERT_EQ(kernel.run(data, start), crc) << kernel.name << " " << data.size();
    }
}

TEST(Kernels, LargestBytesFillNoLaneOverInMegabytes) {
    const std::vector<std::byte> bytes((3 << 20) + 77, std::byte{0xff});
    const auto worst_start = std::uint32_t{65520} << 16 | 65520;
    const auto right = zlib_adler32(bytes, worst_start);
    for (const auto& kernel : usable(adler32_kernels()))
        EXPECT_EQ(kernel.run(bytes, worst_start), right) << kernel.name;
}

TEST(Kernels, SumsContinueAcrossAnyCut) {
    const auto bytes = random_bytes(5000, 3);
    const ConstData data = bytes;
    for (std::size_t cut = 0; cut <= data.size(); cut += 61) {
        for (const auto& kernel : usable(adler32_kernels()))
            ASSERT_EQ(kernel.run(data.subspan(cut), kernel.run(data.first(cut), 1)), adler32(data)) << kernel.name;
        for (const auto& kernel : usable(crc32c_kernels()))
            ASSERT_EQ(kernel.run(data.subspan(cut), kernel.run(data.first(cut), 0)), crc32c(data)) << kernel.name;
    }
}

TEST(Kernels, NoBytesLeaveTheValueAsItWas) {
    EXPECT_EQ(adler32({}), 1U);
    EXPECT_EQ(adler32({}, 0x091e01de), 0x091e01deU);
    EXPECT_EQ(crc32c({}), 0U);
    EXPECT_EQ(crc32c({}, 0xe3069283), 0xe3069283U);
}

TEST(Kernels, TheBestUsableOneIsChosenAndPortableIsTheLastResort) {
    EXPECT_EQ(best(adler32_kernels(), CpuFeatures{}).name, "portable");
    EXPECT_EQ(best(crc32c_kernels(), CpuFeatures{}).name, "portable");
    EXPECT_EQ(best(crc32c_multiply_kernels(), CpuFeatures{}).name, "portable");
    EXPECT_EQ(best(crc64_nvme_kernels(), CpuFeatures{}).name, "portable");
    EXPECT_EQ(best(crc64_nvme_multiply_kernels(), CpuFeatures{}).name, "portable");
    EXPECT_EQ(best(adler32_kernels(), CpuFeatures::detect()).name, adler32_name());
    EXPECT_EQ(best(crc32c_kernels(), CpuFeatures::detect()).name, crc32c_name());
#if defined(__x86_64__)
    CpuFeatures some;
    some.ssse3 = true;
    EXPECT_EQ(best(adler32_kernels(), some).name, "ssse3");
    some.avx2 = true;
    EXPECT_EQ(best(adler32_kernels(), some).name, "avx2");
    some.avx512 = some.avx512_vnni = true;
    EXPECT_EQ(best(adler32_kernels(), some).name, "avx512-vnni");
    some.prefetch_helps = true;
    EXPECT_EQ(best(adler32_kernels(), some).name, "avx512-vnni-prefetch");
    some.sse42 = some.pclmul = true;
    EXPECT_EQ(best(crc64_nvme_kernels(), some).name, "pclmul");
    some.vpclmul = true;
    EXPECT_EQ(best(crc64_nvme_kernels(), some).name, "vpclmul-avx512");
    EXPECT_EQ(best(cksum_kernels(), some).name, "vpclmul-avx512");
    some.gfni = true;
    EXPECT_EQ(best(cksum_kernels(), some).name, "gfni-avx512");
    some.avx512 = false;
    EXPECT_EQ(best(crc64_nvme_kernels(), some).name, "vpclmul-avx2");
    EXPECT_EQ(best(crc32c_kernels(), some).name, "two-ways-avx2");
#endif
}

TEST(Kernels, SelfTestPassesForOursAndNamesAKernelThatIsWrong) {
    EXPECT_TRUE(self_test().has_value());
    for (const auto* algorithm : {"adler32", "crc32", "crc32c", "cksum", "crc64-xz", "crc64-nvme", "crc64-ecma182"})
        EXPECT_TRUE(self_test_of(algorithm).has_value()) << algorithm;

    const SumKernel sums[] = {
        {"broken", [](const CpuFeatures&) noexcept { return true; },
         [](ConstData data, std::uint32_t value) noexcept { return data.size() > 4000 ? 0 : adler32(data, value); }}};
    const auto adler = self_test_sums("adler32", sums, {});
    ASSERT_FALSE(adler.has_value());
    EXPECT_EQ(adler.error().code, Errc::corrupt);
    EXPECT_NE(adler.error().message().find("\"broken\""), std::string::npos) << adler.error().message();
    EXPECT_FALSE(self_test_sums("crc32c", sums, {}).has_value());

    const MultiplyKernel products[] = {{"xor", [](const CpuFeatures&) noexcept { return true; },
                                        [](std::uint32_t a, std::uint32_t b) noexcept { return a ^ b; }}};
    EXPECT_FALSE(self_test_products("crc32c", products, {}).has_value());

    const Sum64Kernel wide[] = {{"half", [](const CpuFeatures&) noexcept { return true; },
                                 [](ConstData data, std::uint64_t value) noexcept -> std::uint64_t {
                                     return crc64_nvme(data, value) & 0xffffffff;
                                 }}};
    const auto half = self_test_sums("crc64-nvme", wide, {});
    ASSERT_FALSE(half.has_value());
    EXPECT_NE(half.error().message().find("ae8b14860a799888"), std::string::npos) << half.error().message();
    const Multiply64Kernel wide_products[] = {{"and", [](const CpuFeatures&) noexcept { return true; },
                                               [](std::uint64_t a, std::uint64_t b) noexcept { return a & b; }}};
    EXPECT_FALSE(self_test_products("crc64-xz", wide_products, {}).has_value());

    const CopyLinesKernel copies[] = {{"incomplete", [](const CpuFeatures&) noexcept { return true; },
                                       [](std::byte*, const std::byte*, std::size_t, std::size_t) noexcept {}}};
    EXPECT_FALSE(self_test_copy(copies, {}).has_value());

    const CopySumKernel copy_sums[] = {{"sums only", [](const CpuFeatures&) noexcept { return true; },
                                        [](std::byte*, const std::byte* from, std::size_t size,
                                           std::uint32_t value) noexcept { return adler32({from, size}, value); }}};
    const auto unmoved = self_test_copy_sums("adler32", copy_sums, adler32_kernels().front().run, {});
    ASSERT_FALSE(unmoved.has_value());
    EXPECT_NE(unmoved.error().message().find("byte 0 of 128"), std::string::npos) << unmoved.error().message();
    EXPECT_FALSE(self_test_copy_sums("crc32c", copy_sums, crc32c_kernels().front().run, {}).has_value());
}

TEST(Kernels, SelfTestLeavesOutWhatTheProcessorCannotRun) {
    const SumKernel kernels[] = {{"elsewhere", [](const CpuFeatures&) noexcept { return false; }, nullptr}};
    EXPECT_TRUE(self_test_sums("adler32", kernels, {}).has_value());
    EXPECT_TRUE(self_test(CpuFeatures{}).has_value());
}

}  // namespace
}  // namespace weir::checksum

// SPDX-License-Identifier: Apache-2.0
// The AVX-512 kernel on every x86-64: its own source is compiled once more here, with each vector
// instruction replaced by the loop that its manual page describes. So its constants, the bounds of its
// lanes and its order of bytes are tested on processors that could not run it. That the real
// instructions work as documented is left to Kernels tests on a processor that has them.
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "adler32/adler32_modulus.hpp"
#include "implementations.hpp"
#include "samples.hpp"
#include "weir/base/target.hpp"

namespace weir::checksum {

struct Model512 {
    std::array<std::uint32_t, 16> lane;
};

static Model512 model_load(const void* at) noexcept {
    Model512 v;
    std::memcpy(&v, at, sizeof v);
    return v;
}

static Model512 model_and(Model512 a, const Model512& b) noexcept {
    for (std::size_t i = 0; i < 16; ++i) a.lane[i] &= b.lane[i];
    return a;
}

static Model512 model_add(Model512 a, const Model512& b) noexcept {
    for (std::size_t i = 0; i < 16; ++i) a.lane[i] += b.lane[i];
    return a;
}

static Model512 model_dpbusd(Model512 sum, const Model512& bytes, const Model512& factors) noexcept {
    const auto unsigned_bytes = std::bit_cast<std::array<std::uint8_t, 64>>(bytes);
    const auto signed_factors = std::bit_cast<std::array<std::int8_t, 64>>(factors);
    for (std::size_t i = 0; i < 64; ++i)
        sum.lane[i / 4] += static_cast<std::uint32_t>(int{unsigned_bytes[i]} * int{signed_factors[i]});
    return sum;
}

static Model512 model_set1(char byte) noexcept {
    std::array<char, 64> bytes;
    bytes.fill(byte);
    return std::bit_cast<Model512>(bytes);
}

static Model512 model_set1_wide(long long word) noexcept {
    std::array<long long, 8> words;
    words.fill(word);
    return std::bit_cast<Model512>(words);
}

static Model512 model_shift_right_wide(const Model512& v, unsigned count) noexcept {
    auto words = std::bit_cast<std::array<std::uint64_t, 8>>(v);
    for (auto& word : words) word >>= count;
    return std::bit_cast<Model512>(words);
}

static Model512 model_add_wide(const Model512& a, const Model512& b) noexcept {
    auto sums = std::bit_cast<std::array<std::uint64_t, 8>>(a);
    const auto words = std::bit_cast<std::array<std::uint64_t, 8>>(b);
    for (std::size_t i = 0; i < 8; ++i) sums[i] += words[i];
    return std::bit_cast<Model512>(sums);
}

static long long model_total_wide(const Model512& v) noexcept {
    std::uint64_t sum = 0;
    for (const auto word : std::bit_cast<std::array<std::uint64_t, 8>>(v)) sum += word;
    return static_cast<long long>(sum);
}

static Model512 model_masked_load(std::uint64_t mask, const std::byte* at) noexcept {
    std::array<std::byte, 64> bytes{};
    for (std::size_t i = 0; i < 64; ++i)
        if ((mask >> i & 1) != 0) bytes[i] = at[i];
    return std::bit_cast<Model512>(bytes);
}

static void keep_in_register(Model512&) noexcept {}

static Model512 model_shift_left(Model512 v, unsigned count) noexcept {
    for (auto& lane : v.lane) lane <<= count;
    return v;
}

static Model512 model_shift_left_wide(const Model512& v, unsigned count) noexcept {
    auto words = std::bit_cast<std::array<std::uint64_t, 8>>(v);
    for (auto& word : words) word <<= count;
    return std::bit_cast<Model512>(words);
}

static Model512 model_sums_of_bytes(const Model512& a, const Model512& b) noexcept {
    const auto first = std::bit_cast<std::array<std::uint8_t, 64>>(a),
               second = std::bit_cast<std::array<std::uint8_t, 64>>(b);
    std::array<std::uint64_t, 8> words{};
    for (std::size_t i = 0; i < 64; ++i)
        words[i / 8] += static_cast<std::uint64_t>(std::abs(int{first[i]} - int{second[i]}));
    return std::bit_cast<Model512>(words);
}

static Model512 model_blend(unsigned mask, Model512 a, const Model512& b) noexcept {
    for (std::size_t i = 0; i < 16; ++i)
        if ((mask >> i & 1) != 0) a.lane[i] = b.lane[i];
    return a;
}

struct Model256 {
    std::array<std::uint32_t, 8> lane;
};

static Model256 model_half(const Model512& v, std::size_t which) noexcept {
    return std::bit_cast<std::array<Model256, 2>>(v)[which];
}

static Model256 model_add_halves(Model256 a, const Model256& b) noexcept {
    for (std::size_t i = 0; i < 8; ++i) a.lane[i] += b.lane[i];
    return a;
}

static __m128i model_quarter(const Model256& v, std::size_t which) noexcept {
    __m128i lanes;
    std::memcpy(&lanes, v.lane.data() + 4 * which, sizeof lanes);
    return lanes;
}

static std::uint64_t model_low_bits(std::uint64_t word, unsigned count) noexcept {
    return count < 64 ? word & ((std::uint64_t{1} << count) - 1) : word;
}

std::uint32_t adler32_avx512_model(ConstData data, std::uint32_t value) noexcept;
std::uint32_t adler32_avx512_prefetch_model(ConstData data, std::uint32_t value) noexcept;
std::uint32_t copy_adler32_avx512_model(std::byte* to, const std::byte* from, std::size_t size,
                                        std::uint32_t value) noexcept;

}  // namespace weir::checksum

#undef WEIR_TARGET_BEGIN
#undef WEIR_TARGET_END
#define WEIR_TARGET_BEGIN(set)
#define WEIR_TARGET_END
#define __m512i Model512
#define _mm512_loadu_si512 model_load
#define _mm512_load_si512 model_load
#define _mm512_set1_epi64 model_set1_wide
#define _mm512_srli_epi64 model_shift_right_wide
#define _mm512_add_epi64 model_add_wide
#define _mm512_reduce_add_epi64 model_total_wide
#define _mm512_stream_si512(at, v) (std::memcpy((at), &(v), 64))
#define _mm512_maskz_loadu_epi8 model_masked_load
#define _mm512_slli_epi32 model_shift_left
#undef _mm512_extracti64x4_epi64  // these two are macros of clang's
#undef _mm256_extracti128_si256
#define _mm512_slli_epi64 model_shift_left_wide
#define _mm512_sad_epu8 model_sums_of_bytes
#define _mm512_mask_blend_epi32 model_blend
#define _mm512_castsi512_si256(v) model_half((v), 0)
#define _mm512_extracti64x4_epi64 model_half
#define _mm256_add_epi32 model_add_halves
#define _mm256_castsi256_si128(v) model_quarter((v), 0)
#define _mm256_extracti128_si256 model_quarter
#define _bzhi_u64 model_low_bits
#define _mm512_and_si512 model_and
#define _mm512_add_epi32 model_add
#define _mm512_dpbusd_epi32 model_dpbusd
#define _mm512_set1_epi8 model_set1
#define _mm512_setzero_si512() (Model512{})
#define adler32_avx512_vnni adler32_avx512_model
#define adler32_avx512_vnni_prefetch adler32_avx512_prefetch_model
#define copy_adler32_avx512_vnni copy_adler32_avx512_model
#include "adler32/adler32_avx512_vnni.cpp"

namespace weir::checksum {
namespace {

TEST(Adler32Avx512, ModelledInstructionsGiveTheRightSumAtEverySize) {
    const auto bytes = test::random_bytes(8000, 5);
    for (std::size_t size = 0; size <= bytes.size(); size += size < 3000 ? 1 : 13) {
        const auto data = ConstData(bytes).first(size);
        ASSERT_EQ(adler32_avx512_model(data, 77), adler32_portable(data, 77)) << size;
        ASSERT_EQ(adler32_avx512_prefetch_model(data, 77), adler32_portable(data, 77)) << size;
    }
}

TEST(Adler32Avx512, LargestBytesFillNoModelledLaneOverInShortMessages) {
    const std::vector<std::byte> bytes(4200, std::byte{0xff});
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        const auto data = ConstData(bytes).first(size);
        ASSERT_EQ(adler32_avx512_model(data, 0xfff0fff0), adler32_portable(data, 0xfff0fff0)) << size;
    }
}

TEST(Adler32Avx512, LargestBytesFillNoModelledLaneOver) {
    const std::vector<std::byte> bytes((1100 << 10) + 55, std::byte{0xff});
    EXPECT_EQ(adler32_avx512_model(bytes, 0xfff0fff0), adler32_portable(bytes, 0xfff0fff0));
}

TEST(Adler32Avx512, ModelledInstructionsCopyWhatTheySum) {
    const auto bytes = test::random_bytes(8001, 6);
    for (std::size_t size = 128; size <= 7936; size += 128) {
        std::vector<std::byte> copy(size);
        ASSERT_EQ(copy_adler32_avx512_model(copy.data(), bytes.data() + 1, size, 77),
                  adler32_portable(ConstData(bytes).subspan(1, size), 77))
            << size;
        ASSERT_TRUE(std::ranges::equal(copy, ConstData(bytes).subspan(1, size))) << size;
    }
}

}  // namespace
}  // namespace weir::checksum
#endif

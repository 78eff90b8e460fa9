// SPDX-License-Identifier: Apache-2.0
// The AVX-512 kernel on every x86-64: its own source is compiled once more here, with each vector
// instruction replaced by the loop that its manual page describes. So its constants, the bounds of its
// lanes and its order of bytes are tested on processors that could not run it. That the real
// instructions do what their manual says is left to Kernels tests on a processor that has them.
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "adler32_modulus.hpp"
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

static int model_total(const Model512& v) noexcept {
    std::uint32_t sum = 0;
    for (const auto lane : v.lane) sum += lane;
    return static_cast<int>(sum);
}

std::uint32_t adler32_avx512_model(ConstData data, std::uint32_t value) noexcept;
std::uint32_t copy_adler32_avx512_model(std::byte* to, const std::byte* from, std::size_t size, std::uint32_t value) noexcept;

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
#define _mm512_reduce_add_epi32 model_total
#define _mm512_and_si512 model_and
#define _mm512_add_epi32 model_add
#define _mm512_dpbusd_epi32 model_dpbusd
#define _mm512_set1_epi8 model_set1
#define _mm512_setzero_si512() (Model512{})
#define adler32_avx512_vnni adler32_avx512_model
#define copy_adler32_avx512_vnni copy_adler32_avx512_model
#include "adler32_avx512_vnni.cpp"

namespace weir::checksum {
namespace {

TEST(Adler32Avx512, ModelledInstructionsGiveTheRightSumAtEverySize) {
    const auto bytes = test::random_bytes(8000, 5);
    for (std::size_t size = 0; size <= bytes.size(); size += size < 3000 ? 1 : 13) {
        const auto data = ConstData(bytes).first(size);
        ASSERT_EQ(adler32_avx512_model(data, 77), adler32_portable(data, 77)) << size;
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
                  adler32_portable(ConstData(bytes).subspan(1, size), 77)) << size;
        ASSERT_TRUE(std::ranges::equal(copy, ConstData(bytes).subspan(1, size))) << size;
    }
}

}  // namespace
}  // namespace weir::checksum
#endif

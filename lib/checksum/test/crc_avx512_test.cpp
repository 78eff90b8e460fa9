// SPDX-License-Identifier: Apache-2.0
// The AVX-512 kernels of the CRCs on every x86-64 with carry-less multiplication: their own source is compiled once
// more here, with each instruction on four lanes replaced by what its manual page describes, lane by lane. So
// constants, distances and the order of lanes are tested on processors that could not run it. That the real
// instructions work as documented is left to the Crc tests on a processor that has them.
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "crc/crc_constants.hpp"
#include "implementations.hpp"
#include "samples.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("sse4.2,pclmul")
namespace weir::checksum {

struct Model512 {
    __m128i lane[4];
};

static Model512 model_load(const void* at) noexcept {
    Model512 v;
    std::memcpy(&v, at, sizeof v);
    return v;
}

static Model512 model_broadcast(int mask, __m128i lane) noexcept {
    EXPECT_EQ(mask, 0xffff);
    return {{lane, lane, lane, lane}};
}

static Model512 model_extend(__m128i lane) noexcept {
    return {{lane, _mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()}};
}

static __m128i model_extract(int mask, const Model512& v, int number) noexcept {
    EXPECT_EQ(mask, 0xf);
    return v.lane[number];
}

static Model512 model_shuffle(Model512 v, const Model512& places) noexcept {
    for (int i = 0; i < 4; ++i) v.lane[i] = _mm_shuffle_epi8(v.lane[i], places.lane[i]);
    return v;
}

static Model512 model_xor(Model512 a, const Model512& b) noexcept {
    for (int i = 0; i < 4; ++i) a.lane[i] = _mm_xor_si128(a.lane[i], b.lane[i]);
    return a;
}

static Model512 model_and(Model512 a, const Model512& b) noexcept {
    for (int i = 0; i < 4; ++i) a.lane[i] = _mm_and_si128(a.lane[i], b.lane[i]);
    return a;
}

static Model512 model_shuffle_lanes(int mask, const Model512& a, const Model512& b, int places) noexcept {
    EXPECT_EQ(mask, 0xff);
    return {{a.lane[places & 3], a.lane[places >> 2 & 3], b.lane[places >> 4 & 3], b.lane[places >> 6 & 3]}};
}

static Model512 model_ternary(const Model512& a, const Model512& b, const Model512& c, int truth) noexcept {
    // Bit (a * 4 + b * 2 + c) of the table is the result: put together from the eight minterms.
    Model512 result = model_extend(_mm_setzero_si128());
    for (int term = 0; term < 8; ++term) {
        if ((truth >> term & 1) == 0) continue;
        for (int i = 0; i < 4; ++i) {
            const auto all = _mm_set1_epi32(-1);
            const auto of_a = (term & 4) != 0 ? a.lane[i] : _mm_xor_si128(a.lane[i], all);
            const auto of_b = (term & 2) != 0 ? b.lane[i] : _mm_xor_si128(b.lane[i], all);
            const auto of_c = (term & 1) != 0 ? c.lane[i] : _mm_xor_si128(c.lane[i], all);
            result.lane[i] = _mm_or_si128(result.lane[i], _mm_and_si128(of_a, _mm_and_si128(of_b, of_c)));
        }
    }
    return result;
}

static Model512 model_clmul(Model512 a, const Model512& b, int halves) noexcept {
    for (int i = 0; i < 4; ++i)
        a.lane[i] = halves == 0x00 ? _mm_clmulepi64_si128(a.lane[i], b.lane[i], 0x00)
                                   : _mm_clmulepi64_si128(a.lane[i], b.lane[i], 0x11);
    return a;
}

static void keep_in_register(Model512&) noexcept {}

template <CrcSpec spec>
CrcWord<spec> crc_avx512_model(ConstData data, CrcWord<spec> value) noexcept;
std::uint32_t crc32c_two_ways_model(ConstData data, std::uint32_t value) noexcept;
std::uint32_t copy_crc32c_model(std::byte* to, const std::byte* from, std::size_t size, std::uint32_t value) noexcept;

}  // namespace weir::checksum
WEIR_TARGET_END

#undef WEIR_TARGET_BEGIN
#if defined(__clang__)
#define WEIR_TARGET_BEGIN(set) \
    WEIR_PRAGMA(clang attribute push(__attribute__((target("sse4.2,pclmul"))), apply_to = function))
#else
#define WEIR_TARGET_BEGIN(set) WEIR_PRAGMA(GCC push_options) WEIR_PRAGMA(GCC target("sse4.2,pclmul"))
#endif
// Some headers have macros by these names.
#undef _mm512_maskz_extracti32x4_epi32
#undef _mm512_maskz_shuffle_i64x2
#undef _mm512_ternarylogic_epi64
#undef _mm512_clmulepi64_epi128
#define __m512i Model512
#define _mm512_loadu_si512 model_load
#define _mm512_load_si512 model_load
#define _mm512_stream_si512(at, v) (std::memcpy((at), &(v), 64))
#define _mm512_maskz_broadcast_i32x4 model_broadcast
#define _mm512_zextsi128_si512 model_extend
#define _mm512_maskz_extracti32x4_epi32 model_extract
#define _mm512_shuffle_epi8 model_shuffle
#define _mm512_xor_si512 model_xor
#define _mm512_ternarylogic_epi64 model_ternary
#define _mm512_clmulepi64_epi128 model_clmul
#define _mm512_and_si512 model_and
#define _mm512_maskz_shuffle_i64x2 model_shuffle_lanes
#define crc_vpclmul_avx512 crc_avx512_model
#define crc32c_two_ways_avx512 crc32c_two_ways_model
#define copy_crc32c_avx512 copy_crc32c_model
#include "crc/kernels/crc_vpclmul_avx512.cpp"

namespace weir::checksum {
namespace {

class CrcAvx512 : public testing::Test {
protected:
    void SetUp() override {
        const auto has = CpuFeatures::detect();
        if (!has.sse42 || !has.pclmul)
            GTEST_SKIP() << "NOT TESTED: the AVX-512 kernels of the CRCs, whose model needs a processor with PCLMULQDQ";
    }
    std::vector<std::byte> bytes = test::random_bytes(7000, 51);
};

template <CrcSpec spec>
void every_size_is_right(ConstData bytes) {
    const auto start = static_cast<CrcWord<spec>>(0x9abcdef012345678);
    for (std::size_t size = 0; size <= bytes.size(); size += size < 1500 ? 1 : 17) {
        const auto data = bytes.last(size);
        ASSERT_EQ(crc_avx512_model<spec>(data, start), crc_portable<spec>(data, start)) << size;
    }
}

TEST_F(CrcAvx512, ModelledInstructionsGiveTheRightCrc32AtEverySize) { every_size_is_right<crc32_spec>(bytes); }
TEST_F(CrcAvx512, ModelledInstructionsGiveTheRightCrc32cAtEverySize) { every_size_is_right<crc32c_spec>(bytes); }
TEST_F(CrcAvx512, ModelledInstructionsGiveTheRightCksumAtEverySize) { every_size_is_right<cksum_spec>(bytes); }
TEST_F(CrcAvx512, ModelledInstructionsGiveTheRightCrc64XzAtEverySize) { every_size_is_right<crc64_xz_spec>(bytes); }
TEST_F(CrcAvx512, ModelledInstructionsGiveTheRightCrc64NvmeAtEverySize) { every_size_is_right<crc64_nvme_spec>(bytes); }
TEST_F(CrcAvx512, ModelledInstructionsGiveTheRightCrc64Ecma182AtEverySize) {
    every_size_is_right<crc64_ecma182_spec>(bytes);
}

TEST_F(CrcAvx512, ModelledInstructionsBesideTheCrc32InstructionGiveTheRightCrc32c) {
    const auto long_bytes = test::random_bytes(10'000, 52);
    for (std::size_t size = 0; size <= long_bytes.size(); size += size < 3500 ? 1 : 11) {
        const auto data = ConstData(long_bytes).last(size);
        ASSERT_EQ(crc32c_two_ways_model(data, 0x9abcdef0), crc_portable<crc32c_spec>(data, 0x9abcdef0)) << size;
    }
}

TEST_F(CrcAvx512, ModelledInstructionsCopyWhatTheySum) {
    for (std::size_t size = 128; size <= 6784; size += 128) {
        std::vector<std::byte> copy(size);
        ASSERT_EQ(copy_crc32c_model(copy.data(), bytes.data() + 1, size, 77),
                  crc_portable<crc32c_spec>(ConstData(bytes).subspan(1, size), 77))
            << size;
        ASSERT_TRUE(std::ranges::equal(copy, ConstData(bytes).subspan(1, size))) << size;
    }
}

}  // namespace
}  // namespace weir::checksum
#endif

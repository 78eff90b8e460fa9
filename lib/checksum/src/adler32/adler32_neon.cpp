// SPDX-License-Identifier: Apache-2.0
// adler32 on NEON. A unit is four vectors, 64 bytes; the products of two of them fit in 16 bits and are
// added in pairs to lanes of 32.
#include "implementations.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>

#include <array>
#include <cstring>

#include "adler32/adler32_modulus.hpp"

namespace weir::checksum {
namespace {

#include "adler32/adler32_dots.hpp"

constexpr auto factors = [] {  // 64 ... 1
    std::array<std::uint8_t, 64> places{};
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::uint8_t>(64 - i);
    return places;
}();

struct Neon {
    static constexpr std::size_t width = 64;
    static constexpr std::uint64_t extra_weight = 0;
    static constexpr std::uint32_t sum_max = 4 * 4 * 255;
    static constexpr std::uint32_t weigh_max = 2 * 255 * (64 + 56 + 48 + 40 + 32 + 24 + 16 + 8);

    using Lane32 = uint32x4_t;
    using Unit = uint8x16x4_t;

    static Unit load(const std::byte* at) noexcept { return vld1q_u8_x4(reinterpret_cast<const std::uint8_t*>(at)); }
    static Unit mask(const Unit& a, const Unit& b) noexcept {
        return {{vandq_u8(a.val[0], b.val[0]), vandq_u8(a.val[1], b.val[1]), vandq_u8(a.val[2], b.val[2]),
                 vandq_u8(a.val[3], b.val[3])}};
    }
    static Lane32 zero() noexcept { return vdupq_n_u32(0); }
    static Lane32 add(Lane32 x, Lane32 y) noexcept { return vaddq_u32(x, y); }
    static Lane32 sum(const Unit& bytes) noexcept {
        const auto ab = vpadalq_u8(vpaddlq_u8(bytes.val[0]), bytes.val[1]);
        const auto cd = vpadalq_u8(vpaddlq_u8(bytes.val[2]), bytes.val[3]);
        return vpaddlq_u16(vaddq_u16(ab, cd));
    }
    static Lane32 weigh(const Unit& bytes) noexcept {
        const auto places = vld1q_u8_x4(factors.data());
        // A lane holds at most 255 * (64 + 56 + 48 + 40) = 53040 of the first two vectors.
        const auto ab = products(products(vdupq_n_u16(0), bytes.val[0], places.val[0]), bytes.val[1], places.val[1]);
        const auto cd = products(products(vdupq_n_u16(0), bytes.val[2], places.val[2]), bytes.val[3], places.val[3]);
        return vpadalq_u16(vpaddlq_u16(ab), cd);
    }
    static std::uint64_t total(Lane32 lanes) noexcept { return vaddlvq_u32(lanes); }

private:
    static uint16x8_t products(uint16x8_t sum, uint8x16_t bytes, uint8x16_t places) noexcept {
        return vmlal_high_u8(vmlal_u8(sum, vget_low_u8(bytes), vget_low_u8(places)), bytes, places);
    }
};

}  // namespace

std::uint32_t adler32_neon(ConstData data, std::uint32_t value) noexcept {
    return adler32_over<Adler32Dots<Neon>>(data, value);
}

}  // namespace weir::checksum
#endif

// SPDX-License-Identifier: Apache-2.0
// CRCs by ISA-L, which folds with carry-less multiplication as well and chooses the width itself: 64 bytes with
// AVX-512, 16 without. With AVX-512 it leaves the upper halves of vector registers in use, and what a program compiled
// for any x86-64 does next then stalls (170 ns on Emerald Rapids): so they are cleared behind it.
//
// Its functions differ in what they invert: crc32_iscsi leaves it to the caller, those that are not inverted in our
// sense are inverted here to make up for it, and some count bytes in an int.
#include "implementations.hpp"

#if defined(WEIR_HAVE_ISAL) && defined(__x86_64__)
#include <isa-l/crc.h>
#include <isa-l/crc64.h>

#include <immintrin.h>

#include <algorithm>

#include "weir/base/cpu.hpp"
#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx")
namespace weir::checksum {
namespace {

void clear_upper_halves() noexcept { _mm256_zeroupper(); }

}  // namespace
}  // namespace weir::checksum
WEIR_TARGET_END

namespace weir::checksum {
namespace {

template <class Sum>
Sum tidied(Sum sum) noexcept {
    static const bool has_upper_halves = CpuFeatures::detect().avx2;
    if (has_upper_halves) clear_upper_halves();
    return sum;
}

}  // namespace

std::uint32_t crc32_isal(ConstData data, std::uint32_t value) noexcept {
    return tidied(crc32_gzip_refl(value, reinterpret_cast<const unsigned char*>(data.data()), data.size()));
}

std::uint32_t crc32c_isal(ConstData data, std::uint32_t value) noexcept {
    constexpr std::size_t piece_max = std::size_t{1} << 30;
    std::uint32_t sum = ~value;
    while (!data.empty()) {
        const auto piece = data.first(std::min(data.size(), piece_max));
        // The parameter is not const in the interface; the function only reads.
        auto* const bytes = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(piece.data()));
        sum = crc32_iscsi(bytes, static_cast<int>(piece.size()), sum);
        data = data.subspan(piece.size());
    }
    return tidied(~sum);
}

std::uint32_t cksum_isal(ConstData data, std::uint32_t value) noexcept {
    return tidied(~crc32_ieee(~value, reinterpret_cast<const unsigned char*>(data.data()), data.size()));
}

std::uint64_t crc64_xz_isal(ConstData data, std::uint64_t value) noexcept {
    return tidied(crc64_ecma_refl(value, reinterpret_cast<const unsigned char*>(data.data()), data.size()));
}

std::uint64_t crc64_ecma182_isal(ConstData data, std::uint64_t value) noexcept {
    return tidied(~crc64_ecma_norm(~value, reinterpret_cast<const unsigned char*>(data.data()), data.size()));
}

}  // namespace weir::checksum
#endif

// SPDX-License-Identifier: Apache-2.0
// The functions of the files that bind an algorithm to an instruction set, for the lists in kernels.cpp. Each may only
// be called on a processor with the features that its line in the list requires.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crc/crc_field.hpp"
#include "weir/base/data.hpp"

namespace weir::checksum {

std::uint32_t adler32_portable(ConstData data, std::uint32_t value) noexcept;

/// For each of the CRCs that crc_spec.hpp describes.
template <CrcSpec spec>
CrcWord<spec> crc_portable(ConstData data, CrcWord<spec> value) noexcept;
template <CrcSpec spec>
CrcWord<spec> crc_multiply_portable(CrcWord<spec> a, CrcWord<spec> b) noexcept;

std::uint32_t copy_adler32_in_blocks(std::byte* to, const std::byte* from, std::size_t size,
                                     std::uint32_t value) noexcept;
std::uint32_t copy_crc32c_in_blocks(std::byte* to, const std::byte* from, std::size_t size,
                                    std::uint32_t value) noexcept;
void copy_lines_portable(std::byte* to, const std::byte* from, std::size_t size, std::size_t behind) noexcept;

#if defined(__x86_64__)
std::uint32_t adler32_ssse3(ConstData data, std::uint32_t value) noexcept;
std::uint32_t adler32_avx2(ConstData data, std::uint32_t value) noexcept;
std::uint32_t adler32_avx2_prefetch(ConstData data, std::uint32_t value) noexcept;
std::uint32_t adler32_avx512_vnni(ConstData data, std::uint32_t value) noexcept;
std::uint32_t adler32_avx512_vnni_prefetch(ConstData data, std::uint32_t value) noexcept;
template <CrcSpec spec>
CrcWord<spec> crc_pclmul(ConstData data, CrcWord<spec> value) noexcept;
template <CrcSpec spec>
CrcWord<spec> crc_vpclmul_avx2(ConstData data, CrcWord<spec> value) noexcept;
template <CrcSpec spec>
CrcWord<spec> crc_vpclmul_avx512(ConstData data, CrcWord<spec> value) noexcept;
template <CrcSpec spec>
CrcWord<spec> crc_gfni_avx512(ConstData data, CrcWord<spec> value) noexcept;
std::uint32_t crc32c_sse42(ConstData data, std::uint32_t value) noexcept;
std::uint32_t crc32c_two_ways_avx2(ConstData data, std::uint32_t value) noexcept;
std::uint32_t crc32c_two_ways_avx512(ConstData data, std::uint32_t value) noexcept;
template <CrcSpec spec>
CrcWord<spec> crc_multiply_pclmul(CrcWord<spec> a, CrcWord<spec> b) noexcept;
std::uint32_t crc32c_multiply_pclmul(std::uint32_t a, std::uint32_t b) noexcept;
void copy_lines_sse2(std::byte* to, const std::byte* from, std::size_t size, std::size_t behind) noexcept;
void copy_lines_avx2(std::byte* to, const std::byte* from, std::size_t size, std::size_t behind) noexcept;
std::uint32_t copy_adler32_avx512_vnni(std::byte* to, const std::byte* from, std::size_t size,
                                       std::uint32_t value) noexcept;
std::uint32_t copy_crc32c_avx512(std::byte* to, const std::byte* from, std::size_t size, std::uint32_t value) noexcept;
void copy_lines_avx512(std::byte* to, const std::byte* from, std::size_t size, std::size_t behind) noexcept;
#if defined(WEIR_HAVE_ISAL)
std::uint32_t crc32_isal(ConstData data, std::uint32_t value) noexcept;
std::uint32_t crc32c_isal(ConstData data, std::uint32_t value) noexcept;
std::uint32_t cksum_isal(ConstData data, std::uint32_t value) noexcept;
std::uint64_t crc64_xz_isal(ConstData data, std::uint64_t value) noexcept;
std::uint64_t crc64_ecma182_isal(ConstData data, std::uint64_t value) noexcept;
#endif
#endif

#if defined(__aarch64__)
std::uint32_t adler32_neon(ConstData data, std::uint32_t value) noexcept;
std::uint32_t crc32_arm(ConstData data, std::uint32_t value) noexcept;
std::uint32_t crc32c_arm(ConstData data, std::uint32_t value) noexcept;
#endif

}  // namespace weir::checksum

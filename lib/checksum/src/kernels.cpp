// SPDX-License-Identifier: Apache-2.0
// The lists: portable first, best last.
#include "weir/checksum/kernels.hpp"

#include "implementations.hpp"

namespace weir::checksum {
namespace {

constexpr bool always(const CpuFeatures&) noexcept { return true; }

constexpr SumKernel adler32_list[] = {
    {"portable", always, adler32_portable},
#if defined(__x86_64__)
    {"ssse3", [](const CpuFeatures& has) noexcept { return has.ssse3; }, adler32_ssse3},
    {"avx2", [](const CpuFeatures& has) noexcept { return has.avx2; }, adler32_avx2},
    {"avx2-prefetch", [](const CpuFeatures& has) noexcept { return has.avx2 && has.prefetch_helps; },
     adler32_avx2_prefetch},
    {"avx512-vnni", [](const CpuFeatures& has) noexcept { return has.avx512_vnni; }, adler32_avx512_vnni},
    {"avx512-vnni-prefetch", [](const CpuFeatures& has) noexcept { return has.avx512_vnni && has.prefetch_helps; },
     adler32_avx512_vnni_prefetch},
#elif defined(__aarch64__)
    {"neon", [](const CpuFeatures& has) noexcept { return has.neon; }, adler32_neon},
#endif
};

// ISA-L folds 16 bytes at a time where there is no AVX-512: half of what our AVX2 kernels take. With AVX-512 it folds
// 64, as ours do, a tenth slower on Emerald Rapids (crc_bench); there crc32c in two ways is slower than folding alone.
#if defined(__x86_64__)
constexpr bool has_pclmul(const CpuFeatures& has) noexcept { return has.sse42 && has.pclmul; }
constexpr bool has_vpclmul(const CpuFeatures& has) noexcept { return has_pclmul(has) && has.avx2 && has.vpclmul; }
constexpr bool has_vpclmul_512(const CpuFeatures& has) noexcept { return has_vpclmul(has) && has.avx512; }
constexpr bool has_gfni_512(const CpuFeatures& has) noexcept { return has_vpclmul_512(has) && has.gfni; }
#endif

constexpr SumKernel crc32_list[] = {
    {"portable", always, crc_portable<crc32_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc_pclmul<crc32_spec>},
#if defined(WEIR_HAVE_ISAL)
    {"isa-l", has_pclmul, crc32_isal},
#endif
    {"vpclmul-avx2", has_vpclmul, crc_vpclmul_avx2<crc32_spec>},
    {"vpclmul-avx512", has_vpclmul_512, crc_vpclmul_avx512<crc32_spec>},
#elif defined(__aarch64__)
    {"armv8-crc", [](const CpuFeatures& has) noexcept { return has.arm_crc32; }, crc32_arm},
#endif
};

constexpr SumKernel crc32c_list[] = {
    {"portable", always, crc_portable<crc32c_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc_pclmul<crc32c_spec>},
    {"sse4.2", has_pclmul, crc32c_sse42},
#if defined(WEIR_HAVE_ISAL)
    {"isa-l", has_pclmul, crc32c_isal},
#endif
    {"vpclmul-avx2", has_vpclmul, crc_vpclmul_avx2<crc32c_spec>},
    {"two-ways-avx2", has_vpclmul, crc32c_two_ways_avx2},
    {"two-ways-avx512", has_vpclmul_512, crc32c_two_ways_avx512},
    {"vpclmul-avx512", has_vpclmul_512, crc_vpclmul_avx512<crc32c_spec>},
#elif defined(__aarch64__)
    {"armv8-crc", [](const CpuFeatures& has) noexcept { return has.arm_crc32; }, crc32c_arm},
#endif
};

constexpr SumKernel cksum_list[] = {
    {"portable", always, crc_portable<cksum_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc_pclmul<cksum_spec>},
#if defined(WEIR_HAVE_ISAL)
    {"isa-l", has_pclmul, cksum_isal},
#endif
    {"vpclmul-avx2", has_vpclmul, crc_vpclmul_avx2<cksum_spec>},
    {"vpclmul-avx512", has_vpclmul_512, crc_vpclmul_avx512<cksum_spec>},
    {"gfni-avx512", has_gfni_512, crc_gfni_avx512<cksum_spec>},
#endif
};

constexpr Sum64Kernel crc64_xz_list[] = {
    {"portable", always, crc_portable<crc64_xz_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc_pclmul<crc64_xz_spec>},
#if defined(WEIR_HAVE_ISAL)
    {"isa-l", has_pclmul, crc64_xz_isal},
#endif
    {"vpclmul-avx2", has_vpclmul, crc_vpclmul_avx2<crc64_xz_spec>},
    {"vpclmul-avx512", has_vpclmul_512, crc_vpclmul_avx512<crc64_xz_spec>},
#endif
};

constexpr Sum64Kernel crc64_nvme_list[] = {
    {"portable", always, crc_portable<crc64_nvme_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc_pclmul<crc64_nvme_spec>},
    {"vpclmul-avx2", has_vpclmul, crc_vpclmul_avx2<crc64_nvme_spec>},
    {"vpclmul-avx512", has_vpclmul_512, crc_vpclmul_avx512<crc64_nvme_spec>},
#endif
};

constexpr Sum64Kernel crc64_ecma182_list[] = {
    {"portable", always, crc_portable<crc64_ecma182_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc_pclmul<crc64_ecma182_spec>},
#if defined(WEIR_HAVE_ISAL)
    {"isa-l", has_pclmul, crc64_ecma182_isal},
#endif
    {"vpclmul-avx2", has_vpclmul, crc_vpclmul_avx2<crc64_ecma182_spec>},
    {"vpclmul-avx512", has_vpclmul_512, crc_vpclmul_avx512<crc64_ecma182_spec>},
    {"gfni-avx512", has_gfni_512, crc_gfni_avx512<crc64_ecma182_spec>},
#endif
};

constexpr MultiplyKernel crc32_multiply_list[] = {
    {"portable", always, crc_multiply_portable<crc32_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc_multiply_pclmul<crc32_spec>},
#endif
};

constexpr MultiplyKernel crc32c_multiply_list[] = {
    {"portable", always, crc_multiply_portable<crc32c_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc32c_multiply_pclmul},
#endif
};

constexpr MultiplyKernel cksum_multiply_list[] = {
    {"portable", always, crc_multiply_portable<cksum_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc_multiply_pclmul<cksum_spec>},
#endif
};

constexpr Multiply64Kernel crc64_xz_multiply_list[] = {
    {"portable", always, crc_multiply_portable<crc64_xz_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc_multiply_pclmul<crc64_xz_spec>},
#endif
};

constexpr Multiply64Kernel crc64_nvme_multiply_list[] = {
    {"portable", always, crc_multiply_portable<crc64_nvme_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc_multiply_pclmul<crc64_nvme_spec>},
#endif
};

constexpr Multiply64Kernel crc64_ecma182_multiply_list[] = {
    {"portable", always, crc_multiply_portable<crc64_ecma182_spec>},
#if defined(__x86_64__)
    {"pclmul", has_pclmul, crc_multiply_pclmul<crc64_ecma182_spec>},
#endif
};

constexpr CopyLinesKernel non_temporal_list[] = {
    {"memcpy", always, copy_lines_portable},
#if defined(__x86_64__)
    {"sse2", always, copy_lines_sse2},  // part of x86-64
    {"avx2", [](const CpuFeatures& has) noexcept { return has.avx2; }, copy_lines_avx2},
    {"avx512", [](const CpuFeatures& has) noexcept { return has.avx512; }, copy_lines_avx512},
#endif
};

constexpr CopySumKernel copy_adler32_list[] = {
    {"blocks", always, copy_adler32_in_blocks},
#if defined(__x86_64__)
    {"avx512-vnni", [](const CpuFeatures& has) noexcept { return has.avx512_vnni; }, copy_adler32_avx512_vnni},
#endif
};

constexpr CopySumKernel copy_crc32c_list[] = {
    {"blocks", always, copy_crc32c_in_blocks},
#if defined(__x86_64__)
    {"vpclmul-avx512", has_vpclmul_512, copy_crc32c_avx512},
#endif
};

}  // namespace

std::span<const SumKernel> adler32_kernels() noexcept { return adler32_list; }
std::span<const SumKernel> crc32_kernels() noexcept { return crc32_list; }
std::span<const SumKernel> crc32c_kernels() noexcept { return crc32c_list; }
std::span<const SumKernel> cksum_kernels() noexcept { return cksum_list; }
std::span<const Sum64Kernel> crc64_xz_kernels() noexcept { return crc64_xz_list; }
std::span<const Sum64Kernel> crc64_nvme_kernels() noexcept { return crc64_nvme_list; }
std::span<const Sum64Kernel> crc64_ecma182_kernels() noexcept { return crc64_ecma182_list; }
std::span<const MultiplyKernel> crc32_multiply_kernels() noexcept { return crc32_multiply_list; }
std::span<const MultiplyKernel> crc32c_multiply_kernels() noexcept { return crc32c_multiply_list; }
std::span<const MultiplyKernel> cksum_multiply_kernels() noexcept { return cksum_multiply_list; }
std::span<const Multiply64Kernel> crc64_xz_multiply_kernels() noexcept { return crc64_xz_multiply_list; }
std::span<const Multiply64Kernel> crc64_nvme_multiply_kernels() noexcept { return crc64_nvme_multiply_list; }
std::span<const Multiply64Kernel> crc64_ecma182_multiply_kernels() noexcept { return crc64_ecma182_multiply_list; }
std::span<const CopyLinesKernel> non_temporal_kernels() noexcept { return non_temporal_list; }
std::span<const CopySumKernel> copy_adler32_kernels() noexcept { return copy_adler32_list; }
std::span<const CopySumKernel> copy_crc32c_kernels() noexcept { return copy_crc32c_list; }

}  // namespace weir::checksum

// SPDX-License-Identifier: Apache-2.0
// The list: portable first, best last.
#include "weir/serial/record_kernels.hpp"

#include "record_implementations.hpp"

namespace weir::serial {
namespace {

constexpr bool always(const CpuFeatures&) noexcept { return true; }

constexpr RecordKernel list[] = {
    {"portable", always, write_records_portable, read_records_portable},
#if defined(__x86_64__)
    {"ssse3", [](const CpuFeatures& has) noexcept { return has.ssse3; }, write_records_ssse3, read_records_ssse3},
    {"avx2", [](const CpuFeatures& has) noexcept { return has.avx2; }, write_records_avx2, read_records_avx2},
    {"avx512", [](const CpuFeatures& has) noexcept { return has.avx512; }, write_records_avx512, read_records_avx512},
    {"avx512-vbmi", [](const CpuFeatures& has) noexcept { return has.avx512_vbmi; }, write_records_avx512_vbmi,
     read_records_avx512_vbmi},
#elif defined(__aarch64__)
    {"neon", [](const CpuFeatures& has) noexcept { return has.neon; }, write_records_neon, read_records_neon},
#endif
};

}  // namespace

std::span<const RecordKernel> record_kernels() noexcept { return list; }

}  // namespace weir::serial

// SPDX-License-Identifier: Apache-2.0
// Record plans on AVX-512 with VBMI: vpermb puts 64 bytes in any order at once.
#include "record_implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi")
namespace weir::serial {
namespace {

#include "record_xmm.hpp"

#include "record_masked_steps.hpp"

class Permute {
public:
    explicit Permute(__m512i table) noexcept : table_(table), kept_(~_mm512_movepi8_mask(table)) {}
    __m512i operator()(__m512i bytes) const noexcept { return _mm512_maskz_permutexvar_epi8(kept_, table_, bytes); }
    __m512i loosely(__m512i bytes) const noexcept { return _mm512_permutexvar_epi8(table_, bytes); }

private:
    __m512i table_;
    __mmask64 kept_;
};

}  // namespace

void write_records_avx512_vbmi(const RecordPlan& plan, const std::byte* objects, std::size_t count,
                               std::byte* wire) noexcept {
    write_masked<Permute>(plan, objects, count, wire);
}

std::size_t read_records_avx512_vbmi(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                                     std::byte* objects) noexcept {
    return read_masked<Permute>(plan, wire, count, objects);
}

}  // namespace weir::serial
WEIR_TARGET_END
#endif

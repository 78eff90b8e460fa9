// SPDX-License-Identifier: Apache-2.0
// Record plans on AVX-512 without VBMI (Skylake to Cooper Lake): words can go anywhere, bytes within 16. So the words
// with the wanted bytes are fetched twice, for even and for odd places, and each place then takes its byte of its word.
#include "record_implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512dq")
namespace weir::serial {
namespace {

#include "record_xmm.hpp"

#include "record_masked_steps.hpp"

class Permute {
public:
    explicit Permute(__m512i table) noexcept
        : even_words_(_mm512_and_si512(_mm512_srli_epi16(table, 1), _mm512_set1_epi16(0x1f))),
          odd_words_(_mm512_and_si512(_mm512_srli_epi16(table, 9), _mm512_set1_epi16(0x1f))) {
        const auto own_word =
            _mm512_maskz_broadcast_i32x4(0xffff, _mm_set_epi64x(0x0e0e0c0c0a0a0808, 0x0606040402020000));
        within_ = _mm512_or_si512(own_word, _mm512_and_si512(table, _mm512_set1_epi8(static_cast<char>(0x81))));
    }
    __m512i operator()(__m512i bytes) const noexcept {
        constexpr __mmask64 odd = 0xaaaaaaaaaaaaaaaa;
        const auto even_places = _mm512_shuffle_epi8(_mm512_permutexvar_epi16(even_words_, bytes), within_);
        return _mm512_mask_shuffle_epi8(even_places, odd, _mm512_permutexvar_epi16(odd_words_, bytes), within_);
    }
    __m512i loosely(__m512i bytes) const noexcept { return (*this)(bytes); }

private:
    __m512i even_words_, odd_words_, within_;
};

}  // namespace

void write_records_avx512(const RecordPlan& plan, const std::byte* objects, std::size_t count,
                          std::byte* wire) noexcept {
    write_masked<Permute>(plan, objects, count, wire);
}

std::size_t read_records_avx512(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                                std::byte* objects) noexcept {
    return read_masked<Permute>(plan, wire, count, objects);
}

}  // namespace weir::serial
WEIR_TARGET_END
#endif

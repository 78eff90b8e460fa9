// SPDX-License-Identifier: Apache-2.0
// Record plans on AVX2: the steps of SSSE3, as no instruction moves bytes between its halves; integers 32 bytes at a
// time.
#include "record_implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("avx2")
namespace weir::serial {
namespace {

#include "record_narrow_steps.hpp"
#include "record_xmm.hpp"

struct Avx2 : Xmm {
    static void turn(std::uint32_t integer, const std::byte* from, std::size_t size, std::byte* to) noexcept {
        const auto places = _mm256_broadcastsi128_si256(turned_places(integer));
        for (; size >= 128; size -= 128, from += 128, to += 128)
            for (std::size_t part = 0; part < 128; part += 32) turn_one(from + part, places, to + part);
        for (; size >= 32; size -= 32, from += 32, to += 32) turn_one(from, places, to);
        turn_portable(integer, from, size, to);
    }

private:
    static void turn_one(const std::byte* from, __m256i places, std::byte* to) noexcept {
        const auto bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_shuffle_epi8(bytes, places));
    }
};

}  // namespace

void write_records_avx2(const RecordPlan& plan, const std::byte* objects, std::size_t count, std::byte* wire) noexcept {
    write_narrow<Avx2>(plan, objects, count, wire);
}

std::size_t read_records_avx2(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                              std::byte* objects) noexcept {
    return read_narrow<Avx2>(plan, wire, count, objects);
}

}  // namespace weir::serial
WEIR_TARGET_END
#endif

// SPDX-License-Identifier: Apache-2.0
#include "serialize/serialize_limits.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "peers/subjects.hpp"
#include "weir/base/cpu.hpp"

namespace weir::app {
namespace {

using bench_data::Thing;
using bench_data::Things;
static_assert(sizeof(Thing) == 4);

using Move = void(const std::byte* from, std::byte* to, std::size_t ints) noexcept;

void copy(const std::byte* from, std::byte* to, std::size_t ints) noexcept { std::memcpy(to, from, ints * 4); }

/// What the compiler makes of the loop that one writes.
void swap_loop(const std::byte* from, std::byte* to, std::size_t ints) noexcept {
    for (std::size_t i = 0; i < ints; ++i) {
        std::uint32_t value = 0;
        std::memcpy(&value, from + i * 4, 4);
        value = __builtin_bswap32(value);
        std::memcpy(to + i * 4, &value, 4);
    }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void swap_avx2(const std::byte* from, std::byte* to, std::size_t ints) noexcept {
    const __m256i order = _mm256_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9,
                                          10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    std::size_t i = 0;
    for (; i + 8 <= ints; i += 8) {
        const auto value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i * 4));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * 4), _mm256_shuffle_epi8(value, order));
    }
    swap_loop(from + i * 4, to + i * 4, ints - i);
}

[[gnu::target("avx512f,avx512bw")]] void swap_avx512(const std::byte* from, std::byte* to, std::size_t ints) noexcept {
    const __m512i order =
        _mm512_maskz_broadcast_i32x4(0xffff, _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
    std::size_t i = 0;
    for (; i + 16 <= ints; i += 16) {
        const auto value = _mm512_loadu_si512(from + i * 4);
        _mm512_storeu_si512(to + i * 4, _mm512_shuffle_epi8(value, order));
    }
    swap_avx2(from + i * 4, to + i * 4, ints - i);  // not a masked store: they are slow on some processors
}
#endif

/// u32 count, then the ints.
template <Move* move>
class Moved {
public:
    void write(const Things& things) {
        if (const auto enough = 4 + things.size() * 4; bytes_.size() != enough) bytes_.resize(enough);
        const auto count = static_cast<std::uint32_t>(things.size());
        std::memcpy(bytes_.data(), &count, 4);
        move(reinterpret_cast<const std::byte*>(things.data()), bytes_.data() + 4, things.size());
    }
    void read(Things& things) {
        std::uint32_t count = 0;
        std::memcpy(&count, bytes_.data(), 4);
        if (things.size() != count) things.resize(count);
        move(bytes_.data() + 4, reinterpret_cast<std::byte*>(things.data()), count);
    }
    [[nodiscard]] const std::byte* data() const { return bytes_.data(); }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }

private:
    std::vector<std::byte> bytes_;
};

/// As many bytes as the members of the event have, in one piece: without its vectors and strings.
class Lump {
public:
    void write(const Things& things) {
        bytes_.resize(things.size() * 4);
        std::memcpy(bytes_.data(), things.data(), bytes_.size());
    }
    void read(Things& things) {
        things.resize(bytes_.size() / 4);
        std::memcpy(things.data(), bytes_.data(), bytes_.size());
    }
    [[nodiscard]] const std::byte* data() const { return bytes_.data(); }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }

private:
    std::vector<std::byte> bytes_;
};

std::size_t bytes_of(const bench_data::Event& event) {
    std::size_t bytes = 20 + event.stream.size() + event.hits.size() * 10;
    for (const auto& trigger : event.triggers) bytes += trigger.size();
    for (const auto& track : event.tracks) bytes += 28 + track.hits.size() * 4;
    for (const auto& cells : event.calorimeter) bytes += cells.size() * 4;
    return bytes;
}

}  // namespace

void add_serialize_limits(jobs::Jobs& jobs) {
    for (const int count : {10, 1000}) {
        const auto things = bench_data::things(count);
        const auto subject = std::to_string(count);
        add_codec(jobs, memcpy_limit, subject, Moved<copy>(), things);
#if defined(__x86_64__)
        const auto has = CpuFeatures::detect();
        if (has.avx512) add_codec(jobs, "limit: byte swap, AVX-512", subject, Moved<swap_avx512>(), things);
        if (has.avx2) add_codec(jobs, "limit: byte swap, AVX2", subject, Moved<swap_avx2>(), things);
#endif
        add_codec(jobs, "limit: byte swap, a loop", subject, Moved<swap_loop>(), things);
    }
    const auto ints = static_cast<int>((bytes_of(bench_data::event()) + 3) / 4);
    add_codec(jobs, memcpy_limit, "event", Lump(), bench_data::things(ints));
}

}  // namespace weir::app

// SPDX-License-Identifier: Apache-2.0
// CRC-32C with the crc32 instruction of SSE4.2, which takes eight bytes and answers after three cycles, but starts one
// every cycle. Few bytes go through it one after another. More are cut into three streams of the same length, summed
// side by side: what the first two have at the end of their bytes is moved ahead to the end of the third by one
// multiplication each, whose product needs no reduction, because it is added to the last eight bytes there and the
// instruction reduces it with them. The length of a stream is what the message allows, so that no more than 23 bytes
// are left. Included like crc_fold.hpp, by those that bind it.
#pragma once

struct Crc32cInstruction {
    using Field = CrcField<crc32c_spec>;

    [[gnu::always_inline]] static std::uint32_t sum(ConstData data, std::uint32_t value) noexcept {
        const std::byte* at = data.data();
        std::size_t size = data.size();
        std::uint64_t sum = static_cast<std::uint32_t>(~value);
        if (size >= streams_from) [[unlikely]]
            sum = in_streams(sum, at, size);
        while (size >= 64) [[unlikely]] {
            sum = words<8>(sum, at);
            size -= 64;
        }
        if ((size & 32) != 0) sum = words<4>(sum, at);
        if ((size & 16) != 0) sum = words<2>(sum, at);
        if ((size & 8) != 0) sum = words<1>(sum, at);
        auto rest = static_cast<std::uint32_t>(sum);
        if ((size & 7) == 0) return ~rest;
        if ((size & 4) != 0) {
            rest = _mm_crc32_u32(rest, load<std::uint32_t>(at));
            at += 4;
        }
        if ((size & 2) != 0) {
            rest = _mm_crc32_u16(rest, load<std::uint16_t>(at));
            at += 2;
        }
        if ((size & 1) != 0) rest = _mm_crc32_u8(rest, std::to_integer<std::uint8_t>(*at));
        return ~rest;
    }

private:
    static constexpr std::size_t streams_from = 144;
    static constexpr std::size_t words_max = 170;  // of a stream; three are just under a page

    /// ahead[n] moves a register ahead by n times eight bytes, as eight bytes that end there. (A product of reflected
    /// polynomials has one x too many, and 32 more are those that every CRC appends.)
    static constexpr auto ahead = [] {
        std::array<std::uint32_t, 2 * words_max + 1> powers{};
        auto power = Field::power_of_x(64 - 33);
        constexpr auto step = Field::power_of_x(64);
        for (std::size_t n = 1; n < powers.size(); ++n, power = Field::multiply(power, step)) powers[n] = power;
        return powers;
    }();

    template <class Word>
    static Word load(const std::byte* at) noexcept {
        Word word;
        std::memcpy(&word, at, sizeof word);
        return word;
    }

    template <std::size_t count>
    [[gnu::always_inline]] static std::uint64_t words(std::uint64_t sum, const std::byte*& at) noexcept {
#pragma GCC unroll 8
        for (std::size_t i = 0; i < count; ++i) sum = _mm_crc32_u64(sum, load<std::uint64_t>(at + 8 * i));
        at += 8 * count;
        return sum;
    }

    static __m128i moved(std::uint64_t sum, std::size_t words) noexcept {
        return _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(sum)),
                                    _mm_cvtsi32_si128(static_cast<int>(ahead[words])), 0);
    }

    [[gnu::noinline]] static std::uint64_t in_streams(std::uint64_t first, const std::byte*& at,
                                                      std::size_t& size) noexcept {
        do {
            const std::size_t words = size / 24 < words_max ? size / 24 : words_max;
            const std::size_t stream = 8 * words;
            std::uint64_t second = 0;
            std::uint64_t third = 0;
            const std::byte* const last = at + (stream - 8);
            for (; at != last; at += 8) {
                first = _mm_crc32_u64(first, load<std::uint64_t>(at));
                second = _mm_crc32_u64(second, load<std::uint64_t>(at + stream));
                third = _mm_crc32_u64(third, load<std::uint64_t>(at + 2 * stream));
            }
            first = _mm_crc32_u64(first, load<std::uint64_t>(at));
            second = _mm_crc32_u64(second, load<std::uint64_t>(at + stream));
            const auto both = _mm_xor_si128(moved(first, 2 * words), moved(second, words));
            first = _mm_crc32_u64(
                third, load<std::uint64_t>(at + 2 * stream) ^ static_cast<std::uint64_t>(_mm_cvtsi128_si64(both)));
            at += 2 * stream + 8;
            size -= 3 * stream;
        } while (size >= streams_from);
        return first;
    }
};

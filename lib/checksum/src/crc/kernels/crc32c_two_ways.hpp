// SPDX-License-Identifier: Apache-2.0
// CRC-32C in two ways at once: one part of every chunk is folded by the vector unit, while the other goes through
// the crc32 instruction, which is another unit. Each way alone is bound by its own unit. Included like
// crc_fold.hpp, by those that bind the folding.
//
// A chunk of the message is four short streams for the instruction, then the part that is folded. What a stream
// has at the end of its bytes is moved ahead to where it goes on in the next chunk by one multiplication, whose
// product needs no reduction: it is added to the first eight bytes there, and the instruction reduces it with
// them. So all of it advances through the message in one place, and the caches see one reader.
#pragma once

#include "crc/kernels/crc32c_instruction.hpp"
#include "crc/kernels/crc_fold.hpp"

template <class Unit>
struct Crc32cTwoWays {
    using Fold = CrcFold<Unit, crc32c_spec>;
    using Field = CrcField<crc32c_spec>;
    using Lane = typename Unit::Lane;
    static constexpr std::size_t steps = 16;  // a vector each, and eight bytes of every stream
    static constexpr std::size_t streams = 4;
    static constexpr std::size_t stream = steps * 8;
    static constexpr std::size_t folded = steps * Unit::width;
    static constexpr std::size_t chunk = streams * stream + folded;
    static_assert(steps % Unit::columns == 0);

    static std::uint32_t sum(ConstData data, std::uint32_t value) noexcept {
        if (data.size() < Unit::crc32c_folds_from) return Crc32cInstruction::sum(data, value);
        if (data.size() < chunk) return Fold::sum_of_a_lane_or_more(data, value);
        return sum_of_a_chunk_or_more(data, value);
    }

private:
    [[gnu::noinline]] static std::uint32_t sum_of_a_chunk_or_more(ConstData data, std::uint32_t value) noexcept {
        const std::size_t rest = data.size() % chunk;
        const std::size_t whole = data.size() - rest;
        value = ~chunks(data.data(), data.data() + whole, ~value);
        return Fold::sum({data.data() + whole, rest}, value);
    }

    static std::uint64_t load8(const std::byte* at) noexcept {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        return word;
    }

    /// The register, moved ahead by `bytes`, as eight bytes that end there. The product has one x too many.
    template <std::size_t bytes>
    static typename Lane::Vector ahead(std::uint64_t sum) noexcept {
        constexpr std::uint64_t factor = Field::power_of_x(8 * bytes - 33);
        return Lane::product(Lane::low(sum), Lane::low(factor));
    }

    static std::uint32_t chunks(const std::byte* at, const std::byte* end, std::uint32_t start) noexcept {
        typename Unit::Vector vectors[Unit::columns];
        std::uint64_t sums[streams] = {start};
        one_chunk<true>(at, vectors, sums);
        for (at += chunk; at != end; at += chunk) {
            for (auto& sum : sums) sum = Lane::low_of(ahead<chunk - stream + 8>(sum));
            one_chunk<false>(at, vectors, sums);
        }
        auto lane = Unit::template one_lane<crc32c_spec>(Fold::join(vectors));
        lane = Lane::add(lane, last_half(ahead<3 * stream + folded>(sums[0])));
        lane = Lane::add(lane, last_half(ahead<2 * stream + folded>(sums[1])));
        lane = Lane::add(lane, last_half(ahead<1 * stream + folded>(sums[2])));
        lane = Lane::add(lane, last_half(ahead<folded>(sums[3])));
        return Fold::Constants::narrow(Lane::template reduce<crc32c_spec>(lane));
    }

    /// Eight bytes as the end of a lane.
    static typename Lane::Vector last_half(typename Lane::Vector v) noexcept { return _mm_slli_si128(v, 8); }

    static constexpr auto over_streams = Fold::ahead_by(Fold::turn + streams * stream);

    template <bool first>
    static void one_chunk(const std::byte* at, typename Unit::Vector* vectors, std::uint64_t* sums) noexcept {
        constexpr std::size_t columns = Unit::columns;
        constexpr std::size_t share = chunk / steps;
        const std::byte* const fold_at = at + streams * stream;
#pragma GCC unroll 16
        for (std::size_t step = 0; step < steps; ++step) {
            for (std::size_t line = 0; line < share; line += 64)
                // Beyond the data at its end: addresses only, as numbers.
                __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(at) + step * share +
                                                                 line + Unit::two_ways_prefetch_ahead));
            const auto next = Fold::load(fold_at + step * Unit::width);
            auto& vector = vectors[step % columns];
            if (first && step < columns) vector = next;
            else if (step < columns) vector = Unit::fold(vector, Unit::constants(&over_streams), next);
            else vector = Unit::fold(vector, Unit::constants(&Fold::turn_ahead), next);
#pragma GCC unroll 4
            for (std::size_t i = 0; i < streams; ++i) {
                const auto word = load8(at + i * stream + step * 8);
                sums[i] = step == 0 && !first ? _mm_crc32_u64(0, sums[i] ^ word) : _mm_crc32_u64(sums[i], word);
            }
        }
    }
};

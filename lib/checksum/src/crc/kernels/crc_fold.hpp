// SPDX-License-Identifier: Apache-2.0
// A CRC by folding, once for all vector widths and for both orders of bits. Included by the files that bind it
// to an instruction set, within their anonymous namespace and between WEIR_TARGET_BEGIN and _END.
//
// Several vectors run through the message side by side, because the answer of a multiplication is waited for
// longer than it takes to start the next: each is moved ahead by the length of a turn and takes up what lies
// there. Then their number is halved again and again, down to one vector, one lane, and one sum; after each halving
// they take up what is left of the message if it is as long as they are together. So every bit of the size, from a turn
// down to a lane, is one question, and no part of a message is folded more often than once for each time it is moved.
//
// Unit has: Vector, width (bytes), columns (vectors side by side), load<reflected>(p), prefetch_ahead (how far behind
// what is loaded lines are asked for while there is more; 0: not at all) and prefetch_from (bytes of a message),
// constants(p) (of all lanes, aligned), add(a, b), fold(vector, constants, next), start<reflected>(half),
// one_lane<spec>(vector), and crc32c_folds_from (below that many bytes the crc32 instruction is sooner) and
// vectors_from (the same for lanes one by one). What works on a single lane is the same for all widths of an
// architecture: Lane (crc_lane_x86.hpp), which is a Unit as well.
#pragma once

#include "crc/kernels/crc32c_instruction.hpp"
#include "crc/kernels/crc_few_bytes.hpp"
#include "keep_in_register.hpp"

template <class Unit, CrcSpec spec>
struct CrcFold {
    using Constants = CrcConstants<spec>;
    using Word = typename Constants::Word;
    using Vector = typename Unit::Vector;
    using Lane = typename Unit::Lane;
    static constexpr std::size_t width = Unit::width;
    static constexpr std::size_t columns = Unit::columns;
    static constexpr std::size_t turn = columns * width;
    static_assert(std::has_single_bit(turn) && std::has_single_bit(width));

    static Vector load(const std::byte* at) noexcept { return Unit::template load<spec.reflected>(at); }

    /// Called as tap(place, vector) with each whole vector: a copy on the way (copy_and_sum.hpp). This one does
    /// nothing.
    struct NoTap {
        [[gnu::always_inline]] void operator()(const std::byte*, Vector) const noexcept {}
    };

    static Word sum(ConstData data, Word value) noexcept {
        if constexpr (spec == crc32c_spec) {
            static_assert(Unit::crc32c_folds_from >= width);
            if (data.size() < Unit::crc32c_folds_from) return Crc32cInstruction::sum(data, value);
        } else {
            if (data.size() < Lane::width) [[unlikely]]
                return crc_of_few_bytes<Lane, spec>(data, value);
        }
        return sum_of_a_lane_or_more(data, value);
    }

    /// Of crc32c: of a vector or more.
    template <class Tap = NoTap>
    [[gnu::always_inline]] static Word sum_of_a_lane_or_more(ConstData data, Word value, const Tap& tap = {}) noexcept {
        const std::byte* at = data.data();
        const std::size_t size = data.size();
        const std::uint64_t start = Constants::widen(value ^ static_cast<Word>(spec.xor_out));
        if constexpr (spec == crc32c_spec) {
            const auto vector = vectors_of<columns>(Unit::template start<spec.reflected>(start), at, size, tap);
            const auto sum = Constants::narrow(Lane::template reduce<spec>(Unit::template one_lane<spec>(vector)));
            return size % width == 0 ? ~sum : Crc32cInstruction::sum({at, size % width}, ~sum);
        } else {
            if constexpr (width > Lane::width) {
                if (size < Unit::vectors_from) return sum_of_lanes(at, size, start);
            }
            const auto vector = vectors_of<columns>(Unit::template start<spec.reflected>(start), at, size, tap);
            auto lane = Unit::template one_lane<spec>(vector);
            if constexpr (width > Lane::width) {
                for (std::size_t left = size % width; left >= Lane::width; left -= Lane::width, at += Lane::width)
                    lane = Lane::fold(lane, Lane::constants(&lane_ahead), Lane::template load<spec.reflected>(at));
            }
            return finish(lane, at, size % Lane::width);
        }
    }

    /// Vectors that lie one behind the other in the message, as one that ends where the last does.
    static Vector join(Vector* vectors) noexcept {
        const std::byte* nowhere = nullptr;
        return halved<columns>(vectors, nowhere, 0, NoTap{});
    }

    struct alignas(width) Ahead {
        CrcPair lanes[width / Lane::width];
    };
    /// The factor that moves a vector ahead by so many bytes.
    [[nodiscard]] static constexpr Ahead ahead_by(std::size_t bytes) noexcept {
        Ahead ahead{};
        for (auto& lane : ahead.lanes) lane = Constants::ahead(bytes);
        return ahead;
    }
    static constexpr Ahead turn_ahead = ahead_by(turn);

private:
    static constexpr CrcPair lane_ahead = Constants::ahead(Lane::width);
    template <std::size_t vectors>
    static constexpr Ahead vectors_ahead = ahead_by(vectors * width);

    template <class Tap>
    [[gnu::always_inline]] static Vector tapped(const std::byte* at, const Tap& tap) noexcept {
        const auto vector = load(at);
        tap(at, vector);
        return vector;
    }

    /// The next vector of the message; moves `at` behind it. Where a vector is a line of the cache, its address depends
    /// on the one before by an addition: loads whose addresses are known together may start in either order, and lines
    /// that are not asked for in their order come from memory up to a third slower (Emerald Rapids, from 256 bytes on).
    /// The distance is in a register that the compiler knows nothing about: a small constant would be added without a
    /// wait.
    template <class Tap>
    [[gnu::always_inline]] static Vector take(const std::byte*& at, const Tap& tap) noexcept {
        const auto vector = tapped(at, tap);
        std::size_t distance = width;
        if constexpr (width == 64) __asm__("" : "+r"(distance));
        at += distance;
        if constexpr (width == 64) __asm__("" : "+r"(at));
        return vector;
    }

    /// Few lanes, one after another: a vector would have to be made of them and taken apart again.
    [[gnu::always_inline]] static Word sum_of_lanes(const std::byte* at, std::size_t size,
                                                    std::uint64_t start) noexcept {
        auto lane = Lane::add(Lane::template load<spec.reflected>(at), Lane::template start<spec.reflected>(start));
#pragma GCC unroll 16
        for (std::size_t place = Lane::width; place + Lane::width <= Unit::vectors_from; place += Lane::width) {
            if (size < place + Lane::width) break;
            lane = Lane::fold(lane, Lane::constants(&lane_ahead), Lane::template load<spec.reflected>(at + place));
        }
        return finish(lane, at + size / Lane::width * Lane::width, size % Lane::width);
    }

    /// With the last bytes, fewer than a lane.
    [[gnu::always_inline]] static Word finish(typename Lane::Vector lane, const std::byte* at,
                                              std::size_t size) noexcept {
        if (size != 0) lane = append(lane, at, size);
        return Constants::narrow(Lane::template reduce<spec>(lane)) ^ static_cast<Word>(spec.xor_out);
    }

    /// Takes up all whole vectors of the message, of which there is one at least, and moves `at` behind them.
    template <std::size_t count, class Tap>
    [[gnu::always_inline]] static Vector vectors_of(Vector start, const std::byte*& at, std::size_t size,
                                                    const Tap& tap) noexcept {
        if constexpr (count == 1) {
            const auto only = Unit::add(tapped(at, tap), start);
            at += width;
            return only;
        } else {
            if (size < count * width) return vectors_of<count / 2>(start, at, size, tap);
            Vector vectors[count];
            vectors[0] = Unit::add(take(at, tap), start);
#pragma GCC unroll 16
            for (std::size_t i = 1; i < count; ++i) vectors[i] = take(at, tap);
            if constexpr (count == columns) {
                if (size >= 2 * turn) [[unlikely]]  // a jump is noticed in short messages, not in long ones
                    take_turns(vectors, at, size - turn, tap);
            }
            return halved<count>(vectors, at, size, tap);
        }
    }

    template <std::size_t count, class Tap>
    [[gnu::always_inline]] static Vector halved(Vector* vectors, const std::byte*& at, std::size_t size,
                                                const Tap& tap) noexcept {
        if constexpr (count == 1) {
            return vectors[0];
        } else {
            constexpr std::size_t half = count / 2;
            const auto step = Unit::constants(&vectors_ahead<half>);
#pragma GCC unroll 16
            for (std::size_t i = 0; i < half; ++i) vectors[i] = Unit::fold(vectors[i], step, vectors[half + i]);
            if ((size & half * width) != 0) {
#pragma GCC unroll 16
                for (std::size_t i = 0; i < half; ++i) vectors[i] = Unit::fold(vectors[i], step, take(at, tap));
            }
            return halved<half>(vectors, at, size, tap);
        }
    }

    /// As many whole turns as there are in `size` bytes, which come behind the first turn of the message. Lines are
    /// asked for as far as these bytes reach.
    template <class Tap>
    [[gnu::always_inline]] static void take_turns(Vector* vectors, const std::byte*& at, std::size_t size,
                                                  const Tap& tap) noexcept {
        const auto step = Unit::constants(&turn_ahead);
        if constexpr (Unit::prefetch_ahead != 0) {
            if (turn + size >= Unit::prefetch_from) {
                for (; size >= turn + Unit::prefetch_ahead; size -= turn) fold_turn<true>(vectors, step, at, tap);
            }
        }
        for (; size >= turn; size -= turn) fold_turn<false>(vectors, step, at, tap);
    }

    template <bool prefetch, class Tap>
    [[gnu::always_inline]] static void fold_turn(Vector* vectors, Vector step, const std::byte*& at,
                                                 const Tap& tap) noexcept {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < columns; ++i) {
            if (prefetch && i * width % 64 == 0) __builtin_prefetch(at + Unit::prefetch_ahead);
            vectors[i] = Unit::fold(vectors[i], step, take(at, tap));
        }
#pragma GCC unroll 16
        for (std::size_t i = 0; i < columns; ++i) keep_in_register(vectors[i]);
    }

    /// The last bytes, fewer than a lane. The lane and they are together a bit more than a lane: what is more
    /// comes first and is folded into the rest.
    static typename Lane::Vector append(typename Lane::Vector lane, const std::byte* at, std::size_t size) noexcept {
        const auto last = Lane::template load<spec.reflected>(at + size - Lane::width);  // the message is a lane long
        const auto more = Lane::template first_bytes<spec.reflected>(lane, size);
        const auto rest = Lane::template shift_in<spec.reflected>(lane, last, size);
        return Lane::fold(more, Lane::constants(&lane_ahead), rest);
    }
};

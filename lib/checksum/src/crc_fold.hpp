// SPDX-License-Identifier: Apache-2.0
// A CRC by folding, once for all vector widths and for both orders of bits. Included by the files that bind it
// to an instruction set, within their anonymous namespace and between WEIR_TARGET_BEGIN and _END.
//
// Several vectors run through the message side by side, because the answer of a multiplication is waited for
// longer than it takes to start the next: each is moved ahead by the length of a turn and takes up what lies
// there. Then they are joined to one vector, one lane, and one sum.
//
// Unit has: Vector, width (bytes), columns (vectors side by side), load<reflected>(p), prefetch_ahead (how far behind
// what is loaded lines are asked for while there is more; 0: not at all), pairs(CrcPair) (in every lane), add(a, b),
// fold(vector, pairs, next), start<reflected>(half), and one_lane<spec>(vector). What works on a single lane is the same for all widths of an
// architecture: Lane (crc_lane_x86.hpp), which is a Unit as well.
#pragma once

template <class Unit, CrcSpec spec>
struct CrcFold {
    using Constants = CrcConstants<spec>;
    using Word = typename Constants::Word;
    using Vector = typename Unit::Vector;
    using Lane = typename Unit::Lane;
    static constexpr std::size_t width = Unit::width;
    static constexpr std::size_t columns = Unit::columns;
    static constexpr std::size_t turn = columns * width;

    static Vector load(const std::byte* at) noexcept { return Unit::template load<spec.reflected>(at); }

    /// Called as tap(place, vector) with each whole vector: a copy on the way (copy_and_sum.hpp). This one does nothing.
    struct NoTap {
        [[gnu::always_inline]] void operator()(const std::byte*, Vector) const noexcept {}
    };

    template <class Tap = NoTap>
    static Word sum(ConstData data, Word value, const Tap& tap = {}) noexcept {
        if (data.size() < Lane::width) return crc_portable<spec>(data, value);
        return sum_of_a_lane_or_more(data, value, tap);
    }

    template <class Tap = NoTap>
    static Word sum_of_a_lane_or_more(ConstData data, Word value, const Tap& tap = {}) noexcept {
        const std::byte* at = data.data();
        std::size_t size = data.size();
        const std::uint64_t start = Constants::widen(value ^ static_cast<Word>(spec.xor_out));
        typename Lane::Vector lane;
        if (size >= width) {
            Vector vector = Unit::add(tapped(at, tap), Unit::template start<spec.reflected>(start));
            at += width;
            size -= width;
            if (size >= turn - width) vector = fold_turns(vector, at, size, tap);
            const auto step = Unit::pairs(ahead.by[1]);
            for (; size >= width; size -= width, at += width) vector = Unit::fold(vector, step, tapped(at, tap));
            lane = Unit::template one_lane<spec>(vector);
        } else {
            lane = Lane::add(Lane::template load<spec.reflected>(at), Lane::template start<spec.reflected>(start));
            at += Lane::width;
            size -= Lane::width;
        }
        if constexpr (width > Lane::width) {
            const auto step = Lane::pairs(lane_ahead);
            for (; size >= Lane::width; size -= Lane::width, at += Lane::width)
                lane = Lane::fold(lane, step, Lane::template load<spec.reflected>(at));
        }
        if (size != 0) lane = append(lane, at, size);
        return Constants::narrow(Lane::template reduce<spec>(lane)) ^ static_cast<Word>(spec.xor_out);
    }

    /// Vectors that lie one behind the other in the message, as one that ends where the last does.
    static Vector join(const Vector* vectors) noexcept {
        Vector joined = vectors[columns - 1];
#pragma GCC unroll 16
        for (std::size_t i = 0; i + 1 < columns; ++i)
            joined = Unit::fold(vectors[i], Unit::pairs(ahead.by[columns - 1 - i]), joined);
        return joined;
    }

    struct Ahead {
        CrcPair by[columns + 1];  // by so many vectors; by 0 is not used
    };
    static constexpr Ahead ahead = [] {
        Ahead pairs{};
        for (std::size_t vectors = 1; vectors <= columns; ++vectors)
            pairs.by[vectors] = Constants::ahead(vectors * width);
        return pairs;
    }();

private:
    static constexpr CrcPair lane_ahead = Constants::ahead(Lane::width);

    template <class Tap>
    [[gnu::always_inline]] static Vector tapped(const std::byte* at, const Tap& tap) noexcept {
        const auto vector = load(at);
        tap(at, vector);
        return vector;
    }

    /// Takes `first` and as many whole turns as there are; `at` is behind `first`.
    template <class Tap>
    [[gnu::always_inline]] static Vector fold_turns(Vector first, const std::byte*& at, std::size_t& size, const Tap& tap) noexcept {
        Vector vectors[columns];
        vectors[0] = first;
#pragma GCC unroll 16
        for (std::size_t i = 1; i < columns; ++i) vectors[i] = tapped(at + (i - 1) * width, tap);
        at += turn - width;
        size -= turn - width;
        const auto step = Unit::pairs(ahead.by[columns]);
        if constexpr (Unit::prefetch_ahead != 0) {
            for (; size >= turn + Unit::prefetch_ahead; size -= turn, at += turn) fold_turn<true>(vectors, step, at, tap);
        }
        for (; size >= turn; size -= turn, at += turn) fold_turn<false>(vectors, step, at, tap);
        return join(vectors);
    }

    template <bool prefetch, class Tap>
    [[gnu::always_inline]] static void fold_turn(Vector* vectors, Vector step, const std::byte* at, const Tap& tap) noexcept {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < columns; ++i) {
            if (prefetch && i * width % 64 == 0) __builtin_prefetch(at + i * width + Unit::prefetch_ahead);
            vectors[i] = Unit::fold(vectors[i], step, tapped(at + i * width, tap));
        }
    }

    /// The last bytes, fewer than a lane. The lane and they are together a bit more than a lane: what is more
    /// comes first and is folded into the rest.
    static typename Lane::Vector append(typename Lane::Vector lane, const std::byte* at, std::size_t size) noexcept {
        const auto last = Lane::template load<spec.reflected>(at + size - Lane::width);  // the message is a lane long
        const auto more = Lane::template first_bytes<spec.reflected>(lane, size);
        const auto rest = Lane::template shift_in<spec.reflected>(lane, last, size);
        return Lane::fold(more, Lane::pairs(lane_ahead), rest);
    }
};

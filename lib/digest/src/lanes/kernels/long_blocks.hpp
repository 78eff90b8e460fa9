// SPDX-License-Identifier: Apache-2.0
// sha384, sha512 (FIPS 180-4), sha3-256 (FIPS 202) and blake2b (RFC 7693) as their standards write them: the second
// opinion about OpenSSL's. Each is a state that takes blocks; the last one, full or not, is taken by finish().
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "weir/base/data.hpp"
#include "weir/base/endian.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {

/// sha512, and sha384, which begins elsewhere and is cut off.
class Sha512 {
public:
    static constexpr std::size_t block_size = 128;

    explicit Sha512(Algorithm algorithm) noexcept : algorithm_(algorithm) { reset(); }

    void reset() noexcept { state_ = algorithm_ == Algorithm::sha384 ? initial_384 : initial_512; }

    void take(ConstData block) noexcept {
        std::array<std::uint64_t, 80> w;
        for (std::size_t i = 0; i < 16; ++i) w[i] = load_big<std::uint64_t>(block, 8 * i);
        for (std::size_t i = 16; i < 80; ++i) {
            const auto s0 = std::rotr(w[i - 15], 1) ^ std::rotr(w[i - 15], 8) ^ w[i - 15] >> 7;
            const auto s1 = std::rotr(w[i - 2], 19) ^ std::rotr(w[i - 2], 61) ^ w[i - 2] >> 6;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        auto [a, b, c, d, e, f, g, h] = state_;
        for (std::size_t i = 0; i < 80; ++i) {
            const auto s1 = std::rotr(e, 14) ^ std::rotr(e, 18) ^ std::rotr(e, 41);
            const auto t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
            const auto s0 = std::rotr(a, 28) ^ std::rotr(a, 34) ^ std::rotr(a, 39);
            const auto t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
        const std::array sums{a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < 8; ++i) state_[i] += sums[i];
    }

    /// `rest`: up to a block; `length`: of all, below 2^61 bytes.
    [[nodiscard]] Digest finish(ConstData rest, std::uint64_t length) const noexcept {
        auto last = *this;
        std::array<std::byte, 2 * block_size> end{};
        std::ranges::copy(rest, end.begin());
        end[rest.size()] = std::byte{0x80};
        const std::size_t size = rest.size() + 17 <= block_size ? block_size : 2 * block_size;
        store_big<std::uint64_t>(end, size - 8, length * 8);
        for (std::size_t at = 0; at < size; at += block_size) last.take(ConstData(end).subspan(at, block_size));
        std::array<std::byte, 64> bytes;
        for (std::size_t i = 0; i < 8; ++i) store_big<std::uint64_t>(bytes, 8 * i, last.state_[i]);
        return Digest::of_bytes(algorithm_, ConstData(bytes).first(digest_size(algorithm_)));
    }

private:
    using State = std::array<std::uint64_t, 8>;

    // The first 64 bits behind the point of: square roots of the first 8 primes and of the next 8; cube roots of the
    // first 80.
    static constexpr State initial_512{0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                       0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
    static constexpr State initial_384{0xcbbb9d5dc1059ed8, 0x629a292a367cd507, 0x9159015a3070dd17, 0x152fecd8f70e5939,
                                       0x67332667ffc00b31, 0x8eb44a8768581511, 0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4};
    static constexpr std::array<std::uint64_t, 80> round_constants{
        0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
        0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
        0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
        0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
        0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
        0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
        0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
        0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
        0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
        0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
        0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
        0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
        0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
        0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
        0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
        0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817};

    Algorithm algorithm_;
    State state_;
};

/// sha3-256: the sponge of Keccak with 136 bytes a turn.
class Sha3 {
public:
    static constexpr std::size_t block_size = 136;

    void reset() noexcept { state_ = {}; }

    void take(ConstData block) noexcept {
        for (std::size_t i = 0; i < block_size / 8; ++i) state_[i] ^= load_little<std::uint64_t>(block, 8 * i);
        permute();
    }

    [[nodiscard]] Digest finish(ConstData rest, std::uint64_t) const noexcept {
        auto last = *this;
        if (rest.size() == block_size) {
            last.take(rest);
            rest = {};
        }
        std::array<std::byte, block_size> end{};
        std::ranges::copy(rest, end.begin());
        end[rest.size()] = std::byte{0x06};
        end.back() |= std::byte{0x80};
        last.take(end);
        std::array<std::byte, 32> bytes;
        for (std::size_t i = 0; i < 4; ++i) store_little<std::uint64_t>(bytes, 8 * i, last.state_[i]);
        return Digest::of_bytes(Algorithm::sha3_256, bytes);
    }

private:
    /// Keccak-f[1600]; the word in column x of row y is state_[x + 5 * y].
    void permute() noexcept {
        for (const auto round_constant : round_constants) {
            std::array<std::uint64_t, 5> columns;
            for (std::size_t x = 0; x < 5; ++x)
                columns[x] = state_[x] ^ state_[x + 5] ^ state_[x + 10] ^ state_[x + 15] ^ state_[x + 20];
            for (std::size_t x = 0; x < 5; ++x) {
                const auto mix = columns[(x + 4) % 5] ^ std::rotl(columns[(x + 1) % 5], 1);
                for (std::size_t y = 0; y < 5; ++y) state_[x + 5 * y] ^= mix;
            }
            // Words go round in one cycle of 24 places, the nth turned by 1 + 2 + ... + n bits.
            auto moved = state_[1];
            for (std::size_t n = 1, x = 1, y = 0; n <= 24; ++n) {
                const auto next_y = (2 * x + 3 * y) % 5;
                x = y, y = next_y;
                const auto there = state_[x + 5 * y];
                state_[x + 5 * y] = std::rotl(moved, static_cast<int>(n * (n + 1) / 2 % 64));
                moved = there;
            }
            for (std::size_t y = 0; y < 25; y += 5) {
                std::array<std::uint64_t, 5> row;
                for (std::size_t x = 0; x < 5; ++x) row[x] = state_[x + y];
                for (std::size_t x = 0; x < 5; ++x) state_[x + y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]);
            }
            state_[0] ^= round_constant;
        }
    }

    static constexpr std::array<std::uint64_t, 24> round_constants{
        0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
        0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
        0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
        0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
        0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

    std::array<std::uint64_t, 25> state_{};
};

/// blake2b of 512 bits, without a key.
class Blake2b {
public:
    static constexpr std::size_t block_size = 128;

    Blake2b() noexcept { reset(); }

    void reset() noexcept {
        state_ = initial;
        state_[0] ^= 0x01010040;  // a value of 64 bytes, no key, no tree
        taken_ = 0;
    }

    void take(ConstData block) noexcept { compress(block, taken_ += block_size, false); }

    [[nodiscard]] Digest finish(ConstData rest, std::uint64_t length) const noexcept {
        auto last = *this;
        std::array<std::byte, block_size> end{};
        std::ranges::copy(rest, end.begin());
        last.compress(end, length, true);
        std::array<std::byte, 64> bytes;
        for (std::size_t i = 0; i < 8; ++i) store_little<std::uint64_t>(bytes, 8 * i, last.state_[i]);
        return Digest::of_bytes(Algorithm::blake2b, bytes);
    }

private:
    void compress(ConstData block, std::uint64_t length, bool last) noexcept {
        std::array<std::uint64_t, 16> m, v;
        for (std::size_t i = 0; i < 16; ++i) m[i] = load_little<std::uint64_t>(block, 8 * i);
        std::ranges::copy(state_, v.begin());
        std::ranges::copy(initial, v.begin() + 8);
        v[12] ^= length;
        if (last) v[14] = ~v[14];
        for (std::size_t round = 0; round < 12; ++round) {
            const auto& order = orders[round % 10];
            const auto mix = [&](std::size_t a, std::size_t b, std::size_t c, std::size_t d, std::size_t n) {
                v[a] += v[b] + m[order[2 * n]];
                v[d] = std::rotr(v[d] ^ v[a], 32);
                v[c] += v[d];
                v[b] = std::rotr(v[b] ^ v[c], 24);
                v[a] += v[b] + m[order[2 * n + 1]];
                v[d] = std::rotr(v[d] ^ v[a], 16);
                v[c] += v[d];
                v[b] = std::rotr(v[b] ^ v[c], 63);
            };
            for (std::size_t i = 0; i < 4; ++i) mix(i, i + 4, i + 8, i + 12, i);
            for (std::size_t i = 0; i < 4; ++i) mix(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12, i + 4);
        }
        for (std::size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
    }

    static constexpr std::array<std::uint64_t, 8> initial{// as sha512
                                                          0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                                          0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                                          0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
    static constexpr std::array<std::array<std::uint8_t, 16>, 10> orders{
        {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
         {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
         {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
         {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
         {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
         {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
         {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
         {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
         {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
         {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}}};

    std::array<std::uint64_t, 8> state_;
    std::uint64_t taken_ = 0;
};

/// One of these as the engine of a sum.
template <class Hash>
class LongBlockEngine final : public Engine {
public:
    explicit LongBlockEngine(Hash hash) noexcept : hash_(hash) {}

    void add(ConstData data) override {
        length_ += data.size();
        while (!data.empty()) {
            if (held_ == Hash::block_size) {  // more follows, so it is not the last
                hash_.take(begun_);
                held_ = 0;
            }
            const auto part = data.first(std::min(data.size(), Hash::block_size - held_));
            std::ranges::copy(part, begun_.begin() + static_cast<std::ptrdiff_t>(held_));
            held_ += part.size();
            data = data.subspan(part.size());
        }
    }
    [[nodiscard]] Digest value() const override { return hash_.finish(ConstData(begun_).first(held_), length_); }
    void reset() override {
        hash_.reset();
        held_ = 0;
        length_ = 0;
    }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<LongBlockEngine>(*this); }

private:
    Hash hash_;
    std::array<std::byte, Hash::block_size> begun_{};
    std::size_t held_ = 0;
    std::uint64_t length_ = 0;
};

}  // namespace weir::digest

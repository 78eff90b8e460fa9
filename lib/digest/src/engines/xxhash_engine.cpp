// SPDX-License-Identifier: Apache-2.0
// xxHash by its library. The plain symbols of Debian's build of XXH3 are SSE2; the "dispatch" ones choose
// AVX2 or AVX-512 at run time, three times as fast.
#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // renames XXH3_* to XXH3_*_dispatch
#endif

#include <array>

#include "engines/engines.hpp"
#include "engines/xxhash_wide.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/cpu.hpp"
#include "weir/base/endian.hpp"

namespace weir::digest {
namespace {

Digest of(std::uint64_t high, std::uint64_t low) {
    std::array<std::byte, 16> bytes;
    store_big<std::uint64_t>(bytes, 0, high);
    store_big<std::uint64_t>(bytes, 8, low);
    return Digest::of_bytes(Algorithm::xxh3_128, bytes);
}

Digest of(const XXH128_hash_t& hash) { return of(hash.high64, hash.low64); }

struct AtOnce {
    std::uint64_t (*sum_64)(const std::byte* data, std::size_t size) noexcept;
    Xxh3Value128 (*sum_128)(const std::byte* data, std::size_t size) noexcept;
};

std::uint64_t library_64(const std::byte* data, std::size_t size) noexcept { return XXH3_64bits(data, size); }
Xxh3Value128 library_128(const std::byte* data, std::size_t size) noexcept {
    const auto hash = XXH3_128bits(data, size);
    return {hash.high64, hash.low64};
}

AtOnce chosen() {
#if defined(__x86_64__)
    const auto has = CpuFeatures::detect();
    if (has.avx512) return {xxh3_64_avx512, xxh3_128_avx512};
    if (has.avx2) return {xxh3_64_avx2, xxh3_128_avx2};
#endif
    return {library_64, library_128};
}

// The states belong to the library, which may make them larger one day.
struct Free {
    void operator()(XXH32_state_t* state) const noexcept { XXH32_freeState(state); }
    void operator()(XXH64_state_t* state) const noexcept { XXH64_freeState(state); }
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

class Xxh32Engine final : public Engine {
public:
    Xxh32Engine() : state_(XXH32_createState()) {
        WEIR_ASSERT(state_ != nullptr);
        Xxh32Engine::reset();
    }
    void add(ConstData data) override { XXH32_update(state_.get(), data.data(), data.size()); }
    [[nodiscard]] Digest value() const override {
        return Digest::of_number(Algorithm::xxh32, XXH32_digest(state_.get()));
    }
    void reset() override { XXH32_reset(state_.get(), 0); }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override {
        auto copy = std::make_unique<Xxh32Engine>();
        XXH32_copyState(copy->state_.get(), state_.get());
        return copy;
    }

private:
    std::unique_ptr<XXH32_state_t, Free> state_;
};

class Xxh64Engine final : public Engine {
public:
    Xxh64Engine() : state_(XXH64_createState()) {
        WEIR_ASSERT(state_ != nullptr);
        Xxh64Engine::reset();
    }
    void add(ConstData data) override { XXH64_update(state_.get(), data.data(), data.size()); }
    [[nodiscard]] Digest value() const override {
        return Digest::of_number(Algorithm::xxh64, XXH64_digest(state_.get()));
    }
    void reset() override { XXH64_reset(state_.get(), 0); }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override {
        auto copy = std::make_unique<Xxh64Engine>();
        XXH64_copyState(copy->state_.get(), state_.get());
        return copy;
    }

private:
    std::unique_ptr<XXH64_state_t, Free> state_;
};

class Xxh3Engine final : public Engine {
public:
    explicit Xxh3Engine(Algorithm algorithm) : state_(XXH3_createState()), wide_(algorithm == Algorithm::xxh3_128) {
        WEIR_ASSERT(state_ != nullptr);
        Xxh3Engine::reset();
    }
    void add(ConstData data) override {
        if (wide_) XXH3_128bits_update(state_.get(), data.data(), data.size());
        else XXH3_64bits_update(state_.get(), data.data(), data.size());
    }
    [[nodiscard]] Digest value() const override {
        return wide_ ? of(XXH3_128bits_digest(state_.get()))
                     : Digest::of_number(Algorithm::xxh3_64, XXH3_64bits_digest(state_.get()));
    }
    void reset() override {
        if (wide_) XXH3_128bits_reset(state_.get());
        else XXH3_64bits_reset(state_.get());
    }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override {
        auto copy = std::make_unique<Xxh3Engine>(wide_ ? Algorithm::xxh3_128 : Algorithm::xxh3_64);
        XXH3_copyState(copy->state_.get(), state_.get());
        return copy;
    }

private:
    std::unique_ptr<XXH3_state_t, Free> state_;
    const bool wide_;
};

}  // namespace

std::unique_ptr<Engine> make_xxhash_engine(Algorithm algorithm) {
    if (algorithm == Algorithm::xxh32) return std::make_unique<Xxh32Engine>();
    if (algorithm == Algorithm::xxh64) return std::make_unique<Xxh64Engine>();
    return std::make_unique<Xxh3Engine>(algorithm);
}

std::optional<Digest> xxhash_at_once(Algorithm algorithm, ConstData data) {
    static const auto at_once = chosen();
    switch (algorithm) {
        case Algorithm::xxh32: return Digest::of_number(algorithm, XXH32(data.data(), data.size(), 0));
        case Algorithm::xxh64: return Digest::of_number(algorithm, XXH64(data.data(), data.size(), 0));
        case Algorithm::xxh3_64: return Digest::of_number(algorithm, at_once.sum_64(data.data(), data.size()));
        case Algorithm::xxh3_128: {
            const auto hash = at_once.sum_128(data.data(), data.size());
            return of(hash.high, hash.low);
        }
        default: return std::nullopt;
    }
}

}  // namespace weir::digest

// SPDX-License-Identifier: Apache-2.0
// The headers of xxHash and HighwayHash are made to give their scalar code here, whatever the processor.
#define XXH_INLINE_ALL
#define XXH_VECTOR 0  // XXH_SCALAR
#include <xxhash.h>
#define HH_TARGET_NAME Portable
#include "engines/highwayhash_cat.hpp"

#include <algorithm>
#include <array>

#include "blake3/blake3_hasher.hpp"
#include "lanes/kernels/long_blocks.hpp"
#include "lanes/lane_streams.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/kernels.hpp"
#include "weir/digest/portable.hpp"

namespace weir::digest {
namespace {

/// adler32 and the CRCs: the first kernel of a list is the portable one.
template <auto* kernels, auto start>
class PortableNumber final : public Engine {
public:
    explicit PortableNumber(Algorithm algorithm) : algorithm_(algorithm) {}
    void add(ConstData data) override { value_ = kernels().front().run(data, value_); }
    [[nodiscard]] Digest value() const override { return Digest::of_number(algorithm_, value_); }
    void reset() override { value_ = start; }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<PortableNumber>(*this); }

private:
    const Algorithm algorithm_;
    decltype(start) value_ = start;
};

/// The length stands behind the data, as bytes of it, the lowest first and no more than it needs.
class PortableCksum final : public Engine {
public:
    void add(ConstData data) override {
        running_ = checksum::cksum_kernels().front().run(data, running_);
        length_ += data.size();
    }
    [[nodiscard]] Digest value() const override {
        std::array<std::byte, sizeof length_> bytes;
        store_little<std::uint64_t>(bytes, 0, length_);
        std::size_t used = 0;
        for (auto rest = length_; rest > 0; rest >>= 8) ++used;
        return Digest::of_number(Algorithm::cksum,
                                 ~checksum::cksum_kernels().front().run(ConstData(bytes).first(used), running_));
    }
    void reset() override { running_ = 0, length_ = 0; }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<PortableCksum>(*this); }

private:
    std::uint32_t running_ = 0;
    std::uint64_t length_ = 0;
};

const LaneKernel& portable_lanes(Algorithm algorithm) {
    const auto kernels = lane_kernels(algorithm);
    const auto found = std::ranges::find(kernels, std::string_view("portable"), &LaneKernel::name);
    WEIR_ASSERT(found != kernels.end());
    return *found;
}

/// md5, sha1, sha224, sha256: one stream in the lanes of the portable kernel; the others are empty.
class PortableBlockHash final : public Engine {
public:
    explicit PortableBlockHash(Algorithm algorithm) : stream_(algorithm, 1, portable_lanes(algorithm)) {}
    void add(ConstData data) override {
        const ManySums::Part part{0, data};
        stream_.add({&part, 1});
    }
    [[nodiscard]] Digest value() const override {
        // Its end in the same lanes: LaneStreams leaves the end of a stream that may go on to OpenSSL.
        auto ended = stream_;
        const ManySums::Part end{0, {}, true};
        ended.add({&end, 1});
        return ended.value(0);
    }
    void reset() override { stream_.reset(0); }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<PortableBlockHash>(*this); }

private:
    LaneStreams stream_;
};

class PortableBlake3 final : public Engine {
public:
    void add(ConstData data) override { hasher_.add(data); }
    [[nodiscard]] Digest value() const override { return Digest::of_bytes(Algorithm::blake3, hasher_.value()); }
    void reset() override { hasher_.reset(); }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<PortableBlake3>(*this); }

private:
    blake3::Hasher hasher_{blake3::portable};
};

class PortableXxh32 final : public Engine {
public:
    PortableXxh32() { PortableXxh32::reset(); }
    void add(ConstData data) override { XXH32_update(&state_, data.data(), data.size()); }
    [[nodiscard]] Digest value() const override { return Digest::of_number(Algorithm::xxh32, XXH32_digest(&state_)); }
    void reset() override { XXH32_reset(&state_, 0); }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<PortableXxh32>(*this); }

private:
    XXH32_state_t state_;
};

class PortableXxh64 final : public Engine {
public:
    PortableXxh64() { PortableXxh64::reset(); }
    void add(ConstData data) override { XXH64_update(&state_, data.data(), data.size()); }
    [[nodiscard]] Digest value() const override { return Digest::of_number(Algorithm::xxh64, XXH64_digest(&state_)); }
    void reset() override { XXH64_reset(&state_, 0); }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<PortableXxh64>(*this); }

private:
    XXH64_state_t state_;
};

class PortableXxh3 final : public Engine {
public:
    explicit PortableXxh3(Algorithm algorithm) : wide_(algorithm == Algorithm::xxh3_128) { PortableXxh3::reset(); }
    void add(ConstData data) override {
        if (wide_) XXH3_128bits_update(&state_, data.data(), data.size());
        else XXH3_64bits_update(&state_, data.data(), data.size());
    }
    [[nodiscard]] Digest value() const override {
        if (!wide_) return Digest::of_number(Algorithm::xxh3_64, XXH3_64bits_digest(&state_));
        const auto hash = XXH3_128bits_digest(&state_);
        std::array<std::byte, 16> bytes;
        store_big<std::uint64_t>(bytes, 0, hash.high64);
        store_big<std::uint64_t>(bytes, 8, hash.low64);
        return Digest::of_bytes(Algorithm::xxh3_128, bytes);
    }
    void reset() override {
        if (wide_) XXH3_128bits_reset(&state_);
        else XXH3_64bits_reset(&state_);
    }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<PortableXxh3>(*this); }

private:
    const bool wide_;
    XXH3_state_t state_;
};

}  // namespace

std::unique_ptr<Engine> make_portable_engine(Algorithm algorithm) {
    using namespace checksum;
    constexpr std::uint32_t start_32 = 0;
    constexpr std::uint64_t start_64 = 0;
    switch (algorithm) {
        case Algorithm::adler32: return std::make_unique<PortableNumber<adler32_kernels, adler32_start>>(algorithm);
        case Algorithm::crc32: return std::make_unique<PortableNumber<crc32_kernels, start_32>>(algorithm);
        case Algorithm::cksum: return std::make_unique<PortableCksum>();
        case Algorithm::crc32c: return std::make_unique<PortableNumber<crc32c_kernels, start_32>>(algorithm);
        case Algorithm::crc64_xz: return std::make_unique<PortableNumber<crc64_xz_kernels, start_64>>(algorithm);
        case Algorithm::crc64_nvme: return std::make_unique<PortableNumber<crc64_nvme_kernels, start_64>>(algorithm);
        case Algorithm::crc64_ecma182:
            return std::make_unique<PortableNumber<crc64_ecma182_kernels, start_64>>(algorithm);
        case Algorithm::md5:
        case Algorithm::sha1:
        case Algorithm::sha224:
        case Algorithm::sha256: return std::make_unique<PortableBlockHash>(algorithm);
        case Algorithm::sha384:
        case Algorithm::sha512: return std::make_unique<LongBlockEngine<Sha512>>(Sha512(algorithm));
        case Algorithm::sha3_256: return std::make_unique<LongBlockEngine<Sha3>>(Sha3());
        case Algorithm::blake2b: return std::make_unique<LongBlockEngine<Blake2b>>(Blake2b());
        case Algorithm::xxh32: return std::make_unique<PortableXxh32>();
        case Algorithm::xxh64: return std::make_unique<PortableXxh64>();
        case Algorithm::xxh3_64:
        case Algorithm::xxh3_128: return std::make_unique<PortableXxh3>(algorithm);
        case Algorithm::blake3: return std::make_unique<PortableBlake3>();
        case Algorithm::hwh64: return std::unique_ptr<Engine>(new Portable::HighwayhashEngine);
    }
    WEIR_ASSERT(false);
    return nullptr;
}

}  // namespace weir::digest

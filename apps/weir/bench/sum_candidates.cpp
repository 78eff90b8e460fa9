// SPDX-License-Identifier: Apache-2.0
#include "sum_candidates.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "peer_library.hpp"
#include "weir/base/cpu.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/cksum.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"
#include "weir/digest/summer.hpp"

namespace weir::app {
namespace {

using digest::Algorithm;

const unsigned char* bytes_of(ConstData data) { return reinterpret_cast<const unsigned char*>(data.data()); }

class Candidates {
public:
    void add(Algorithm algorithm, std::string implementation, std::function<std::uint64_t(ConstData)> run) {
        const bool ours = implementation == "weir";
        list.push_back({algorithm, std::move(implementation), !ours, std::move(run)});
    }
    std::vector<SumCandidate> list;
};

void add_ours(Candidates& to) {
    using namespace checksum;
    to.add(Algorithm::adler32, "weir", [](ConstData data) -> std::uint64_t { return adler32(data); });
    to.add(Algorithm::crc32, "weir", [](ConstData data) -> std::uint64_t { return crc32(data); });
    to.add(Algorithm::cksum, "weir", [](ConstData data) -> std::uint64_t { return cksum(data); });
    to.add(Algorithm::crc32c, "weir", [](ConstData data) -> std::uint64_t { return crc32c(data); });
    to.add(Algorithm::crc64_xz, "weir", [](ConstData data) { return crc64_xz(data); });
    to.add(Algorithm::crc64_nvme, "weir", [](ConstData data) { return crc64_nvme(data); });
    to.add(Algorithm::crc64_ecma182, "weir", [](ConstData data) { return crc64_ecma182(data); });
    for (const auto algorithm : {Algorithm::md5, Algorithm::sha1, Algorithm::sha256, Algorithm::xxh64, Algorithm::xxh3_64,
                                 Algorithm::xxh3_128, Algorithm::blake3, Algorithm::hwh64})
        to.add(algorithm, "weir", [algorithm](ConstData data) { return digest::sum(algorithm, data).number(); });
}

void add_zlib(Candidates& to) {
    using Sum = unsigned long(unsigned long, const unsigned char*, std::size_t);
    const PeerLibrary zlib("libz.so.1");
    if (auto* const run = zlib.find<Sum>("adler32_z"))
        to.add(Algorithm::adler32, "zlib", [run](ConstData data) { return run(1, bytes_of(data), data.size()); });
    if (auto* const run = zlib.find<Sum>("crc32_z"))
        to.add(Algorithm::crc32, "zlib", [run](ConstData data) { return run(0, bytes_of(data), data.size()); });
}

void add_libdeflate(Candidates& to) {
    using Sum = std::uint32_t(std::uint32_t, const void*, std::size_t);
    const PeerLibrary deflate("libdeflate.so.0");
    if (auto* const run = deflate.find<Sum>("libdeflate_adler32"))
        to.add(Algorithm::adler32, "libdeflate", [run](ConstData data) -> std::uint64_t { return run(1, data.data(), data.size()); });
    if (auto* const run = deflate.find<Sum>("libdeflate_crc32"))
        to.add(Algorithm::crc32, "libdeflate", [run](ConstData data) -> std::uint64_t { return run(0, data.data(), data.size()); });
}

/// ISA-L leaves the upper halves of vector registers in use, and whatever runs next pays for it (170 ns a call on
/// Emerald Rapids, where a program is compiled for any x86-64). They are cleared, so that each is measured for itself.
template <class Sum>
Sum tidied(Sum sum) {
#if defined(__x86_64__)
    static const bool has_upper_halves = CpuFeatures::detect().avx2;
    if (has_upper_halves) asm volatile("vzeroupper" ::: "memory");
#endif
    return sum;
}

void add_isal(Candidates& to) {
    const PeerLibrary isal("libisal.so.2");
    using Adler = std::uint32_t(std::uint32_t, const unsigned char*, std::uint64_t);
    using Crc32 = std::uint32_t(std::uint32_t, const unsigned char*, std::uint64_t);
    using Iscsi = unsigned(unsigned char*, int, unsigned);
    using Crc64 = std::uint64_t(std::uint64_t, const unsigned char*, std::uint64_t);
    if (auto* const run = isal.find<Adler>("isal_adler32")) {
        to.add(Algorithm::adler32, "isa-l", [run](ConstData data) -> std::uint64_t { return tidied(run(1, bytes_of(data), data.size())); });
    }
    if (auto* const run = isal.find<Crc32>("crc32_gzip_refl"))
        to.add(Algorithm::crc32, "isa-l", [run](ConstData data) -> std::uint64_t { return tidied(run(0, bytes_of(data), data.size())); });
    if (auto* const run = isal.find<Crc32>("crc32_ieee")) {
        to.add(Algorithm::cksum, "isa-l", [run](ConstData data) -> std::uint64_t {
            auto sum = ~run(~0U, bytes_of(data), data.size());
            std::array<unsigned char, 8> tail{};
            std::size_t used = 0;
            for (auto length = data.size(); length != 0; length >>= 8) tail[used++] = static_cast<unsigned char>(length);
            return tidied(~(~run(~sum, tail.data(), used)));
        });
    }
    if (auto* const run = isal.find<Iscsi>("crc32_iscsi")) {
        to.add(Algorithm::crc32c, "isa-l", [run](ConstData data) -> std::uint64_t {
            return tidied(static_cast<std::uint32_t>(~run(const_cast<unsigned char*>(bytes_of(data)), static_cast<int>(data.size()), ~0U)));
        });
    }
    if (auto* const run = isal.find<Crc64>("crc64_ecma_refl")) {
        to.add(Algorithm::crc64_xz, "isa-l", [run](ConstData data) { return tidied(run(0, bytes_of(data), data.size())); });
        to.add(Algorithm::crc64_nvme, "isa-l (crc64-xz)", [run](ConstData data) { return tidied(run(0, bytes_of(data), data.size())); });
        to.list.back().comparable = false;  // 2.30 has no kernel of that polynomial; this is what one would cost
    }
    if (auto* const run = isal.find<Crc64>("crc64_ecma_norm"))
        to.add(Algorithm::crc64_ecma182, "isa-l", [run](ConstData data) { return tidied(~run(~0ULL, bytes_of(data), data.size())); });
}

void add_xxhash(Candidates& to) {
    const PeerLibrary xxhash("libxxhash.so.0");
    using Seeded = std::uint64_t(const void*, std::size_t, std::uint64_t);
    using Hash64 = std::uint64_t(const void*, std::size_t);
    struct Wide {
        std::uint64_t low, high;
    };
    using Hash128 = Wide(const void*, std::size_t);
    if (auto* const run = xxhash.find<Seeded>("XXH64"))
        to.add(Algorithm::xxh64, "xxhash", [run](ConstData data) { return run(data.data(), data.size(), 0); });
    for (const auto* const symbol : {"XXH3_64bits_dispatch", "XXH3_64bits"}) {
        if (auto* const run = xxhash.find<Hash64>(symbol))
            to.add(Algorithm::xxh3_64, symbol, [run](ConstData data) { return run(data.data(), data.size()); });
    }
    for (const auto* const symbol : {"XXH3_128bits_dispatch", "XXH3_128bits"}) {
        if (auto* const run = xxhash.find<Hash128>(symbol))
            to.add(Algorithm::xxh3_128, symbol, [run](ConstData data) { return run(data.data(), data.size()).low; });
    }
}

void add_openssl(Candidates& to) {
    const PeerLibrary crypto("libcrypto.so.3");
    using Method = const void*();
    using Digest = int(const void*, std::size_t, unsigned char*, unsigned*, const void*, void*);
    auto* const run = crypto.find<Digest>("EVP_Digest");
    if (run == nullptr) return;
    for (const auto& [algorithm, symbol] : {std::pair{Algorithm::md5, "EVP_md5"}, std::pair{Algorithm::sha1, "EVP_sha1"},
                                            std::pair{Algorithm::sha256, "EVP_sha256"}}) {
        auto* const method = crypto.find<Method>(symbol);
        if (method == nullptr) continue;
        to.add(algorithm, "openssl", [run, chosen = method()](ConstData data) {
            std::array<unsigned char, 64> value{};
            unsigned size = 0;
            run(data.data(), data.size(), value.data(), &size, chosen, nullptr);
            std::uint64_t last = 0;
            for (unsigned i = size >= 8 ? size - 8 : 0; i < size; ++i) last = last << 8 | value[i];
            return last;
        });
    }
}

}  // namespace

std::vector<SumCandidate> sum_candidates() {
    Candidates all;
    add_ours(all);
    add_zlib(all);
    add_libdeflate(all);
    add_isal(all);
    add_xxhash(all);
    add_openssl(all);
    std::vector<SumCandidate> by_algorithm;
    for (const auto algorithm : digest::algorithms) {
        std::ranges::copy_if(all.list, std::back_inserter(by_algorithm),
                             [algorithm](const SumCandidate& candidate) { return candidate.algorithm == algorithm; });
    }
    return by_algorithm;
}

}  // namespace weir::app

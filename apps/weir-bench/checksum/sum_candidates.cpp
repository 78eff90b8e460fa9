// SPDX-License-Identifier: Apache-2.0
#include "checksum/sum_candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "checksum/peer_library.hpp"
#include "figures/thread_timer.hpp"
#include "weir.h"
#include "weir/base/cpu.hpp"
#include "weir/digest/summer.hpp"

namespace weir::app {
namespace {

using digest::Algorithm;

const unsigned char* bytes_of(ConstData data) { return reinterpret_cast<const unsigned char*>(data.data()); }

class Candidates {
public:
    template <class Run>
    void add(Algorithm algorithm, std::string implementation, Run run) {
        const bool ours = implementation == "weir";
        list.push_back(
            {algorithm, std::move(implementation), !ours, [run](ConstData data, std::uint64_t times, std::size_t step) {
                 std::uint64_t sum = 0;
                 for (std::uint64_t i = 0; i < times; ++i) {
                     sum = run(data);
                     keep(sum);
                     data = {data.data() + step, data.size()};
                 }
                 return sum;
             }});
    }
    std::vector<SumCandidate> list;
};

void add_ours(Candidates& to) {
    // Through pointers, as the peers: what has to be looked up is looked up before.
    const auto add32 = [&](Algorithm algorithm, std::uint32_t (*sum)(const void*, std::size_t, std::uint32_t),
                           std::uint32_t start) {
        to.add(algorithm, "weir",
               [=](ConstData data) -> std::uint64_t { return sum(data.data(), data.size(), start); });
    };
    const auto add64 = [&](Algorithm algorithm, std::uint64_t (*sum)(const void*, std::size_t, std::uint64_t)) {
        to.add(algorithm, "weir", [=](ConstData data) { return sum(data.data(), data.size(), 0); });
    };
    add32(Algorithm::adler32, weir_adler32, 1);
    add32(Algorithm::crc32, weir_crc32, 0);
    add32(Algorithm::crc32c, weir_crc32c, 0);
    add64(Algorithm::crc64_xz, weir_crc64_xz);
    add64(Algorithm::crc64_nvme, weir_crc64_nvme);
    add64(Algorithm::crc64_ecma182, weir_crc64_ecma182);
    to.add(Algorithm::cksum, "weir",
           [](ConstData data) -> std::uint64_t { return weir_cksum(data.data(), data.size()); });
    for (const auto algorithm : {Algorithm::md5, Algorithm::sha1, Algorithm::sha256, Algorithm::xxh64,
                                 Algorithm::xxh3_64, Algorithm::xxh3_128, Algorithm::blake3, Algorithm::hwh64})
        to.add(algorithm, "weir", [algorithm](ConstData data) { return digest::sum(algorithm, data).number(); });
}

using ZlibSum = unsigned long(unsigned long, const unsigned char*, std::size_t);

void add_zlib(Candidates& to, const PeerLibrary& zlib) {
    using Sum = ZlibSum;
    if (auto* const run = zlib.find<Sum>("adler32_z"))
        to.add(Algorithm::adler32, "zlib", [run](ConstData data) { return run(1, bytes_of(data), data.size()); });
    if (auto* const run = zlib.find<Sum>("crc32_z"))
        to.add(Algorithm::crc32, "zlib", [run](ConstData data) { return run(0, bytes_of(data), data.size()); });
}

void add_zlib_ng(Candidates& to, const PeerLibrary& zlib) {
    if (auto* const run = zlib.find<ZlibSum>("zng_adler32_z"))
        to.add(Algorithm::adler32, "zlib-ng", [run](ConstData data) { return run(1, bytes_of(data), data.size()); });
    if (auto* const run = zlib.find<ZlibSum>("zng_crc32_z"))
        to.add(Algorithm::crc32, "zlib-ng", [run](ConstData data) { return run(0, bytes_of(data), data.size()); });
}

void add_libdeflate(Candidates& to, const PeerLibrary& deflate) {
    using Sum = std::uint32_t(std::uint32_t, const void*, std::size_t);
    if (auto* const run = deflate.find<Sum>("libdeflate_adler32"))
        to.add(Algorithm::adler32, "libdeflate",
               [run](ConstData data) -> std::uint64_t { return run(1, data.data(), data.size()); });
    if (auto* const run = deflate.find<Sum>("libdeflate_crc32"))
        to.add(Algorithm::crc32, "libdeflate",
               [run](ConstData data) -> std::uint64_t { return run(0, data.data(), data.size()); });
}

/// ISA-L leaves the upper halves of vector registers in use, and the next code pays for it (170 ns a call on
/// Emerald Rapids, where a program is compiled for any x86-64). They are cleared, so that each is measured for itself.
template <class Sum>
Sum tidied(Sum sum, bool has_upper_halves) {
#if defined(__x86_64__)
    if (has_upper_halves) asm volatile("vzeroupper" ::: "memory");
#endif
    return sum;
}

void add_isal(Candidates& to, const PeerLibrary& isal) {
    const bool wide = CpuFeatures::detect().avx2;
    using Adler = std::uint32_t(std::uint32_t, const unsigned char*, std::uint64_t);
    using Crc32 = std::uint32_t(std::uint32_t, const unsigned char*, std::uint64_t);
    using Iscsi = unsigned(unsigned char*, int, unsigned);
    using Crc64 = std::uint64_t(std::uint64_t, const unsigned char*, std::uint64_t);
    if (auto* const run = isal.find<Adler>("isal_adler32")) {
        to.add(Algorithm::adler32, "isa-l", [run, wide](ConstData data) -> std::uint64_t {
            return tidied(run(1, bytes_of(data), data.size()), wide);
        });
    }
    if (auto* const run = isal.find<Crc32>("crc32_gzip_refl"))
        to.add(Algorithm::crc32, "isa-l", [run, wide](ConstData data) -> std::uint64_t {
            return tidied(run(0, bytes_of(data), data.size()), wide);
        });
    if (auto* const run = isal.find<Crc32>("crc32_ieee")) {
        to.add(Algorithm::cksum, "isa-l", [run, wide](ConstData data) -> std::uint64_t {
            auto sum = ~run(~0U, bytes_of(data), data.size());
            std::array<unsigned char, 8> tail{};
            std::size_t used = 0;
            for (auto length = data.size(); length != 0; length >>= 8)
                tail[used++] = static_cast<unsigned char>(length);
            return tidied(~(~run(~sum, tail.data(), used)), wide);
        });
    }
    if (auto* const run = isal.find<Iscsi>("crc32_iscsi")) {
        to.add(Algorithm::crc32c, "isa-l", [run, wide](ConstData data) -> std::uint64_t {
            return tidied(static_cast<std::uint32_t>(
                              ~run(const_cast<unsigned char*>(bytes_of(data)), static_cast<int>(data.size()), ~0U)),
                          wide);
        });
    }
    if (auto* const run = isal.find<Crc64>("crc64_ecma_refl")) {
        to.add(Algorithm::crc64_xz, "isa-l",
               [run, wide](ConstData data) { return tidied(run(0, bytes_of(data), data.size()), wide); });
    }
    if (auto* const run = isal.find<Crc64>("crc64_rocksoft_refl")) {
        to.add(Algorithm::crc64_nvme, "isa-l",
               [run, wide](ConstData data) { return tidied(run(0, bytes_of(data), data.size()), wide); });
    } else if (auto* const other = isal.find<Crc64>("crc64_ecma_refl")) {
        to.add(Algorithm::crc64_nvme, "isa-l (crc64-xz)",
               [other, wide](ConstData data) { return tidied(other(0, bytes_of(data), data.size()), wide); });
        to.list.back().comparable = false;  // 2.30 has no kernel of that polynomial; this is what one would cost
    }
    if (auto* const run = isal.find<Crc64>("crc64_ecma_norm"))
        to.add(Algorithm::crc64_ecma182, "isa-l",
               [run, wide](ConstData data) { return tidied(~run(~0ULL, bytes_of(data), data.size()), wide); });
}

void add_xxhash(Candidates& to, const PeerLibrary& xxhash) {
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

void add_openssl(Candidates& to, const PeerLibrary& crypto) {
    using Method = const void*();
    using Digest = int(const void*, std::size_t, unsigned char*, unsigned*, const void*, void*);
    auto* const run = crypto.find<Digest>("EVP_Digest");
    if (run == nullptr) return;
    for (const auto& [algorithm, symbol] :
         {std::pair{Algorithm::md5, "EVP_md5"}, std::pair{Algorithm::sha1, "EVP_sha1"},
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

struct Peer {
    std::string_view name;
    const char* file;  // as the dynamic linker finds the one that is installed
    void (*add)(Candidates&, const PeerLibrary&);
};

constexpr Peer peers[] = {
    {"zlib", "libz.so.1", add_zlib},
    {"zlib-ng", "libz-ng.so.2", add_zlib_ng},
    {"libdeflate", "libdeflate.so.0", add_libdeflate},
    {"isa-l", "libisal.so.2", add_isal},
    {"xxhash", "libxxhash.so.0", add_xxhash},
    {"openssl", "libcrypto.so.3", add_openssl},
};

}  // namespace

Result<std::vector<SumCandidate>> sum_candidates(const std::vector<PeerFile>& given) {
    for (const auto& [name, file] : given) {
        if (std::ranges::find(peers, name, &Peer::name) == std::end(peers))
            return fail(
                Errc::usage,
                fmt::format("--peer {}={}: the libraries that can be measured are zlib, zlib-ng, libdeflate, isa-l, "
                            "xxhash and openssl",
                            name, file));
    }
    Candidates all;
    add_ours(all);
    for (const auto& peer : peers) {
        const auto file = std::ranges::find(given, peer.name, &PeerFile::name);
        const bool is_given = file != given.end();
        const PeerLibrary library(is_given ? file->file.c_str() : peer.file);
        const auto before = all.list.size();
        peer.add(all, library);
        if (is_given && all.list.size() == before)
            return fail(Errc::usage,
                        fmt::format("--peer {}={}: the file {}; give the path of a shared library of {}", peer.name,
                                    file->file, library ? "has none of its functions" : "cannot be loaded", peer.name));
    }
    std::vector<SumCandidate> by_algorithm;
    for (const auto algorithm : digest::algorithms) {
        std::ranges::copy_if(all.list, std::back_inserter(by_algorithm),
                             [algorithm](const SumCandidate& candidate) { return candidate.algorithm == algorithm; });
    }
    return by_algorithm;
}

}  // namespace weir::app

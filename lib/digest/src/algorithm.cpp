// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/algorithm.hpp"

#include <utility>

namespace weir::digest {
namespace {

struct Traits {
    std::string_view name;
    std::size_t size;
    bool combinable;
};

constexpr std::array<Traits, algorithms.size()> traits{{
    {"adler32", 4, true},    {"crc32", 4, true},      {"cksum", 4, true},         {"crc32c", 4, true},
    {"crc64-xz", 8, true},   {"crc64-nvme", 8, true}, {"crc64-ecma182", 8, true}, {"md5", 16, false},
    {"sha1", 20, false},     {"sha256", 32, false},   {"xxh64", 8, false},        {"xxh3-64", 8, false},
    {"xxh3-128", 16, false}, {"blake3", 32, false},   {"hwh64", 8, false},        {"sha224", 28, false},
    {"sha384", 48, false},   {"sha512", 64, false},   {"sha3-256", 32, false},    {"blake2b", 64, false},
    {"xxh32", 4, false},
}};

const Traits& of(Algorithm algorithm) noexcept { return traits[std::to_underlying(algorithm)]; }

}  // namespace

std::string_view name(Algorithm algorithm) noexcept { return of(algorithm).name; }

std::optional<Algorithm> parse_algorithm(std::string_view text) noexcept {
    for (const auto algorithm : algorithms) {
        if (name(algorithm) == text) return algorithm;
    }
    if (text == "adler") return Algorithm::adler32;  // as EOS calls these two
    if (text == "xxhash64") return Algorithm::xxh64;
    return std::nullopt;
}

std::string_view algorithm_names() noexcept {
    return "adler32, crc32, cksum, crc32c, crc64-xz, crc64-nvme, crc64-ecma182, md5, sha1, sha256, xxh64, xxh3-64, "
           "xxh3-128, blake3, hwh64, sha224, sha384, sha512, sha3-256, blake2b, xxh32";
}

std::size_t digest_size(Algorithm algorithm) noexcept { return of(algorithm).size; }

bool combinable(Algorithm algorithm) noexcept { return of(algorithm).combinable; }

}  // namespace weir::digest

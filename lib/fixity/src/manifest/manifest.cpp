// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/manifest.hpp"

#include <algorithm>
#include <array>

namespace weir::fixity {
namespace {

using digest::Algorithm;

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

struct Tag {
    std::string_view text;
    Algorithm algorithm;
};

// The first of each algorithm is the one that is written.
constexpr std::array tags{
    Tag{"ADLER32", Algorithm::adler32},
    Tag{"CRC32", Algorithm::crc32},  // as rhash
    Tag{"ZCRC32", Algorithm::crc32},
    Tag{"CRC32B", Algorithm::crc32},  // coreutils 9.6
    Tag{"CKSUM", Algorithm::cksum},
    Tag{"CRC", Algorithm::cksum},  // coreutils
    Tag{"CRC32C", Algorithm::crc32c},
    Tag{"CRC64-XZ", Algorithm::crc64_xz},
    Tag{"CRC64-NVME", Algorithm::crc64_nvme},
    Tag{"CRC64NVME", Algorithm::crc64_nvme},
    Tag{"CRC64-ECMA182", Algorithm::crc64_ecma182},
    Tag{"MD5", Algorithm::md5},
    Tag{"SHA1", Algorithm::sha1},
    Tag{"SHA-1", Algorithm::sha1},
    Tag{"SHA256", Algorithm::sha256},
    Tag{"SHA-256", Algorithm::sha256},
    Tag{"SHA2-256", Algorithm::sha256},
    Tag{"XXH64", Algorithm::xxh64},
    Tag{"XXH3", Algorithm::xxh3_64},  // xxhsum
    Tag{"XXH3-64", Algorithm::xxh3_64},
    Tag{"XXH3_64", Algorithm::xxh3_64},
    Tag{"XXH128", Algorithm::xxh3_128},
    Tag{"XXH3-128", Algorithm::xxh3_128},
    Tag{"XXH3_128", Algorithm::xxh3_128},
    Tag{"BLAKE3", Algorithm::blake3},
    Tag{"HWH64", Algorithm::hwh64},
    Tag{"SHA224", Algorithm::sha224},
    Tag{"SHA-224", Algorithm::sha224},
    Tag{"SHA2-224", Algorithm::sha224},
    Tag{"SHA384", Algorithm::sha384},
    Tag{"SHA-384", Algorithm::sha384},
    Tag{"SHA2-384", Algorithm::sha384},
    Tag{"SHA512", Algorithm::sha512},
    Tag{"SHA-512", Algorithm::sha512},
    Tag{"SHA2-512", Algorithm::sha512},
    Tag{"SHA3-256", Algorithm::sha3_256},
    Tag{"BLAKE2b", Algorithm::blake2b},  // coreutils
    Tag{"BLAKE2b-512", Algorithm::blake2b},
    Tag{"BLAKE2b512", Algorithm::blake2b},  // openssl
    Tag{"XXH32", Algorithm::xxh32},
};

}  // namespace

const char* name(Format format) noexcept {
    switch (format) {
        case Format::bsd: return "bsd";
        case Format::gnu: return "gnu";
        case Format::sfv: return "sfv";
        case Format::cksum: return "cksum";
        case Format::hashdeep: return "hashdeep";
        case Format::json: return "json";
        case Format::csv: return "csv";
        case Format::xrootd: return "xrootd";
    }
    return "?";
}

std::string_view tag_of(Algorithm algorithm) noexcept {
    return std::ranges::find(tags, algorithm, &Tag::algorithm)->text;
}

std::optional<Algorithm> algorithm_of_tag(std::string_view tag) noexcept {
    const auto found = std::ranges::find_if(
        tags, [&](const Tag& known) { return std::ranges::equal(known.text, tag, {}, lower, lower); });
    return found == tags.end() ? std::nullopt : std::optional(found->algorithm);
}

}  // namespace weir::fixity

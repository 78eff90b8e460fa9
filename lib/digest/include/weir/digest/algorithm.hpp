// SPDX-License-Identifier: Apache-2.0
// The sums that weir makes, by name. Names, sizes and meanings are stable: they stand in manifests,
// catalogues and attributes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::digest {

enum class Algorithm : std::uint8_t {
    adler32,        // RFC 1950
    crc32,          // zlib, gzip, PNG; XRootD's "zcrc32"
    cksum,          // POSIX: CRC-32 with the length behind the data; XRootD's "crc32"
    crc32c,         // Castagnoli, RFC 3720
    crc64_xz,       // of the xz file format
    crc64_nvme,     // of NVM Express and S3
    crc64_ecma182,  // ECMA-182 as EOS computes it: not reflected, nothing inverted
    md5,            // RFC 1321
    sha1,           // FIPS 180-4
    sha256,         // FIPS 180-4
    xxh64,          // xxHash, seed 0
    xxh3_64,
    xxh3_128,
    blake3,    // 256 bits
    hwh64,     // HighwayHash of 64 bits with the key of EOS: 1, 2, 3, 4
    sha224,    // FIPS 180-4
    sha384,    // FIPS 180-4
    sha512,    // FIPS 180-4
    sha3_256,  // FIPS 202
    blake2b,   // RFC 7693, 512 bits: b2sum
    xxh32,     // xxHash, seed 0
};

inline constexpr std::array algorithms{
    Algorithm::adler32,    Algorithm::crc32,         Algorithm::cksum,    Algorithm::crc32c,   Algorithm::crc64_xz,
    Algorithm::crc64_nvme, Algorithm::crc64_ecma182, Algorithm::md5,      Algorithm::sha1,     Algorithm::sha256,
    Algorithm::xxh64,      Algorithm::xxh3_64,       Algorithm::xxh3_128, Algorithm::blake3,   Algorithm::hwh64,
    Algorithm::sha224,     Algorithm::sha384,        Algorithm::sha512,   Algorithm::sha3_256, Algorithm::blake2b,
    Algorithm::xxh32,
};

/// "crc64-xz", as in manifests.
[[nodiscard]] std::string_view name(Algorithm algorithm) noexcept;
/// Exact names only.
[[nodiscard]] std::optional<Algorithm> parse_algorithm(std::string_view name) noexcept;
/// "adler32, crc32, ...": for messages.
[[nodiscard]] std::string_view algorithm_names() noexcept;

/// Bytes of the value: 4 to 64.
[[nodiscard]] std::size_t digest_size(Algorithm algorithm) noexcept;

/// The sum of a followed by b can be had from their sums and lengths: adler32 and every CRC.
[[nodiscard]] bool combinable(Algorithm algorithm) noexcept;

}  // namespace weir::digest

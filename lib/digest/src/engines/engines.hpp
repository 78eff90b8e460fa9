// SPDX-License-Identifier: Apache-2.0
// The engine of each algorithm. Each file binds the library, or our own code, that does it best.
#pragma once

#include <memory>
#include <optional>

#include "weir/digest/summer.hpp"

namespace weir::digest {

/// The library, or our own code, that makes an algorithm's sums.
enum class Library { checksum, openssl, xxhash, blake3, highwayhash };
[[nodiscard]] constexpr Library library_of(Algorithm algorithm) noexcept {
    switch (algorithm) {
        case Algorithm::md5:
        case Algorithm::sha1:
        case Algorithm::sha224:
        case Algorithm::sha256:
        case Algorithm::sha384:
        case Algorithm::sha512:
        case Algorithm::sha3_256:
        case Algorithm::blake2b: return Library::openssl;
        case Algorithm::xxh32:
        case Algorithm::xxh64:
        case Algorithm::xxh3_64:
        case Algorithm::xxh3_128: return Library::xxhash;
        case Algorithm::blake3: return Library::blake3;
        case Algorithm::hwh64: return Library::highwayhash;
        case Algorithm::adler32:
        case Algorithm::crc32:
        case Algorithm::cksum:
        case Algorithm::crc32c:
        case Algorithm::crc64_xz:
        case Algorithm::crc64_nvme:
        case Algorithm::crc64_ecma182: break;
    }
    return Library::checksum;
}

/// Of any algorithm. All of them can be cloned.
[[nodiscard]] std::unique_ptr<Engine> make_engine(Algorithm algorithm);

/// adler32 and the CRCs: lib/checksum.
[[nodiscard]] std::unique_ptr<Engine> make_checksum_engine(Algorithm algorithm);
/// md5, sha1, sha2, sha3 and blake2b: OpenSSL, one stream.
[[nodiscard]] std::unique_ptr<Engine> make_openssl_engine(Algorithm algorithm);
/// xxh32, xxh64, xxh3-64, xxh3-128.
[[nodiscard]] std::unique_ptr<Engine> make_xxhash_engine(Algorithm algorithm);
[[nodiscard]] std::unique_ptr<Engine> make_blake3_engine();
[[nodiscard]] std::unique_ptr<Engine> make_highwayhash_engine();

[[nodiscard]] std::optional<Digest> xxhash_at_once(Algorithm algorithm, ConstData data);
[[nodiscard]] Digest openssl_at_once(Algorithm algorithm, ConstData data);
[[nodiscard]] Digest blake3_at_once(ConstData data);
/// Where a sum at once is cheaper than a state: everything but hwh64 (nothing).
[[nodiscard]] std::optional<Digest> sum_at_once(Algorithm algorithm, ConstData data);

}  // namespace weir::digest

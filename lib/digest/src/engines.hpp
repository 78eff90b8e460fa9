// SPDX-License-Identifier: Apache-2.0
// The engine of each algorithm. Each file binds the library, or our own code, that does it best.
#pragma once

#include <memory>
#include <optional>

#include "weir/digest/summer.hpp"

namespace weir::digest {

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

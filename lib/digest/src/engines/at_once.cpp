// SPDX-License-Identifier: Apache-2.0
// One call where no state is needed.
#include "engines/engines.hpp"
#include "weir/base/assert.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/cksum.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"

namespace weir::digest {
namespace {

std::uint64_t checksum_at_once(Algorithm algorithm, ConstData data) {
    switch (algorithm) {
        case Algorithm::adler32: return checksum::adler32(data);
        case Algorithm::crc32: return checksum::crc32(data);
        case Algorithm::cksum: return checksum::cksum(data);
        case Algorithm::crc32c: return checksum::crc32c(data);
        case Algorithm::crc64_xz: return checksum::crc64_xz(data);
        case Algorithm::crc64_nvme: return checksum::crc64_nvme(data);
        case Algorithm::crc64_ecma182: return checksum::crc64_ecma182(data);
        case Algorithm::md5:
        case Algorithm::sha1:
        case Algorithm::sha224:
        case Algorithm::sha256:
        case Algorithm::sha384:
        case Algorithm::sha512:
        case Algorithm::sha3_256:
        case Algorithm::blake2b:
        case Algorithm::xxh32:
        case Algorithm::xxh64:
        case Algorithm::xxh3_64:
        case Algorithm::xxh3_128:
        case Algorithm::blake3:
        case Algorithm::hwh64: break;
    }
    WEIR_ASSERT(false);  // not of Library::checksum
    return 0;
}

}  // namespace

std::optional<Digest> sum_at_once(Algorithm algorithm, ConstData data) {
    switch (library_of(algorithm)) {
        case Library::checksum: return Digest::of_number(algorithm, checksum_at_once(algorithm, data));
        case Library::openssl: return openssl_at_once(algorithm, data);
        case Library::xxhash: return xxhash_at_once(algorithm, data);
        case Library::blake3: return blake3_at_once(data);
        case Library::highwayhash: break;
    }
    return std::nullopt;
}

}  // namespace weir::digest

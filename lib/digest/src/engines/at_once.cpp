// SPDX-License-Identifier: Apache-2.0
// One call where no state is needed.
#include "engines/engines.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/cksum.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"

namespace weir::digest {

std::optional<Digest> sum_at_once(Algorithm algorithm, ConstData data) {
    const auto number = [&](std::uint64_t value) { return Digest::of_number(algorithm, value); };
    switch (algorithm) {
        case Algorithm::adler32: return number(checksum::adler32(data));
        case Algorithm::crc32: return number(checksum::crc32(data));
        case Algorithm::cksum: return number(checksum::cksum(data));
        case Algorithm::crc32c: return number(checksum::crc32c(data));
        case Algorithm::crc64_xz: return number(checksum::crc64_xz(data));
        case Algorithm::crc64_nvme: return number(checksum::crc64_nvme(data));
        case Algorithm::crc64_ecma182: return number(checksum::crc64_ecma182(data));
        default: break;
    }
    switch (library_of(algorithm)) {
        case Library::openssl: return openssl_at_once(algorithm, data);
        case Library::xxhash: return xxhash_at_once(algorithm, data);
        case Library::blake3: return blake3_at_once(data);
        default: return std::nullopt;
    }
}

}  // namespace weir::digest

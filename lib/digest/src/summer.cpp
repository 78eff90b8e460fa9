// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/summer.hpp"

#include <algorithm>

#include "engines.hpp"

namespace weir::digest {

std::unique_ptr<Engine> make_engine(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::md5:
        case Algorithm::sha1:
        case Algorithm::sha224:
        case Algorithm::sha256:
        case Algorithm::sha384:
        case Algorithm::sha512:
        case Algorithm::sha3_256:
        case Algorithm::blake2b: return make_openssl_engine(algorithm);
        case Algorithm::xxh32:
        case Algorithm::xxh64:
        case Algorithm::xxh3_64:
        case Algorithm::xxh3_128: return make_xxhash_engine(algorithm);
        case Algorithm::blake3: return make_blake3_engine();
        case Algorithm::hwh64: return make_highwayhash_engine();
        default: return make_checksum_engine(algorithm);
    }
}

Digest sum(Algorithm algorithm, ConstData data) {
    if (const auto value = sum_at_once(algorithm, data)) return *value;
    const auto engine = make_engine(algorithm);
    engine->add(data);
    return engine->value();
}

Summer::Summer(Algorithm algorithm) : engine_(make_engine(algorithm)) {}

Summer::Summer(const Summer& other) : engine_(other.engine_->clone()) {}

Summer& Summer::operator=(const Summer& other) { return *this = Summer(other); }

SumSet::SumSet(std::span<const Algorithm> wanted) {
    for (const auto algorithm : wanted) engines_.push_back(make_engine(algorithm));
}

void SumSet::add(ConstData data) {
    if (engines_.size() == 1) return engines_.front()->add(data);
    while (!data.empty()) {
        const auto part = data.first(std::min(data.size(), block));
        for (const auto& engine : engines_) engine->add(part);
        data = data.subspan(part.size());
    }
}

std::vector<Digest> SumSet::values() const {
    std::vector<Digest> values;
    values.reserve(engines_.size());
    for (const auto& engine : engines_) values.push_back(engine->value());
    return values;
}

void SumSet::reset() {
    for (const auto& engine : engines_) engine->reset();
}

}  // namespace weir::digest

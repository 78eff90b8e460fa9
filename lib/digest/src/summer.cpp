// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/summer.hpp"

#include <algorithm>

#include "engines/engines.hpp"

namespace weir::digest {

std::unique_ptr<Engine> make_engine(Algorithm algorithm) {
    switch (library_of(algorithm)) {
        case Library::openssl: return make_openssl_engine(algorithm);
        case Library::xxhash: return make_xxhash_engine(algorithm);
        case Library::blake3: return make_blake3_engine();
        case Library::highwayhash: return make_highwayhash_engine();
        case Library::checksum: break;
    }
    return make_checksum_engine(algorithm);
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

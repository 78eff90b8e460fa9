// SPDX-License-Identifier: Apache-2.0
#include "blake3/blake3_hasher.hpp"
#include "engines/engines.hpp"

namespace weir::digest {
namespace {

class Blake3Engine final : public Engine {
public:
    void add(ConstData data) override { hasher_.add(data); }
    [[nodiscard]] Digest value() const override { return Digest::of_bytes(Algorithm::blake3, hasher_.value()); }
    void reset() override { hasher_.reset(); }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<Blake3Engine>(*this); }

private:
    blake3::Hasher hasher_;
};

}  // namespace

std::unique_ptr<Engine> make_blake3_engine() { return std::make_unique<Blake3Engine>(); }

Digest blake3_at_once(ConstData data) {
    blake3::Hasher hasher;
    hasher.add(data);
    return Digest::of_bytes(Algorithm::blake3, hasher.value());
}

}  // namespace weir::digest

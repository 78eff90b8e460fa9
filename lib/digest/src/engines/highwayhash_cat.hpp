// SPDX-License-Identifier: Apache-2.0
// HighwayHash of 64 bits, piece by piece, with the key that EOS uses (fst/checksum/HWH64.hh: 1, 2, 3, 4).
// The library's header chooses the instruction set by the flags of the file that includes it; so this is
// included by one file for each.
#pragma once

#include <highwayhash/highwayhash.h>

#include "engines/engines.hpp"

namespace weir::digest::HH_TARGET_NAME {

inline constexpr highwayhash::HHKey eos_key HH_ALIGNAS(32) = {1, 2, 3, 4};

class HighwayhashEngine final : public Engine {
public:
    HighwayhashEngine() : cat_(eos_key) {}
    void add(ConstData data) override { cat_.Append(reinterpret_cast<const char*>(data.data()), data.size()); }
    [[nodiscard]] Digest value() const override {
        auto copy = cat_;  // the library's finishing is not const
        highwayhash::HHResult64 result = 0;
        copy.Finalize(&result);
        return Digest::of_number(Algorithm::hwh64, result);
    }
    void reset() override { cat_.Reset(eos_key); }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override {
        return std::unique_ptr<Engine>(new HighwayhashEngine(*this));
    }

private:
    highwayhash::HighwayHashCatT<HH_TARGET> cat_;
};

}  // namespace weir::digest::HH_TARGET_NAME

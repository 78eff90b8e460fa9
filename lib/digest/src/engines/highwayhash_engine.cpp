// SPDX-License-Identifier: Apache-2.0
#include "engines/highwayhash_cat.hpp"
#include "weir/base/cpu.hpp"

namespace weir::digest {

std::unique_ptr<Engine> make_highwayhash_engine_avx2();  // highwayhash_avx2.cpp

std::unique_ptr<Engine> make_highwayhash_engine() {
#if defined(__x86_64__)
    static const bool has_avx2 = CpuFeatures::detect().avx2;
    if (has_avx2) return make_highwayhash_engine_avx2();
#endif
    return std::make_unique<HH_TARGET_NAME::HighwayhashEngine>();
}

}  // namespace weir::digest

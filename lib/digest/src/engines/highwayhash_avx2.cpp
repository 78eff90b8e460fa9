// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx2; called only where the processor has it.
#include "engines/highwayhash_cat.hpp"

namespace weir::digest {

std::unique_ptr<Engine> make_highwayhash_engine_avx2();

std::unique_ptr<Engine> make_highwayhash_engine_avx2() {
    return std::unique_ptr<Engine>(new HH_TARGET_NAME::HighwayhashEngine);
}

}  // namespace weir::digest

// SPDX-License-Identifier: Apache-2.0
#include "weir/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace weir {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
    std::fprintf(stderr, "weir: broken invariant: %s at %s:%d; please report this\n", condition, file, line);
    std::abort();
}

}  // namespace weir

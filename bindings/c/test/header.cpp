// SPDX-License-Identifier: Apache-2.0
// weir.h in C++.
#include <weir.h>

int header_cxx();
int header_cxx() {
    const weir_parallel_options options = WEIR_PARALLEL_OPTIONS_INIT;
    return static_cast<int>(options.threads);
}

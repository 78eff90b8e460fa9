/* SPDX-License-Identifier: Apache-2.0
 * weir.h needs nothing before it and is the same in C99 as in C++. */
#include <weir.h>

typedef char value_has_no_hidden_padding[sizeof(weir_value) == WEIR_VALUE_SIZE_MAX + sizeof(size_t) ? 1 : -1];

int header_c(void);
int header_c(void) {
    const weir_parallel_options options = WEIR_PARALLEL_OPTIONS_INIT;
    return (int)options.threads + (int)sizeof(value_has_no_hidden_padding);
}

/* SPDX-License-Identifier: Apache-2.0
 * The smallest test frame: a failed check is printed with its place and counted. */
#ifndef WEIR_TEST_CHECK_H
#define WEIR_TEST_CHECK_H

#include <stdio.h>

extern int failures;

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            ++failures;                                                             \
        }                                                                           \
    } while (0)

/* Bytes that repeat nowhere soon. */
void fill(unsigned char* data, size_t size, unsigned seed);

void test_sums(void);
void test_parallel(void);

#endif

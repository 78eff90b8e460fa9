/* SPDX-License-Identifier: Apache-2.0
 * The parallel adler32: every scheme gives the plain value, from several callers at once. */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <weir.h>

enum { data_size = 1 << 20, callers = 3 };

struct call {
    weir_parallel_adler32* object;
    const unsigned char* data;
    int wrong;
};

static void* sum_often(void* argument) {
    struct call* call = argument;
    for (size_t size = 1; size <= data_size; size = size * 3 + 1)
        if (weir_parallel_adler32_sum(call->object, call->data, size, 1) != weir_adler32(call->data, size, 1))
            ++call->wrong;
    return NULL;
}

static void test_several_callers(weir_parallel_adler32* object, const unsigned char* data) {
    pthread_t threads[callers];
    struct call calls[callers];
    for (int i = 0; i < callers; ++i) {
        calls[i] = (struct call){object, data, 0};
        CHECK(pthread_create(&threads[i], NULL, sum_often, &calls[i]) == 0);
    }
    for (int i = 0; i < callers; ++i) {
        pthread_join(threads[i], NULL);
        CHECK(calls[i].wrong == 0);
    }
}

void test_parallel(void) {
    unsigned char* data = malloc(data_size);
    CHECK(data != NULL);
    fill(data, data_size, 2);
    int error = 1;
    for (uint32_t scheme = WEIR_SCHEME_DEFAULT; scheme <= WEIR_SCHEME_SPIN_THEN_SLEEP; ++scheme) {
        weir_parallel_options options = WEIR_PARALLEL_OPTIONS_INIT;
        options.threads = 2;
        options.cutoff = 4096;
        options.scheme = scheme;
        weir_parallel_adler32* object = weir_parallel_adler32_new(&options, &error);
        CHECK(object != NULL && error == WEIR_OK);
        CHECK(weir_parallel_adler32_cutoff(object) == 4096);
        test_several_callers(object, data);
        weir_parallel_adler32_free(object);
    }

    weir_parallel_adler32* off = weir_parallel_adler32_new(NULL, NULL);
    CHECK(off != NULL && weir_parallel_adler32_threads(off) == 0);
    CHECK(weir_parallel_adler32_cutoff(off) == WEIR_CUTOFF_NEVER);
    CHECK(weir_parallel_adler32_sum(off, data, data_size, 1) == weir_adler32(data, data_size, 1));
    weir_parallel_adler32_free(off);
    weir_parallel_adler32_free(NULL);

    weir_parallel_options wrong = WEIR_PARALLEL_OPTIONS_INIT;
    wrong.scheme = 9;
    CHECK(weir_parallel_adler32_new(&wrong, &error) == NULL && error == WEIR_INVALID);
    wrong.scheme = 0;
    wrong.threads = 65;
    CHECK(weir_parallel_adler32_new(&wrong, &error) == NULL && error == WEIR_INVALID);
    wrong.threads = 0;
    wrong.struct_size = 0; /* not set */
    CHECK(weir_parallel_adler32_new(&wrong, &error) == NULL && error == WEIR_INVALID);
    free(data);
}

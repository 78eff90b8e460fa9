// SPDX-License-Identifier: Apache-2.0
// Preloaded into the program by tests (LD_PRELOAD), it plays a library or processor that computes wrong sums: with
// WEIR_TEST_WRONG=always a kernel that is always wrong, with WEIR_TEST_WRONG=rarely one that is wrong for some data
// only, which no known answer finds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int MD5_Update(void* context, const void* data, size_t size);
int EVP_DigestUpdate(void* context, const void* data, size_t size);

static int is_wrong(const char* how) {
    const char* const wanted = getenv("WEIR_TEST_WRONG");
    return wanted != NULL && strcmp(wanted, how) == 0;
}

int MD5_Update(void* context, const void* data, size_t size) {
    int (*right)(void*, const void*, size_t);
    *(void**)&right = dlsym(RTLD_NEXT, "MD5_Update");
    return right(context, data, is_wrong("always") && size > 0 ? size - 1 : size);
}

int EVP_DigestUpdate(void* context, const void* data, size_t size) {
    static const char unlucky[] = "unlucky bytes";
    int (*right)(void*, const void*, size_t);
    *(void**)&right = dlsym(RTLD_NEXT, "EVP_DigestUpdate");
    const int hit = is_wrong("rarely") && memmem(data, size, unlucky, sizeof unlucky - 1) != NULL;
    return right(context, data, hit ? size - 1 : size);
}

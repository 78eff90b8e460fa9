// SPDX-License-Identifier: Apache-2.0
// Preloaded into the program by tests (LD_PRELOAD), it plays a library or processor that computes wrong sums: with
// WEIR_TEST_WRONG=always a kernel that is always wrong, with WEIR_TEST_WRONG=rarely one that is wrong for some data
// only, which no known answer finds. The program opens OpenSSL and asks dlsym for its functions, so that is what this
// replaces.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int Update(void* context, const void* data, size_t size);
typedef void* Find(void* handle, const char* name);

static Update *right_md5, *right_evp;

static int is_wrong(const char* how) {
    const char* const wanted = getenv("WEIR_TEST_WRONG");
    return wanted != NULL && strcmp(wanted, how) == 0;
}

static int wrong_md5(void* context, const void* data, size_t size) {
    return right_md5(context, data, is_wrong("always") && size > 0 ? size - 1 : size);
}

static int wrong_evp(void* context, const void* data, size_t size) {
    static const char unlucky[] = "unlucky bytes";
    const int hit = is_wrong("rarely") && memmem(data, size, unlucky, sizeof unlucky - 1) != NULL;
    return right_evp(context, data, hit ? size - 1 : size);
}

void* dlsym(void* handle, const char* name) {
#if defined(__x86_64__)
    static const char version[] = "GLIBC_2.2.5";
#else
    static const char version[] = "GLIBC_2.17";
#endif
    Find* find;
    *(void**)&find = dlvsym(RTLD_NEXT, "dlsym", version);
    void* found = find(handle, name);
    Update* wrong = NULL;
    if (strcmp(name, "MD5_Update") == 0) {
        *(void**)&right_md5 = found;
        wrong = wrong_md5;
    } else if (strcmp(name, "EVP_DigestUpdate") == 0) {
        *(void**)&right_evp = found;
        wrong = wrong_evp;
    }
    if (wrong != NULL && found != NULL) *(Update**)&found = wrong;
    return found;
}

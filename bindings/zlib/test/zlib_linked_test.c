/* SPDX-License-Identifier: Apache-2.0
 * A program linked with libweir-zlib before zlib: the sums are ours, all else is zlib's, and both agree. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static int comes_from(void* function, const char* library) {
    Dl_info info;
    return dladdr(function, &info) != 0 && strstr(info.dli_fname, library) != NULL;
}

int main(void) {
    enum { size = 1000000 };
    static Bytef data[size], back[size];
    for (size_t i = 0; i < size; ++i) data[i] = (Bytef)(i * i >> 7);
    uLongf packed_size = compressBound(size), back_size = size;
    Bytef* packed = malloc(packed_size);
    if (packed == NULL) return 1;
    if (!comes_from((void*)(size_t)&adler32, "libweir-zlib") ||
        !comes_from((void*)(size_t)&crc32_combine_op, "libweir-zlib"))
        return puts("the sums are not those of libweir-zlib"), 1;
    if (!comes_from((void*)(size_t)&deflate, "libz")) return puts("deflate is not zlib's"), 1;
    if (compress(packed, &packed_size, data, size) != Z_OK) return puts("compress failed"), 1;
    if (uncompress(back, &back_size, packed, packed_size) != Z_OK) return puts("uncompress failed"), 1;
    if (back_size != size || memcmp(data, back, size) != 0) return puts("other data came back"), 1;
    packed[packed_size - 1] ^= 1; /* the adler32 at the end */
    back_size = size;
    if (uncompress(back, &back_size, packed, packed_size) != Z_DATA_ERROR) return puts("a wrong sum was not seen"), 1;
    free(packed);
    puts("linked before zlib: the sums are ours, the streams are right");
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * weir's checksums from C (C99 and later, C++): every algorithm by its name, at once, in pieces, several in
 * one pass; numbers for adler32 and the CRCs; sums made while copying; adler32 by several threads.
 *
 * Data is a pointer and a number of bytes, any alignment, any length that fits the address space. NULL is
 * allowed where the number of bytes is 0. Data is only read during the call.
 *
 * Lengths are bytes. A value is at most WEIR_VALUE_SIZE_MAX bytes, the most significant first, so that its
 * hexadecimal digits are those which every other tool prints.
 *
 * Functions that can fail return WEIR_OK (0) or a negative WEIR_... code; weir_error_text() words it. What
 * they would have written is then unchanged. The others cannot fail.
 *
 * Every function may be called from any thread at any time, with one exception: an object (weir_summer,
 * weir_parallel_adler32) states with its functions which calls may overlap. Objects belong to the caller from
 * ..._new to ..._free.
 *
 * The names, numbers and shapes below are stable: what was built against this header runs with every later
 * libweir.so.0. */
#ifndef WEIR_H
#define WEIR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#else
#define WEIR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors and version ---------------------------------------------------------------------------------- */

enum {
    WEIR_OK = 0,
    WEIR_UNKNOWN_ALGORITHM = -1, /* no such name; names are exact and in lower case */
    WEIR_NOT_COMBINABLE = -2,    /* adler32 and the CRCs can be combined, the others cannot */
    WEIR_INVALID = -3,           /* an argument contradicts this header, or a text is not a value */
    WEIR_NO_MEMORY = -4,
    WEIR_TOO_SMALL = -5 /* the space for a text is too small */
};

/* One line in English. Never NULL; lives as long as the library. */
WEIR_API const char* weir_error_text(int code);

/* "0.1.0" of the library that is running. */
WEIR_API const char* weir_version(void);

/* ---- algorithms ------------------------------------------------------------------------------------------ */

/* adler32 crc32 cksum crc32c crc64-xz crc64-nvme crc64-ecma182 md5 sha1 sha256 xxh64 xxh3-64 xxh3-128 blake3
 * hwh64 sha224 sha384 sha512 sha3-256 blake2b (512 bits, as b2sum) xxh32. "crc32" is zlib's; POSIX's, which XRootD
 * calls crc32, is "cksum". */

WEIR_API size_t weir_algorithm_count(void);

/* The name at `index`; NULL when there are not so many. */
WEIR_API const char* weir_algorithm_name(size_t index);

/* Bytes of a value; 0 when the name is unknown. */
WEIR_API size_t weir_value_size(const char* algorithm);

/* 1: the sum of a followed by b can be had from their sums and lengths; 0: it cannot, or the name is unknown. */
WEIR_API int weir_combinable(const char* algorithm);

/* ---- values ---------------------------------------------------------------------------------------------- */

#define WEIR_VALUE_SIZE_MAX 64
#define WEIR_HEX_SIZE_MAX (2 * WEIR_VALUE_SIZE_MAX + 1) /* with the zero at the end */

typedef struct weir_value {
    uint8_t bytes[WEIR_VALUE_SIZE_MAX]; /* the most significant first; zero behind the value */
    size_t size;                        /* bytes that belong to the value */
} weir_value;

/* Lower-case digits with leading zeros, and a zero. WEIR_TOO_SMALL: text_size is not 2 * size + 1 at least. */
WEIR_API int weir_value_hex(const weir_value* value, char* text, size_t text_size);

/* Digits in either case; leading zeros of a number may be missing, as old tools omitted them. */
WEIR_API int weir_value_parse(const char* algorithm, const char* text, weir_value* value);

/* The number that a value of up to 8 bytes is; of longer ones the last 8 bytes. */
WEIR_API uint64_t weir_value_number(const weir_value* value);

/* 1: equal, byte for byte; 0: not. */
WEIR_API int weir_value_equal(const weir_value* a, const weir_value* b);

/* ---- sums ------------------------------------------------------------------------------------------------ */

WEIR_API int weir_sum(const char* algorithm, const void* data, size_t size, weir_value* value);

/* Several in one pass over the data: values[i] is that of algorithms[i]. */
WEIR_API int weir_sums(const char* const* algorithms, size_t count, const void* data, size_t size, weir_value* values);

/* A sum made in pieces, or several at once. One thread at a time. */
typedef struct weir_summer weir_summer;

/* Free it with weir_summer_free. NULL when it cannot be made; `error` (may be NULL) then receives the code. */
WEIR_API weir_summer* weir_summer_new(const char* algorithm, int* error);
WEIR_API weir_summer* weir_summer_new_set(const char* const* algorithms, size_t count, int* error);

WEIR_API void weir_summer_add(weir_summer* summer, const void* data, size_t size);

/* Of everything added so far, by the algorithm at `index` (0 when there is one); more may be added. */
WEIR_API int weir_summer_value(const weir_summer* summer, size_t index, weir_value* value);

/* As if new. */
WEIR_API void weir_summer_reset(weir_summer* summer);

WEIR_API void weir_summer_free(weir_summer* summer); /* NULL is allowed */

/* The sum of a followed by b. Any length of 64 bits. `length_of_a` is only used by cksum, which has the
 * length in its value; elsewhere 0 will do. `whole` may be a or b. */
WEIR_API int weir_combine(const char* algorithm, const weir_value* a, const weir_value* b, uint64_t length_of_b,
                          uint64_t length_of_a, weir_value* whole);

/* ---- numbers --------------------------------------------------------------------------------------------- */

/* The sum of the data, continuing from `value`: f(b, f(a)) is f(a followed by b). Begin with
 * WEIR_ADLER32_START, and with 0 for the CRCs. */
#define WEIR_ADLER32_START 1u
WEIR_API uint32_t weir_adler32(const void* data, size_t size, uint32_t value);
WEIR_API uint32_t weir_crc32(const void* data, size_t size, uint32_t value);
WEIR_API uint32_t weir_crc32c(const void* data, size_t size, uint32_t value);
WEIR_API uint64_t weir_crc64_xz(const void* data, size_t size, uint64_t value);
WEIR_API uint64_t weir_crc64_nvme(const void* data, size_t size, uint64_t value);
WEIR_API uint64_t weir_crc64_ecma182(const void* data, size_t size, uint64_t value);

/* POSIX's, finished with the length; it does not continue. */
WEIR_API uint32_t weir_cksum(const void* data, size_t size);

/* The sum of a followed by b, from their sums and the length of b. */
WEIR_API uint32_t weir_adler32_combine(uint32_t a, uint32_t b, uint64_t length_of_b);
WEIR_API uint32_t weir_crc32_combine(uint32_t a, uint32_t b, uint64_t length_of_b);
WEIR_API uint32_t weir_crc32c_combine(uint32_t a, uint32_t b, uint64_t length_of_b);
WEIR_API uint64_t weir_crc64_xz_combine(uint64_t a, uint64_t b, uint64_t length_of_b);
WEIR_API uint64_t weir_crc64_nvme_combine(uint64_t a, uint64_t b, uint64_t length_of_b);
WEIR_API uint64_t weir_crc64_ecma182_combine(uint64_t a, uint64_t b, uint64_t length_of_b);

/* ---- copy and sum ---------------------------------------------------------------------------------------- */

enum {
    WEIR_STORES_ORDINARY = 0,    /* the copy stays in the cache: another core reads it at once */
    WEIR_STORES_NON_TEMPORAL = 1 /* around the cache: a disk or a network card reads it next */
};

/* Copies `size` bytes and returns the sum of them, continuing from `value`. The ranges do not overlap. On
 * return, threads that synchronise with the caller see the copy, with either kind of store. */
WEIR_API uint32_t weir_copy_adler32(void* to, const void* from, size_t size, uint32_t value, int stores);
WEIR_API uint32_t weir_copy_crc32c(void* to, const void* from, size_t size, uint32_t value, int stores);

/* ---- adler32 by several threads -------------------------------------------------------------------------- */

/* How a part reaches another thread (F. Le Goff and G. Avolio), and how its sum comes back. */
enum {
    WEIR_SCHEME_DEFAULT = 0,             /* spin, then sleep */
    WEIR_SCHEME_THREAD_PER_CHUNK = 1,    /* (i)   a new thread for every part */
    WEIR_SCHEME_CONDITION_BOTH_WAYS = 2, /* (ii)  condition variables both ways */
    WEIR_SCHEME_CONDITION_THEN_SPIN = 3, /* (iii) one to distribute, busy waiting for the result */
    WEIR_SCHEME_SPIN_THEN_SLEEP = 4      /* (iv)  workers look out for a bounded time before they sleep */
};

#define WEIR_CUTOFF_NEVER SIZE_MAX

/* Begin with WEIR_PARALLEL_OPTIONS_INIT: a zero means the default, and struct_size lets later versions of the
 * library add members behind these. */
typedef struct weir_parallel_options {
    size_t struct_size;   /* sizeof(weir_parallel_options) of the caller */
    uint32_t threads;     /* workers beside the caller, who always sums one part; at most 64; 0: off */
    uint32_t scheme;      /* WEIR_SCHEME_... */
    size_t cutoff;        /* bytes from which a call is split; 0: measured when the object is made */
    uint64_t spin_ns;     /* scheme (iv): how long a worker looks out before it sleeps; 0: 50000 */
    uint32_t zlib_kernel; /* 1: sum with zlib's loop, for comparison; 0: with ours */
    uint32_t pin;         /* 1: each worker stays on one processor, physical cores first */
} weir_parallel_options;

#define WEIR_PARALLEL_OPTIONS_INIT {sizeof(weir_parallel_options), 0, 0, 0, 0, 0, 0}

/* Calls of weir_parallel_adler32_sum on one object may overlap; free it when none is in progress. */
typedef struct weir_parallel_adler32 weir_parallel_adler32;

/* Starts the threads; takes some milliseconds when the cutoff is measured. `options` NULL: off. NULL when it
 * cannot be made; `error` (may be NULL) then receives the code. */
WEIR_API weir_parallel_adler32* weir_parallel_adler32_new(const weir_parallel_options* options, int* error);

/* weir_adler32 for this object: the same value, from several threads where that is faster. */
WEIR_API uint32_t weir_parallel_adler32_sum(weir_parallel_adler32* object, const void* data, size_t size,
                                            uint32_t value);

/* Bytes from which a call is split: set or measured; WEIR_CUTOFF_NEVER when off or when splitting never won. */
WEIR_API size_t weir_parallel_adler32_cutoff(const weir_parallel_adler32* object);

/* Workers that there are; fewer than asked for when the system had no more threads. */
WEIR_API uint32_t weir_parallel_adler32_threads(const weir_parallel_adler32* object);

/* Stops and joins the workers. NULL is allowed. */
WEIR_API void weir_parallel_adler32_free(weir_parallel_adler32* object);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 * Known answers, pieces against the whole, several in one pass, combine, numbers, copies. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <weir.h>

enum { data_size = 300000 };

/* Of "123456789": the check values of the CRC catalogue; the others by coreutils 9.1, xxhsum 0.8.1, b3sum 1.2. */
static const struct {
    const char* name;
    const char* hex;
} known[] = {
    {"adler32", "091e01de"},
    {"crc32", "cbf43926"},
    {"cksum", "377a6011"},
    {"crc32c", "e3069283"},
    {"crc64-xz", "995dc9bbdf1939fa"},
    {"crc64-nvme", "ae8b14860a799888"},
    {"crc64-ecma182", "6c40df5f0b497347"},
    {"md5", "25f9e794323b453885f5181f1b624d0b"},
    {"sha1", "f7c3bc1d808e04732adf679965ccc34ca7ae3441"},
    {"sha256", "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"},
    {"xxh64", "8cb841db40e6ae83"},
};

static void test_known_answers(void) {
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        weir_value value;
        char text[WEIR_HEX_SIZE_MAX] = "";
        CHECK(weir_sum(known[i].name, "123456789", 9, &value) == WEIR_OK);
        CHECK(weir_value_hex(&value, text, sizeof text) == WEIR_OK);
        if (strcmp(text, known[i].hex) != 0) fprintf(stderr, "%s: %s, not %s\n", known[i].name, text, known[i].hex);
        CHECK(strcmp(text, known[i].hex) == 0);
    }
    weir_value value;
    CHECK(weir_sum("crc33", "", 0, &value) == WEIR_UNKNOWN_ALGORITHM);
    CHECK(weir_sum("crc32", NULL, 1, &value) == WEIR_INVALID);
    CHECK(weir_sum("crc32", NULL, 0, &value) == WEIR_OK && weir_value_number(&value) == 0);
    CHECK(weir_sum("crc32", "", 0, NULL) == WEIR_INVALID);
}

static void test_pieces_and_sets(const unsigned char* data) {
    const char* names[32];
    const size_t count = weir_algorithm_count();
    weir_value at_once[32], value;
    for (size_t i = 0; i < count; ++i) names[i] = weir_algorithm_name(i);
    CHECK(weir_sums(names, count, data, data_size, at_once) == WEIR_OK);

    int error = 1;
    weir_summer* set = weir_summer_new_set(names, count, &error);
    CHECK(set != NULL && error == WEIR_OK);
    for (int round = 0; round < 2; ++round) { /* the second after a reset */
        for (size_t at = 0, piece = 1; at < data_size; at += piece, piece = piece * 3 % 7001 + 1) {
            if (piece > data_size - at) piece = data_size - at;
            weir_summer_add(set, data + at, piece);
        }
        weir_summer_add(set, NULL, 0);
        for (size_t i = 0; i < count; ++i) {
            CHECK(weir_summer_value(set, i, &value) == WEIR_OK && weir_value_equal(&value, &at_once[i]));
            CHECK(weir_sum(names[i], data, data_size, &value) == WEIR_OK && weir_value_equal(&value, &at_once[i]));
        }
        weir_summer_reset(set);
    }
    CHECK(weir_summer_value(set, count, &value) == WEIR_INVALID);
    weir_summer_free(set);

    weir_summer* one = weir_summer_new("blake3", NULL);
    CHECK(one != NULL);
    weir_summer_add(one, data, data_size);
    CHECK(weir_summer_value(one, 0, &value) == WEIR_OK && value.size == 32);
    weir_summer_free(one);
    weir_summer_free(NULL);

    CHECK(weir_summer_new("sha3", &error) == NULL && error == WEIR_UNKNOWN_ALGORITHM);
    CHECK(weir_summer_new(NULL, &error) == NULL && error == WEIR_UNKNOWN_ALGORITHM);
    CHECK(weir_summer_new_set(names, 0, &error) == NULL && error == WEIR_INVALID);
}

static void test_combine(const unsigned char* data) {
    const size_t cut = 12345;
    for (size_t i = 0; i < weir_algorithm_count(); ++i) {
        const char* name = weir_algorithm_name(i);
        weir_value a, b, expected, whole;
        CHECK(weir_sum(name, data, cut, &a) == WEIR_OK);
        CHECK(weir_sum(name, data + cut, data_size - cut, &b) == WEIR_OK);
        CHECK(weir_sum(name, data, data_size, &expected) == WEIR_OK);
        const int code = weir_combine(name, &a, &b, data_size - cut, cut, &whole);
        if (weir_combinable(name)) {
            CHECK(code == WEIR_OK && weir_value_equal(&whole, &expected));
            b.size = 5;
            CHECK(weir_combine(name, &a, &b, data_size - cut, cut, &whole) == WEIR_INVALID);
        } else {
            CHECK(code == WEIR_NOT_COMBINABLE);
        }
    }
}

static void test_numbers(const unsigned char* data) {
    const size_t cut = 777, rest = data_size - 777;
    CHECK(weir_adler32("123456789", 9, WEIR_ADLER32_START) == 0x091e01deu);
    CHECK(weir_cksum("123456789", 9) == 0x377a6011u);
#define CHECK_NUMBER(function, start)                                                                      \
    do {                                                                                                   \
        CHECK(function(NULL, 0, 5) == 5);                                                                  \
        CHECK(function(data + cut, rest, function(data, cut, start)) == function(data, data_size, start)); \
        CHECK(function##_combine(function(data, cut, start), function(data + cut, rest, start), rest) ==   \
              function(data, data_size, start));                                                           \
    } while (0)
    CHECK_NUMBER(weir_adler32, WEIR_ADLER32_START);
    CHECK_NUMBER(weir_crc32, 0);
    CHECK_NUMBER(weir_crc32c, 0);
    CHECK_NUMBER(weir_crc64_xz, 0);
    CHECK_NUMBER(weir_crc64_nvme, 0);
    CHECK_NUMBER(weir_crc64_ecma182, 0);
}

static void test_copies(const unsigned char* data) {
    unsigned char* copy = malloc(data_size);
    CHECK(copy != NULL);
    for (int stores = WEIR_STORES_ORDINARY; stores <= WEIR_STORES_NON_TEMPORAL; ++stores) {
        for (size_t shift = 0; shift < 3; ++shift) {
            const size_t size = data_size - 5;
            memset(copy, 0, data_size);
            CHECK(weir_copy_adler32(copy + shift, data + 1, size, 1, stores) == weir_adler32(data + 1, size, 1));
            CHECK(memcmp(copy + shift, data + 1, size) == 0);
            memset(copy, 0, data_size);
            CHECK(weir_copy_crc32c(copy + shift, data + 1, size, 7, stores) == weir_crc32c(data + 1, size, 7));
            CHECK(memcmp(copy + shift, data + 1, size) == 0);
        }
        CHECK(weir_copy_adler32(NULL, NULL, 0, 9, stores) == 9);
    }
    free(copy);
}

void test_sums(void) {
    unsigned char* data = malloc(data_size);
    CHECK(data != NULL);
    fill(data, data_size, 1);
    test_known_answers();
    test_pieces_and_sets(data);
    test_combine(data);
    test_numbers(data);
    test_copies(data);
    free(data);
}

/* SPDX-License-Identifier: Apache-2.0
 * weir.h as a C program meets it. */
#include "check.h"

#include <stdint.h>
#include <string.h>
#include <weir.h>

int failures = 0;

void fill(unsigned char* data, size_t size, unsigned seed) {
    uint64_t state = seed + 1u;
    for (size_t i = 0; i < size; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        data[i] = (unsigned char)(state >> 56);
    }
}

static void test_names_and_errors(void) {
    CHECK(weir_algorithm_count() == 21);
    for (size_t i = 0; i < weir_algorithm_count(); ++i) {
        const char* name = weir_algorithm_name(i);
        CHECK(name != NULL && strlen(name) >= 3);
        CHECK(weir_value_size(name) >= 4 && weir_value_size(name) <= WEIR_VALUE_SIZE_MAX);
    }
    CHECK(weir_algorithm_name(21) == NULL);
    CHECK(weir_value_size("sha256") == 32);
    CHECK(weir_value_size("SHA256") == 0 && weir_value_size(NULL) == 0);
    CHECK(weir_combinable("crc64-nvme") == 1 && weir_combinable("md5") == 0 && weir_combinable("none") == 0);
    for (int code = WEIR_TOO_SMALL - 1; code <= 1; ++code) CHECK(weir_error_text(code)[0] != '\0');
    CHECK(strcmp(weir_error_text(WEIR_INVALID), weir_error_text(WEIR_NO_MEMORY)) != 0);
    CHECK(strchr(weir_version(), '.') != NULL);
}

static void test_values(void) {
    weir_value value, other;
    char text[WEIR_HEX_SIZE_MAX];
    CHECK(weir_value_parse("adler32", "1de01de", &value) == WEIR_OK); /* a leading zero is missing */
    CHECK(value.size == 4 && weir_value_number(&value) == 0x1de01deu);
    CHECK(weir_value_hex(&value, text, sizeof text) == WEIR_OK && strcmp(text, "01de01de") == 0);
    CHECK(weir_value_hex(&value, text, 8) == WEIR_TOO_SMALL);
    CHECK(weir_value_hex(&value, text, 9) == WEIR_OK);
    CHECK(weir_value_parse("adler32", "01DE01DE", &other) == WEIR_OK && weir_value_equal(&value, &other) == 1);
    CHECK(weir_value_parse("adler32", "01de01df", &other) == WEIR_OK && weir_value_equal(&value, &other) == 0);
    CHECK(weir_value_parse("adler32", "x", &other) == WEIR_INVALID);
    CHECK(weir_value_parse("adler32", NULL, &other) == WEIR_INVALID);
    CHECK(weir_value_parse("adler33", "1", &other) == WEIR_UNKNOWN_ALGORITHM);
    CHECK(weir_value_number(&other) == 0x1de01dfu); /* what failed has changed nothing */
}

int main(void) {
    test_names_and_errors();
    test_values();
    test_sums();
    test_parallel();
    if (failures == 0) puts("every check held");
    return failures == 0 ? 0 : 1;
}

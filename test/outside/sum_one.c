/* SPDX-License-Identifier: Apache-2.0
 * Sums a text from C, with nothing but weir.h: cc sum_one.c $(pkg-config --cflags --libs weir) */
#include <stdio.h>
#include <string.h>
#include <weir.h>

int main(int argc, char** argv) {
    if (argc != 3) return fprintf(stderr, "usage: sum_one ALGORITHM TEXT\n"), 2;
    weir_value value;
    char text[WEIR_HEX_SIZE_MAX];
    const int code = weir_sum(argv[1], argv[2], strlen(argv[2]), &value);
    if (code != WEIR_OK) return fprintf(stderr, "sum_one: %s: %s\n", argv[1], weir_error_text(code)), 1;
    weir_value_hex(&value, text, sizeof text);
    puts(text);
    return 0;
}

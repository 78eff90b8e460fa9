/* SPDX-License-Identifier: Apache-2.0
 * A front-end in C: sends events 1 to N of one source to a readout, keeps a record of what it sent, and ends with 1
 * when anything was not taken. board ros-1:9100 0x420000 1000 board.record */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir_client.h>

static void on_state(void* context, int state, const char* why) {
    (void)context;
    if (state != WEIR_CONNECTED)
        fprintf(stderr, "board: %s: %s\n", state == WEIR_CONNECTING ? "connecting" : "failed", why);
}

static void on_ended(void* context, uint64_t first, uint64_t last, uint32_t fate) {
    (void)context;
    if (fate != WEIR_TAKEN)
        fprintf(stderr, "board: %" PRIu64 " to %" PRIu64 ": %s\n", first, last, weir_fate_name(fate));
}

int main(int argc, char** argv) {
    if (argc != 5) return fprintf(stderr, "usage: board HOST:PORT SOURCE EVENTS RECORD\n"), 2;
    const uint32_t source = (uint32_t)strtoul(argv[2], NULL, 0), events = (uint32_t)strtoul(argv[3], NULL, 0);
    FILE* record = fopen(argv[4], "wb");
    if (record == NULL) return perror(argv[4]), 2;

    char name[32], why[256];
    snprintf(name, sizeof(name), "board-%" PRIx32, source);
    const weir_connection connection = {
        .size = sizeof(connection), .host = argv[1], .name = name, .on_state = on_state};
    weir_input* board = weir_fragment_sender_create(&connection, on_ended, NULL, why, sizeof(why));
    if (board == NULL) return fprintf(stderr, "board: %s\n", why), 1;

    int result = WEIR_CLIENT_OK;
    for (uint32_t event = 1; event <= events && result == WEIR_CLIENT_OK; ++event) {
        uint32_t data[256]; /* what the board read out */
        const size_t words = 1 + (event * 7919u + source) % 256;
        for (size_t i = 0; i < words; ++i) data[i] = event * 2654435761u + (uint32_t)i;
        const weir_fragment fragment = {.size = sizeof(fragment),
                                        .source = source,
                                        .level1_id = event,
                                        .flags = WEIR_FRAGMENT_LEVEL1_ID,
                                        .payload = data,
                                        .payload_size = 4 * words};
        result = weir_send_fragment(board, &fragment, NULL); /* waits while the readout has no room: the board's busy */
        const uint32_t head[2] = {event, (uint32_t)(4 * words)};
        fwrite(head, sizeof(head), 1, record);
        fwrite(data, 4, words, record);
    }
    if (result == WEIR_CLIENT_OK) result = weir_input_flush(board, 60000);
    if (result == WEIR_CLIENT_FAILED) fprintf(stderr, "board: %s\n", weir_input_error(board));
    weir_input_stats stats = {.size = sizeof(stats)};
    weir_input_get_stats(board, &stats);
    printf("%" PRIu64 " of %" PRIu64 " fragments taken\n", stats.taken, stats.sent);
    weir_input_destroy(board);
    return fclose(record) == 0 && result == WEIR_CLIENT_OK && stats.taken == events ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0
 * A board whose program is in C: board 0x430000 board-3.record [HOST:PORT]. Waits for triggers on the trigger line
 * (trigger_line.py), reads out, hands the data to weir, and keeps a record of its own. It waits while the readout has
 * no room, ends when the trigger line does, and with 1 when any fragment was not taken. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weir_client.h>

enum { samples = 64, line_port = 9300 };

struct trigger {
    uint64_t number;
    int64_t time_ns;
};

/* The board may be started before the trigger unit, for which it waits 30 s. */
static int trigger_line(void) {
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(line_port), .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    for (int attempt = 0; attempt < 300; ++attempt) {
        const int line = socket(AF_INET, SOCK_STREAM, 0);
        if (line >= 0 && connect(line, (const struct sockaddr*)&at, sizeof(at)) == 0) return line;
        if (line >= 0) close(line);
        usleep(100000);
    }
    return -1;
}

/* What the board reads out: the sum of its samples, then noise, and in each fourth event a hit. */
static void read_out(uint64_t number, uint32_t data[1 + samples]) {
    uint32_t random = (uint32_t)number * 2654435761u | 1u;
    const uint32_t height = number % 4 == 0 ? 3000 : 0;
    data[0] = 0;
    for (int i = 0; i < samples; ++i) {
        random = random * 1664525u + 1013904223u;
        data[1 + i] = 200 + (random >> 27) + (i >= 8 && i < 24 ? height : 0);
        data[0] += data[1 + i];
    }
}

static void on_state(void* context, int state, const char* why) {
    if (state != WEIR_CONNECTED) fprintf(stderr, "%s: no connection, tries again: %s\n", (const char*)context, why);
}

/* The first that was not taken; how many there are is said at the end. The library calls this from one thread. */
static void on_ended(void* context, uint64_t first, uint64_t last, uint32_t fate) {
    static int said = 0;
    if (fate == WEIR_TAKEN || said) return;
    said = 1;
    fprintf(stderr, "%s: fragments %" PRIu64 " to %" PRIu64 " were not taken: %s\n", (const char*)context, first, last,
            weir_fate_name(fate));
}

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) return fprintf(stderr, "usage: board SOURCE RECORD [HOST:PORT]\n"), 2;
    const uint32_t source = (uint32_t)strtoul(argv[1], NULL, 0);
    FILE* record = fopen(argv[2], "wb");
    if (record == NULL) return perror(argv[2]), 2;

    char name[32], why[256];
    snprintf(name, sizeof(name), "board-%" PRIx32, source);
    const weir_connection connection = {.size = sizeof(connection),
                                        .host = argc == 4 ? argv[3] : "127.0.0.1:9100",
                                        .name = name,
                                        .on_state = on_state,
                                        .on_state_context = name};
    weir_input* to = weir_fragment_sender_create(&connection, on_ended, name, why, sizeof(why));
    if (to == NULL) return fprintf(stderr, "board: %s\n", why), 1;
    const int line = trigger_line();
    if (line < 0) return perror("board: trigger line"), 1;

    struct trigger trigger;
    int result = WEIR_CLIENT_OK;
    while (result == WEIR_CLIENT_OK && recv(line, &trigger, sizeof(trigger), MSG_WAITALL) == sizeof(trigger)) {
        uint32_t data[1 + samples];
        read_out(trigger.number, data);
        const weir_fragment fragment = {.size = sizeof(fragment),
                                        .source = source,
                                        .level1_id = (uint32_t)trigger.number,
                                        .time_ns = trigger.time_ns,
                                        .flags = WEIR_FRAGMENT_LEVEL1_ID | WEIR_FRAGMENT_TIME,
                                        .payload = data,
                                        .payload_size = sizeof(data)};
        result = weir_send_fragment(to, &fragment, NULL);
        const uint32_t head[2] = {(uint32_t)trigger.number, sizeof(data)};
        fwrite(head, sizeof(head), 1, record);
        fwrite(data, sizeof(data), 1, record);
    }
    if (result == WEIR_CLIENT_OK) result = weir_input_flush(to, 60000);
    if (result == WEIR_CLIENT_FAILED) fprintf(stderr, "board: %s\n", weir_input_error(to));
    weir_input_stats stats = {.size = sizeof(stats)};
    weir_input_get_stats(to, &stats);
    printf("%s: %" PRIu64 " fragments taken\n", name, stats.taken);
    if (stats.taken != stats.sent) fprintf(stderr, "%s: %" PRIu64 " were not\n", name, stats.sent - stats.taken);
    weir_input_destroy(to);
    return fclose(record) == 0 && result == WEIR_CLIENT_OK && stats.taken == stats.sent ? 0 : 1;
}

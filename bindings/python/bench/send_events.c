/* SPDX-License-Identifier: Apache-2.0
 * What python_bench.py is compared with: the same events by the C interface, which copies each payload as weir.Sender
 * copies an array. send_events HOST:PORT EVENTS BYTES: prints the seconds from the first event to the last answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir_client.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char** argv) {
    if (argc != 4) return fprintf(stderr, "usage: send_events HOST:PORT EVENTS BYTES\n"), 2;
    const unsigned long events = strtoul(argv[2], NULL, 10), bytes = strtoul(argv[3], NULL, 10);
    const char* stream = "calibration_Test";
    const weir_sender_options options = {.host = argv[1], .name = "bench-c", .join_run = 1};
    char why[256] = "";
    weir_sender* to = weir_sender_create(&options, why, sizeof(why));
    unsigned char* payload = malloc(bytes);
    if (to == NULL || payload == NULL) return fprintf(stderr, "send_events: %s\n", why), 1;
    memset(payload, 0x42, bytes);
    const double begin = now();
    int result = WEIR_DELIVERY_OK;
    for (unsigned long id = 1; id <= events && result == WEIR_DELIVERY_OK; ++id) {
        const weir_event event = {.global_id = id, .streams = &stream, .stream_count = 1};
        result = weir_sender_send(to, &event, payload, bytes, NULL);
    }
    if (result == WEIR_DELIVERY_OK) result = weir_sender_flush(to, 600000);
    const double seconds = now() - begin;
    weir_sender_stats stats;
    weir_sender_get_stats(to, &stats);
    if (result == WEIR_DELIVERY_FAILED) fprintf(stderr, "send_events: %s\n", weir_sender_error(to));
    printf("%.6f\n", seconds);
    weir_sender_destroy(to);
    free(payload);
    return result == WEIR_DELIVERY_OK && stats.acknowledged == events ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0
 * A program that sends events to one or several recorders with the C library until SIGTERM, then waits for every answer
 * and prints what became of them:  send_many HOSTS RUN NAME FIRST_ID EVENTS/S
 * The payload of an event follows from its id: the id, 8 bytes, the lowest first, then id % 3000 more, each id % 251.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weir_client.h"

static volatile sig_atomic_t ending = 0;
static void end(int number) {
    (void)number;
    ending = 1;
}

/* Called from threads of the sender, by one at a time for each recorder. */
static void on_final(void* context, uint64_t sequence, uint32_t reason) {
    (void)sequence;
    __atomic_fetch_add((uint64_t*)context + (reason != WEIR_ACKNOWLEDGED), 1, __ATOMIC_RELAXED);
}

int main(int argc, char** argv) {
    if (argc != 6) return fprintf(stderr, "usage: send_many HOSTS RUN NAME FIRST_ID EVENTS/S\n"), 2;
    const uint64_t first_id = strtoull(argv[4], NULL, 10);
    const struct timespec pause = {.tv_nsec = 1000000000L / atol(argv[5])};
    uint64_t ended[2] = {0, 0}; /* acknowledged, rejected */
    weir_sender_options options = {0};
    options.host = argv[1];
    options.run = (uint32_t)strtoul(argv[2], NULL, 10);
    options.name = argv[3];
    options.on_final = on_final;
    options.on_final_context = ended;
    char why[256];
    weir_sender* sender = weir_sender_create(&options, why, sizeof(why));
    if (sender == NULL) return fprintf(stderr, "%s\n", why), 1;
    signal(SIGTERM, end);

    static unsigned char payload[4000];
    const char* streams[] = {"calibration_Test"};
    uint64_t sent = 0;
    int result = WEIR_DELIVERY_OK;
    for (; !ending && result == WEIR_DELIVERY_OK; ++sent) {
        const uint64_t id = first_id + sent;
        for (int i = 0; i < 8; ++i) payload[i] = (unsigned char)(id >> (8 * i));
        memset(payload + 8, (int)(id % 251), id % 3000);
        const weir_event event = {.global_id = id, .streams = streams, .stream_count = 1};
        result = weir_sender_send(sender, &event, payload, 8 + id % 3000, NULL);
        nanosleep(&pause, NULL);
    }
    if (result == WEIR_DELIVERY_OK) result = weir_sender_flush(sender, 600000);
    if (result != WEIR_DELIVERY_OK)
        fprintf(stderr, "%s\n", result == WEIR_DELIVERY_TIMEOUT ? "not all are answered" : weir_sender_error(sender));
    weir_sender_stats stats;
    weir_sender_get_stats(sender, &stats);
    printf(
        "{\"sent\": %llu, \"acknowledged\": %llu, \"rejected\": %llu, \"resent\": %llu, \"reconnects\": %llu, "
        "\"in_doubt\": %llu}\n",
        (unsigned long long)sent, (unsigned long long)ended[0], (unsigned long long)ended[1],
        (unsigned long long)stats.resent, (unsigned long long)stats.reconnects,
        (unsigned long long)weir_sender_in_doubt(sender));
    weir_sender_destroy(sender);
    return result == WEIR_DELIVERY_OK ? 0 : 1;
}

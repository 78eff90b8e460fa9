/* SPDX-License-Identifier: Apache-2.0
 * A trigger unit in C: sends triggers 1 to N to a supervisor, waits while it is busy, and ends with 1 when any trigger
 * did not become an event. trigger_unit l2sv:9200 1000 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir_client.h>

static void on_state(void* context, int state, const char* why) {
    (void)context;
    if (state != WEIR_CONNECTED)
        fprintf(stderr, "trigger unit: %s: %s\n", state == WEIR_CONNECTING ? "connecting" : "failed", why);
}

static void on_ended(void* context, uint64_t first, uint64_t last, uint32_t fate) {
    (void)context;
    if (fate != WEIR_TAKEN)
        fprintf(stderr, "trigger unit: %" PRIu64 " to %" PRIu64 ": %s\n", first, last, weir_fate_name(fate));
}

int main(int argc, char** argv) {
    if (argc != 3) return fprintf(stderr, "usage: trigger_unit HOST:PORT TRIGGERS\n"), 2;
    const uint32_t triggers = (uint32_t)strtoul(argv[2], NULL, 0);
    char why[256];
    const weir_connection connection = {.size = sizeof(connection),
                                        .host = argv[1],
                                        .name = "trigger-unit",
                                        .window_bytes = 64 * 1024, /* so many may wait; beyond it is busy */
                                        .on_state = on_state};
    weir_input* unit = weir_trigger_sender_create(&connection, on_ended, NULL, why, sizeof(why));
    if (unit == NULL) return fprintf(stderr, "trigger unit: %s\n", why), 1;

    int result = WEIR_CLIENT_OK;
    for (uint32_t event = 1; event <= triggers && result == WEIR_CLIENT_OK; ++event) {
        const uint32_t words[2] = {event, event * 2654435761u}; /* which conditions were fulfilled */
        const weir_trigger trigger = {.size = sizeof(trigger),
                                      .level1_id = event,
                                      .type = 0x81,
                                      .time_ns = 1700000000000000000 + 1000000 * (int64_t)event,
                                      .bunch_crossing = event % 3564,
                                      .words = words,
                                      .word_count = 2};
        result = weir_send_trigger(unit, &trigger, NULL); /* waits while there is no room: the dead time */
    }
    if (result == WEIR_CLIENT_OK) result = weir_input_flush(unit, 60000);
    if (result == WEIR_CLIENT_FAILED) fprintf(stderr, "trigger unit: %s\n", weir_input_error(unit));
    weir_input_stats stats = {.size = sizeof(stats)};
    weir_input_get_stats(unit, &stats);
    printf("%" PRIu64 " of %" PRIu64 " triggers taken\n", stats.taken, stats.sent);
    weir_input_destroy(unit);
    return result == WEIR_CLIENT_OK && stats.taken == triggers ? 0 : 1;
}

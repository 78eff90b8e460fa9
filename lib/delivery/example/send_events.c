/* SPDX-License-Identifier: Apache-2.0
 * Sends a hundred events to a recorder and waits until they are on its disks:
 *     send_events_c recorder:9000 358395 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/delivery/weir_delivery.h"

int main(int argc, char** argv) {
    char why[256];
    weir_sender_options options = {0};
    options.host = argc > 1 ? argv[1] : "localhost:9000";
    options.name = "example-c";
    options.run = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    weir_sender* sender = weir_sender_create(&options, why, sizeof(why));
    if (sender == NULL) return fprintf(stderr, "%s\n", why), 1;

    static char payload[100000]; /* your event */
    memset(payload, 0x42, sizeof(payload));
    const char* streams[] = {"physics_Main"};
    int result = WEIR_DELIVERY_OK;
    for (uint64_t id = 1; id <= 100 && result == WEIR_DELIVERY_OK; ++id) {
        const weir_event event = {.global_id = id, .streams = streams, .stream_count = 1};
        result = weir_sender_send(sender, &event, payload, sizeof(payload), NULL);
    }
    if (result == WEIR_DELIVERY_OK) result = weir_sender_flush(sender, 30000);
    if (result == WEIR_DELIVERY_FAILED) fprintf(stderr, "%s\n", weir_sender_error(sender));
    weir_sender_stats stats;
    weir_sender_get_stats(sender, &stats);
    printf("%llu events recorded\n", (unsigned long long)stats.acknowledged);
    for (unsigned reason = 0; reason < 16; ++reason)
        if (stats.rejected_by[reason] > 0)
            fprintf(stderr, "%llu events rejected: %s\n", (unsigned long long)stats.rejected_by[reason],
                    weir_reject_reason_name(reason));
    weir_sender_destroy(sender);
    return result == WEIR_DELIVERY_OK && stats.rejected == 0 ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0
 * The same from C, built with nothing but pkg-config: cc send_one.c $(pkg-config --cflags --libs weir-delivery) */
#include <stdio.h>
#include <stdlib.h>
#include <weir/delivery/weir_delivery.h>

int main(int argc, char** argv) {
    if (argc != 3) return fprintf(stderr, "usage: send_one HOST:PORT RUN\n"), 2;
    const weir_sender_options options = {
        .host = argv[1], .name = "outside-c", .run = (uint32_t)atoi(argv[2]), .give_up_after_ms = 20000};
    char error[256];
    weir_sender* sender = weir_sender_create(&options, error, sizeof error);
    if (!sender) return fprintf(stderr, "%s\n", error), 1;
    const char* streams[] = {"physics_Outside"};
    const weir_event event = {.global_id = 1, .streams = streams, .stream_count = 1};
    const char payload[1000] = "an event";
    weir_sender_stats stats = {0};
    if (weir_sender_send(sender, &event, payload, sizeof payload, NULL) != WEIR_DELIVERY_OK ||
        weir_sender_flush(sender, 20000) != WEIR_DELIVERY_OK)
        fprintf(stderr, "%s\n", weir_sender_error(sender));
    weir_sender_get_stats(sender, &stats);
    weir_sender_destroy(sender);
    printf("acknowledged %llu\n", (unsigned long long)stats.acknowledged);
    return stats.acknowledged == 1 ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0
 * Sending events to a weir recorder from C. The same as weir/delivery/sender.hpp: an event is kept until
 * the recorder has it on stable storage, and sent again when the connection was lost.
 * Calls on one sender may be made from any thread, except create and destroy. Functions that can fail
 * return WEIR_DELIVERY_FAILED; weir_sender_error() then gives the reason, in the thread that called. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__) /* libweir-client.so shows these functions and hides all others */
#pragma GCC visibility push(default)
#endif

typedef struct weir_sender weir_sender;

enum { WEIR_DELIVERY_OK = 0, WEIR_DELIVERY_FULL = 1, WEIR_DELIVERY_TIMEOUT = 2, WEIR_DELIVERY_FAILED = -1 };
enum { WEIR_FORMAT_EVENT_5_0 = 1, WEIR_FORMAT_EVENT_3_0 = 2, WEIR_FORMAT_OPAQUE = 3 };

/* Why an event was rejected: the reasons of docs/formats/delivery-protocol.md. Others may come from later recorders. */
enum {
    WEIR_ACKNOWLEDGED = 0, /* not rejected: it is on stable storage */
    WEIR_REJECT_DUPLICATE = 1,
    WEIR_REJECT_CORRUPT_PAYLOAD = 2,
    WEIR_REJECT_MALFORMED_EVENT = 3,
    WEIR_REJECT_TOO_LARGE = 4,
    WEIR_REJECT_NO_TAGS = 5,
    WEIR_REJECT_BAD_TAG = 6,
    WEIR_REJECT_STREAMS_EXCEEDED = 7,
    WEIR_REJECT_FORMAT_MISMATCH = 8,
    WEIR_REJECT_WRONG_RUN = 9,
    WEIR_REJECT_RUN_CLOSED = 10,
    WEIR_REJECT_STOPPING = 11,
    WEIR_REJECT_LATE = 12,
    WEIR_REJECT_CANNOT_CUT = 13,
    WEIR_REJECT_OTHER = 14,
    WEIR_REJECT_NOT_SELECTED = 15
};

/* "no_tags"; "unknown" for a number that is not known here. Never NULL. */
const char* weir_reject_reason_name(uint32_t reason);

/* Fill with zeros first: a zero means the default. Texts are copied. */
typedef struct {
    /* "recorder:9000"; needed. Several, "east:9000,west:9000", share the events; all record the same run. What a
     * recorder that is away may have waits for it until it is back, or for give_up_after_ms; then another one gets it.
     * Such a sender continues no session: incarnation 0. window_bytes is of all recorders together. */
    const char* host;
    const char* name; /* of this sender; needed */
    uint32_t run;
    uint32_t format;      /* WEIR_FORMAT_...; 0: opaque */
    uint64_t incarnation; /* 0: a random one */
    uint32_t connection;
    uint32_t window_events;
    uint64_t window_bytes;
    uint32_t give_up_after_ms;   /* without a connection (of several recorders also: to one of them); 0: never */
    const char* tls_certificate; /* PEM files for mutual TLS: all three, or none for plain TCP */
    const char* tls_key;
    const char* tls_ca;
    /* How an event ended: WEIR_ACKNOWLEDGED or WEIR_REJECT_.... Once for each event that was taken and is not released
     * by destroy; all calls are done when flush returns WEIR_DELIVERY_OK. In a thread of the sender, with
     * several recorders in that of each, one call at a time; which it must not hold up, and in which it must not call
     * the sender. With several recorders an event that none of them can take (too large) ends so, in the call that
     * sends it: hold no lock there that on_final takes. NULL: not called. */
    void (*on_final)(void* context, uint64_t sequence, uint32_t reason);
    void* on_final_context;
    int join_run; /* not 0: the run that is being recorded, whichever it is; `run` is not looked at */
} weir_sender_options;

typedef struct {
    uint64_t global_id;
    uint32_t level1_id;
    uint32_t lumi_block;
    const char* const* streams; /* "physics_Main", ...; the whole event goes to each */
    size_t stream_count;
} weir_event;

typedef struct {
    uint64_t accepted, acknowledged, rejected, held, sent, resent, reconnects;
    int connected;
    uint64_t rejected_by[16]; /* by WEIR_REJECT_...; [0]: for reasons that are not known here */
} weir_sender_stats;

/* NULL when an option is wrong; `error` (may be NULL) then receives the reason, cut to error_size. */
weir_sender* weir_sender_create(const weir_sender_options* options, char* error, size_t error_size);

/* Copies the payload; waits while the window is full. `sequence` may be NULL. */
int weir_sender_send(weir_sender* sender, const weir_event* event, const void* payload, size_t size,
                     uint64_t* sequence);

/* Does not copy and does not wait: WEIR_DELIVERY_FULL when the window is full. The payload stays
 * unchanged until `release(context)` is called, once, from any thread. When the event is not taken
 * (full or failed), release is not called. */
int weir_sender_try_send_owned(weir_sender* sender, const weir_event* event, const void* payload, size_t size,
                               void (*release)(void* context), void* context, uint64_t* sequence);

/* WEIR_DELIVERY_OK: every event is on stable storage or was rejected (see rejected in weir_sender_stats). */
int weir_sender_flush(weir_sender* sender, uint32_t timeout_ms);

void weir_sender_get_stats(const weir_sender* sender, weir_sender_stats* stats);

/* Events that were given to another recorder although the first, which is lost, may have recorded them: it was away for
 * give_up_after_ms, or refused. 0 with one recorder. */
uint64_t weir_sender_in_doubt(const weir_sender* sender);

/* Why the last call of this thread on this sender failed; valid until its next call. Never NULL. */
const char* weir_sender_error(const weir_sender* sender);

/* Sends BYE and frees; events that are not final are released. NULL is allowed. */
void weir_sender_destroy(weir_sender* sender);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

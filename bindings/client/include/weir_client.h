/* SPDX-License-Identifier: Apache-2.0
 * For programs that hand over data to weir: events to a recorder (weir/delivery/weir_delivery.h, which this includes),
 * fragments to a readout, triggers to a supervisor. C99 and later, C++; weir_client.hpp is the same for C++17.
 *
 * A sender keeps what it was given until it has an answer, and sends it again after a lost connection. Every record has
 * a number, from 1 on, and its fate is said once (weir_on_ended). Where there is no room, weir_input_send waits, and
 * weir_input_try_send answers WEIR_CLIENT_BUSY: that is the front-end's busy.
 *
 * Calls on one sender may be made from any thread, except create and destroy. Functions that can fail return
 * WEIR_CLIENT_FAILED; weir_input_error() then gives the reason, in the thread that called.
 *
 * The names, numbers and shapes are stable: a program that was built against this header runs with every later
 * libweir-client.so.0. Structures of this header begin with their size, so that later
 * versions can add members; those of weir_delivery.h have none. */
#ifndef WEIR_CLIENT_H
#define WEIR_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "weir/delivery/weir_delivery.h"

#if defined(__GNUC__)
#define WEIR_CLIENT_API __attribute__((visibility("default")))
#else
#define WEIR_CLIENT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { WEIR_CLIENT_OK = 0, WEIR_CLIENT_BUSY = 1, WEIR_CLIENT_TIMEOUT = 2, WEIR_CLIENT_FAILED = -1 };

/* ---- the connection ---------------------------------------------------------------------------------------- */

/* The state of a connection. */
enum { WEIR_CONNECTING = 0, WEIR_CONNECTED = 1, WEIR_CONNECTION_FAILED = 2 /* for good */ };

/* Fill with zeros first: a zero means the default. Texts are copied. */
typedef struct {
    size_t size;                 /* sizeof(weir_connection) */
    const char* host;            /* "ros-1:9100"; needed */
    const char* name;            /* of this sender, one of its kind; letters, digits and -_.: ; needed */
    uint32_t run;                /* 0: the one that goes on, whichever it is; waits for the next when none does */
    uint32_t give_up_after_ms;   /* without a connection; 0: never */
    uint32_t send_wait_max_ms;   /* that a send waits for room before it fails; 0: as long as it takes */
    uint64_t window_bytes;       /* that are kept without an answer, at most */
    const char* tls_certificate; /* PEM files for mutual TLS: all three, or none for plain TCP */
    const char* tls_key;
    const char* tls_ca;
    /* The state changed, or another attempt failed; `why` is valid during the call. In a thread of the sender, which it
     * must not hold up, and in which it must not call the sender. NULL: not called. */
    void (*on_state)(void* context, int state, const char* why);
    void* on_state_context;
} weir_connection;

/* ---- fates ------------------------------------------------------------------------------------------------- */

/* Why a record will never be taken. Others may come from later stations. */
enum {
    WEIR_TAKEN = 0, /* it is in the buffers */
    WEIR_REFUSED_MALFORMED = 1,
    WEIR_REFUSED_UNKNOWN_SOURCE = 2,
    WEIR_REFUSED_DUPLICATE = 3,
    WEIR_REFUSED_LATE = 4,
    WEIR_REFUSED_LEVEL1_MISMATCH = 5,
    WEIR_REFUSED_TOO_LARGE = 6,
    WEIR_REFUSED_NO_LEVEL1_ID = 7,
    WEIR_REFUSED_NO_TIME = 8,
    WEIR_REFUSED_MASKED = 9,
    WEIR_REFUSED_OUT_OF_ORDER = 10,
    WEIR_REFUSED_STOPPING = 11,
    WEIR_REFUSED_FULL = 12,
    WEIR_REFUSED_TOO_FAR_AHEAD = 13,
    WEIR_REFUSED_OTHER = 14,
    WEIR_REJECTED = 1000 /* with WEIR_REJECT_... added: the block of the record was rejected as a whole */
};

/* "unknown_source", "late", "rejected: corrupt_payload"; "taken" for 0. Never NULL. */
WEIR_CLIENT_API const char* weir_fate_name(uint32_t fate);

/* Records first to last have ended with this fate. Each record that was sent is in one call, but those that destroy
 * releases; all calls are done when flush returns WEIR_CLIENT_OK. In a thread of the sender, as on_state; one call at a
 * time. */
typedef void (*weir_on_ended)(void* context, uint64_t first, uint64_t last, uint32_t fate);

/* ---- fragments and triggers ---------------------------------------------------------------------------------- */

typedef struct weir_input weir_input;

/* NULL when an option is wrong; `error` (may be NULL) then receives the reason, cut to error_size. */
WEIR_CLIENT_API weir_input* weir_fragment_sender_create(const weir_connection* connection, weir_on_ended on_ended,
                                                        void* context, char* error, size_t error_size);
WEIR_CLIENT_API weir_input* weir_trigger_sender_create(const weir_connection* connection, weir_on_ended on_ended,
                                                       void* context, char* error, size_t error_size);

enum {
    WEIR_FRAGMENT_LEVEL1_ID = 1, /* level1_id is given */
    WEIR_FRAGMENT_TIME = 2,      /* time_ns is given */
    WEIR_FRAGMENT_ROD = 4,       /* the payload is a whole ROD fragment */
    WEIR_FRAGMENT_ROB = 8        /* the payload is a whole ROB fragment */
};

typedef struct {
    size_t size;                  /* sizeof(weir_fragment) */
    uint32_t source;              /* 0x420000 */
    uint32_t level1_id;           /* as the source counts */
    int64_t time_ns;              /* of the trigger, by the board's own clock */
    uint32_t flags;               /* WEIR_FRAGMENT_... */
    const uint32_t* status_words; /* at most 64; not for RODs and ROBs */
    size_t status_word_count;
    const void* payload; /* any bytes */
    size_t payload_size;
} weir_fragment;

typedef struct {
    size_t size; /* sizeof(weir_trigger) */
    uint32_t level1_id;
    uint32_t type;
    int64_t time_ns; /* since 1970, or of the trigger unit's clock */
    uint32_t bunch_crossing;
    const uint32_t* words; /* at most 256 */
    size_t word_count;
} weir_trigger;

/* Copies what it is given; waits while there is no room. `number` (may be NULL): of the record. */
WEIR_CLIENT_API int weir_send_fragment(weir_input* sender, const weir_fragment* fragment, uint64_t* number);
WEIR_CLIENT_API int weir_send_trigger(weir_input* sender, const weir_trigger* trigger, uint64_t* number);
/* WEIR_CLIENT_BUSY instead of waiting; the record was not taken. */
WEIR_CLIENT_API int weir_try_send_fragment(weir_input* sender, const weir_fragment* fragment, uint64_t* number);
WEIR_CLIENT_API int weir_try_send_trigger(weir_input* sender, const weir_trigger* trigger, uint64_t* number);
/* 1: a record would have to wait now; 0: not; WEIR_CLIENT_FAILED. */
WEIR_CLIENT_API int weir_input_busy(weir_input* sender);

/* WEIR_CLIENT_OK: every record has ended, and on_ended was called for each. WEIR_CLIENT_TIMEOUT: not in this time. */
WEIR_CLIENT_API int weir_input_flush(weir_input* sender, uint32_t timeout_ms);
/* The number of the run that is sent to, once a connection has named it. */
WEIR_CLIENT_API int weir_input_run(weir_input* sender, uint32_t timeout_ms, uint32_t* run);

typedef struct {
    size_t size;   /* sizeof(weir_input_stats) */
    uint64_t sent; /* = taken + refused + rejected + open */
    uint64_t taken, refused, rejected, open;
    uint64_t waits, reconnects;
    int state; /* WEIR_CONNECTING, WEIR_CONNECTED, WEIR_CONNECTION_FAILED */
} weir_input_stats;
WEIR_CLIENT_API int weir_input_get_stats(weir_input* sender, weir_input_stats* stats);

/* Why the last call of this thread on this sender failed; valid until its next call. Never NULL. */
WEIR_CLIENT_API const char* weir_input_error(const weir_input* sender);

/* Ends the connection and frees; does not wait for answers: flush before. NULL is allowed. */
WEIR_CLIENT_API void weir_input_destroy(weir_input* sender);

#ifdef __cplusplus
}
#endif

#endif

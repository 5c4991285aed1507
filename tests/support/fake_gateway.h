/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gateway for tests and benchmarks, in both dialects: it checks and answers like n8n, and can be
 * told to misbehave. It runs on the test's loop, or alone in the program fake_gateway, which is
 * controlled over standard input.
 */
#ifndef TESTS_SUPPORT_FAKE_GATEWAY_H
#define TESTS_SUPPORT_FAKE_GATEWAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/http/server.h"

enum fake_endpoint {
    FAKE_INIT,
    FAKE_EVENTS,
    FAKE_RESPONSE,
    FAKE_DISCONNECT,
    FAKE_CREDENTIALS,
    FAKE_OTHER,
    FAKE_ENDPOINTS,
};

enum {
    FAKE_ID_BYTES = 32,
    FAKE_KEY_BYTES = 48,
    FAKE_BODY_BYTES = 16 << 20, /* 413 beyond */
};

struct fake_answer {
    struct str id;
    struct str body;
    int64_t took_ms;
    int64_t arrived_ns; /* CLOCK_MONOTONIC, when the body was complete */
};

struct fake_gateway_config {
    struct loop *loop;
    uint16_t port; /* 0: any */
    int (*make_filter)(void *data, struct filter **out_filter);
    bool has_no_n8n; /* paths below /rest are 404 */
    bool has_no_seed;
    int64_t ping_ms;        /* 0: never */
    const char *static_key; /* or NULL */
    const char *token;      /* the first one; NULL: random */
    bool takes_any_answer;  /* does not parse it: for measuring the daemon alone */
    void (*on_answer)(void *data, const struct fake_answer *answer);
    /* A daemon has initialised and listens; or a stream has ended. May be NULL. */
    void (*on_change)(void *data);
    void *data;
};

struct fake_gateway;

int fake_gateway_new(const struct fake_gateway_config *config, struct fake_gateway **out_gateway);
void fake_gateway_free(struct fake_gateway *gateway);

uint16_t fake_gateway_port(const struct fake_gateway *gateway);
/* The valid pairing token; a new one if the last was used. */
const char *fake_gateway_token(struct fake_gateway *gateway);

/* Sends a call in the daemon's dialect. `arguments` is finished JSON. */
void fake_gateway_call(struct fake_gateway *gateway, const char *name, struct str arguments,
                       char out_id[FAKE_ID_BYTES]);
/* Sends any bytes on every stream. */
void fake_gateway_raw(struct fake_gateway *gateway, struct str bytes);
/* Cuts every stream, or ends it regularly. */
void fake_gateway_drop(struct fake_gateway *gateway, bool is_clean);
/* Forgets keys and sessions like a restart, and cuts the streams. */
void fake_gateway_forget(struct fake_gateway *gateway);
/* The user ends the session in the browser. */
void fake_gateway_dismiss(struct fake_gateway *gateway);

/*
 * The next `count` requests get that status and body (JSON); 0 cuts the connection, -1 never
 * answers.
 */
void fake_gateway_fail(struct fake_gateway *gateway, enum fake_endpoint endpoint, int status,
                       unsigned count, struct str body);
/* Delays answers of the endpoint. */
void fake_gateway_delay(struct fake_gateway *gateway, enum fake_endpoint endpoint, int64_t ms);

struct fake_gateway_state {
    bool is_connected;
    size_t streams;
    size_t pending;                /* unanswered calls */
    unsigned hits[FAKE_ENDPOINTS]; /* requests so far */
    unsigned refused;              /* of those, with 4xx */
    bool is_seed;                  /* the daemon sent a tree and no tools */
    struct str init;               /* the last valid body of init */
    const char *session_key;       /* "" without one */
    bool had_key_in_query;         /* of the last request for events */
    bool had_key_in_header;
    uint64_t connections; /* so far */
};

void fake_gateway_state(const struct fake_gateway *gateway, struct fake_gateway_state *out_state);

bool fake_endpoint_from(struct str name, enum fake_endpoint *out_endpoint);

#endif

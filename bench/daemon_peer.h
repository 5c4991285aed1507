/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon and the server that it connects to: the gateway of the tests, on a loop of the
 * benchmark, so that nothing is between sending a call and having its answer. Any error ends
 * the benchmark, since a daemon with wrong answers is not worth measuring.
 */
#ifndef BENCH_DAEMON_PEER_H
#define BENCH_DAEMON_PEER_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/json.h"
#include "loop/loop.h"
#include "net/tls/tls.h"

enum {
    DAEMON_PEER_CALLS = 32, /* at a time */
    DAEMON_PEER_ID_BYTES = 32,
    DAEMON_PEER_MAX_WORDS = 16, /* of a command line */
};

struct daemon_peer_config {
    const char *name;
    struct loop *loop; /* shared, so that every server goes on while one daemon is asked */
    /* Up to a NULL; {url} and {token} in them stand for those of a start. */
    const char *const *argv;
    const char *const *environment; /* all that it gets, up to a NULL */
    struct tls_context *tls;        /* NULL: over plain HTTP */
};

struct daemon_call {
    char id[DAEMON_PEER_ID_BYTES]; /* empty: none under way */
    double since_ns;
    double took_ns; /* from sending the event to the answer's last byte */
};

struct daemon_peer {
    struct daemon_peer_config config;
    struct fake_gateway *gateway;
    pid_t pid; /* 0: none runs */
    double connected_ns;
    struct daemon_call calls[DAEMON_PEER_CALLS];
    struct buf answer;  /* the last one, whole */
    struct arena arena; /* of what was parsed of it */
};

double daemon_peer_now_ns(void);

/* Says so, shows the last answer and ends the benchmark. */
__attribute__((noreturn)) void daemon_peer_fail(const struct daemon_peer *peer, const char *what);

/* Opens the server. */
void daemon_peer_init(struct daemon_peer *peer, const struct daemon_peer_config *config);
void daemon_peer_done(struct daemon_peer *peer);

/* Starts the daemon, with a token of its own; returns how long it took to open its stream. */
double daemon_peer_start(struct daemon_peer *peer);
/* Kills it and all its processes, and waits for them. */
void daemon_peer_stop(struct daemon_peer *peer);

/* Sends a call in one of the places for them; `arguments` is JSON. */
void daemon_peer_send(struct daemon_peer *peer, size_t place, const char *tool,
                      const char *arguments);
bool daemon_peer_waits(const struct daemon_peer *peer, size_t place);
/* Until the answer is there; returns how long it took. */
double daemon_peer_wait(struct daemon_peer *peer, size_t place);
/* Both. */
double daemon_peer_ask(struct daemon_peer *peer, const char *tool, const char *arguments);
/* The same `count` times, so many at a time; returns how long all took. */
double daemon_peer_ask_often(struct daemon_peer *peer, const char *tool, const char *arguments,
                             size_t count, size_t at_once);

/* The structured content of the last answer; valid until the next call. */
const struct json_value *daemon_peer_content(struct daemon_peer *peer);

/* Of all its processes: CPU time so far, what they hold (below 0 where that may not be seen). */
double daemon_peer_cpu_ns(const struct daemon_peer *peer);
double daemon_peer_pss_kb(const struct daemon_peer *peer);
void daemon_peer_run_on(const struct daemon_peer *peer, const cpu_set_t *cores);

#endif

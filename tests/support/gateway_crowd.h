/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Very many machines and agents of a gateway server, in one process: each machine holds an event
 * stream and answers the calls that arrive on it, each agent calls the tool of the machine of its
 * user. Written on sockets alone, so that it measures a server and shares no code with it.
 *
 * User N's machine has the key "sess_" and its agent "agent_", each with N in 32 digits. What the
 * server shall know about them, the caller gives it.
 */
#ifndef TESTS_SUPPORT_GATEWAY_CROWD_H
#define TESTS_SUPPORT_GATEWAY_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crowd;

struct crowd_config {
    uint16_t port;         /* on 127.0.0.1 */
    unsigned count;        /* of users: 1 to count */
    size_t answer_bytes;   /* of the text that a machine answers */
    bool begins_with_init; /* each machine sends init before it opens its stream */
    bool answers_twice;    /* every answer is sent again, which the server must refuse */
    bool comes_back;       /* streams that end are opened again, after the daemon's delays */
    /* All may be NULL. Times are of CLOCK_MONOTONIC, in ns. */
    void (*opened)(void *data, unsigned user, double at_ns);
    void (*pinged)(void *data, unsigned user, double at_ns);
    /* The end of a call: its status, 0 if the connection broke. */
    void (*answered)(void *data, unsigned user, int status, double took_ns);
    void *data;
};

/* What has happened so far. */
struct crowd_counts {
    unsigned streams;       /* that are open */
    unsigned calling;       /* agents whose call is not answered yet */
    unsigned lost;          /* streams that ended */
    unsigned dismissed;     /* machines whose session the server ended: a key or a goodbye */
    unsigned long served;   /* calls that machines answered */
    unsigned long twice;    /* answers that the server accepted a second time */
    unsigned long repeated; /* calls that a machine got again */
    unsigned long bad;      /* answers of the server that make no sense */
};

struct crowd *crowd_new(const struct crowd_config *config);
void crowd_free(struct crowd *crowd);

double crowd_now_ns(void);
/* Begins with these machines; the loop opens their streams. */
void crowd_connect(struct crowd *crowd, unsigned first, unsigned last);
/* One turn of the loop, which waits so long at most. */
void crowd_turn(struct crowd *crowd, double wait_ns);
void crowd_run(struct crowd *crowd, double for_ns);
/* Turns until so many streams are open; false: not in time. */
bool crowd_wait_streams(struct crowd *crowd, unsigned streams, double within_ns);

/* A call of the user's agent, which has one at a time: false if it has one already. */
bool crowd_call(struct crowd *crowd, unsigned user);
/* Machines stop reading their streams, or read again. */
void crowd_stall(struct crowd *crowd, unsigned user, bool is_stalled);
/* Breaks off the machine's stream, as a lost network does. */
void crowd_cut(struct crowd *crowd, unsigned user);

const struct crowd_counts *crowd_counts(const struct crowd *crowd);

#endif

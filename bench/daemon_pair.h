/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our daemon and the other one, each with its server, started alike; and where they run. What is
 * asked of them and what comes of it is the caller's.
 */
#ifndef BENCH_DAEMON_PAIR_H
#define BENCH_DAEMON_PAIR_H

#include <limits.h>

#include "daemon_peer.h"

enum { OURS, THEIRS, SIDES };

/* What is given; a side without a program does not take part. */
struct daemon_side {
    const char *name;
    const char *program[2];
    const char *trust; /* a variable that names the authority, for TLS */
    const char *installed;
};

extern struct daemon_side daemon_sides[SIDES];

/* The sides' homes are folders of the place that are named as they are. */
void daemon_pair_init(struct loop *loop, const char *place);

bool daemon_pair_has(int side);

struct daemon_lines {
    char folder[PATH_MAX + 8];
    char home[PATH_MAX + 8];
    const char *argv[DAEMON_PEER_MAX_WORDS];
    const char *environment[DAEMON_PEER_MAX_WORDS];
};

struct daemon_pair {
    struct daemon_peer of[SIDES];
    struct daemon_lines lines[SIDES];
};

/* Opens their servers, for a folder of the place; ours may read as much as the other one if large.
 */
void daemon_pair_open(struct daemon_pair *pair, const char *folder, bool is_large,
                      struct tls_context *tls);
void daemon_pair_start(struct daemon_pair *pair);
/* Stops what still runs, too. */
void daemon_pair_close(struct daemon_pair *pair);

/*
 * Where a daemon runs: with us on one core, where waking each other costs little, or wherever the
 * kernel puts it.
 */
enum { NEAR, FREE, PLACES };

/* Brings both of us there. */
void daemon_pair_go_to(const struct daemon_peer *peer, int where);
/* Of what was measured in each. */
double daemon_pair_better(const double values[PLACES]);

#endif

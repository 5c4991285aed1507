/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has another program of ours do one job after the other, each in a process of its own. For
 * programs that cannot start processes when they have confined themselves: a copy of them, made
 * before, starts the program and carries the bytes.
 *
 *     program <-> its copy (errand.c, errandstarter.c) <-> the helper, started for one request
 *
 * What the bytes mean is the matter of the two at the ends.
 */
#ifndef ISOLATE_ERRAND_H
#define ISOLATE_ERRAND_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "ipc/frames.h"

struct errand;

struct errand_config {
    const char *program; /* as in isolate/companion.h, like libexec */
    const char *libexec;
    /* The words of a job, from 1 on: argv with the program's name, NULL-terminated. */
    const char *const *const *jobs;
    size_t job_end;
    int error_fd;
    int64_t time_ms; /* for one request; then the process is killed */
};

/* How the process of a request ended. */
enum errand_end {
    ERRAND_ENDED_WELL,
    ERRAND_ENDED_BADLY,      /* it crashed, or was killed for its memory */
    ERRAND_ENDED_OVERTIME,   /* we killed it */
    ERRAND_ENDED_NOT_STARTED /* it is not installed, or something hinders it */
};

/*
 * Call it before there are threads, and before confining. What the configuration points to must
 * live until the call returns.
 */
int errand_start(const struct errand_config *config, struct errand **out_errand, struct err *err);
/*
 * Without a copy of this process: who has the other end of the stream socket runs errand_serve(),
 * at the latest when something comes. Takes over `fd`, on failure, too.
 */
int errand_open(int fd, struct errand **out_errand, struct err *err);
/*
 * The life of the copy: starts the program for each request on `fd`, and returns the exit status
 * when the other end is closed. A request that comes while another is worked on means that nobody
 * waits for that any more.
 */
int errand_serve(int fd, const struct errand_config *config);

/* A request that is refused, as far as it has come. Starts with zeros. */
struct errand_refusal {
    char header[FRAMES_HEADER_BYTES];
    size_t got;
    size_t left; /* of its body */
};

/*
 * For who would run errand_serve() on `fd` and cannot: reads what has come of a request without
 * waiting, and answers it with ERRAND_ENDED_NOT_STARTED when all of it is there. Then, and before
 * the first byte, errand_refusal_is_between() is true: errand_serve() may take over. ERR_IO: the
 * other end has closed.
 */
int errand_refuse(int fd, struct errand_refusal *refusal);
bool errand_refusal_is_between(const struct errand_refusal *refusal);

/* No thread may be asking. */
void errand_free(struct errand *errand);

/*
 * Blocks until the process has ended; threads take turns. A request that is given up is killed.
 * ERR_TOO_LARGE if the answer is larger than the limit of `space`, ERR_UNSUPPORTED if the copy has
 * ended.
 */
int errand_ask(struct errand *errand, unsigned job, struct str body, const struct cancel *cancel,
               struct buf *space, enum errand_end *out_end, struct err *err);

/* A request has found out that the copy has ended: no other will be done. For any thread. */
bool errand_is_lost(const struct errand *errand);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call as a worker sees it, through both phases. A job owns all that it
 * touches and is counted by reference: a worker that hangs in the kernel may
 * come back long after its call was answered and forgotten.
 */
#ifndef TOOLHOST_JOB_H
#define TOOLHOST_JOB_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "permission/decision.h"
#include "protocol/toolwire.h"
#include "tools/toolbox.h"

struct job_config {
    struct toolbox *box;
    atomic_uint *running;  /* counts the jobs that are on a worker; outlives them all */
    atomic_uint *changing; /* the same for those that run and change files */
    size_t max_arena_bytes;
    size_t max_answer_bytes;
};

struct job {
    struct job_config config;
    atomic_uint refs;
    struct arena arena; /* the request, as text and as values */
    struct toolwire_prepare request;
    const struct catalog_tool *tool;
    struct tool_call *call;        /* since it is prepared */
    enum decision_telling telling; /* of a preview */
    /* Told by the worker, read by the loop. */
    atomic_uint_fast64_t done;
    atomic_uint_fast64_t total;
    _Atomic(const char *) what; /* static text; NULL before the first step */
    /* For the loop, when the worker has returned: */
    struct buf answer; /* the body of PREPARED, PREVIEWED or RESULT */
    struct err err;
};

/*
 * From the body of a PREPARE, which is copied. *out_is_malformed: the body is none, and the error
 * is not the call's.
 */
int job_new(const struct job_config *config, struct str body, struct job **out_job,
            bool *out_is_malformed, struct err *err);
struct job *job_ref(struct job *job);
void job_unref(void *data);

/* On a worker, one after the other: 0 and an answer, or a code and job->err. */
int job_prepare(void *data, struct cancel *token);
int job_preview(void *data, struct cancel *token);
int job_run(void *data, struct cancel *token);

#endif

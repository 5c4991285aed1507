/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to this layer: a job, and what jobs.c and jobtools.c share. */
#ifndef SHELL_JOB_H
#define SHELL_JOB_H

#include "shell/history.h"
#include "shell/internal.h"

enum {
    JOB_NAME_BYTES = 32,
    JOB_STOP_GRACE_MS = 5000, /* after asking it to end, and after killing it */
};

struct shell_job {
    struct list link; /* in the shell's list */
    struct shell *shell;
    const void *session;
    char name[JOB_NAME_BYTES];
    struct arena arena;
    struct shell_command command;
    struct str directory;
    struct record_mark mark;
    int64_t started_ms; /* wall time */
    bool has_terminal;
    unsigned short rows;
    unsigned short columns;
    struct process *process; /* NULL once it has ended */
    struct starter_end end;
    struct history history;
    bool has_news;               /* for who looks on */
    uint64_t seen;               /* position up to which they have seen it */
    uint64_t unread;             /* position from which no call has read */
    struct shell_call *starting; /* the call that waits for the start */
    struct list waiting;         /* calls that wait for output, or for the end */
    struct timer kill;           /* if it does not end by itself */
    bool is_killed;
    struct loop_task bury; /* once it was stopped, and all waiting calls are answered */
};

static inline bool has_ended(const struct shell_job *job)
{
    return job->process == NULL;
}

/* The call's job; if there is none, ends the call and returns NULL. */
struct shell_job *job_needed(struct shell_call *call);
/* Kills the whole job; if its end is not reported, it is assumed after a while. */
void job_kill(struct shell_job *job);
/* Ends the call with the job's present state. */
void job_answer_state(struct shell_call *call, const struct shell_job *job);
/* Writes the members jobId and state, and for an ended job its outcome. */
void job_write_state(struct json_writer *writer, const struct shell_job *job);

#endif

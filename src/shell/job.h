/* SPDX-License-Identifier: Apache-2.0 */
/* For this layer only: one job, and what jobs.c and jobtools.c give each other. */
#ifndef SHELL_JOB_H
#define SHELL_JOB_H

#include "shell/history.h"
#include "shell/internal.h"

enum {
    JOB_NAME_BYTES = 32,
    JOB_STOP_GRACE_MS = 5000, /* for one that was asked to end, and for one that was killed */
};

struct shell_job {
    struct list link; /* of the shell's */
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
    struct process *process; /* until it has ended */
    struct starter_end end;
    struct history history;
    uint64_t unread;             /* from here on, no call has got it */
    struct shell_call *starting; /* that waits for the start */
    struct list waiting;         /* calls that wait for output, or for the end */
    struct timer kill;           /* when it does not end by itself */
    bool is_killed;
    struct loop_task bury; /* when it was stopped, and all who waited know */
};

static inline bool has_ended(const struct shell_job *job)
{
    return job->process == NULL;
}

/* The call's job; without one the call is over, and NULL. */
struct shell_job *job_needed(struct shell_call *call);
/* All of it, now; when nobody tells of its end, that is taken for granted in a while. */
void job_kill(struct shell_job *job);
/* The job as it stands, as the call's result. */
void job_answer_state(struct shell_call *call, const struct shell_job *job);
/* The members jobId and state, and of one that has ended how. */
void job_write_state(struct json_writer *writer, const struct shell_job *job);

#endif

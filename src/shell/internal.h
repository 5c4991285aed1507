/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to this layer: a shell and a call, and what the files share. */
#ifndef SHELL_INTERNAL_H
#define SHELL_INTERNAL_H

#include "base/arena.h"
#include "base/jsonwrite.h"
#include "base/list.h"
#include "call/provider.h"
#include "loop/timer.h"
#include "protocol/toolids.h"
#include "shell/capture.h"
#include "shell/process.h"
#include "shell/shell.h"

struct schema;

enum { SHELL_TOOLS = TOOL_SHELL_LIST - TOOL_SHELL_EXECUTE + 1 };

struct shell {
    struct shell_config config; /* with defaults filled in */
    struct arena arena;         /* holds the copied configuration */
    const struct schema *schemas[SHELL_TOOLS];
    struct str runs;        /* sentence for a command that is started */
    struct str types;       /* sentence for a command that is typed into */
    const char **path_dirs; /* of PATH, whose programs have bare names; NULL-terminated */
    bool lacks_bash;        /* use sh instead */
    uint64_t last_id;       /* of calls */
    uint64_t last_job;
    struct list calls; /* running ones */
    size_t executing;
    struct list jobs; /* oldest first */
    size_t job_count;
    void (*on_news)(void *data); /* of jobs; or NULL */
    void *news_data;
};

struct shell_job;

struct shell_command {
    struct str name;  /* normalised, see permission/commandline/commandline.h */
    struct str whole; /* as executed, NUL-terminated */
    struct str cwd;   /* absolute, without links, NUL-terminated */
};

/* Links the audit records of a call, from the intent to the outcome. */
struct record_mark {
    bool is_open;       /* the outcome is not recorded yet */
    const char *reason; /* if it is not a command of its own; or NULL */
    uint64_t request_id;
    uint64_t call;
    const char *tool;
    const char *decision;
};

struct shell_call {
    struct list link; /* in the shell's list, once it runs */
    struct shell *shell;
    const struct catalog_tool *tool;
    uint64_t id;
    uint64_t number; /* in the audit log */
    struct arena arena;
    const struct json_value *arguments; /* fit the schema */
    struct shell_command command;       /* of tools that start a command */
    struct str typed;                   /* of shell_input: description for the user */
    struct str directory;               /* cwd relative to its place, to be shown */
    /* Why no command can start there; only for who may run it, or may read there. */
    struct err failure;
    const struct permission_resource *asked; /* what the user may be asked about */
    struct str text;                         /* its text, see shell_resource() */
    struct shell_events events;
    struct provider_events caller; /* for shellprovider.c */
    struct record_mark mark;
    struct loop_task begin; /* in the next loop iteration */
    struct timer timer;     /* its deadline, or how long it waits */
    bool is_cancelled;
    /* of shell_execute */
    struct process *process;
    struct capture streams[PROCESS_STREAMS];
    bool is_executing;
    bool has_started;
    bool has_timed_out;
    struct timer progress;
    uint64_t told; /* bytes reported */
    /* of calls that wait for a job */
    struct list waiting; /* in the job's list */
    struct shell_job *job;
    bool is_settling; /* output has come, and a little more may follow */
};

/* ---- shell.c: ending calls. Each of these frees the call. ---- */

/* With the object that is still open, as text and as structuredContent; or with an error of before.
 */
void call_finish(struct shell_call *call, struct json_writer *object, int error, bool is_error);
/* The client gets the error message. */
void call_fail(struct shell_call *call, const struct err *err);
/* Ends it without a result. */
void call_end(struct shell_call *call, int error);

/* ---- run.c: shell_execute ---- */

void run_begin(struct shell_call *call);
void run_cancel(struct shell_call *call);
/* Kills what it runs, if anything. */
void run_done(struct shell_call *call);

/* Builds a command for the starter; argv has room for its words. */
enum { COMMAND_WORDS = 5 };
struct starter_command call_command(const struct shell_call *call, const char *argv[COMMAND_WORDS]);

/*
 * Of a command without a terminal. An editor would wait for nobody until the time is over; one that
 * fails at once lets git and others say what to do instead.
 */
extern const char *const call_variables[];
/* True if the command should be started again with sh. */
bool call_lacks_bash(struct shell *shell, int error, const struct err *err);

/* ---- jobs.c and jobtools.c ---- */

void job_start(struct shell_call *call);
void job_output(struct shell_call *call);
void job_input(struct shell_call *call);
void job_stop(struct shell_call *call);
void job_list(struct shell_call *call);
/* Releases a call that waits, or whose job is starting; such a job is killed. */
void job_cancel(struct shell_call *call);
/* Ends the jobs of one session, or all. */
void jobs_end(struct shell *shell, const void *session, bool is_all);
/* NULL if the session has no such job. */
const struct shell_command *job_command(const struct shell_call *call, const void *session);

/* ---- record.c ---- */

struct record_mark record_mark_of(const struct shell_call *call);
/* Call before executing; on an error it must not be executed. */
int record_intent(struct shell *shell, struct record_mark *mark,
                  const struct shell_command *command);
/* Records how it ended, or the code if it did not run; does nothing if already recorded. */
void record_outcome(struct shell *shell, struct record_mark *mark,
                    const struct shell_command *command, int error, struct starter_end end);
void record_refusal(struct shell *shell, const struct record_mark *mark,
                    const struct shell_command *command, const char *rule, int error);

/* ---- typed.c ---- */

/*
 * Describes for a person what shell_input would type: a quoted line for each line of text, a line
 * for each key, and whether the input ends. ERR_TOO_LARGE if it is more than a job accepts.
 */
int typed_words(struct arena *arena, const struct json_value *arguments, struct str *out_words,
                struct err *err);
/* The reason in its audit records: size, digest, beginning and end of the text. */
enum { TYPED_REASON_BYTES = 480 };
int typed_reason(struct str bytes, bool is_closing, char out_reason[TYPED_REASON_BYTES]);

/* ---- results.c ---- */

/* "KILL"; or the number if it has no name. */
enum { SIGNAL_NAME_BYTES = 16 };
const char *signal_name(int signum, char out_name[SIGNAL_NAME_BYTES]);
/* Writes the members exitCode and, if a signal ended it, signal. */
void write_end(struct json_writer *writer, struct starter_end end);
/* The hint of hint.h, if there is one. */
int write_hint(struct json_writer *writer, const struct shell *shell, struct starter_end end,
               struct str command, struct str printed);

#endif

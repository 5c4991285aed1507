/* SPDX-License-Identifier: Apache-2.0 */
/* For this layer only: the inside of a shell and of a call, and what its files give each other. */
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
    struct shell_config config; /* with the defaults filled in */
    struct arena arena;         /* what was copied of the configuration */
    struct shell_place places[SHELL_MAX_PLACES];
    const struct schema *schemas[SHELL_TOOLS];
    struct str runs;        /* what is said of a command that is started */
    struct str types;       /* and of one that is typed into */
    const char **path_dirs; /* of PATH, whose programs have bare names; up to a NULL */
    bool lacks_bash;        /* then it is sh */
    uint64_t last_id;       /* of calls */
    uint64_t last_job;
    struct list calls; /* all that run */
    size_t executing;
    struct list jobs; /* oldest first */
    size_t job_count;
};

struct shell_job;

/* A command. */
struct shell_command {
    struct str name;  /* as rules know it, see permission/commandline/commandline.h */
    struct str whole; /* as it is executed, with a NUL behind it */
    struct str cwd;   /* absolute, without links, the same */
};

/* For which call something stands in the record, until its outcome does. */
struct record_mark {
    bool is_open;       /* the outcome is still to come */
    const char *reason; /* of what is no command of its own; or NULL */
    uint64_t request_id;
    const char *tool;
    const char *decision;
    uint64_t record_id;
};

struct shell_call {
    struct list link; /* of the shell's, once it runs */
    struct shell *shell;
    const struct catalog_tool *tool;
    uint64_t id;
    struct arena arena;
    const struct json_value *arguments;      /* fit the schema */
    struct shell_command command;            /* of those that start a command */
    struct str typed;                        /* of shell_input: in words, for whoever is asked */
    struct str directory;                    /* the same as cwd, from its place on, to be shown */
    const struct permission_resource *asked; /* what the user may be asked about */
    struct str text;                         /* and its text, see shell_resource() */
    struct shell_events events;
    struct provider_events caller; /* of shellprovider.c */
    struct record_mark mark;
    struct loop_task begin; /* in the next turn */
    struct timer timer;     /* its time, or how long it waits */
    bool is_cancelled;
    /* of shell_execute */
    struct process *process;
    struct capture streams[PROCESS_STREAMS];
    bool is_executing;
    bool has_started;
    bool has_timed_out;
    struct timer progress;
    uint64_t told; /* bytes */
    /* of those that wait for a job */
    struct list waiting; /* the job's */
    struct shell_job *job;
    bool is_settling; /* something has come, and a little more may */
};

/* ---- shell.c: how calls end. Each of these frees the call. ---- */

/* With an object that is both text and structuredContent. */
void call_finish(struct shell_call *call, struct str object, bool is_error);
/* With an error that the client gets to read. */
void call_fail(struct shell_call *call, const struct err *err);
/* Without a result. */
void call_end(struct shell_call *call, int error);

/* ---- run.c: shell_execute ---- */

void run_begin(struct shell_call *call);
void run_cancel(struct shell_call *call);
/* Kills what it runs, if it does. */
void run_done(struct shell_call *call);

/* A command for the starter; argv has room for its words. */
enum { COMMAND_WORDS = 5 };
struct starter_command call_command(const struct shell_call *call, const char *argv[COMMAND_WORDS]);
/* True when the command should be started again, with the next shell. */
bool call_lacks_bash(struct shell *shell, int error, const struct err *err);

/* ---- jobs.c and jobtools.c ---- */

void job_start(struct shell_call *call);
void job_output(struct shell_call *call);
void job_input(struct shell_call *call);
void job_stop(struct shell_call *call);
void job_list(struct shell_call *call);
/* A call that waits, or whose job is being started, is let go of; the latter job is killed. */
void job_cancel(struct shell_call *call);
/* Of one session, or all of them. */
void jobs_end(struct shell *shell, const void *session, bool is_all);
/* NULL when the session has none of that name. */
const struct shell_command *job_command(const struct shell_call *call, const void *session);

/* ---- record.c ---- */

struct record_mark record_mark_of(const struct shell_call *call);
/* Before it is done; what cannot be recorded is not done. */
int record_intent(struct shell *shell, struct record_mark *mark,
                  const struct shell_command *command);
/* How it ended, or the code of why it did not; nothing when that stands there already. */
void record_outcome(struct shell *shell, struct record_mark *mark,
                    const struct shell_command *command, int error, struct starter_end end);
void record_refusal(struct shell *shell, const struct record_mark *mark,
                    const struct shell_command *command, int error);

/* ---- typed.c ---- */

/*
 * What shell_input would type, for a person: a line of text in quotes for each line, a line for
 * each key, and whether the input ends. ERR_TOO_LARGE for more than a job can be given.
 */
int typed_words(struct arena *arena, const struct json_value *arguments, struct str *out_words,
                struct err *err);
/* The reason of its records: how much, the digest of it, and both ends. */
enum { TYPED_REASON_BYTES = 480 };
int typed_reason(struct str bytes, bool is_closing, char out_reason[TYPED_REASON_BYTES]);

/* ---- results.c ---- */

/* "KILL"; or the number where it has no name. */
enum { SIGNAL_NAME_BYTES = 16 };
const char *signal_name(int signum, char out_name[SIGNAL_NAME_BYTES]);
/* The members exitCode and, where one ended it, signal. */
void write_end(struct json_writer *writer, struct starter_end end);

#endif

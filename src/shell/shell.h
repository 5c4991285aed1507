/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of the group shell: commands that run to their end, and background jobs. A call has two
 * phases, so that permission can be decided in between:
 *
 *     shell_prepare()   checks the arguments, resolves the directory, normalises the command; any
 * thread
 *     shell_resource()  tells what would be executed
 *     shell_run()       does it; or shell_drop(), after shell_refuse() if it was denied
 *
 * Everything else belongs to the loop's thread. A starter runs the commands in its sandbox; the
 * caller decides who may run what.
 */
#ifndef SHELL_SHELL_H
#define SHELL_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "gatehouse/authority.h"
#include "loop/loop.h"
#include "permission/permission.h"
#include "protocol/catalog.h"
#include "protocol/toolresult.h"
#include "shell/starter.h"

struct shell;
struct shell_call;

/* What keeps commands from the machine, to tell a client why one failed. */
struct shell_sandbox {
    bool has_network;
    bool has_hosts;       /* on the web, by a proxy */
    bool keeps_autorun;   /* what authority/names/autorun.h names is read-only */
    bool hides_sensitive; /* what authority/names/sensitive.h names is there, but empty */
    /* Whether commands see nothing at this absolute path, even if it exists. NULL: no sandbox. */
    bool (*is_hidden)(const void *data, const char *path);
    const void *data;
};

struct shell_config {
    struct loop *loop;
    const struct starter *starter;
    /*
     * Resolves names: follows links inside the root; AUTHORITY_METADATA suffices. With scopes
     * joined to it, commands can also run in those.
     */
    struct authority_scope *names;
    const char *root_path;            /* in which commands run; without links */
    const char *given_path;           /* as given by the user; or NULL */
    struct authority_scope *recorded; /* the scope under which commands are recorded */
    const char *path;                 /* PATH of the commands */
    const char *const *writable;      /* what they may change besides the root, up to a NULL */
    /* What a command can do, for the question to the user: continues "Runs a command"; or NULL. */
    const char *reach;
    struct shell_sandbox sandbox;
    enum toolresult_form result_form;
    size_t max_output_bytes;  /* of each stream of a command; 0: SHELL_OUTPUT_BYTES */
    size_t max_history_bytes; /* of a job; 0: SHELL_HISTORY_BYTES */
    int64_t timeout_ms;       /* 0: SHELL_TIMEOUT_MS */
    size_t max_jobs;          /* running in one session; 0: SHELL_MAX_JOBS */
};

enum {
    SHELL_OUTPUT_BYTES = 256 << 10,
    SHELL_HISTORY_BYTES = 1 << 20,
    SHELL_TIMEOUT_MS = 30000,
    SHELL_MAX_TIMEOUT_MS = 600000, /* that a call can ask for; timeout_ms when that is more */
    SHELL_MAX_JOBS = 16,
    SHELL_MAX_ALL_JOBS = 128, /* of all sessions, including ended ones */
    SHELL_MAX_RUNNING = 32,   /* commands at a time, besides jobs */
};

/*
 * The caller owns the scopes and the starter, which must outlive the shell; the rest is copied. The
 * process ignores SIGPIPE from then on: a job may close its input at any time.
 */
int shell_new(const struct shell_config *config, struct shell **out_shell, struct err *err);
/*
 * Kills everything; running calls are answered with ERR_CANCELLED. Afterwards only shell_prepare()
 * may be used, by threads that may still be in it.
 */
void shell_end(struct shell *shell);
/* Calls shell_end() first. */
void shell_free(struct shell *shell);

/* Returns ERR_SCHEMA_MISMATCH or the codes for names; the message is for the client. */
int shell_prepare(struct shell *shell, const struct catalog_tool *tool,
                  const struct json_value *arguments, struct shell_call **out_call,
                  struct err *err);

/*
 * What would be executed: the command as written and as normalised for rules, and its directory;
 * and the text alone (out_text, or NULL). For shell_input the command is that of the job, which
 * outlives its texts, and out_text describes what would be typed. False if nothing is executed:
 * reading, stopping, or a job that does not exist.
 */
bool shell_resource(const struct shell_call *call, const void *session,
                    struct permission_resource *out_resource, struct str *out_text);

/*
 * Same for a person: one sentence, and the text unless the resource contains it. Both live as long
 * as the shell and `text`.
 */
struct shell_words {
    struct str action;
    struct str detail;
};
struct shell_words shell_words(const struct shell *shell, const struct catalog_tool *tool,
                               const struct permission_resource *resource, struct str text);

struct shell_events {
    /* Called from time to time: bytes printed so far, and the last line. Or NULL. */
    void (*on_progress)(void *data, uint64_t bytes, struct str last_line);
    /*
     * Called once, never from inside shell_run(). The result is a finished CallToolResult, even if
     * the tool failed; the remaining codes are ERR_CANCELLED, ERR_NO_MEMORY and ERR_TOO_LARGE.
     */
    void (*on_done)(void *data, int error, struct str result);
    void *data;
    const void *session;  /* that the call belongs to; only compared */
    const char *decision; /* what allowed it, for the audit log; static; or NULL */
};

/* Takes ownership of the call. Returns an id for shell_cancel(). */
uint64_t shell_run(struct shell_call *call, const struct shell_events *events);

/* Kills what it runs; on_done comes when that has ended. Ignores unknown ids. */
void shell_cancel(struct shell *shell, uint64_t id);

/* Records that it was denied, what decided so, and the code. */
void shell_refuse(struct shell_call *call, const void *session, const char *decision,
                  const char *rule, int error);
/* Frees a call without running it. On any thread, even after the shell was freed. */
void shell_drop(struct shell_call *call);

/*
 * Asks a job of the session to end, and kills it if it does not; for the user, who needs no call.
 * It stays in the list with its output. ERR_NOT_FOUND if there is no such job.
 */
int shell_stop_job(struct shell *shell, const void *session, struct str name);

enum { SHELL_PIECE_BYTES = 32 << 10 };

/* Recent output of a job, for a user who looks on; agents read all of it with their tools. */
struct shell_piece {
    const char *job;
    uint64_t from;   /* its place, counted from the job's start */
    struct str text; /* valid UTF-8 */
    bool is_running;
};
typedef void shell_piece_fn(void *data, const struct shell_piece *piece);

/* What it printed from there on; the newest SHELL_PIECE_BYTES if it is more. ERR_NOT_FOUND. */
int shell_peek_job(struct shell *shell, const void *session, struct str name, uint64_t from,
                   shell_piece_fn *take, void *data);
/* The same for each job of the session that has printed or ended since the last time. */
void shell_peek_news(struct shell *shell, const void *session, shell_piece_fn *take, void *data);
/* For a user who does not look on: only those that have ended, without what they printed. */
void shell_peek_ends(struct shell *shell, const void *session, shell_piece_fn *take, void *data);
/* on_news is called when there may be some; NULL: no more. */
void shell_watch_jobs(struct shell *shell, void (*on_news)(void *data), void *data);

/* Kills the session's jobs and commands; its calls are answered with ERR_CANCELLED. */
void shell_end_session(struct shell *shell, const void *session);

#endif

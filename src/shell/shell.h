/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of the group shell: commands that run to their end, and jobs that go
 * on. A call has two phases, so that somebody may decide in between:
 *
 *     shell_prepare()   arguments checked, the directory resolved, the command named; any thread
 *     shell_resource()  what would be executed
 *     shell_run()       does it; or shell_drop(), after shell_refuse() where it was denied
 *
 * Everything else belongs to the loop's thread. Commands are started by a starter
 * in whatever box it has; who may run what is settled by the caller.
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
#include "shell/starter.h"

struct shell;
struct shell_call;

enum { SHELL_MAX_PLACES = 8 };

/* A directory in which commands may run. */
struct shell_place {
    /* Finds out where a name leads: follows links inside the root; AUTHORITY_METADATA suffices. */
    struct authority_scope *names;
    const char *root_path;  /* without links */
    const char *given_path; /* as the user named it; or NULL */
};

struct shell_config {
    struct loop *loop;
    const struct starter *starter;
    /* The first is the root: relative names begin there. The others are named by absolute paths. */
    const struct shell_place *places;
    size_t place_count;
    struct authority_scope *recorded; /* in whose name commands stand in the record */
    const char *path;                 /* what commands have as PATH */
    const char *const *writable;      /* what they may change besides the places, up to a NULL */
    /* What a command can do, for whoever is asked: goes on from "Runs a command"; or NULL. */
    const char *reach;
    size_t max_output_bytes;  /* of each stream of a command; 0: SHELL_OUTPUT_BYTES */
    size_t max_history_bytes; /* of a job; 0: SHELL_HISTORY_BYTES */
    int64_t timeout_ms;       /* 0: SHELL_TIMEOUT_MS */
    int64_t max_timeout_ms;   /* 0: SHELL_MAX_TIMEOUT_MS, or timeout_ms when more */
    size_t max_jobs;          /* that run in one session; 0: SHELL_MAX_JOBS */
};

enum {
    SHELL_OUTPUT_BYTES = 256 << 10,
    SHELL_HISTORY_BYTES = 1 << 20,
    SHELL_TIMEOUT_MS = 30000,
    SHELL_MAX_TIMEOUT_MS = 600000,
    SHELL_MAX_JOBS = 16,
    SHELL_MAX_ALL_JOBS = 128, /* of all sessions, those that have ended included */
    SHELL_MAX_RUNNING = 32,   /* commands at a time, besides jobs */
};

/*
 * The scopes and the starter stay the caller's and must outlive the shell; the rest is copied.
 * The process ignores SIGPIPE from then on: a job may close its input at any time.
 */
int shell_new(const struct shell_config *config, struct shell **out_shell, struct err *err);
/*
 * Kills everything; calls under way are answered with ERR_CANCELLED. From then on it is there for
 * shell_prepare() alone, on threads that may still be in it.
 */
void shell_end(struct shell *shell);
/* shell_end(), and it is gone. */
void shell_free(struct shell *shell);

/* ERR_SCHEMA_MISMATCH and the codes of names surface here; the message is for the client. */
int shell_prepare(struct shell *shell, const struct catalog_tool *tool,
                  const struct json_value *arguments, struct shell_call **out_call,
                  struct err *err);

/*
 * What would be executed: the command as it was written and as rules know it, and where; and the
 * text alone (out_text, or NULL). Of shell_input the command is the job's, which outlives its
 * texts, and out_text is what would be typed, in words. False when nothing is executed: reading,
 * stopping, or a job that is not there.
 */
bool shell_resource(const struct shell_call *call, const void *session,
                    struct permission_resource *out_resource, struct str *out_text);

/*
 * The same for a person: what is done in one sentence, and the text unless the resource says it
 * already. Both live as long as the shell and `text`.
 */
struct shell_words {
    struct str action;
    struct str detail;
};
struct shell_words shell_words(const struct shell *shell, const struct catalog_tool *tool,
                               const struct permission_resource *resource, struct str text);

struct shell_events {
    /* Now and then: bytes printed so far, and the last line. Or NULL. */
    void (*on_progress)(void *data, uint64_t bytes, struct str last_line);
    /*
     * Once, never from inside shell_run(). The result is a finished CallToolResult, also where
     * the tool failed; codes that remain are ERR_CANCELLED, ERR_NO_MEMORY and ERR_TOO_LARGE.
     */
    void (*on_done)(void *data, int error, struct str result);
    void *data;
    const void *session;  /* whose call it is; compared only */
    const char *decision; /* what let it through, for the record: static; or NULL */
    uint64_t record_id;   /* the call's in the record; 0: none */
};

/* Takes the call. The number is for shell_cancel(). */
uint64_t shell_run(struct shell_call *call, const struct shell_events *events);

/* What it runs is killed; on_done comes when it is gone. Unknown numbers are passed over. */
void shell_cancel(struct shell *shell, uint64_t id);

/* Records that it was denied, by what and with which code. */
void shell_refuse(struct shell_call *call, const void *session, const char *decision, int error);
/* Nothing happened. On any thread, and maybe after the shell is gone. */
void shell_drop(struct shell_call *call);

/* Kills its jobs and its commands; its calls are answered with ERR_CANCELLED. */
void shell_end_session(struct shell *shell, const void *session);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns calls from the server into calls of the engine, and their ends into answers. Without a
 * queue the instance asks its user, by way of the answer (permission/confirmation.h).
 */
#ifndef PROGRAMS_CONNECT_CALLS_H
#define PROGRAMS_CONNECT_CALLS_H

#include <stdbool.h>

#include "asking/noticeboard.h"
#include "base/jsonwrite.h"
#include "base/log.h"
#include "browser/browsertools.h"
#include "browser/client.h"
#include "call/executor.h"
#include "gatehouse/authority.h"
#include "gateway/event.h"
#include "loop/loop.h"
#include "permission/questionqueue.h"
#include "permission/rules/keeper.h"
#include "screen/client.h"
#include "shell/shell.h"

enum {
    /* Timeout after which the server abandons a call, per dialect: asking is pointless then. */
    CALLS_N8N_MS = 60000,
    CALLS_SEED_MS = 30000,
    CALLS_FOLLOW_MS = 60000,
    CALLS_MAX_HELD_BYTES = 256 << 20, /* of all calls: arguments, questions */
};

struct calls;

/* The end of a call, for who looks on. */
struct calls_ended {
    struct str id;
    struct str tool;
    const char *outcome;  /* "done", "timed out", "failed", "refused" */
    const char *decision; /* what allowed or refused it; or NULL */
    const char *rule;     /* the rule, mode or answer that did, as text; or empty */
    int64_t took_ms;
};

struct calls_config {
    struct loop *loop;
    const struct log *log;
    struct executor *files;                        /* the toolhost; must outlive the calls */
    struct shell *shell;                           /* NULL: commands are not available */
    const char *const *variables;                  /* that commands are given; or NULL */
    struct screen_client *screen;                  /* NULL: there is none, or it is denied */
    struct browser_client *browser;                /* the same */
    const char *default_browser;                   /* by name; empty: the first one there is */
    const char *first_dir;                         /* of the folders */
    const char *staging_dir;                       /* of files to and from its pages; empty: none */
    const struct browser_credentials *credentials; /* of the server; must outlive the calls */
    /* Where no page may go: our own port (0: none), and the server. */
    uint16_t own_port;
    const char *server_host;
    uint16_t server_port;
    struct keeper *keeper;
    struct authority_scope *recorded; /* the scope under which calls are recorded; or NULL */
    struct str client;            /* as the audit log names the server; must outlive the calls */
    struct noticeboard *board;    /* tells other programs of open questions; or NULL */
    struct question_queue *queue; /* NULL: the instance asks */
    bool keeps_answers;           /* the instance may give lasting ones */
    bool (*offers)(void *data, const struct catalog_tool *tool);
    /*
     * Called once for each call that was begun, unless its session has ended. `result` is a whole
     * CallToolResult.
     */
    void (*answer)(void *data, struct str id, struct str result);
    /* Whether the server can be told more than answers. NULL: never. */
    bool (*reports)(void *data);
    /* Then: how far a call has come. */
    void (*progress)(void *data, struct str id, uint64_t done, uint64_t total, const char *what);
    /* And how it ended. */
    void (*ended)(void *data, const struct calls_ended *ended);
    /* And what background commands print, for CALLS_FOLLOW_MS after they were listed; always their
     * end. */
    void (*job_output)(void *data, const struct shell_piece *piece);
    void *data;
};

int calls_new(const struct calls_config *config, struct calls **out_calls);
/* Call after calls_stop_workers(). */
void calls_free(struct calls *calls);

/* Whether this tool can be run here. */
bool calls_have(const struct calls *calls, const struct catalog_tool *tool);

void calls_begin(struct calls *calls, const struct gateway_call *given);

/* The server does not wait for it any more: ends it, and what it runs. Ignores unknown ids. */
void calls_cancel(struct calls *calls, struct str id);

/*
 * Lists the session's background commands, or stops one, for the user at the server's page; the
 * result is answered like that of a call.
 */
void calls_list_jobs(struct calls *calls, struct str id);
void calls_stop_job(struct calls *calls, struct str id, struct str job);
/* The members jobId, from, data, state. */
void calls_write_piece(const struct shell_piece *piece, struct json_writer *json);
/* The recent output of one, from a position on. */
void calls_show_job(struct calls *calls, struct str id, struct str job, uint64_t from);

/*
 * Abandons running calls without an answer, and ends permissions for the session and the questions
 * that the instance holds.
 */
void calls_end_session(struct calls *calls);

/*
 * Starts nothing more. Returns false if a worker hangs: it may continue at any time with what the
 * calls were given, including the shell and the keeper, which must not be freed.
 */
bool calls_stop_workers(struct calls *calls);

#endif

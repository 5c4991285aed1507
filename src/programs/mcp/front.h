/* SPDX-License-Identifier: Apache-2.0 */
/* What every front end (stdio, HTTP) is created from. */
#ifndef PROGRAMS_MCP_FRONT_H
#define PROGRAMS_MCP_FRONT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "asking/noticeboard.h"
#include "base/log.h"
#include "browser/client.h"
#include "files/toolbox.h"
#include "loop/loop.h"
#include "permission/questionqueue.h"
#include "permission/rules/keeper.h"
#include "screen/client.h"
#include "shell/shell.h"
#include "workspace/client.h"

struct front_config {
    struct loop *loop;
    const struct log *log;
    struct toolbox *box;
    struct client_roots *client_roots;  /* to set from the client's roots; NULL: they are ignored */
    struct shell *shell;                /* NULL: commands are not available */
    const char *const *variables;       /* that commands are given: the record hides their values */
    struct screen_client *screen;       /* NULL: there is none, or it is not allowed */
    struct browser_client *browser;     /* the same */
    const char *default_browser;        /* by name; NULL: the first one there is */
    struct workspace_client *workspace; /* its tools, instead of those for files and commands */
    enum workspace_provider workspace_provider;
    int workspace_starter;   /* of workspace_revival_fork() */
    bool workspace_outlives; /* its sandbox is not ours, and stays when the companion dies */
    const char *first_dir;   /* of the folders; NULL: there are none */
    const char *staging_dir; /* of files to and from the browser's pages; empty: none */
    uint16_t own_port;       /* where we listen; 0: nowhere */
    enum toolresult_form result_form;
    struct keeper *keeper;
    struct noticeboard *board;            /* tells other programs of open questions */
    struct question_queue *queue;         /* while it has a terminal; else ask the client */
    bool allows_remote_always;            /* offer permanent choices also when the client asks */
    const struct permission_modes *modes; /* at the start: decide which tools are offered */
    struct authority_scope *names;        /* both to watch subscribed URIs */
    struct authority_scope *files;
    atomic_uint *running;            /* jobs on workers; both must outlive everything */
    atomic_uint *changing;           /* those of them that change something */
    int64_t timeout_ms;              /* of one call */
    uint64_t max_file_bytes;         /* determines the maximum message size */
    void (*on_answered)(void *data); /* whenever a call has ended */
    /* Called once: no client is left, and nothing is left to do. */
    void (*on_end)(void *data);
    void *data;
};

#endif

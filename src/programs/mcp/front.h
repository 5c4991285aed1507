/* SPDX-License-Identifier: Apache-2.0 */
/* What every way in is made from: a front is what clients come by, and this is what stands behind.
 */
#ifndef PROGRAMS_MCP_FRONT_H
#define PROGRAMS_MCP_FRONT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "files/toolbox.h"
#include "loop/loop.h"
#include "permission/questionqueue.h"
#include "permission/rules/keeper.h"
#include "shell/shell.h"

struct front_config {
    struct loop *loop;
    const struct log *log;
    struct toolbox *box;
    struct shell *shell; /* NULL: no commands here */
    struct keeper *keeper;
    struct question_queue *queue; /* with the terminal; NULL: the client is asked */
    bool allows_remote_always;    /* choices that are kept for good also by way of the client */
    const struct permission_modes *modes; /* at the beginning: what is offered */
    struct authority_scope *names;        /* both for watching what is subscribed to */
    struct authority_scope *files;
    atomic_uint *running;            /* jobs in a worker's hands; both outlive everything */
    atomic_uint *changing;           /* those of them that change something */
    int64_t timeout_ms;              /* of one call */
    uint64_t max_file_bytes;         /* decides how long a message may be */
    void (*on_answered)(void *data); /* each time a call has ended */
    /* Once: nobody comes any more, and nothing is left to do. */
    void (*on_end)(void *data);
    void *data;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the DevTools protocol: commands with their answers, in any order and any number at a
 * time, and events. It neither reads nor writes descriptors: bytes come by cdp_receive(), in pieces
 * of any size, and leave by a function of the owner.
 *
 * All functions are called inside the monitor; cdp_finish() leaves it while it waits.
 */
#ifndef BROWSER_CDP_H
#define BROWSER_CDP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "loop/monitor.h"

enum {
    CDP_MAX_MESSAGE = 160 << 20,
    CDP_MAX_WAITING = 4096, /* commands without an answer */
    CDP_MAX_DEPTH = 500,    /* of JSON: what a page gives to the console */
};

struct cdp_config {
    struct monitor *monitor;
    /* Sends a message; `last` says that it ends with a NUL. */
    int (*send)(void *data, struct str message);
    /* `session` is empty for the browser itself. The parameters are valid until it returns. */
    void (*on_event)(void *data, struct str session, struct str method,
                     const struct json_value *params);
    /* Of a command that is watched: `refusal` says why it failed, or is NULL. */
    void (*on_answer)(void *data, struct str session, const char *method, const char *refusal);
    void *data;
};

struct cdp;
struct cdp_command;

int cdp_new(const struct cdp_config *config, struct cdp **out_cdp);
/* No command may be waited for. */
void cdp_free(struct cdp *cdp);

/* Bytes of a pipe, where a NUL ends each message. An error ends the connection. */
int cdp_receive(struct cdp *cdp, struct str bytes);
/* A whole message. */
int cdp_take(struct cdp *cdp, struct str message);
/* The connection has ended: all that is waited for fails, and so does what is begun later. */
void cdp_end(struct cdp *cdp);
bool cdp_has_ended(const struct cdp *cdp);

/*
 * Sends a command. `params` is a JSON object, or empty. The answer belongs to whoever finishes it;
 * cdp_forget() if nobody wants it, cdp_watch() if nobody waits but its failure matters.
 */
int cdp_begin(struct cdp *cdp, struct str session, const char *method, struct str params,
              struct cdp_command **out_command, struct err *err);

struct cdp_answer {
    char *text; /* of the message */
    struct arena arena;
    const struct json_value *result; /* an object */
};

#define CDP_ANSWER_INIT                                                                            \
    {                                                                                              \
        .text = NULL                                                                               \
    }

void cdp_answer_done(struct cdp_answer *answer);
#define cleanup_cdp_answer cleanup_with(cdp_answer_done)

/*
 * Waits for the answer, and frees the command. ERR_TIMED_OUT after the deadline; ERR_CANCELLED once
 * `is_over`, if it is not NULL, says so; ERR_CONNECTION_LOST; ERR_TOOL_FAILED with the browser's
 * message if it refused.
 */
int cdp_finish(struct cdp *cdp, struct cdp_command *command, int64_t deadline_ms,
               bool (*is_over)(void *data), void *data, struct cdp_answer *out_answer,
               struct err *err);
/* Whether its answer has come, or none will. */
bool cdp_is_done(const struct cdp_command *command);
void cdp_forget(struct cdp *cdp, struct cdp_command *command);
/* `on_answer` will be called, unless the connection ends. */
void cdp_watch(struct cdp *cdp, struct cdp_command *command);

#endif

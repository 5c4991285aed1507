/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of a workspace that go on running after the call that started them. Each is a call of
 * the workspace that nobody waits for: what it writes is kept, its beginning and its end, until it
 * is asked for. They end with their workspace; some that are over are kept, too.
 *
 * Whoever asks gets a watch: it ends once, by on_done, unless it is left.
 */
#ifndef WORKSPACE_BACKGROUND_H
#define WORKSPACE_BACKGROUND_H

#include "base/jsonwrite.h"
#include "workspace/workspace.h"

struct background;
struct background_watch;

enum {
    BACKGROUND_MAX_RUNNING = 8,                /* of a workspace */
    BACKGROUND_MAX_KEPT = 16,                  /* of a workspace, with those that are over */
    BACKGROUND_MAX_ALL = 256,                  /* of all workspaces */
    BACKGROUND_HALF_BYTES = 64 << 10,          /* kept at either end of a stream */
    BACKGROUND_TEXT_BYTES = 1000,              /* that is waited for */
    BACKGROUND_LIMIT_MS = 24 * 60 * 60 * 1000, /* unless the call says otherwise */
};

struct background_events {
    /*
     * `err` is NULL if what was asked for is so, or its time is over. Valid until it returns.
     * Never called from inside the functions that make a watch.
     */
    void (*on_done)(void *data, const struct err *err, struct background *background);
    void *data;
};

/* ERR_BUSY: too many run. The watch ends when the command runs; left before, the command ends. */
int background_start(struct workspace *workspace, const struct workspace_request *request,
                     const struct background_events *events, struct background_watch **out_watch,
                     struct err *err);

struct background_wish {
    struct str id;
    int64_t wait_ms; /* for its end, or for the text */
    struct str text; /* in what nobody was shown yet; or empty */
    bool kills;      /* it and everything that it has started, instead of waiting */
};

/* ERR_NOT_FOUND: there is no such command; the message has those that there are. */
int background_watch(struct workspace *workspace, const struct background_wish *wish,
                     const struct background_events *events, struct background_watch **out_watch,
                     struct err *err);
/* on_done does not come. */
void background_leave(struct background_watch *watch);

const char *background_id(const struct background *background);
/* Members of an object: its state, and the last lines of its output; 0: all that is kept. */
int background_write(struct background *background, int64_t lines, struct json_writer *json);

/*
 * For how long none has run: 0 if one does, INT64_MAX if none ever has. Providers that do not say
 * by themselves when a command ends are asked, for the next time.
 */
int64_t background_idle_ms(struct workspace *workspace);

/* Of a workspace whose calls have ended. */
void background_free_all(struct workspace *workspace);

#endif

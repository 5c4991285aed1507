/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's status as JSON, the same on its local port and on its control socket. It must never
 * contain a secret.
 */
#ifndef PROGRAMS_CONNECT_REPORT_H
#define PROGRAMS_CONNECT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
    REPORT_MAX_OTHERS = 32,      /* folders */
    REPORT_MAX_BYTES = 32 << 10, /* of what pages get */
    /* A path has at most 4 KiB, and a list 256 globs of 1 KiB; a byte of them becomes six. */
    REPORT_WHOLE_BYTES = 4 << 20,
};

enum report_state {
    REPORT_IDLE,         /* no connection wanted */
    REPORT_ASKING,       /* the user is being asked */
    REPORT_CONNECTING,   /* for the first time */
    REPORT_CONNECTED,    /* calls can arrive */
    REPORT_RECONNECTING, /* the connection to the server is lost */
    REPORT_REFUSED,      /* same, and the server no longer accepts the key */
    REPORT_LEAVING,
};

struct report_folder {
    struct str path; /* any bytes */
    bool may_write;
};

struct report {
    enum report_state state;
    bool is_connected; /* stays true while a broken stream is reopened, until that fails */
    bool is_of_up;     /* `gatehouse up` has started it, with a server of its own */
    bool has_session;  /* the server may know it: no second session is started */
    struct str dir;    /* the folder; any bytes */
    struct report_folder others[REPORT_MAX_OTHERS]; /* for report_whole() */
    size_t other_count;
    const char *const *denied;  /* globs, NULL-terminated, or NULL; for report_whole() */
    const char *const *allowed; /* the same */
    struct str url; /* of the server; like the next field, shown to pages only while connected */
    int64_t connected_wall_ms;
    char why[ERR_MESSAGE_BYTES]; /* why it is not connected; empty without a reason */
};

/* {"status":"ok","dir","connected"} */
int report_health(const struct report *report, struct buf *out);

/* {"connected","dir","connectedAt","url"}, the last two null when not connected. */
int report_status(const struct report *report, struct buf *out);

/* Same plus {"otherFolders","denied","allowed","state","server","reason","command"}: for the user's
 * own commands. */
int report_whole(const struct report *report, struct buf *out);

/* {"status":"connected","dir"}: for a connection that was requested. */
int report_connected(const struct report *report, struct buf *out);

#endif

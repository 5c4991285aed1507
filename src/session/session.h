/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session of tools stands on: an authority with its state and record, the
 * grants of one folder, and the toolbox over them. Shared by the programs that
 * do file work. The order is the point: everything is opened first, then the
 * process confines itself, and only then does it read what somebody else sends.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "files/toolbox.h"
#include "gatehouse/authority.h"
#include "isolate/confine.h"
#include "permission/rules/keeper.h"
#include "session/state.h"

/* Whether calls are allowed is decided here, by these modes and by the user's rules. */
struct session_consent {
    struct permission_modes modes;
    const char *settings_dir; /* NULL: the user's own */
    bool keeps_rules;         /* what is decided for good is written there */
};

struct session_config {
    const char *directory; /* the folder, as the user named it */
    /* Of our own, made if missing: journal, record, what undo needs. */
    const char *state_dir;
    const char *session;        /* who acts, in the record */
    bool is_recorded_elsewhere; /* then no record is kept here */
    bool has_tools_elsewhere;   /* then no toolbox is made here */
    bool may_write;
    const char *const *denied;             /* globs up to a NULL; or NULL */
    const char *const *allowed;            /* the same */
    const struct session_consent *consent; /* NULL: somebody else decides about calls */
    bool takes_rules;                      /* and tells by keeper_set_rules() what is denied */
    const char *const *protected_dirs; /* absolute, up to a NULL: nothing reaches them; or NULL */
    uint64_t max_file_bytes;
    uint64_t max_lines;
    uint64_t max_matches;
};

struct session {
    bool may_write;
    bool keeps_rules;
    struct settings_file *settings; /* NULL: there are none, or they are not ours to look at */
    struct settings_findings findings;
    struct keeper *keeper; /* NULL: somebody else decides, and has no rules */
    struct authority_filter filter;
    struct session_state state;
    struct authority_scope *names;
    struct authority_scope *files;
    struct toolbox *box;       /* NULL: elsewhere */
    char given_path[PATH_MAX]; /* the folder as the user named it, from / on */
    char root_path[PATH_MAX];  /* without links */
};

/* The message is for the user who started us. */
int session_open(const struct session_config *config, struct session **out_session,
                 struct err *err);
void session_close(struct session *session);

struct session_walls {
    bool answers_connections; /* that come to a socket which is open already */
    bool asks_on_terminal;    /* that is open already */
    bool passes_messages;     /* on a socket that is open already: descriptors come so */
};

/* For good, and before any thread: files of the folder and of our state, no exec, no sockets. */
int session_confine(const struct session *session, const struct session_walls *walls,
                    struct confine_report *out_report, struct err *err);

/*
 * At the end, when nobody waits any more: until all changes have returned, a minute at most. One
 * that was given up puts back what it has begun, and to leave in its middle would be a loss. Which
 * signals end the process meanwhile is the caller's to say.
 */
void session_wait_for_changes(const atomic_uint *changing);

#endif

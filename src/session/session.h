/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base of a tool session: an authority with its state and audit log, the grants for its
 * folders, and the toolbox on top. Shared by the programs that work on files. The order matters:
 * open everything first, then confine the process, and only then read untrusted input.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/options/options.h"
#include "files/clientroots.h"
#include "files/toolbox.h"
#include "gatehouse/authority.h"
#include "isolate/confine.h"
#include "permission/rules/keeper.h"
#include "session/staging.h"
#include "session/state.h"

/* Present if this process decides about calls, by these modes and the user's rules. */
struct session_consent {
    struct permission_modes modes;
    const char *settings_dir; /* NULL: the user's default */
    bool keeps_rules;         /* save permanent decisions there */
};

struct session_folder_config {
    const char *directory; /* as given by the user */
    bool may_write;
};

enum { SESSION_MAX_FOLDERS = 32 }; /* as many as SHARED_MAX_FOLDERS */

/* The folders of a command line, in the order in which they are served. */
struct session_folders {
    struct session_folder_config items[SESSION_MAX_FOLDERS];
    size_t count;
};

/* ERR_INVALID_OPTION if there are too many. Keeps the name, not a copy. */
int session_folders_add(struct session_folders *folders, const char *directory, bool may_write,
                        struct err *err);
/* Those of --rw, then those of --ro. */
int session_folders_add_marked(struct session_folders *folders, struct option_list writable,
                               struct option_list readable, struct err *err);

struct session_config {
    const struct session_folder_config *folders; /* relative names are looked up in the first */
    size_t folder_count;
    /* Directory for our journal, audit log and undo data; created if missing. */
    const char *state_dir;
    struct session_state *opened; /* already, with that directory: taken over; NULL: open it */
    const char *session;          /* the acting session's id, for the audit log */
    bool is_recorded_elsewhere;   /* keep no audit log here */
    enum audit_sync audit_sync;   /* else: which records the disk must have */
    bool has_tools_elsewhere;     /* create no toolbox here */
    bool has_staging;             /* files go to and from a browser: see session->staging */
    const char *staging_dir;      /* then: made by another process; NULL: made here */
    bool heeds_client_roots;      /* the client may narrow the folders: see session->client_roots */
    bool searches_sensitive;      /* without consent here: see files/toolbox.h */
    bool reads_hardlinks;         /* files with several names are read: see files/toolbox.h */
    const char *const *denied;    /* globs, NULL-terminated; or NULL */
    const char *const *allowed;   /* same */
    const struct session_consent *consent; /* NULL: another process decides about calls */
    bool takes_rules;                      /* it sends its denials with keeper_set_rules() */
    /* Absolute, NULL-terminated, out of reach for everything; or NULL. */
    const char *const *protected_dirs;
    uint64_t max_file_bytes;
    uint64_t max_lines;
    uint64_t max_matches;
    enum toolresult_form result_form;
    struct media_client *media; /* for the toolbox, which the caller frees after it; or NULL */
};

struct session_folder {
    bool may_write;
    struct authority_filter filter;
    struct authority_filter narrowing;
    struct authority_scope *names; /* of the first: those of the others are joined to it */
    struct authority_scope *files; /* the same */
    char given_path[PATH_MAX];     /* absolute, as given by the user */
    char root_path[PATH_MAX];      /* without links */
};

struct session {
    bool may_write; /* in one folder at least */
    bool keeps_rules;
    struct settings_file *settings; /* NULL: none, or another process reads them */
    struct settings_findings findings;
    struct keeper *keeper; /* NULL: another process decides and sends no rules */
    struct session_state state;
    struct session_staging staging;
    struct client_roots *client_roots; /* NULL: clients cannot narrow the folders */
    enum toolresult_form result_form;
    struct toolbox *box; /* NULL: in another process */
    struct session_folder *folders;
    size_t folder_count; /* at least one */
};

/*
 * The globs of an option as given, in the form for one folder: patterns of other folders are not of
 * this one. See files/patterns.h.
 */
int session_take_globs(const struct session *session, const struct session_folder *folder,
                       struct arena *arena, const char *option, const char *const *given,
                       const char *const **out_globs, struct err *err);

/* The error message is for the user who started the program. */
int session_open(const struct session_config *config, struct session **out_session,
                 struct err *err);
void session_close(struct session *session);

/* A warning for the user whose folder is the whole machine or home directory; else NULL. */
const char *session_folder_warning(const struct session_folder *folder);

struct session_walls {
    bool answers_connections; /* accepts connections on a socket that is already open */
    bool passes_messages;     /* receives file descriptors on a socket that is already open */
};

/*
 * Confines the process for good: only files of the folders and of our state, no exec, no sockets.
 * Call it before starting any thread.
 */
int session_confine(const struct session *session, const struct session_walls *walls,
                    struct confine_report *out_report, struct err *err);

/*
 * Waits until all running changes have returned, a minute at most; call it at the end, when no
 * client waits any more. A cancelled change restores what it began, and exiting in the middle would
 * lose data. The caller decides which signals end the process meanwhile.
 */
void session_wait_for_changes(const atomic_uint *changing);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's options for a connection, before asking: flags override variables, these the settings,
 * these the template. Opens only the state and the settings, for reading.
 */
#ifndef PROGRAMS_CONNECT_CONNECTOPTIONS_H
#define PROGRAMS_CONNECT_CONNECTOPTIONS_H

#include <limits.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "base/options/options.h"
#include "permission/modes.h"
#include "permission/settings/file.h"
#include "session/session.h"

enum { CONNECT_CHOICES_WARNINGS = 8, CONNECT_CHOICES_WARNING_BYTES = 160 };

/* A folder besides `dir`. */
struct connect_folder {
    const char *given; /* as by the user */
    const char *path;  /* absolute */
    bool may_write;    /* where files may be changed at all */
};

struct connect_choices {
    char state_dir[PATH_MAX]; /* absolute */
    enum audit_sync audit_sync;
    char settings_dir[PATH_MAX]; /* absolute; empty: the user's default */
    char dir[PATH_MAX];          /* absolute */
    bool only_reads_dir;         /* files may be changed in others at most */
    struct connect_folder others[SESSION_MAX_FOLDERS - 1];
    size_t other_count;
    const char *dir_advice;        /* where the folder came from, and what to do about it */
    struct permission_modes modes; /* effective ones, with write access considered */
    bool has_write_access;         /* to one of the folders at least */
    char browser[128];             /* --browser-default; empty: the first one there is */
    bool is_browser_headless;
    enum log_level log_level;
    struct settings_findings findings;
    char warnings[CONNECT_CHOICES_WARNINGS]
                 [CONNECT_CHOICES_WARNING_BYTES]; /* about fields of the settings */
    size_t warning_count;                         /* in total, including those not stored */
};

/* Whether 'gatehouse up' started this daemon. */
bool connect_is_of_up(void);

/*
 * ERR_INVALID_OPTION if no tool would be offered; the message is for the user. Opens the state,
 * which the caller closes, also on failure. Paths of other folders are in the arena.
 */
int connect_options_read(const struct option_values *values, struct session_state *state,
                         struct arena *arena, struct connect_choices *out_choices, struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user wants of a connection, before he is asked: flags over variables over the settings
 * over the template. Nothing is opened here but the settings, and those only to be read.
 */
#ifndef PROGRAMS_CONNECT_WISHES_H
#define PROGRAMS_CONNECT_WISHES_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "base/options/options.h"
#include "permission/modes.h"
#include "permission/settings/file.h"

enum { WISHES_WARNINGS = 8, WISHES_WARNING_BYTES = 160 };

struct wishes {
    char state_dir[PATH_MAX];      /* absolute */
    char settings_dir[PATH_MAX];   /* absolute; empty: the user's own */
    char dir[PATH_MAX];            /* absolute */
    const char *dir_advice;        /* where the folder came from, and what to do about it */
    struct permission_modes modes; /* of changing files: what holds, write access considered */
    bool has_write_access;
    enum log_level log_level;
    struct settings_findings findings;
    char warnings[WISHES_WARNINGS][WISHES_WARNING_BYTES]; /* about the settings' fields */
    size_t warning_count;                                 /* of all, also beyond these */
};

/* ERR_INVALID_OPTION where nothing would be offered; the message is for the user. */
int wishes_read(const struct option_values *values, struct wishes *out_wishes, struct err *err);

#endif

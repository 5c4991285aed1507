/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user wants of a connection, before he is asked: flags over variables over the settings
 * over the template. Nothing is opened here but the settings, and those only to be read.
 */
#ifndef PROGRAMS_CONNECT_CONNECTOPTIONS_H
#define PROGRAMS_CONNECT_CONNECTOPTIONS_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"
#include "base/options/options.h"
#include "permission/modes.h"
#include "permission/settings/file.h"

enum { CONNECT_CHOICES_WARNINGS = 8, CONNECT_CHOICES_WARNING_BYTES = 160 };

struct connect_choices {
    char state_dir[PATH_MAX];      /* absolute */
    char settings_dir[PATH_MAX];   /* absolute; empty: the user's own */
    char dir[PATH_MAX];            /* absolute */
    const char *dir_advice;        /* where the folder came from, and what to do about it */
    struct permission_modes modes; /* of changing files: what holds, write access considered */
    bool has_write_access;
    enum log_level log_level;
    struct settings_findings findings;
    char warnings[CONNECT_CHOICES_WARNINGS]
                 [CONNECT_CHOICES_WARNING_BYTES]; /* about the settings' fields */
    size_t warning_count;                         /* of all, also beyond these */
};

/* ERR_INVALID_OPTION where nothing would be offered; the message is for the user. */
int connect_options_read(const struct option_values *values, struct connect_choices *out_choices,
                         struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory between the files of a session and a browser, which sees none of them: what a page
 * shall get is copied into it, what a page downloads arrives in it and is copied out when the agent
 * asks for that. It is a temporary workspace, so nothing of it stays, even after a crash.
 */
#ifndef SESSION_STAGING_H
#define SESSION_STAGING_H

#include <limits.h>

#include "base/err.h"
#include "gatehouse/authority.h"

struct session_staging {
    struct authority_scope *directory; /* NULL: another process made it, or there is none */
    struct authority_scope *uploads;   /* NULL: without file tools here */
    struct authority_scope *downloads;
    char path[PATH_MAX]; /* empty: there is none */
};

/* Makes the directory. */
int session_staging_make(struct session_staging *staging, struct authority *authority,
                         struct err *err);
/* Opens it for the file tools; `path` is of the process that made it. */
int session_staging_open(struct session_staging *staging, struct authority *authority,
                         const char *path, struct err *err);
void session_staging_close(struct session_staging *staging);

#endif

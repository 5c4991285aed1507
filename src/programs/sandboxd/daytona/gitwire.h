/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What git prints, as the toolbox of the Daytona API tells it. Repositories are the sandbox's, so
 * nothing in here is trusted: what cannot be read is left out, as at the end of an output that was
 * cut off.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_GITWIRE_H
#define PROGRAMS_SANDBOXD_DAYTONA_GITWIRE_H

#include "base/jsonwrite.h"
#include "base/str.h"

/* Each writes one value, of the output of the command above it. */

/* git status --porcelain=v2 --branch -z */
void gitwire_status(struct json_writer *json, struct str output);
/* git for-each-ref GITWIRE_BRANCH_FORMAT refs/heads */
void gitwire_branches(struct json_writer *json, struct str output);
/* git log -z GITWIRE_LOG_FORMAT */
void gitwire_history(struct json_writer *json, struct str output);
/* git remote -v */
void gitwire_remotes(struct json_writer *json, struct str output);
/* git rev-parse HEAD */
void gitwire_commit(struct json_writer *json, struct str output);
/* git config -z --get; without output it is not set */
void gitwire_config(struct json_writer *json, struct str output);

#define GITWIRE_BRANCH_FORMAT "--format=%(HEAD)%(refname:lstrip=2)"
#define GITWIRE_LOG_FORMAT    "--format=%H%x00%an%x00%ae%x00%aI%x00%B"

/* Why git failed: a status, and a code by which clients choose a class, or NULL. */
struct gitwire_failure {
    int status;
    const char *code;
};

struct gitwire_failure gitwire_failure(struct str output, struct str errors);

#endif

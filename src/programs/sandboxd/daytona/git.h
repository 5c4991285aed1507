/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repositories in a sandbox, for its toolbox: the sandbox's own git does everything, as a command
 * in it, with words and without a shell. What a repository, its hooks or its remote do reaches no
 * further than any other command of the sandbox.
 *
 * Names of branches, remotes and revisions, and URLs, never begin with a dash: git would take them
 * for options. Files come behind "--", and are no patterns.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_GIT_H
#define PROGRAMS_SANDBOXD_DAYTONA_GIT_H

#include "programs/sandboxd/endpoint.h"

enum {
    GIT_MOST_FILES = 10000,   /* of a request */
    GIT_MOST_COMMITS = 10000, /* of a history */
};

extern const struct endpoint_table git_endpoints;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories in which any Gatehouse program of this user may keep settings, state or sockets,
 * by the environment and by /etc/passwd. No agent may see or make any of them, whichever of them
 * its own session uses. What a session was given on its command line is left to the caller.
 */
#ifndef ISOLATE_OWNPLACES_H
#define ISOLATE_OWNPLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { OWNPLACES_MAX = 9 };

struct ownplace {
    bool needs_parent; /* the directory above it is the system's to make */
    char *path;        /* absolute, without links as far as it exists */
};

struct ownplaces {
    size_t count;
    struct ownplace items[OWNPLACES_MAX];
};

/* The directory names below a home. */
#define OWNPLACES_SETTINGS ".n8n-gateway"
#define OWNPLACES_STATE    ".local/state/gatehouse"

int ownplaces_list(struct ownplaces *out_places, struct err *err);
void ownplaces_free(struct ownplaces *places);

/*
 * Creates those that are missing and lie in this folder, private: an agent that may write to the
 * folder would else be the first to make them, open to others, or as a link. Skips what nobody
 * without privileges could create there.
 */
int ownplaces_make(const struct ownplaces *places, const char *folder, struct err *err);

/* Whether this path without links is one of them or inside one. */
bool ownplaces_has(const struct ownplaces *places, const char *path);

#endif

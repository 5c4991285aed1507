/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of a box, gathered: what a person names, what the authority has granted, and what
 * is hidden by default. Where two meet, the longer path holds, whatever the order in which they
 * were added; of the same path, the one that was added first.
 */
#ifndef ISOLATE_BOX_PLACES_H
#define ISOLATE_BOX_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "gatehouse/authority.h"
#include "isolate/box/box.h"

/* The paths live in the arena. */
struct places {
    struct arena *arena;
    size_t count;
    struct box_place items[BOX_MAX_PLACES];
};

#define PLACES_INIT(of_arena)                                                                      \
    {                                                                                              \
        .arena = (of_arena)                                                                        \
    }

/*
 * Relative paths are from the current directory, and links on the way are followed, once: the
 * place is what they lead to now. What is to be hidden may be missing.
 */
int places_add(struct places *places, const char *path, enum box_access access, struct err *err);

/*
 * Does the way to this absolute path pass a link in a writable place, where a command of before may
 * have made it? Such a path is not what the user thinks that it is.
 */
bool places_has_link_to(const struct places *places, const char *path);

/*
 * What a grant allows a command right now: writing with AUTHORITY_WRITE, reading with
 * AUTHORITY_READ; BOX_HIDDEN when it was revoked, has expired or allows neither.
 */
enum box_access places_access(const struct authority_grant *grant, int64_t now_wall_ms);

/* The roots of all grants that allow something now. */
int places_add_grants(struct places *places, const struct authority_grant *grants, size_t count,
                      int64_t now_wall_ms, struct err *err);

/*
 * What is left of each place by now, for a command that is about to start: of one that a grant
 * brought, what the grant of that number in the list allows, and nothing when it is not there.
 */
void places_narrow(const struct places *places, const struct authority_grant *grants, size_t count,
                   int64_t now_wall_ms, enum box_access out_at_most[BOX_MAX_PLACES]);

/*
 * The secrets of secrets.h, except those that were named themselves: in this home, which may be
 * NULL, in the one that /etc/passwd has for this user, which sudo and cron may not tell, and where
 * XDG_CONFIG_HOME, GNUPGHOME, KUBECONFIG and their like say that things were moved to; and the
 * socket of a daemon of ours. Those that links lead to are hidden by both names.
 */
int places_hide_secrets(struct places *places, const char *home, struct err *err);

/*
 * Sockets that somebody on this machine has bound by now, as far as they can be seen: not those in
 * what is writable, and so after all that is named. Some dozens at most.
 */
int places_hide_sockets(struct places *places, struct err *err);

/* The last: brings them into the order in which a box lays them. */
void places_sort(struct places *places);

#endif

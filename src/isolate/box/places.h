/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the places of a sandbox: named by the user, granted by the authority, and hidden by
 * default. If several apply, the longest path wins, in whatever order they were added; for the same
 * path, the first one added.
 */
#ifndef ISOLATE_BOX_PLACES_H
#define ISOLATE_BOX_PLACES_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "gatehouse/authority.h"
#include "isolate/box/box.h"

/* Which names a folder has, by their hash; see places.c. */
struct places_names {
    char folder[PATH_MAX];
    uint64_t bits[32];
};

/* The paths live in the arena. */
struct places {
    struct arena *arena;
    struct places_names home_names;
    size_t count;
    struct box_place items[BOX_MAX_PLACES];
};

/* Most of it is never used, so clearing all of it would take longer than filling it. */
static inline void places_init(struct places *places, struct arena *arena)
{
    places->arena = arena;
    places->home_names.folder[0] = '\0';
    places->count = 0;
}

#define PLACES_INIT(of_arena)                                                                      \
    {                                                                                              \
        .arena = (of_arena)                                                                        \
    }

/*
 * Relative paths start at the current directory, and links are resolved once: the place is their
 * present target. A path to be hidden may be missing.
 */
int places_add(struct places *places, const char *path, enum box_access access, struct err *err);

/*
 * Whether this absolute path passes through a link in a writable place, which an earlier command
 * may have created. Such a path is not what the user thinks it is.
 */
bool places_has_link_to(const struct places *places, const char *path);

/* Adds the roots of all grants that allow something at present. */
int places_add_grants(struct places *places, const struct authority_grant *grants, size_t count,
                      int64_t now_wall_ms, struct err *err);

/*
 * The access that remains to each place, for a command about to start: for a place from a grant,
 * what the grant of that number in the list allows, and nothing if it is not listed.
 */
void places_narrow(const struct places *places, const struct authority_grant *grants, size_t count,
                   int64_t now_wall_ms, enum box_access out_at_most[BOX_MAX_PLACES]);

/*
 * Hides the secrets of secrets.h, except those that were named themselves: in this home, which may
 * be NULL, in the user's home by /etc/passwd, which may differ under sudo and cron, and where
 * XDG_CONFIG_HOME, GNUPGHOME, KUBECONFIG and the like point to; and the socket of our daemon. The
 * targets of links are hidden as well.
 */
int places_hide_secrets(struct places *places, const char *home, struct err *err);

/*
 * Shows the folders of toolchains.h in this home, which may be NULL, as far as they exist without
 * a link in their path and lie in no place yet: a place decides about all that it contains.
 */
int places_show_toolchains(struct places *places, const char *home, struct err *err);

/*
 * Whether this real path is the home, or contains it: then it is not shown just because somebody
 * works there.
 */
bool places_holds_home(const char *path, const char *home);

/*
 * Hides sockets that are bound on this machine at present, as far as visible: not those in writable
 * places, so call it after naming all places. Some dozens at most.
 */
int places_hide_sockets(struct places *places, struct err *err);

/*
 * Whether commands see what the machine has at this absolute path: in a place, or of the system.
 * What they themselves put into /tmp, they see for as long as they run.
 */
bool places_show(const struct places *places, const char *path);

/*
 * Drops what is hidden and in no visible place: nothing would show it, once its second names are
 * known (secondnames.h). Only for a command that starts at once: later, a link could lead from
 * there to a place.
 */
void places_drop_unseen(struct places *places);

/* Call last: sorts them into mount order. */
void places_sort(struct places *places);

#endif

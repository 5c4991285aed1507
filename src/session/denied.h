/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user's rules deny of files, for the boxes of commands: what may not
 * be read is not there, what may not be changed is read-only.
 */
#ifndef SESSION_DENIED_H
#define SESSION_DENIED_H

#include "base/arena.h"
#include "base/err.h"
#include "isolate/launcher/launcher.h"
#include "permission/permission.h"

struct denied {
    struct arena arena;
    struct rulebook *book;    /* of which they are; or NULL */
    struct box_denial *items; /* by path and access */
    size_t count;
    bool is_complete;
};

void denied_init(struct denied *denied);
void denied_done(struct denied *denied);

/*
 * By the rules as they are now. ERR_UNSUPPORTED where a box cannot hold so many, with words for
 * the user.
 */
int denied_gather(struct denied *denied, struct permission *permission, struct err *err);

/* Whether there are some that name no path. */
bool denied_has_patterns(const struct denied *denied);

/*
 * What they deny now and did not when `before` was gathered: quick where they have not changed.
 * ERR_DENIED_BY_POLICY where it is more than a launcher is told with one command.
 */
int denied_gather_since(struct denied *denied, const struct denied *before,
                        struct permission *permission, struct err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files denied by the user's rules and by --deny, for the sandboxes of commands: files that may
 * not be read are hidden, files that may not be changed are read-only.
 */
#ifndef SESSION_DENIED_H
#define SESSION_DENIED_H

#include "base/arena.h"
#include "base/err.h"
#include "isolate/launcher/launcher.h"
#include "permission/permission.h"

struct denied {
    struct arena arena;
    struct rulebook *book;    /* the rules they were taken from; or NULL */
    struct box_denial *items; /* sorted by path and access */
    size_t count;
    bool is_complete;
};

void denied_init(struct denied *denied);
void denied_done(struct denied *denied);

/*
 * Collects the denials from the current rules. ERR_UNSUPPORTED, with a message for the user, if
 * they are more than a sandbox can hold.
 */
int denied_gather(struct denied *denied, struct permission *permission, struct err *err);

/*
 * Also hides what these globs match in the folder, whose path is real: the globs of --deny, in the
 * form for the authority, NULL-terminated. The same error.
 */
int denied_add_globs(struct denied *denied, const char *folder, const char *const *globs,
                     struct err *err);

/*
 * Collects the denials that were added since `before` was gathered; quick if the rules have not
 * changed. ERR_DENIED_BY_POLICY if there are more than fit into one request to the launcher.
 */
int denied_gather_since(struct denied *denied, const struct denied *before,
                        struct permission *permission, struct err *err);

#endif

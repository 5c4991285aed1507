/* SPDX-License-Identifier: Apache-2.0 */
/* What rules deny, laid over all that the places show. */
#include "isolate/box_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* By its own name: what the way to it is pinned by. False where there is nothing to be denied. */
static bool find(const struct box_build *build, const char *path, char out_found[PATH_MAX])
{
    struct stat about;

    /* Few of them may be there, and to hear that from stat takes half as long. */
    return stat(path, &about) == 0 && !box_is_led_astray(build, path) &&
           realpath(path, out_found) != NULL;
}

static int hold(struct box_build *build, const struct box_denial *denial)
{
    char found[PATH_MAX];
    int r;

    if (!find(build, denial->path, found))
        return 0;
    r = box_pin_way(build, found, build->box->place_count);
    if (r != 0)
        return r;
    return denial->at_most == BOX_HIDDEN ? box_hide(build, found)
                                         : box_hold_to_reading(build, found);
}

int box_mount_denials(struct box_build *build)
{
    for (size_t i = 0; i < build->command->denial_count; i++) {
        int r = hold(build, &build->command->denials[i]);

        if (r != 0)
            return r;
    }
    return 0;
}

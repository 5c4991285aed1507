/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/leads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/box/internal.h"

/* Of "/a/b" the "/a", and of "/a" the "/". */
static void cut_last(char *path)
{
    char *slash = strrchr(path, '/');

    slash[slash == path ? 1 : 0] = '\0';
}

bool leads_find_existing(const char *path, char out_found[PATH_MAX], size_t *out_len)
{
    __attribute__((uninitialized)) char above[PATH_MAX];

    if (snprintf(above, sizeof(above), "%s", path) >= PATH_MAX)
        return false;
    while (realpath(above, out_found) == NULL) {
        if (strcmp(above, "/") == 0)
            return false;
        cut_last(above);
    }
    *out_len = strcmp(above, "/") == 0 ? 0 : strlen(above);
    return true;
}

static bool is_in_folder(const void *data, const char *path)
{
    const char *folder = data;

    return box_is_beneath(path, folder);
}

bool leads_elsewhere(const char *path, const char *folder, char out_found[PATH_MAX])
{
    char existing[PATH_MAX];
    size_t len;

    if (!leads_find_existing(path, existing, &len) ||
        snprintf(out_found, PATH_MAX, "%s%s", strcmp(existing, "/") == 0 ? "" : existing,
                 path + len) >= PATH_MAX)
        return false;
    if (out_found[0] == '\0' || strcmp(path, out_found) == 0)
        return false;
    return folder[0] == '\0' ||
           (!box_is_beneath(folder, out_found) && !box_is_astray(path, out_found)) ||
           !box_passes_link_in(path, is_in_folder, folder);
}

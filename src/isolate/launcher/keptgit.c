/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/launcher/keptgit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"

#define POINTER "commondir"

/* ".git" and the folders of submodules in it have a file of this name. */
static bool is_settings(const struct box_denial *denial)
{
    return denial->at_most == BOX_READ && strstr(denial->path, "/.git/") != NULL &&
           str_ends_with(str_from(denial->path), STR("/config"));
}

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool has_pointer(const char *path)
{
    struct stat about;
    int fd = open_folder(path);
    bool has = fd >= 0 && fstatat(fd, POINTER, &about, AT_SYMLINK_NOFOLLOW) == 0;

    if (fd >= 0)
        close(fd);
    return has;
}

int kept_gits_note(struct kept_gits *gits, const struct box_denial *denials, size_t count)
{
    size_t room = 0;

    for (size_t i = 0; i < count; i++)
        room += is_settings(&denials[i]);
    *gits = (struct kept_gits){.paths = room > 0 ? calloc(room, sizeof(*gits->paths)) : NULL};
    if (room > 0 && gits->paths == NULL)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const char *path = denials[i].path;
        char *folder;

        if (!is_settings(&denials[i]))
            continue;
        folder = strndup(path, (size_t)(strrchr(path, '/') - path));
        if (folder == NULL) {
            kept_gits_end(gits);
            return ERR_NO_MEMORY;
        }
        if (has_pointer(folder)) /* it is kept as it is */
            free(folder);
        else
            gits->paths[gits->count++] = folder;
    }
    return 0;
}

void kept_gits_end(struct kept_gits *gits)
{
    for (size_t i = 0; i < gits->count; i++) {
        int fd = open_folder(gits->paths[i]);

        if (fd >= 0) {
            (void)unlinkat(fd, POINTER, 0);
            close(fd);
        }
        free(gits->paths[i]);
    }
    free(gits->paths);
    *gits = (struct kept_gits){.count = 0};
}

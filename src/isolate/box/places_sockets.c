/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the host that someone listens on. A read-only mount does not prevent a command from
 * connecting, and the server may do for it what the sandbox does not allow.
 */
#include "isolate/box/places.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/streams.h"
#include "isolate/box/internal.h"

enum {
    PLACES_MAX_SOCKETS = 64,
    FIELDS_BEFORE_PATH = 7,
    LINE_BYTES = 512, /* a name in there has 108 at most */
    LIST_BYTES = 16 << 10,
};

static const char host_sockets[] = "/proc/net/unix";

/* A sandbox has its own of these, except for places in them. */
static const char *const own_folders[] = {"/run", "/var/run", "/dev", "/proc", "/sys"};

/*
 * Of "Num RefCount Protocol Flags Type St Inode Path"; NULL if there is no path, or not a file's.
 */
static const char *path_in(char *line)
{
    char *at = line;

    for (int i = 0; i < FIELDS_BEFORE_PATH; i++) {
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    at += strspn(at, " ");
    at[strcspn(at, "\n")] = '\0';
    return at[0] == '/' ? at : NULL;
}

static bool is_own(const struct places *places, size_t named, const char *path)
{
    for (size_t i = 0; i < named; i++)
        if (places->items[i].access != BOX_HIDDEN && box_is_beneath(path, places->items[i].path))
            return false;
    for (size_t i = 0; i < array_size(own_folders); i++)
        if (box_is_beneath(path, own_folders[i]))
            return true;
    return false;
}

/* A command may talk to sockets in what it may change. */
static bool is_in_writable(const struct places *places, size_t named, const char *path)
{
    for (size_t i = 0; i < named; i++)
        if (places->items[i].access == BOX_WRITE && box_is_beneath(path, places->items[i].path))
            return true;
    return false;
}

int places_hide_sockets(struct places *places, struct err *err)
{
    static char whole[LIST_BYTES];
    cleanup_file FILE *file = fopen(host_sockets, "re");
    size_t named = places->count;
    char line[LINE_BYTES];
    char found[PATH_MAX];
    int r = 0;

    /* In few reads: for each the kernel looks for its place in the list. */
    if (file != NULL)
        (void)setvbuf(file, whole, _IOFBF, sizeof(whole));
    while (r == 0 && places->count - named < PLACES_MAX_SOCKETS && places->count < BOX_MAX_PLACES &&
           file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *path = path_in(line);
        struct stat about;

        /* A name may hold anything, a line that looks like another one, too. */
        if (path != NULL && !is_own(places, named, path) && realpath(path, found) != NULL &&
            !is_own(places, named, found) && stat(found, &about) == 0 && S_ISSOCK(about.st_mode) &&
            !is_in_writable(places, named, found))
            r = places_add(places, found, BOX_HIDDEN, err);
    }
    return r;
}

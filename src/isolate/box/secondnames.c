/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/box/secondnames.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/box/internal.h"

enum { FIRST_FILES = 64 };

/* A denied file with several names. */
struct denied_file {
    dev_t device;
    ino_t inode;
    enum box_access at_most;
};

struct search {
    struct arena *arena;
    const struct box_place *places;
    size_t place_count;
    const struct box_denial **covers; /* by path, the gravest of each */
    size_t cover_count;
    struct denied_file *files; /* by inode, once all are known */
    size_t file_count;
    size_t file_room;
    struct matches *denied;
    size_t entries;
    char closed[BOX_PATH_BYTES]; /* that nobody can look into */
};

/* ---- what is denied ---- */

static int compare_covers(const void *a_pointer, const void *b_pointer)
{
    const struct box_denial *a = *(const struct box_denial *const *)a_pointer;
    const struct box_denial *b = *(const struct box_denial *const *)b_pointer;
    int order = strcmp(a->path, b->path);

    return order != 0 ? order : (a->at_most > b->at_most) - (a->at_most < b->at_most);
}

static int compare_path(const void *path, const void *cover)
{
    return strcmp(path, (*(const struct box_denial *const *)cover)->path);
}

static int sort_covers(struct search *search)
{
    const struct matches *denied = search->denied;
    size_t kept = 0;

    search->covers = arena_alloc_array(search->arena, denied->count + 1, sizeof(*search->covers));
    if (search->covers == NULL)
        return search->arena->error;
    for (size_t i = 0; i < denied->count; i++)
        search->covers[i] = &denied->items[i];
    qsort(search->covers, denied->count, sizeof(*search->covers), compare_covers);
    for (size_t i = 0; i < denied->count; i++)
        if (kept == 0 || strcmp(search->covers[kept - 1]->path, search->covers[i]->path) != 0)
            search->covers[kept++] = search->covers[i];
    search->cover_count = kept;
    return 0;
}

/* What is left of this very path; BOX_WRITE if nothing denies it. */
static enum box_access left_of(const struct search *search, const char *path)
{
    const struct box_denial *const *found =
        bsearch(path, search->covers, search->cover_count, sizeof(*search->covers), compare_path);

    return found != NULL ? (*found)->at_most : BOX_WRITE;
}

/* By its own name, or by that of a directory above it. */
static bool is_covered(const struct search *search, const char *path, enum box_access at_most)
{
    char above[BOX_PATH_BYTES];
    char *slash;

    if (snprintf(above, sizeof(above), "%s", path) >= (int)sizeof(above))
        return false;
    for (; above[0] != '\0'; *slash = '\0') {
        if (left_of(search, above) <= at_most)
            return true;
        slash = strrchr(above, '/');
        if (slash == NULL)
            break;
    }
    return false;
}

static int add_file(struct search *search, const struct stat *about, enum box_access at_most)
{
    if (!S_ISREG(about->st_mode) || about->st_nlink < 2)
        return 0;
    if (search->file_count == search->file_room) {
        size_t room = search->file_room > 0 ? 2 * search->file_room : FIRST_FILES;
        struct denied_file *files = arena_alloc_array(search->arena, room, sizeof(*files));

        if (files == NULL)
            return search->arena->error;
        if (search->file_count > 0)
            memcpy(files, search->files, search->file_count * sizeof(*files));
        search->files = files;
        search->file_room = room;
    }
    search->files[search->file_count++] =
        (struct denied_file){about->st_dev, about->st_ino, at_most};
    return 0;
}

/* ---- the walk ---- */

static void close_fts(FTS **fts)
{
    if (*fts != NULL)
        fts_close(*fts);
}

/* The command runs as its owner, who could open it again, or enter it by known names. */
static int pass_by(struct search *search, const FTSENT *entry)
{
    const FTSENT *folder =
        entry->fts_info == FTS_NS && entry->fts_level > FTS_ROOTLEVEL ? entry->fts_parent : entry;

    if (entry->fts_errno == ENOENT || entry->fts_errno == ENOTDIR)
        return 0; /* removed meanwhile */
    if (entry->fts_errno == ENAMETOOLONG)
        return ERR_TOO_LARGE;
    if (entry->fts_errno != EACCES && entry->fts_errno != EPERM)
        return err_from_errno(entry->fts_errno);
    if (folder->fts_info != FTS_NS && folder->fts_statp->st_uid != geteuid())
        return 0;
    /* All entries share one text, which goes on behind the name of the folder. */
    snprintf(search->closed, sizeof(search->closed), "%.*s", (int)folder->fts_pathlen,
             folder->fts_path);
    return ERR_PERMISSION_DENIED;
}

typedef int visit_fn(struct search *search, const char *path, const struct stat *about,
                     enum box_access at_most);

/* Calls `visit` for every file, but not below what `skips` says. */
static int walk(struct search *search, const char *top, enum box_access at_most, visit_fn *visit,
                bool (*skips)(const struct search *search, const char *top, const char *path))
{
    char *own = arena_copy(search->arena, str_from(top));
    char *const tops[] = {own, NULL};
    cleanup_with(close_fts) FTS *fts =
        own != NULL ? fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    FTSENT *entry;
    int r = 0;

    if (fts == NULL)
        return ERR_NO_MEMORY;
    while (r == 0) {
        errno = 0;
        entry = fts_read(fts);
        if (entry == NULL)
            return errno == 0 ? 0 : err_from_errno(errno);
        if (entry->fts_info != FTS_DP && ++search->entries > MATCHES_MAX_ENTRIES)
            return ERR_TOO_LARGE;
        switch (entry->fts_info) {
        case FTS_D:
            if (skips != NULL && skips(search, top, entry->fts_path))
                (void)fts_set(fts, entry, FTS_SKIP);
            break;
        case FTS_F:
            r = visit(search, entry->fts_path, entry->fts_statp, at_most);
            break;
        case FTS_DNR:
        case FTS_NS:
        case FTS_ERR:
            r = pass_by(search, entry);
            break;
        default:
            break;
        }
    }
    return r;
}

/* ---- first, which files ---- */

static int visit_denied(struct search *search, const char *path, const struct stat *about,
                        enum box_access at_most)
{
    (void)path;
    return add_file(search, about, at_most);
}

static bool is_seen(const struct search *search, const char *path)
{
    for (size_t i = 0; i < search->place_count; i++)
        if (search->places[i].access != BOX_HIDDEN && !search->places[i].is_optional &&
            box_is_beneath(path, search->places[i].path) &&
            strcmp(path, search->places[i].path) != 0)
            return true;
    return false;
}

static int look_at_denied(struct search *search, const struct box_denial *denial)
{
    struct stat about;

    if (lstat(denial->path, &about) < 0)
        return 0;
    if (S_ISDIR(about.st_mode) && is_seen(search, denial->path))
        return walk(search, denial->path, denial->at_most, visit_denied, NULL);
    return add_file(search, &about, denial->at_most);
}

static int look_at_hidden(struct search *search, const char *path)
{
    struct stat about;

    return lstat(path, &about) == 0 ? add_file(search, &about, BOX_HIDDEN) : 0;
}

/* ---- then, by which other names they are seen ---- */

static int compare_files(const void *a_pointer, const void *b_pointer)
{
    const struct denied_file *a = a_pointer;
    const struct denied_file *b = b_pointer;

    if (a->inode != b->inode)
        return a->inode > b->inode ? 1 : -1;
    return (a->device > b->device) - (a->device < b->device);
}

/* The first of several that are the same file is the gravest. */
static int compare_gravity(const void *a_pointer, const void *b_pointer)
{
    const struct denied_file *a = a_pointer;
    const struct denied_file *b = b_pointer;
    int order = compare_files(a, b);

    return order != 0 ? order : (a->at_most > b->at_most) - (a->at_most < b->at_most);
}

static void sort_files(struct search *search)
{
    size_t kept = 0;

    qsort(search->files, search->file_count, sizeof(*search->files), compare_gravity);
    for (size_t i = 0; i < search->file_count; i++)
        if (kept == 0 || compare_files(&search->files[kept - 1], &search->files[i]) != 0)
            search->files[kept++] = search->files[i];
    search->file_count = kept;
}

static int visit_seen(struct search *search, const char *path, const struct stat *about,
                      enum box_access at_most)
{
    const struct denied_file wanted = {.device = about->st_dev, .inode = about->st_ino};
    const struct denied_file *file;
    struct matches *denied = search->denied;
    const char *own;

    (void)at_most;
    if (about->st_nlink < 2)
        return 0;
    file = bsearch(&wanted, search->files, search->file_count, sizeof(wanted), compare_files);
    if (file == NULL || is_covered(search, path, file->at_most))
        return 0;
    own = arena_copy(search->arena, str_from(path));
    if (own == NULL)
        return search->arena->error;
    if (denied->count == denied->room)
        return ERR_TOO_LARGE;
    denied->items[denied->count++] = (struct box_denial){.path = own, .at_most = file->at_most};
    return 0;
}

/* Other places are looked at by themselves, if they are seen. */
static bool is_not_seen_here(const struct search *search, const char *top, const char *path)
{
    if (left_of(search, path) == BOX_HIDDEN)
        return true;
    if (strcmp(path, top) == 0)
        return false;
    for (size_t i = 0; i < search->place_count; i++)
        if (strcmp(path, search->places[i].path) == 0)
            return true;
    return false;
}

int secondnames_find(struct arena *arena, const struct box_place *places, size_t place_count,
                     struct matches *denied, struct err *err)
{
    struct search search = {
        .arena = arena, .places = places, .place_count = place_count, .denied = denied};
    const size_t given = denied->count;
    int r = 0;

    for (size_t i = 0; i < given && r == 0; i++)
        r = look_at_denied(&search, &denied->items[i]);
    for (size_t i = 0; i < place_count && r == 0; i++)
        if (places[i].access == BOX_HIDDEN)
            r = look_at_hidden(&search, places[i].path);
    if (r == 0 && search.file_count == 0)
        return 0;
    if (r == 0)
        r = sort_covers(&search);
    if (r == 0)
        sort_files(&search);
    for (size_t i = 0; i < place_count && r == 0; i++)
        if (places[i].access != BOX_HIDDEN && !places[i].is_optional)
            r = walk(&search, places[i].path, BOX_WRITE, visit_seen, is_not_seen_here);
    if (r == ERR_TOO_LARGE)
        return err_set(err, r,
                       "files that are denied or hidden may have other names (hard links), but to "
                       "deny those, more than %d entries would have to be checked, more than %zu "
                       "denied, or paths over %d bytes: remove the other names",
                       MATCHES_MAX_ENTRIES, denied->room, BOX_PATH_BYTES - 1);
    if (r == ERR_PERMISSION_DENIED)
        return err_set(err, r,
                       "%.150s is not readable by its owner and may contain other names (hard "
                       "links) of files that are denied or hidden; run chmod u+rwx on it",
                       search.closed);
    return r < 0 ? err_set_plain(err, r) : 0;
}

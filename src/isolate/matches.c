/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/matches.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "authority/glob.h"
#include "base/cleanup.h"

/* A folder that waits for its turn. */
struct folder {
    struct folder *next;
    const char *path;
};

struct walk {
    struct arena *arena;
    const struct glob_set *sets[BOX_WRITE]; /* by what they leave */
    struct folder *first;
    struct folder **last;
    size_t entries;
    struct matches *matches;
};

static int compile(struct walk *walk, const struct box_denial *denials, size_t count,
                   enum box_access at_most, struct err *err)
{
    const char **patterns = arena_alloc_array(walk->arena, count + 1, sizeof(*patterns));
    size_t found = 0;

    if (patterns == NULL)
        return err_set_plain(err, walk->arena->error);
    for (size_t i = 0; i < count; i++)
        if (denials[i].is_pattern && denials[i].at_most == at_most)
            patterns[found++] = denials[i].path;
    patterns[found] = NULL;
    return glob_set_compile(walk->arena, patterns, &walk->sets[at_most], err);
}

/* Patterns know names without the first slash. */
static struct str name_of(const char *path)
{
    return str_from(path + 1);
}

static int queue(struct walk *walk, const char *path)
{
    struct folder *folder;

    if (!glob_set_may_match_below(walk->sets[BOX_HIDDEN], name_of(path)) &&
        !glob_set_may_match_below(walk->sets[BOX_READ], name_of(path)))
        return 0;
    folder = arena_new(walk->arena, struct folder);
    if (folder == NULL)
        return walk->arena->error;
    *folder = (struct folder){NULL, path};
    *walk->last = folder;
    walk->last = &folder->next;
    return 0;
}

/* What is hidden hides all below it; what is only read may hold what is hidden. */
static int look_at(struct walk *walk, const char *path, bool is_folder)
{
    struct matches *matches = walk->matches;
    bool is_hidden = glob_set_matches(walk->sets[BOX_HIDDEN], name_of(path));

    if (is_hidden || glob_set_matches(walk->sets[BOX_READ], name_of(path))) {
        if (matches->count == matches->room) {
            matches->is_complete = false;
            return 0;
        }
        matches->items[matches->count++] =
            (struct box_denial){.path = path, .at_most = is_hidden ? BOX_HIDDEN : BOX_READ};
    }
    return is_folder && !is_hidden ? queue(walk, path) : 0;
}

static void close_dir(DIR **dir)
{
    if (*dir != NULL)
        closedir(*dir);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool is_folder(int dir_fd, const struct dirent *entry)
{
    struct stat about;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dir_fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(about.st_mode);
}

static int read_folder(struct walk *walk, const char *path)
{
    cleanup_with(close_dir) DIR *dir = NULL;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const struct dirent *entry;
    int r = 0;

    /* What this user cannot read no command of his can look through either. */
    if (fd < 0)
        return 0;
    dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return ERR_NO_MEMORY;
    }
    while (r == 0 && walk->matches->is_complete && (entry = readdir(dir)) != NULL) {
        char full[BOX_PATH_BYTES];
        const char *own;

        if (is_dots(entry->d_name))
            continue;
        if (++walk->entries > MATCHES_MAX_ENTRIES) {
            walk->matches->is_complete = false;
            break;
        }
        if (snprintf(full, sizeof(full), "%s/%s", path, entry->d_name) >= (int)sizeof(full))
            continue;
        own = arena_copy(walk->arena, str_from(full));
        r = own == NULL ? walk->arena->error : look_at(walk, own, is_folder(fd, entry));
    }
    return r;
}

int matches_find(struct arena *arena, const struct box_denial *denials, size_t denial_count,
                 const struct box_place *folders, size_t folder_count, struct matches *matches,
                 struct err *err)
{
    struct walk walk = {.arena = arena, .matches = matches};
    bool has_any = false;
    int r = 0;

    walk.last = &walk.first;
    matches->is_complete = true;
    for (size_t i = 0; i < denial_count && !has_any; i++)
        has_any = denials[i].is_pattern;
    if (!has_any)
        return 0;
    for (enum box_access access = BOX_HIDDEN; access <= BOX_READ && r == 0; access++)
        r = compile(&walk, denials, denial_count, access, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < folder_count && r == 0; i++)
        if (folders[i].access != BOX_HIDDEN)
            r = look_at(&walk, folders[i].path, true);
    for (; walk.first != NULL && r == 0 && matches->is_complete; walk.first = walk.first->next)
        r = read_folder(&walk, walk.first->path);
    /* A tree of such names that they do not fit is cut like one of too many. */
    if (r == ERR_TOO_LARGE || r == ERR_NO_MEMORY) {
        matches->is_complete = false;
        r = 0;
    }
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/box/matches.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "authority/names/autorun.h"
#include "authority/names/glob.h"
#include "authority/names/sensitive.h"
#include "base/streams.h"

/* Where in a repository's .git a folder is. */
enum git_place {
    GIT_NOWHERE,
    GIT_TOP,
    GIT_OTHERS, /* submodules and other work trees, which have hooks and settings, too */
};

/* A folder that waits to be visited. */
struct folder {
    struct folder *next;
    const char *path;
    bool is_writable; /* for commands */
    enum git_place git;
};

struct walk {
    struct arena *arena;
    const struct glob_set *sets[BOX_WRITE]; /* by what they leave */
    struct folder *first;
    struct folder **last;
    size_t entries;
    bool finds_kinds; /* instead of what the sets match */
    struct matches_kinds kinds;
    bool is_writable; /* the folder that is visited */
    enum git_place git;
    struct matches *matches;
    char closed[BOX_PATH_BYTES]; /* that nobody can look into */
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

/* Patterns use names without the leading slash. */
static struct str name_of(const char *path)
{
    return str_from(path + 1);
}

static bool may_hold(const struct walk *walk, enum box_access at_most, const char *folder)
{
    return glob_set_may_match_below(walk->sets[at_most], name_of(folder));
}

static int queue_in(struct walk *walk, const char *path, enum git_place git)
{
    struct folder *folder = arena_new(walk->arena, struct folder);
    const char *own = arena_copy(walk->arena, str_from(path));

    if (folder == NULL || own == NULL)
        return walk->arena->error;
    *folder = (struct folder){NULL, own, walk->is_writable, git};
    *walk->last = folder;
    walk->last = &folder->next;
    return 0;
}

static int queue(struct walk *walk, const char *path)
{
    return queue_in(walk, path, GIT_NOWHERE);
}

static int deny(struct walk *walk, const char *path, enum box_access at_most)
{
    struct matches *matches = walk->matches;
    const char *own = arena_copy(walk->arena, str_from(path));

    if (own == NULL)
        return walk->arena->error;
    if (matches->count == matches->room)
        return ERR_TOO_LARGE;
    matches->items[matches->count++] = (struct box_denial){.path = own, .at_most = at_most};
    return 0;
}

/*
 * Other people's code and its test keys, and build results: large, and no place for secrets of the
 * user's.
 */
static bool is_passed_over(const char *path)
{
    static const char *const folders[] = {"node_modules", ".git",   ".hg",
                                          ".svn",         ".venv",  "venv",
                                          "vendor",       "target", "site-packages"};
    const char *slash = strrchr(path, '/');

    return str_index(str_from(slash + 1), folders, array_size(folders)) != SIZE_MAX;
}

static bool is_named(const char *path, const char *name)
{
    return strcmp(strrchr(path, '/') + 1, name) == 0;
}

/* Git takes hooks that a command writes where there were none, so there is a folder to deny. */
static int keep_git(struct walk *walk, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0) {
        (void)mkdirat(fd, "hooks", 0777);
        close(fd);
    }
    return queue_in(walk, path, GIT_TOP);
}

/* Objects, refs and the like are many, and none of them runs. */
static int look_in_git(struct walk *walk, const char *path)
{
    static const char *const folders[] = {"objects", "refs", "logs", "lfs", "info"};
    bool is_wanted = walk->git == GIT_TOP ? is_named(path, "modules") || is_named(path, "worktrees")
                                          : str_index(str_from(strrchr(path, '/') + 1), folders,
                                                      array_size(folders)) == SIZE_MAX;

    return is_wanted ? queue_in(walk, path, GIT_OTHERS) : 0;
}

static int look_at_folder(struct walk *walk, const char *path)
{
    bool is_kept = walk->kinds.autorun && walk->is_writable;
    int r = 0;

    if (is_kept && is_named(path, ".git"))
        return keep_git(walk, path);
    if (is_kept && autorun_is_path(str_from(path)))
        r = deny(walk, path, BOX_READ);
    if (r == 0 && walk->git != GIT_NOWHERE)
        return look_in_git(walk, path);
    return r < 0 || is_passed_over(path) ? r : queue(walk, path);
}

static int look_for_kinds(struct walk *walk, const char *path, bool is_folder)
{
    if (is_folder)
        return look_at_folder(walk, path);
    if (walk->kinds.sensitive && sensitive_is_path(str_from(path)))
        return deny(walk, path, BOX_HIDDEN);
    return walk->kinds.autorun && walk->is_writable && autorun_is_path(str_from(path))
               ? deny(walk, path, BOX_READ)
               : 0;
}

/* A hidden folder hides everything below it; a read-only one may contain hidden files. */
static int look_at(struct walk *walk, const char *path, bool is_folder)
{
    int r = 0;

    if (walk->finds_kinds)
        return look_for_kinds(walk, path, is_folder);
    if (glob_set_matches(walk->sets[BOX_HIDDEN], name_of(path)))
        return deny(walk, path, BOX_HIDDEN);
    if (glob_set_matches(walk->sets[BOX_READ], name_of(path)))
        r = deny(walk, path, BOX_READ);
    if (r < 0 || !is_folder)
        return r;
    return may_hold(walk, BOX_HIDDEN, path) || may_hold(walk, BOX_READ, path) ? queue(walk, path)
                                                                              : 0;
}

/* The command runs as its owner, who could open it again, or enter it by known names. */
static bool is_our_own(const char *path)
{
    struct stat about;

    return lstat(path, &about) < 0 || about.st_uid == geteuid();
}

static int pass_by(struct walk *walk, const char *path, int errno_value)
{
    switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
        return 0; /* removed meanwhile */
    case EACCES:
    case EPERM:
        if (walk->finds_kinds)
            return deny(walk, path, walk->kinds.sensitive ? BOX_HIDDEN : BOX_READ);
        if (is_our_own(path)) {
            snprintf(walk->closed, sizeof(walk->closed), "%s", path);
            return ERR_PERMISSION_DENIED;
        }
        return deny(walk, path, may_hold(walk, BOX_HIDDEN, path) ? BOX_HIDDEN : BOX_READ);
    default:
        return err_from_errno(errno_value);
    }
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
    cleanup_dir DIR *dir = NULL;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const struct dirent *entry;
    int r;

    if (fd < 0)
        return pass_by(walk, path, errno);
    dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return ERR_NO_MEMORY;
    }
    for (;;) {
        char full[BOX_PATH_BYTES];

        errno = 0;
        entry = readdir(dir);
        if (entry == NULL)
            return errno == 0 ? 0 : pass_by(walk, path, errno);
        if (is_dots(entry->d_name))
            continue;
        if (++walk->entries > MATCHES_MAX_ENTRIES)
            return ERR_TOO_LARGE;
        if (snprintf(full, sizeof(full), "%s/%s", path, entry->d_name) >= (int)sizeof(full))
            continue; /* nothing that long can be denied, nor be moved there once it is */
        r = look_at(walk, full, is_folder(fd, entry));
        if (r < 0)
            return r;
    }
}

static int walk_folders(struct walk *walk, const struct box_place *folders, size_t count)
{
    int r = 0;

    walk->last = &walk->first;
    for (size_t i = 0; i < count && r == 0; i++)
        if (folders[i].access != BOX_HIDDEN && !folders[i].is_optional) {
            walk->is_writable = folders[i].access == BOX_WRITE;
            r = walk->finds_kinds ? queue(walk, folders[i].path)
                                  : look_at(walk, folders[i].path, true);
        }
    for (; walk->first != NULL && r == 0; walk->first = walk->first->next) {
        walk->is_writable = walk->first->is_writable;
        walk->git = walk->first->git;
        r = read_folder(walk, walk->first->path);
    }
    return r;
}

int matches_find_kinds(struct arena *arena, struct matches_kinds kinds,
                       const struct box_place *folders, size_t folder_count,
                       struct matches *matches, struct err *err)
{
    struct walk walk = {.arena = arena, .matches = matches, .finds_kinds = true, .kinds = kinds};
    int r = 0;

    if (kinds.sensitive || kinds.autorun)
        r = walk_folders(&walk, folders, folder_count);
    if (r == ERR_TOO_LARGE)
        return err_set(err, r,
                       "the folder has more than %d files, or more than %zu that usually hold "
                       "secrets or run by themselves: choose a smaller one, or leave them to "
                       "commands with --sensitive allow and --autorun allow",
                       MATCHES_MAX_ENTRIES, matches->room);
    return r < 0 ? err_set_plain(err, r) : 0;
}

int matches_find(struct arena *arena, const struct box_denial *denials, size_t denial_count,
                 const struct box_place *folders, size_t folder_count, struct matches *matches,
                 struct err *err)
{
    struct walk walk = {.arena = arena, .matches = matches};
    bool has_any = false;
    int r = 0;

    for (size_t i = 0; i < denial_count && !has_any; i++)
        has_any = denials[i].is_pattern;
    if (!has_any)
        return 0;
    for (enum box_access access = BOX_HIDDEN; access <= BOX_READ && r == 0; access++)
        r = compile(&walk, denials, denial_count, access, err);
    if (r < 0)
        return r;
    r = walk_folders(&walk, folders, folder_count);
    if (r == ERR_TOO_LARGE)
        return err_set(err, r,
                       "deny rules with patterns would have to check more than %d entries, or "
                       "match more than %zu; deny the folders that contain them instead",
                       MATCHES_MAX_ENTRIES, matches->room);
    if (r == ERR_PERMISSION_DENIED)
        return err_set(err, r,
                       "%.150s is not readable by its owner and may contain files that rules deny "
                       "by pattern; run chmod u+rwx on it",
                       walk.closed);
    return r < 0 ? err_set_plain(err, r) : 0;
}

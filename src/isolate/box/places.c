/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/box/places.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/streams.h"
#include "isolate/box/internal.h"
#include "isolate/box/secrets.h"
#include "isolate/box/toolchains.h"

static bool is_among(const struct places *places, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(places->items[i].path, path) == 0)
            return true;
    return false;
}

static int append(struct places *places, const char *path, enum box_access access, uint64_t grant,
                  struct err *err)
{
    const char *own;

    if (places->count == BOX_MAX_PLACES)
        return err_set(err, ERR_TOO_LARGE, "more than %d paths for a sandbox", BOX_MAX_PLACES);
    own = arena_copy(places->arena, str_from(path));
    if (own == NULL)
        return err_set_plain(err, places->arena->error);
    places->items[places->count++] =
        (struct box_place){.path = own, .access = access, .grant = grant};
    return 0;
}

static int put(struct places *places, const char *path, enum box_access access, uint64_t grant,
               struct err *err)
{
    return is_among(places, places->count, path) ? 0 : append(places, path, access, grant, err);
}

static int add(struct places *places, const char *path, enum box_access access, uint64_t grant,
               struct err *err)
{
    __attribute__((uninitialized)) char found[PATH_MAX];

    if (realpath(path, found) == NULL) {
        int errno_value = errno;

        if (access == BOX_HIDDEN && errno_value == ENOENT)
            return path[0] == '/' ? put(places, path, access, grant, err) : 0;
        return err_set_field(err, err_from_errno(errno_value), path, "%.150s: %s", path,
                             err_errno_text(errno_value));
    }
    return put(places, found, access, grant, err);
}

int places_add(struct places *places, const char *path, enum box_access access, struct err *err)
{
    return add(places, path, access, 0, err);
}

static bool is_writable(const void *data, const char *folder)
{
    const struct places *places = data;

    for (size_t i = 0; i < places->count; i++)
        if (places->items[i].access == BOX_WRITE && box_is_beneath(folder, places->items[i].path))
            return true;
    return false;
}

bool places_has_link_to(const struct places *places, const char *path)
{
    return box_passes_link_in(path, is_writable, places);
}

/* What a grant allows a command right now. */
static enum box_access access_by(const struct authority_grant *grant, int64_t now_wall_ms)
{
    if (grant->is_revoked || (grant->expires_ms > 0 && grant->expires_ms <= now_wall_ms))
        return BOX_HIDDEN;
    if ((grant->access & AUTHORITY_READ) == 0)
        return BOX_HIDDEN;
    return (grant->access & AUTHORITY_WRITE) != 0 ? BOX_WRITE : BOX_READ;
}

int places_add_grants(struct places *places, const struct authority_grant *grants, size_t count,
                      int64_t now_wall_ms, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        enum box_access access = access_by(&grants[i], now_wall_ms);
        int r =
            access != BOX_HIDDEN ? add(places, grants[i].root.path, access, grants[i].id, err) : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

void places_narrow(const struct places *places, const struct authority_grant *grants, size_t count,
                   int64_t now_wall_ms, enum box_access out_at_most[BOX_MAX_PLACES])
{
    for (size_t i = 0; i < places->count; i++) {
        uint64_t grant = places->items[i].grant;

        out_at_most[i] = grant == 0 ? BOX_WRITE : BOX_HIDDEN;
        for (size_t g = 0; g < count && grant != 0; g++)
            if (grants[g].id == grant)
                out_at_most[i] = access_by(&grants[g], now_wall_ms);
    }
}

/* Granted places have real paths, and a home may be a link. */
static const char *real_or_given(const char *path, char found[PATH_MAX])
{
    return realpath(path, found) != NULL ? found : path;
}

/*
 * Hides the real location of a secret, if its path has a link: a command may remove the link, and
 * places are mounted in the order of real paths. True: hide it by its own name, too.
 */
static bool hide_behind_links(struct places *places, size_t named, const char *path, int *out_r,
                              struct err *err)
{
    cleanup_fd int fd = -1;
    __attribute__((uninitialized)) char found[PATH_MAX];
    struct stat about;

    /* Few of them are there, and to hear that from stat takes half as long. */
    if (lstat(path, &about) < 0 && errno == ENOENT)
        return true;
    fd = box_open_place(path);
    if (fd != -ELOOP || realpath(path, found) == NULL)
        return true;
    if (is_among(places, named, found))
        return false;
    /* A command may have made the link, to break the sandboxes of others. */
    if (box_is_astray(path, found))
        return true;
    *out_r = put(places, found, BOX_HIDDEN, 0, err);
    return *out_r == 0;
}

/*
 * Which names a folder has: one look at it is quicker than a look for each of a hundred names, few
 * of which exist. A name whose bit is not set is not there.
 */

/* Of the first name in a path. */
static size_t bit_of(const char *path)
{
    static const struct hash_key no_key; /* who chooses names to collide gains nothing */

    return hash_str(&no_key, (struct str){path, strcspn(path, "/")}) % (32 * 64);
}

static void read_names(const char *folder, struct places_names *out)
{
    cleanup_dir DIR *dir = NULL;
    const struct dirent *entry;

    if (strcmp(out->folder, folder) == 0)
        return;
    snprintf(out->folder, sizeof(out->folder), "%s", folder);
    memset(out->bits, 0, sizeof(out->bits));
    dir = opendir(folder);
    if (dir == NULL && errno == ENOENT)
        return;
    errno = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        size_t bit = bit_of(entry->d_name);

        out->bits[bit / 64] |= 1ULL << bit % 64;
    }
    /* Names in a folder that cannot be listed to its end may exist. */
    if (dir == NULL || errno != 0)
        memset(out->bits, 0xff, sizeof(out->bits));
}

static bool may_exist(const struct places_names *names, const char *path)
{
    size_t bit = bit_of(path);

    return (names->bits[bit / 64] >> bit % 64 & 1) != 0;
}

/* Many secrets are in .config, few of which exist. */
static bool may_exist_in(const char *home, const char *path, const struct places_names *names,
                         struct places_names *config_names)
{
    __attribute__((uninitialized)) char folder[PATH_MAX];

    if (!may_exist(names, path))
        return false;
    if (!str_starts_with(str_from(path), STR(".config/")))
        return true;
    if (config_names->folder[0] == '\0') {
        if (snprintf(folder, sizeof(folder), "%s/.config", home) >= PATH_MAX)
            return true;
        read_names(folder, config_names);
    }
    return may_exist(config_names, path + strlen(".config/"));
}

/* Nothing is seen that is in no place, so most secrets need no cover. */
static bool is_seen(const struct places *places, size_t named, const char *path)
{
    for (size_t i = 0; i < named; i++)
        if (places->items[i].access != BOX_HIDDEN && box_is_beneath(path, places->items[i].path))
            return true;
    return false;
}

/* The first `named` places were named by the user; no two secrets are the same. */
static int hide_in(struct places *places, size_t named, const char *home, struct err *err)
{
    struct places_names config_names = {.folder = ""};
    size_t home_len = home != NULL ? strlen(home) + 1 : 0;
    __attribute__((uninitialized)) char path[PATH_MAX];
    int r = 0;

    if (home_len >= sizeof(path))
        return 0;
    if (home != NULL) {
        read_names(home, &places->home_names);
        memcpy(path, home, home_len);
        path[home_len - 1] = '/';
    }
    for (size_t i = 0; i < secrets_count && r == 0; i++) {
        size_t len = strlen(secrets[i].path);

        if ((secrets[i].path[0] == '/') != (home == NULL) || home_len + len >= sizeof(path))
            continue;
        /* A hundred of them: to format each takes longer than all the rest. */
        memcpy(path + home_len, secrets[i].path, len + 1);
        if (!is_among(places, named, path) &&
            ((home != NULL &&
              !may_exist_in(home, secrets[i].path, &places->home_names, &config_names)) ||
             hide_behind_links(places, named, path, &r, err)) &&
            is_seen(places, named, path))
            r = append(places, path, BOX_HIDDEN, 0, err);
    }
    return r;
}

/* Variables that move what is otherwise in the home. */
static const struct {
    const char *variable;
    const char *usual;
} moved[] = {
    {"XDG_CONFIG_HOME", ".config/"},
    {"XDG_DATA_HOME", ".local/share/"},
    {"XDG_STATE_HOME", ".local/state/"},
    {"XDG_CACHE_HOME", ".cache/"},
};

static int hide_moved(struct places *places, size_t named, const char *folder, const char *usual,
                      struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < secrets_count && r == 0; i++) {
        char path[PATH_MAX];

        /* Only existing ones: all of them would leave too little room for other places. */
        if (str_starts_with(str_from(secrets[i].path), str_from(usual)) &&
            snprintf(path, sizeof(path), "%s/%s", folder, secrets[i].path + strlen(usual)) <
                PATH_MAX &&
            access(path, F_OK) == 0 && hide_behind_links(places, named, path, &r, err))
            r = put(places, path, BOX_HIDDEN, 0, err);
    }
    return r;
}

/* The socket on which our daemon accepts tokens (cli/status.h). */
static int hide_daemon(struct places *places, size_t named, struct err *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char found[PATH_MAX];
    char path[PATH_MAX];
    int r = 0;

    if (runtime == NULL || runtime[0] != '/' ||
        snprintf(path, sizeof(path), "%s/gatehouse", real_or_given(runtime, found)) >= PATH_MAX ||
        is_among(places, named, path))
        return 0;
    return hide_behind_links(places, named, path, &r, err) ? put(places, path, BOX_HIDDEN, 0, err)
                                                           : r;
}

/* Variables that name a secret itself; one path or several with colons. */
static const char *const naming[] = {
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "DOCKER_CONFIG",
    "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HISTFILE",
    "KUBECONFIG",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "PASSWORD_STORE_DIR",
    "PGPASSFILE",
    "XAUTHORITY",
};

static int hide_named(struct places *places, size_t named, struct str value, struct err *err)
{
    char path[PATH_MAX];
    char found[PATH_MAX];

    if (value.len == 0 || value.ptr[0] != '/' || value.len >= sizeof(path))
        return 0;
    memcpy(path, value.ptr, value.len);
    path[value.len] = '\0';
    /* A history is often sent to /dev/null. */
    if (realpath(path, found) == NULL || box_is_of_system(found) || is_among(places, named, found))
        return 0;
    return put(places, found, BOX_HIDDEN, 0, err);
}

static int hide_all_named(struct places *places, size_t named, const char *variable,
                          struct err *err)
{
    const char *value = getenv(variable);
    struct str rest = value != NULL ? str_from(value) : STR("");
    struct str one;
    int r = 0;

    while (r == 0 && str_cut(&rest, ':', &one))
        r = hide_named(places, named, one, err);
    return r == 0 ? hide_named(places, named, rest, err) : r;
}

int places_hide_secrets(struct places *places, const char *home, struct err *err)
{
    size_t named = places->count;
    bool has_home = home != NULL && home[0] == '/';
    char found[PATH_MAX];
    char listed[PATH_MAX];
    char listed_found[PATH_MAX];
    int r = hide_in(places, named, NULL, err);

    if (has_home)
        home = real_or_given(home, found);
    if (r == 0 && has_home)
        r = hide_in(places, named, home, err);
    if (r == 0 && secrets_find_home(geteuid(), listed)) {
        const char *other = real_or_given(listed, listed_found);

        if (!has_home || strcmp(home, other) != 0)
            r = hide_in(places, named, other, err);
    }
    for (size_t i = 0; i < array_size(moved) && r == 0; i++) {
        const char *folder = getenv(moved[i].variable);

        /* The specification of these variables: a relative path counts as none. */
        if (folder != NULL && folder[0] == '/')
            r = hide_moved(places, named, real_or_given(folder, found), moved[i].usual, err);
    }
    for (size_t i = 0; i < array_size(naming) && r == 0; i++)
        r = hide_all_named(places, named, naming[i], err);
    return r == 0 ? hide_daemon(places, named, err) : r;
}

static bool is_in_any(const struct places *places, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (box_is_beneath(path, places->items[i].path))
            return true;
    return false;
}

int places_show_toolchains(struct places *places, const char *home, struct err *err)
{
    size_t named = places->count;
    char found[PATH_MAX];

    if (home == NULL || home[0] != '/')
        return 0;
    home = real_or_given(home, found);
    read_names(home, &places->home_names);
    for (size_t i = 0; i < toolchains_count; i++) {
        cleanup_fd int fd = -1;
        __attribute__((uninitialized)) char path[PATH_MAX];
        struct stat about;
        int r;

        if (!may_exist(&places->home_names, toolchains[i]) ||
            snprintf(path, sizeof(path), "%s/%s", home, toolchains[i]) >= PATH_MAX ||
            is_in_any(places, named, path))
            continue;
        /* A link may be a command's, and would show what it leads to. */
        fd = box_open_place(path);
        if (fd < 0 || fstat(fd, &about) < 0 || !S_ISDIR(about.st_mode))
            continue;
        r = append(places, path, BOX_READ, 0, err);
        if (r < 0)
            return r;
        places->items[places->count - 1].is_optional = true;
    }
    return 0;
}

bool places_holds_home(const char *path, const char *home)
{
    char found[PATH_MAX];

    return home != NULL && home[0] == '/' && box_is_beneath(real_or_given(home, found), path);
}

bool places_show(const struct places *places, const char *path)
{
    enum box_access access =
        box_is_part_shown(path) || box_is_beneath(path, "/proc") ? BOX_READ : BOX_HIDDEN;
    size_t longest = 0;

    for (size_t i = 0; i < places->count; i++) {
        const char *place = places->items[i].path;

        /* What leads to a place is there, too. */
        /* NOLINTNEXTLINE(readability-suspicious-call-argument): both ways are asked */
        if (places->items[i].access != BOX_HIDDEN && box_is_beneath(place, path))
            return true;
        if (box_is_beneath(path, place) && strlen(place) > longest) {
            longest = strlen(place);
            access = places->items[i].access;
        }
    }
    return access != BOX_HIDDEN;
}

void places_drop_unseen(struct places *places)
{
    size_t kept = 0;

    for (size_t i = 0; i < places->count; i++)
        if (places->items[i].access != BOX_HIDDEN || box_is_part_shown(places->items[i].path) ||
            is_seen(places, places->count, places->items[i].path))
            places->items[kept++] = places->items[i];
    places->count = kept;
}

/* By length: a path is longer than all its parents. */
static int compare_lengths(const void *a_pointer, const void *b_pointer)
{
    size_t a = strlen(((const struct box_place *)a_pointer)->path);
    size_t b = strlen(((const struct box_place *)b_pointer)->path);

    return (a > b) - (a < b);
}

void places_sort(struct places *places)
{
    qsort(places->items, places->count, sizeof(places->items[0]), compare_lengths);
}

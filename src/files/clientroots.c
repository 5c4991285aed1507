/* SPDX-License-Identifier: Apache-2.0 */
#include "files/clientroots.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "authority/names/fileuri.h"
#include "authority/names/path.h"
#include "base/arena.h"

enum { ROOTS_BYTES = 4 << 20 };

struct folder {
    struct client_roots *roots;
    const char *root_path;
    const char *given_path;
};

/* What is left of a folder. */
struct part {
    size_t folder;
    struct str name; /* below it; "" is all of it */
};

struct client_roots {
    struct folder folders[CLIENT_ROOTS_MAX_FOLDERS];
    size_t folder_count;
    atomic_bool is_active;
    /* Workers read what the loop's thread replaces. */
    pthread_rwlock_t lock;
    struct arena arena;
    struct part parts[CLIENT_ROOTS_MAX];
    size_t count;
};

int client_roots_new(struct client_roots **out_roots)
{
    struct client_roots *roots = calloc(1, sizeof(*roots));

    if (roots == NULL)
        return ERR_NO_MEMORY;
    arena_init(&roots->arena, ROOTS_BYTES);
    pthread_rwlock_init(&roots->lock, NULL);
    *out_roots = roots;
    return 0;
}

void client_roots_free(struct client_roots *roots)
{
    if (roots == NULL)
        return;
    pthread_rwlock_destroy(&roots->lock);
    arena_done(&roots->arena);
    free(roots);
}

/* ---- the filter ---- */

bool client_roots_deny(struct client_roots *roots, size_t folder, struct str name)
{
    bool denies = true;

    if (!atomic_load(&roots->is_active))
        return false;
    pthread_rwlock_rdlock(&roots->lock);
    for (size_t i = 0; i < roots->count && denies; i++) {
        const struct part *part = &roots->parts[i];

        if (part->folder == folder)
            denies = !path_is_within(name, part->name) && !path_is_within(part->name, name);
    }
    pthread_rwlock_unlock(&roots->lock);
    return denies;
}

static bool filter_is_active(void *data)
{
    const struct folder *folder = data;

    return atomic_load(&folder->roots->is_active);
}

static bool filter_denies(void *data, struct str name, bool changes)
{
    const struct folder *folder = data;

    (void)changes; /* directories above a root may have to be made */
    return client_roots_deny(folder->roots, (size_t)(folder - folder->roots->folders), name);
}

int client_roots_add_folder(struct client_roots *roots, const char *root_path,
                            const char *given_path, struct authority_filter *out_filter)
{
    struct folder *folder = &roots->folders[roots->folder_count];

    if (roots->folder_count == CLIENT_ROOTS_MAX_FOLDERS)
        return ERR_TOO_LARGE;
    roots->folder_count++;
    *folder = (struct folder){roots, root_path, given_path};
    *out_filter = (struct authority_filter){.is_active = filter_is_active,
                                            .denies = filter_denies,
                                            .data = folder,
                                            .policy_id = "client-roots"};
    return 0;
}

bool client_roots_each(struct client_roots *roots, size_t folder,
                       void (*visit)(void *data, struct str name), void *data)
{
    if (roots == NULL || !atomic_load(&roots->is_active))
        return false;
    pthread_rwlock_rdlock(&roots->lock);
    for (size_t i = 0; i < roots->count; i++)
        if (roots->parts[i].folder == folder)
            visit(data, roots->parts[i].name);
    pthread_rwlock_unlock(&roots->lock);
    return true;
}

/* ---- what the client says ---- */

static bool has_part(const struct client_roots *roots, size_t folder, struct str name)
{
    for (size_t i = 0; i < roots->count; i++)
        if (roots->parts[i].folder == folder && str_eq(roots->parts[i].name, name))
            return true;
    return false;
}

static int add_part(struct client_roots *roots, size_t folder, struct str name)
{
    struct str kept;

    if (has_part(roots, folder, name))
        return 0;
    if (roots->count == CLIENT_ROOTS_MAX)
        return ERR_TOO_LARGE;
    if (!arena_copy_str(&roots->arena, name, &kept))
        return roots->arena.error;
    roots->parts[roots->count++] = (struct part){folder, kept};
    return 0;
}

/* A root below a folder, or a folder below the root; by the path as it is written. */
static int add_root(struct client_roots *roots, const char *root, bool *out_is_used)
{
    int r = 0;

    for (size_t i = 0; i < roots->folder_count && r == 0; i++) {
        const char *const spellings[] = {roots->folders[i].root_path, roots->folders[i].given_path};

        for (size_t k = 0; k < array_size(spellings) && r == 0; k++) {
            struct str below = str_from(root);
            struct str above = spellings[k] != NULL ? str_from(spellings[k]) : STR_EMPTY;
            bool is_below = path_strip_root(&below, spellings[k]);

            if (!is_below && (above.len == 0 || !path_strip_root(&above, root)))
                continue;
            *out_is_used = true;
            r = add_part(roots, i, is_below ? below : STR_EMPTY);
        }
    }
    return r;
}

static int add_uri(struct client_roots *roots, struct str uri, bool *out_is_used)
{
    __attribute__((uninitialized)) char path[PATH_MAX + 1];
    size_t len;

    *out_is_used = false;
    path[0] = '/';
    /* What is not a file:// URI is nothing of ours. */
    if (fileuri_name(uri, STR("/"), path + 1, &len, NULL) < 0)
        return 0;
    return add_root(roots, path, out_is_used);
}

static void begin(struct client_roots *roots)
{
    pthread_rwlock_wrlock(&roots->lock);
    roots->count = 0;
    arena_done(&roots->arena);
    arena_init(&roots->arena, ROOTS_BYTES);
    atomic_store(&roots->is_active, true);
}

void client_roots_unknown(struct client_roots *roots)
{
    begin(roots);
    pthread_rwlock_unlock(&roots->lock);
}

int client_roots_set(struct client_roots *roots, const struct str *uris, size_t count,
                     bool *out_is_used)
{
    int r = 0;

    begin(roots);
    for (size_t i = 0; i < count && r == 0; i++)
        r = add_uri(roots, uris[i], &out_is_used[i]);
    if (r < 0)
        roots->count = 0;
    pthread_rwlock_unlock(&roots->lock);
    return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a name below a root to a node, one component at a time. */
#include "authority/memory/internal.h"

#include <string.h>

/* A name being resolved: the rest, and the result so far. */
struct walk {
    const struct memory_node *root;
    const struct backend_lookup *lookup;
    struct memory_node *directory;
    unsigned hops;
    bool followed_last;
    size_t rest_start; /* the rest is at the end, so that a link's target fits in before it */
    char rest[PATH_MAX];
    size_t resolved_len;
    char resolved[PATH_MAX];
};

static int walk_prepend(struct walk *walk, struct str text)
{
    if (text.len > walk->rest_start)
        return ERR_INVALID_PATH;
    walk->rest_start -= text.len;
    memcpy(walk->rest + walk->rest_start, text.ptr, text.len);
    return 0;
}

/* Takes a component off the rest; false at its end. Links may contain "//" and ".". */
static bool walk_cut(struct walk *walk, char out_component[PATH_MAX], size_t *out_len)
{
    while (walk->rest_start < sizeof(walk->rest)) {
        const char *start = walk->rest + walk->rest_start;
        size_t left = sizeof(walk->rest) - walk->rest_start;
        const char *slash = memchr(start, '/', left);
        size_t len = slash != NULL ? (size_t)(slash - start) : left;

        walk->rest_start += slash != NULL ? len + 1 : len;
        if (len == 0 || (len == 1 && *start == '.'))
            continue;
        /* A slash after the last component requires a directory: "." enters it. */
        if (slash != NULL && walk->rest_start == sizeof(walk->rest))
            walk->rest[--walk->rest_start] = '.';
        memcpy(out_component, start, len);
        *out_len = len;
        return true;
    }
    return false;
}

static int resolved_push(struct walk *walk, struct str component)
{
    size_t slash = walk->resolved_len > 0 ? 1 : 0;

    if (component.len > sizeof(walk->resolved) - 1 - walk->resolved_len - slash)
        return ERR_INVALID_PATH;
    if (slash)
        walk->resolved[walk->resolved_len++] = '/';
    memcpy(walk->resolved + walk->resolved_len, component.ptr, component.len);
    walk->resolved_len += component.len;
    walk->resolved[walk->resolved_len] = '\0';
    return 0;
}

static void resolved_pop(struct walk *walk)
{
    const char *slash = memrchr(walk->resolved, '/', walk->resolved_len);

    walk->resolved_len = slash != NULL ? (size_t)(slash - walk->resolved) : 0;
    walk->resolved[walk->resolved_len] = '\0';
}

static int walk_up(struct walk *walk)
{
    if (walk->directory == walk->root)
        return ERR_PATH_OUTSIDE_ROOT;
    walk->directory = walk->directory->parent;
    resolved_pop(walk);
    return 0;
}

static int follow(struct walk *walk, const struct memory_node *link)
{
    struct str target = buf_view(&link->content);
    bool is_last = walk->rest_start == sizeof(walk->rest);
    int r;

    if (!walk->lookup->follows_links || target.len == 0 || ++walk->hops > MEMORY_MAX_LINK_HOPS)
        return ERR_SYMLINK_REJECTED;
    if (target.ptr[0] == '/')
        return ERR_PATH_OUTSIDE_ROOT; /* also where it would lead inside, as on Linux */
    if (is_last)
        walk->followed_last = true;
    else if ((r = walk_prepend(walk, STR("/"))) < 0)
        return r;
    return walk_prepend(walk, target);
}

static void set_place(struct memory_place *place, struct memory_node *parent,
                      struct memory_node *node, struct str last)
{
    place->parent = parent;
    place->node = node;
    place->is_named = true;
    memcpy(place->last, last.ptr, last.len);
    place->last[last.len] = '\0';
    place->last_len = last.len;
}

/* Resolves one component; *out_is_done if it was the last and *place is set. */
static int walk_step(struct walk *walk, struct str component, bool follows_last,
                     struct memory_place *place, bool *out_is_done)
{
    bool is_last = walk->rest_start == sizeof(walk->rest);
    const struct memory_entry *entry;
    struct memory_node *node;
    int r;

    if (str_eq_c(component, ".."))
        return walk_up(walk);
    if (component.len > NAME_MAX)
        return ERR_INVALID_PATH;
    entry = memory_entry_find(walk->directory, component);
    node = entry != NULL ? entry->target : NULL;
    if (node == NULL && !is_last)
        return ERR_NOT_FOUND;
    if (node != NULL && node->type == AUTHORITY_SYMLINK && (!is_last || follows_last))
        return follow(walk, node);
    r = resolved_push(walk, component);
    if (r < 0)
        return r;
    if (!is_last) {
        if (node->type != AUTHORITY_DIRECTORY)
            return ERR_NOT_A_DIRECTORY;
        walk->directory = node;
        return 0;
    }
    set_place(place, walk->directory, node, component);
    place->is_dangling = node == NULL && walk->followed_last;
    *out_is_done = true;
    return 0;
}

int memory_resolve(const struct backend_root *root, const struct backend_lookup *lookup,
                   struct str name, bool follows_last, struct memory_place *out_place)
{
    struct walk walk = {.root = root->node,
                        .lookup = lookup,
                        .directory = root->node,
                        .rest_start = sizeof(walk.rest)};
    struct memory_place place = {.is_named = false};
    char component[PATH_MAX];
    bool is_done = false;
    size_t len = 0;
    int r = cancel_check(lookup->cancel);

    if (r < 0)
        return r;
    if (name.len >= sizeof(walk.rest))
        return ERR_INVALID_PATH;
    r = walk_prepend(&walk, name);
    if (r < 0)
        return r;
    while (!is_done && walk_cut(&walk, component, &len)) {
        r = walk_step(&walk, (struct str){component, len}, follows_last, &place, &is_done);
        if (r < 0)
            return r;
    }
    /* It ended with ".." or a slash. As the thing itself such a name is as good as the root's. */
    if (!is_done && follows_last && walk.directory != walk.root)
        set_place(&place, walk.directory->parent, walk.directory,
                  (struct str){walk.directory->self->name, walk.directory->self->name_len});
    else if (!is_done)
        place.node = walk.directory;
    if (lookup->follows_links && lookup->admits != NULL &&
        !lookup->admits(lookup->context, (struct str){walk.resolved, walk.resolved_len}))
        return ERR_DENIED_BY_POLICY;
    *out_place = place;
    return 0;
}

int memory_resolve_node(const struct backend_root *root, const struct backend_lookup *lookup,
                        struct str name, struct memory_node **out_node)
{
    struct memory_place place;
    int r = memory_resolve(root, lookup, name, true, &place);

    if (r < 0)
        return r;
    if (place.node == NULL)
        return ERR_NOT_FOUND;
    *out_node = place.node;
    return 0;
}

int memory_resolve_target(const struct backend_root *root, const struct backend_lookup *lookup,
                          struct str name, struct memory_place *out_place)
{
    struct memory_place place;
    int r = memory_resolve(root, lookup, name, true, &place);

    if (r < 0)
        return r;
    if (place.is_dangling)
        return ERR_SYMLINK_REJECTED;
    if (!place.is_named)
        return ERR_ROOT_PROTECTED;
    *out_place = place;
    return 0;
}

/* ---- where something will be ---- */

void memory_target_init(struct memory_target *target, const struct backend_root *root,
                        const struct backend_lookup *lookup, const struct memory_place *place)
{
    target->root = memory_ref(root->node);
    target->parent = memory_ref(place->parent);
    target->lookup = *lookup;
    memcpy(target->last, place->last, place->last_len);
    target->last_len = place->last_len;
}

void memory_target_done(struct memory_backend *backend, struct memory_target *target)
{
    memory_unref(backend, target->parent);
    memory_unref(backend, target->root);
}

int memory_target_name(const struct memory_target *target, struct path_name *out_name)
{
    struct path_name name;
    int r = path_join(STR_EMPTY, memory_target_last(target), &name);

    for (const struct memory_node *at = target->parent; r == 0 && at != target->root;
         at = at->parent) {
        const struct path_name below = name;

        r = path_join((struct str){at->self->name, at->self->name_len}, path_view(&below), &name);
    }
    if (r < 0)
        return r;
    *out_name = name;
    return 0;
}

int memory_target_check(const struct memory_target *target)
{
    const struct backend_lookup *lookup = &target->lookup;
    struct path_name name;
    int r;

    if (target->parent->links == 0)
        return ERR_NOT_FOUND;
    if (!memory_is_within(target->parent, target->root))
        return ERR_PATH_OUTSIDE_ROOT;
    if (!lookup->is_selective || lookup->admits == NULL)
        return 0;
    r = memory_target_name(target, &name);
    if (r < 0)
        return r;
    return lookup->admits(lookup->context, path_view(&name)) ? 0 : ERR_DENIED_BY_POLICY;
}

/* ---- rules ---- */

int memory_check_component(struct str component)
{
    if (component.len == 0 || component.len > NAME_MAX || str_eq_c(component, ".") ||
        str_eq_c(component, "..") || str_has_nul(component) ||
        memchr(component.ptr, '/', component.len) != NULL)
        return ERR_INVALID_PATH;
    return 0;
}

int memory_check_file(const struct memory_node *node, const struct backend_lookup *lookup)
{
    if (node->type == AUTHORITY_SYMLINK)
        return ERR_SYMLINK_REJECTED;
    if (node->type != AUTHORITY_FILE)
        return ERR_NOT_REGULAR_FILE;
    if (node->links > 1 && !lookup->allows_hardlinks)
        return ERR_HARDLINK_REJECTED;
    if (lookup->max_file_bytes > 0 && node->content.len > lookup->max_file_bytes)
        return ERR_TOO_LARGE;
    return 0;
}

int memory_check_mode(const struct memory_node *node, unsigned bits)
{
    return (node->mode & bits) == bits ? 0 : ERR_PERMISSION_DENIED;
}

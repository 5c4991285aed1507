/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

enum {
    FIRST_CHILDREN = 64,
    SORTED_MAX_BYTES = 64 << 20,  /* names of one directory */
    WAITING_MAX_BYTES = 64 << 20, /* names of directories that wait, breadth-first */
};

struct child {
    struct str component;
    enum authority_type type;
};

/* A directory on the path. */
struct level {
    struct backend_dir *dir;
    size_t name_len; /* of this directory, in the walk's name */
    /* Sorted: what is in it. */
    struct arena arena;
    struct child *children; /* grows in the arena */
    size_t child_count;
    size_t child_room;
    size_t next_child;
    int error; /* that its reading ended with */
};

struct waiting {
    struct list link;
    struct str name;
};

struct walk {
    const struct backend_ops *ops;
    const struct walk_options *options;
    walk_visit_fn *visit;
    void *data;
    struct path_name name;
    struct level levels[AUTHORITY_MAX_DEPTH];
    unsigned depth; /* levels in use */
};

static int compare_children(const void *left, const void *right)
{
    const struct child *a = left;
    const struct child *b = right;
    bool a_is_directory = a->type == AUTHORITY_DIRECTORY;
    bool b_is_directory = b->type == AUTHORITY_DIRECTORY;

    if (a_is_directory != b_is_directory)
        return a_is_directory ? -1 : 1;
    return str_compare(a->component, b->component);
}

/* Copies one more entry; the directory's own buffer is reused. */
static int keep_child(struct level *level, struct child child)
{
    const char *copy = arena_copy(&level->arena, child.component);

    if (copy == NULL)
        return level->arena.error;
    if (level->child_count == level->child_room) {
        size_t room = level->child_room == 0 ? FIRST_CHILDREN : level->child_room * 2;
        struct child *grown =
            arena_regrow(&level->arena, level->children, room * sizeof(*level->children));

        if (grown == NULL)
            return level->arena.error;
        level->children = grown;
        level->child_room = room;
    }
    child.component.ptr = copy;
    level->children[level->child_count++] = child;
    return 0;
}

/* Reads a whole directory, to sort it. A read error is reported at the end. */
static int gather(const struct walk *walk, struct level *level)
{
    struct child child;

    arena_init(&level->arena, SORTED_MAX_BYTES);
    while (walk->ops->dir_next(level->dir, &child.component, &child.type, &level->error)) {
        int r = keep_child(level, child);

        if (r < 0)
            return r;
    }
    if (level->children != NULL)
        qsort(level->children, level->child_count, sizeof(*level->children), compare_children);
    return 0;
}

static void leave(struct walk *walk)
{
    struct level *level = &walk->levels[--walk->depth];

    walk->ops->dir_close(level->dir);
    arena_regrow_free(&level->arena, level->children);
    arena_done(&level->arena);
    if (walk->depth > 0)
        walk->name.len = walk->levels[walk->depth - 1].name_len;
}

static int enter(struct walk *walk, struct backend_dir *dir)
{
    struct level *level = &walk->levels[walk->depth++];

    *level = (struct level){.dir = dir, .name_len = walk->name.len};
    return walk->options->is_sorted ? gather(walk, level) : 0;
}

static bool next_child(const struct walk *walk, struct level *level, struct child *out_child,
                       int *out_error)
{
    *out_error = 0;
    if (!walk->options->is_sorted)
        return walk->ops->dir_next(level->dir, &out_child->component, &out_child->type, out_error);
    if (level->next_child == level->child_count) {
        *out_error = level->error;
        return false;
    }
    *out_child = level->children[level->next_child++];
    return true;
}

/*
 * A directory that cannot be read completely is skipped like one that is closed, except the first:
 * that one was requested.
 */
static bool may_pass_over(const struct walk *walk, unsigned depth)
{
    return depth > 1 && !walk->options->is_strict;
}

/* Sets the walk's name to that of an entry of this level. */
static int name_entry(struct walk *walk, const struct level *level, struct str component)
{
    size_t at = level->name_len;

    if (at + component.len + 2 > sizeof(walk->name.text))
        return ERR_INVALID_PATH;
    if (at > 0)
        walk->name.text[at++] = '/';
    memcpy(walk->name.text + at, component.ptr, component.len);
    walk->name.len = at + component.len;
    walk->name.text[walk->name.len] = '\0';
    return 0;
}

/* What the walk's name refers to cannot be entered. */
static int pass_over(const struct walk *walk, int code)
{
    if (walk->options->is_strict)
        return code;
    if (walk->options->missed != NULL)
        walk->options->missed(walk->data, path_view(&walk->name), code);
    return 0;
}

/* Descends into the directory that the walk's name refers to. */
static int descend(struct walk *walk, struct level *level, struct str component)
{
    struct backend_dir *dir;
    int r;

    if (walk->depth >= walk->options->max_depth)
        return pass_over(walk, ERR_TOO_LARGE);
    r = walk->ops->dir_open_below(level->dir, component, &dir);
    return r < 0 ? pass_over(walk, r) : enter(walk, dir);
}

/* Visits one entry; the visitor decides whether to descend. */
static int visit_child(struct walk *walk, struct level *level, const struct child *child,
                       unsigned depth)
{
    struct walk_entry entry;
    int r = cancel_check(walk->options->cancel);

    if (r < 0)
        return r;
    r = name_entry(walk, level, child->component);
    /* What no name can reach is passed over: it must not hide the rest of the tree. */
    if (r < 0)
        return walk->options->is_strict ? r : WALK_SKIP;
    entry = (struct walk_entry){
        .name = path_view(&walk->name),
        .component = child->component,
        .type = child->type,
        .depth = depth,
        .dir = level->dir,
    };
    return walk->visit(walk->data, &entry);
}

static int walk_depth_first(struct walk *walk)
{
    int r = 0;

    while (walk->depth > 0 && r == 0) {
        struct level *level = &walk->levels[walk->depth - 1];
        struct child child;

        if (!next_child(walk, level, &child, &r)) {
            if (may_pass_over(walk, walk->depth))
                r = 0;
            leave(walk);
            continue;
        }
        r = visit_child(walk, level, &child, walk->depth);
        if (r == 0 && child.type == AUTHORITY_DIRECTORY)
            r = descend(walk, level, child.component);
        if (r == WALK_SKIP)
            r = 0;
    }
    return r;
}

/* ---- breadth-first ---- */

static int remember(struct arena *arena, struct list *queue, struct str name)
{
    struct waiting *waiting = arena_new(arena, struct waiting);
    const char *copy = waiting != NULL ? arena_copy(arena, name) : NULL;

    if (copy == NULL)
        return arena->error;
    waiting->name = (struct str){copy, name.len};
    list_append(queue, &waiting->link);
    return 0;
}

/*
 * Opens it again from the first directory, by components: each is open before the next one is
 * opened.
 */
static int open_again(const struct walk *walk, struct backend_dir *start, struct str name,
                      struct backend_dir **out_dir)
{
    struct backend_dir *at = NULL;
    struct str rest = name;
    struct str part;

    while (str_cut(&rest, '/', &part)) {
        struct backend_dir *below;
        int r = walk->ops->dir_open_below(at != NULL ? at : start, part, &below);

        if (at != NULL)
            walk->ops->dir_close(at);
        if (r < 0)
            return r;
        at = below;
    }
    *out_dir = at;
    return 0;
}

static int visit_level(struct walk *walk, struct arena *arena, struct list *queue, unsigned depth)
{
    struct level *level = &walk->levels[walk->depth - 1];
    struct child child;
    int r = 0;

    while (next_child(walk, level, &child, &r)) {
        r = visit_child(walk, level, &child, depth);
        if (r == 0 && child.type == AUTHORITY_DIRECTORY && depth < walk->options->max_depth)
            r = remember(arena, queue, path_view(&walk->name));
        if (r != 0 && r != WALK_SKIP)
            return r;
    }
    return may_pass_over(walk, depth) ? 0 : r;
}

static unsigned depth_of(struct str name)
{
    unsigned depth = 1;

    for (size_t i = 0; i < name.len; i++)
        depth += name.ptr[i] == '/';
    return depth;
}

static int walk_breadth_first(struct walk *walk, struct backend_dir *start)
{
    cleanup_arena struct arena arena = ARENA_INIT(WAITING_MAX_BYTES);
    struct list queue;
    int r;

    list_init(&queue);
    /* The first level stays open: it is where the others are reached from. */
    r = visit_level(walk, &arena, &queue, 1);
    while (r == 0 && !list_is_empty(&queue)) {
        const struct waiting *waiting = list_entry(queue.next, struct waiting, link);
        struct backend_dir *dir;

        list_remove(queue.next);
        r = open_again(walk, start, waiting->name, &dir);
        if (r < 0) {
            r = walk->options->is_strict ? r : 0;
            continue;
        }
        memcpy(walk->name.text, waiting->name.ptr, waiting->name.len);
        walk->name.len = waiting->name.len;
        r = enter(walk, dir);
        if (r == 0)
            r = visit_level(walk, &arena, &queue, depth_of(waiting->name) + 1);
        leave(walk);
    }
    return r;
}

int walk_tree(const struct backend_ops *ops, struct backend_dir *start,
              const struct walk_options *options, walk_visit_fn *visit, void *data)
{
    /* Too large for a worker's stack. */
    struct walk *walk = malloc(sizeof(*walk));
    int r;

    if (walk == NULL) {
        ops->dir_close(start);
        return ERR_NO_MEMORY;
    }
    walk->ops = ops;
    walk->options = options;
    walk->visit = visit;
    walk->data = data;
    walk->name.len = 0;
    walk->name.text[0] = '\0';
    walk->depth = 0;
    r = enter(walk, start);
    if (r == 0)
        r = options->is_breadth_first ? walk_breadth_first(walk, start) : walk_depth_first(walk);
    while (walk->depth > 0)
        leave(walk);
    free(walk);
    return r;
}

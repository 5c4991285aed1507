/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the log detects changes by others. A print is a keyed hash of a name and its object: type,
 * device, inode and mode, and of a file also size and times. The print of a tree combines those of
 * its content independent of order, so that it can be updated for our own changes below: old prints
 * are removed from it, new ones added.
 */
#include "files/undo/internal.h"

#include <stdio.h>
#include <string.h>

#include "authority/names/path.h"
#include "base/hash.h"

/*
 * A directory's size and times change with its content, which has prints of its own. What is done
 * to another name of a file or link shows in ctime, which is left out for these; the content of a
 * link never changes, and that of a file shows in mtime.
 */
static uint64_t print_of(struct str name, const struct authority_stat *about)
{
    bool is_directory = about->type == AUTHORITY_DIRECTORY;
    bool may_have_others = about->type != AUTHORITY_FILE || about->links > 1;
    const uint64_t facts[] = {
        hash_str(hash_process_key(), name),
        (uint64_t)about->type,
        about->device,
        about->inode,
        about->mode,
        is_directory ? 0 : about->size,
        is_directory ? 0 : (uint64_t)about->modified_ms,
        is_directory ? 0 : about->modified_ns,
        may_have_others ? 0 : about->changed_ns,
    };

    return hash_str(hash_process_key(), (struct str){(const char *)facts, sizeof(facts)});
}

static void add(struct undo_measure *measure, struct str name, const struct authority_stat *about)
{
    measure->print ^= print_of(name, about);
    measure->entries++;
    measure->bytes += about->type == AUTHORITY_FILE ? about->size : 0;
    measure->has_others = measure->has_others ||
                          (about->type != AUTHORITY_FILE && about->type != AUTHORITY_DIRECTORY);
}

struct measuring {
    struct str top;
    struct undo_measure *measure;
};

static int add_entry(void *data, const struct authority_entry *entry)
{
    const struct measuring *measuring = data;
    char name[PATH_MAX];
    int len;

    if (!entry->has_stat)
        return ERR_PERMISSION_DENIED;
    if (measuring->measure->entries >= UNDO_MAX_TREE_ENTRIES)
        return ERR_TOO_LARGE;
    len = snprintf(name, sizeof(name), "%.*s/%.*s", STR_ARG(measuring->top), STR_ARG(entry->name));
    if (len < 0 || (size_t)len >= sizeof(name))
        return ERR_INVALID_PATH;
    add(measuring->measure, (struct str){name, (size_t)len}, &entry->stat);
    return 0;
}

void undo_measure_seen(struct str name, const struct authority_stat *about,
                       struct undo_measure *out_measure)
{
    *out_measure = (struct undo_measure){
        .device = about->device,
        .mode = about->mode,
        .is_directory = about->type == AUTHORITY_DIRECTORY,
    };
    add(out_measure, name, about);
}

int undo_measure(const struct undo_log *log, struct str name, bool is_tree,
                 struct undo_measure *out_measure)
{
    static const struct authority_walk_options how = {.with_stat = true};
    struct undo_measure measure = {0};
    struct measuring measuring = {.top = name, .measure = &measure};
    struct authority_stat about;
    int r = authority_stat(log->files, name, &about, NULL);

    if (r == ERR_NOT_FOUND || r == ERR_NOT_A_DIRECTORY) {
        *out_measure = measure;
        return 0;
    }
    if (r < 0)
        return r;
    undo_measure_seen(name, &about, &measure);
    if (is_tree && measure.is_directory)
        r = authority_walk(log->files, name, &how, add_entry, &measuring, NULL);
    if (r == 0)
        *out_measure = measure;
    return r;
}

/* ---- older changes, seen from a newer one ---- */

/* Whether the step left something that is checked before it is undone. */
static bool has_print(const struct undo_step *step)
{
    return step->kind != UNDO_GONE && step->kind != UNDO_LOST && !step->is_off;
}

static struct undo_step *alive_step_of(struct list *node)
{
    return list_entry(node, struct undo_step, alive_link);
}

static struct undo_step *tree_step_of(struct list *node)
{
    return list_entry(node, struct undo_step, tree_link);
}

void undo_revive(struct undo_log *log, struct undo_step *step)
{
    if (!has_print(step) || step->carrier != 0)
        return;
    list_append(&log->alive, &step->alive_link);
    if (step->is_tree)
        list_append(&log->trees, &step->tree_link);
}

void undo_step_forget(struct undo_step *step)
{
    list_remove(&step->alive_link);
    list_remove(&step->tree_link);
}

/* The step can no longer be compared. */
static void lose_track_of(struct undo_step *step)
{
    step->is_off = true;
    undo_step_forget(step);
}

/* Compares the print of the step's object; uses `seen` if that is the very file. */
static bool looks_as_left(const struct undo_log *log, const struct undo_step *step, struct str name,
                          const struct undo_measure *seen)
{
    struct undo_measure measure;

    if (seen != NULL && !seen->is_directory && step->name.len == name.len)
        return seen->print == step->now;
    return undo_measure(log, step->name, step->is_tree, &measure) == 0 &&
           measure.print == step->now;
}

void undo_carry(struct undo_log *log, uint64_t id, struct str name, const struct undo_measure *seen)
{
    list_each_safe (node, &log->alive) {
        struct undo_step *step = alive_step_of(node);

        if (!path_is_within(step->name, name))
            continue;
        if (looks_as_left(log, step, name, seen)) {
            step->carrier = id;
            undo_step_forget(step);
        } else {
            lose_track_of(step);
        }
    }
}

static void measure_again(struct undo_log *log, struct undo_step *step)
{
    struct undo_measure measure;

    if (undo_measure(log, step->name, step->is_tree, &measure) == 0)
        step->now = measure.print;
    else
        step->is_off = true;
}

static void take_over(struct undo_log *log, uint64_t id, struct str name, bool is_new)
{
    list_each (change_node, &log->changes) {
        list_each (node, &undo_change_of(change_node)->steps) {
            struct undo_step *step = undo_step_of(node);

            if (step->carrier != id || !path_is_within(step->name, name))
                continue;
            step->carrier = 0;
            if (is_new)
                measure_again(log, step);
            undo_revive(log, step);
        }
    }
}

void undo_bring_back(struct undo_log *log, uint64_t id, struct str name)
{
    take_over(log, id, name, true);
}

void undo_uncarry(struct undo_log *log, uint64_t id, struct str name)
{
    take_over(log, id, name, false);
}

void undo_follow(struct undo_log *log, uint64_t id, struct str name, uint64_t was)
{
    struct undo_measure measure;

    if (undo_measure(log, name, true, &measure) == 0)
        undo_shift(log, name, was ^ measure.print);
    else
        undo_lose_track(log, name);
    undo_bring_back(log, id, name);
}

/* Whether the tree contains `name`; it is still where it was created. */
static bool holds(const struct undo_step *step, struct str name)
{
    return step->name.len < name.len && path_is_within(name, step->name);
}

void undo_shift(struct undo_log *log, struct str name, uint64_t difference)
{
    list_each (node, &log->trees) {
        struct undo_step *step = tree_step_of(node);

        if (holds(step, name))
            step->now ^= difference;
    }
}

void undo_lose_track(struct undo_log *log, struct str name)
{
    list_each_safe (node, &log->trees) {
        struct undo_step *step = tree_step_of(node);

        if (holds(step, name))
            lose_track_of(step);
    }
}

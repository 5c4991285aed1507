/* SPDX-License-Identifier: Apache-2.0 */
#include "files/undo/undo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "files/undo/internal.h"

/* ---- the log ---- */

int undo_log_new(const struct toolbox_config *config, struct undo_log **out_log, struct err *err)
{
    struct undo_log *log = calloc(1, sizeof(*log));
    struct err why = ERR_INIT;

    if (log == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    log->files = config->files;
    log->max_bytes = config->max_undo_bytes;
    buf_init(&log->scratch, UNDO_HELD_FILE_BYTES);
    list_init(&log->changes);
    list_init(&log->alive);
    list_init(&log->trees);
    /* The tools do their work without it. */
    if (undo_store_open(log, config->authority, &why) < 0)
        snprintf(log->why_not, sizeof(log->why_not),
                 "changes of this session cannot be undone: %.100s", why.message);
    *out_log = log;
    return 0;
}

void undo_log_free(struct undo_log *log)
{
    if (log == NULL)
        return;
    /* With the store goes all that is in it, at once. */
    undo_store_close(log);
    list_each_safe (node, &log->changes)
        undo_change_drop(log, undo_change_of(node));
    buf_done(&log->scratch);
    free(log);
}

const char *undo_why_not(const struct undo_log *log)
{
    return log->store != NULL ? NULL : log->why_not;
}

size_t undo_remaining(const struct undo_log *log)
{
    return log->change_count - log->lost_count;
}

bool undo_is_empty(const struct undo_log *log)
{
    return log->change_count == 0;
}

uint64_t undo_state(const struct undo_log *log)
{
    /* Each change that comes counts in the first, and all that go in the second. */
    return log->last_id << 32 ^ undo_remaining(log);
}

uint64_t undo_forgotten(const struct undo_log *log)
{
    return log->forgotten;
}

/* ---- changes and steps ---- */

void undo_step_free(struct undo_log *log, struct undo_change *change, struct undo_step *step)
{
    undo_store_drop(log, step);
    change->name_bytes -= step->name.len + step->from.len;
    list_remove(&step->link);
    undo_step_forget(step);
    free(step);
}

static void free_steps(struct undo_log *log, struct undo_change *change)
{
    list_each_safe (node, &change->steps)
        undo_step_free(log, change, undo_step_of(node));
}

void undo_change_drop(struct undo_log *log, struct undo_change *change)
{
    log->change_count--;
    log->lost_count -= change->lost != NULL;
    log->name_bytes -= change->name_bytes;
    list_remove(&change->link);
    free_steps(log, change);
    free(change);
}

void undo_set_lost(struct undo_change *change, const char *why)
{
    if (change->lost != NULL)
        return;
    snprintf(change->lost_text, sizeof(change->lost_text), "%s", why);
    change->lost = change->lost_text;
}

void undo_open(struct undo_log *log, struct str tool)
{
    struct undo_change *change;

    if (log->store == NULL)
        return;
    change = alloc_zeroed(sizeof(*change));
    if (change == NULL)
        return; /* the first step says so */
    list_init(&change->link);
    list_init(&change->steps);
    change->id = ++log->last_id;
    change->tool = tool;
    log->open = change;
}

/* Drops the oldest changes if there are too many. */
static void forget_old(struct undo_log *log)
{
    while (log->change_count > 1 &&
           (log->change_count > UNDO_MAX_CHANGES || log->name_bytes > UNDO_MAX_NAME_BYTES)) {
        undo_change_drop(log, undo_change_of(log->changes.next));
        log->forgotten++;
    }
}

void undo_close(struct undo_log *log, struct undo_note *out_note)
{
    struct undo_change *change = log->open;

    *out_note = (struct undo_note){0};
    log->open = NULL;
    if (change == NULL)
        return;
    if (list_is_empty(&change->steps)) {
        free(change);
        return;
    }
    if (change->lost != NULL) {
        out_note->is_lost = true;
        memcpy(out_note->text, change->lost_text, sizeof(out_note->text));
        /* It will not be undone, so its room is free for others. */
        list_each (node, &change->steps)
            undo_store_drop(log, undo_step_of(node));
    }
    list_append(&log->changes, &change->link);
    list_each (node, &change->steps)
        undo_revive(log, undo_step_of(node));
    log->change_count++;
    log->lost_count += change->lost != NULL;
    log->name_bytes += change->name_bytes;
    forget_old(log);
}

struct undo_step *undo_step_add(struct undo_log *log, enum undo_kind kind, struct str name,
                                struct str from)
{
    struct undo_change *change = log->open;
    struct undo_step *step =
        change != NULL ? alloc_zeroed(sizeof(*step) + name.len + from.len + 1) : NULL;

    if (step == NULL)
        return NULL;
    memcpy(step->text, name.ptr, name.len);
    memcpy(step->text + name.len, from.ptr, from.len);
    step->name = (struct str){step->text, name.len};
    step->from = (struct str){step->text + name.len, from.len};
    step->kind = kind;
    step->is_pending = true;
    change->name_bytes += name.len + from.len;
    list_append(&change->steps, &step->link);
    list_init(&step->alive_link);
    list_init(&step->tree_link);
    return step;
}

/* Codes that prevent the change; others only mean that it cannot be kept. */
static bool stops_the_call(int code)
{
    switch (code) {
    case ERR_CANCELLED:
    case ERR_TIMED_OUT:
    case ERR_GRANT_REVOKED:
    case ERR_GRANT_EXPIRED:
    case ERR_AUDIT_UNAVAILABLE:
    case ERR_NO_MEMORY:
        return true;
    default:
        return false;
    }
}

static void lose(struct undo_log *log, struct undo_step *step, int code)
{
    char why[UNDO_NOTE_BYTES];

    step->kind = UNDO_LOST;
    snprintf(why, sizeof(why), "cannot be undone: %s",
             code == ERR_TOO_LARGE ? "too many entries"
             : code == ERR_SYMLINK_REJECTED
                 ? "it is or contains a link or something else that is not a regular file"
                 : err_text(code));
    undo_set_lost(log->open, why);
}

/* Adds a step for each missing directory above `name`, outermost first. */
static int add_parents(struct undo_log *log, struct str name)
{
    size_t first = name.len;
    struct authority_stat about;

    /* From the innermost one out, to the first that is there. */
    for (size_t end = name.len; end-- > 0;) {
        if (name.ptr[end] != '/')
            continue;
        if (authority_stat(log->files, str_slice(name, 0, end), &about, NULL) != ERR_NOT_FOUND)
            break;
        first = end;
    }
    for (size_t end = first; end < name.len; end++) {
        struct undo_step *step;

        if (name.ptr[end] != '/')
            continue;
        step = undo_step_add(log, UNDO_MADE_DIR, str_slice(name, 0, end), STR_EMPTY);
        if (step == NULL)
            return ERR_NO_MEMORY;
        step->is_soft = true;
    }
    return 0;
}

/* ---- what is about to happen ---- */

/* Keeps a copy of a file whose content is replaced, or notes that there is none. */
static int keep_file(struct undo_log *log, struct undo_step *step,
                     const struct undo_measure *measure, const struct cancel *cancel,
                     struct err *err)
{
    /* A file replaced in place keeps its mode and owner, so only the content is needed. */
    bool is_content = step->kind == UNDO_REPLACED && undo_store_can_hold(log, measure);
    int r;

    undo_carry(log, log->open->id, step->name, measure);
    step->before = measure->print;
    if (measure->is_directory) {
        lose(log, step, ERR_SYMLINK_REJECTED);
        return 0;
    }
    if (!undo_store_has_room(log, measure)) {
        step->kind = UNDO_LOST;
        return 0;
    }
    r = is_content ? undo_store_hold(log, step, measure, cancel)
                   : undo_store_copy(log, step, measure, cancel);
    if (r < 0 && stops_the_call(r))
        return err_set_plain(err, r);
    if (r < 0)
        lose(log, step, r);
    return 0;
}

static int no_memory(struct err *err)
{
    return err_set_plain(err, ERR_NO_MEMORY);
}

int undo_will_write(struct undo_log *log, struct str name, const struct cancel *cancel,
                    struct err *err)
{
    struct undo_measure measure = {0};
    struct undo_step *step;
    int r;

    if (log->store == NULL)
        return 0;
    r = undo_measure(log, name, false, &measure);
    if (r == 0 && measure.entries == 0 && add_parents(log, name) < 0)
        return no_memory(err);
    step = undo_step_add(log, measure.entries == 0 ? UNDO_NEW : UNDO_REPLACED, name, STR_EMPTY);
    if (step == NULL)
        return no_memory(err);
    if (r < 0) {
        lose(log, step, r); /* and the writing will fail likewise */
        return 0;
    }
    return measure.entries == 0 ? 0 : keep_file(log, step, &measure, cancel, err);
}

int undo_will_make_directory(struct undo_log *log, struct str name, struct err *err)
{
    struct authority_stat about;

    if (log->store == NULL || authority_stat(log->files, name, &about, NULL) != ERR_NOT_FOUND)
        return 0;
    if (add_parents(log, name) < 0 || undo_step_add(log, UNDO_MADE_DIR, name, STR_EMPTY) == NULL)
        return no_memory(err);
    return 0;
}

/* Removes an empty directory that will be replaced. */
static int take_empty(struct undo_log *log, struct undo_step *step, const struct cancel *cancel,
                      const struct undo_measure *measure, struct err *err)
{
    bool is_removal = false;
    int r;

    undo_carry(log, log->open->id, step->name, measure);
    step->before = measure->print;
    r = undo_store_take(log, step, measure, cancel, &is_removal, NULL);
    if (r < 0 && stops_the_call(r))
        return err_set_plain(err, r);
    if (r < 0)
        lose(log, step, r);
    step->is_taken = r == 0;
    return 0;
}

/* Moves what is at the destination to the store, or notes the loss. */
static int clear_place(struct undo_log *log, struct str name, const struct cancel *cancel,
                       struct err *err)
{
    struct undo_measure measure;
    struct undo_step *step;
    int r = undo_measure(log, name, true, &measure);

    if (r == 0 && measure.entries == 0)
        return add_parents(log, name) < 0 ? no_memory(err) : 0;
    step = undo_step_add(log, UNDO_GONE, name, STR_EMPTY);
    if (step == NULL)
        return no_memory(err);
    if (r < 0) {
        lose(log, step, r);
        return 0;
    }
    if (measure.is_directory && measure.entries == 1)
        return take_empty(log, step, cancel, &measure, err);
    return keep_file(log, step, &measure, cancel, err);
}

int undo_will_move(struct undo_log *log, struct str from, struct str to,
                   const struct cancel *cancel, struct err *err)
{
    struct undo_measure measure;
    struct undo_step *step;
    int r;

    if (log->store == NULL)
        return 0;
    r = clear_place(log, to, cancel, err);
    if (r < 0)
        return r;
    step = undo_step_add(log, UNDO_MOVED, to, from);
    if (step == NULL)
        return no_memory(err);
    step->is_tree = true;
    undo_carry(log, log->open->id, from, NULL);
    r = undo_measure(log, from, true, &measure);
    if (r == 0)
        step->before = measure.print;
    else
        lose(log, step, r);
    return 0;
}

int undo_will_extract(struct undo_log *log, struct str name, const struct cancel *cancel,
                      struct err *err)
{
    struct undo_step *step;
    int r;

    if (log->store == NULL)
        return 0;
    r = clear_place(log, name, cancel, err);
    if (r < 0)
        return r;
    step = undo_step_add(log, UNDO_NEW, name, STR_EMPTY);
    if (step == NULL)
        return no_memory(err);
    step->is_tree = true;
    return 0;
}

/* ---- it happened, or not ---- */

/* Present print of the step's object. */
static uint64_t look(struct undo_log *log, struct undo_step *step)
{
    struct undo_measure measure = {0};

    if (undo_measure(log, step->name, step->is_tree || step->kind == UNDO_LOST, &measure) < 0) {
        step->is_off = true;
        undo_lose_track(log, step->name);
    }
    return measure.print;
}

static void settle(struct undo_log *log, struct undo_step *step)
{
    step->is_pending = false;
    switch (step->kind) {
    case UNDO_NEW:
    case UNDO_REPLACED:
    case UNDO_MADE_DIR:
    case UNDO_LOST:
        step->now = look(log, step);
        undo_shift(log, step->name, step->before ^ step->now);
        if (step->from.len > 0) /* of a move that could not be measured */
            undo_lose_track(log, step->from);
        return;
    case UNDO_GONE:
        undo_shift(log, step->name, step->before);
        return;
    case UNDO_MOVED:
        step->now = look(log, step);
        undo_shift(log, step->from, step->before);
        undo_shift(log, step->name, step->now);
        return;
    }
}

void undo_did(struct undo_log *log)
{
    if (log->open == NULL)
        return;
    list_each (node, &log->open->steps)
        if (undo_step_of(node)->is_pending)
            settle(log, undo_step_of(node));
}

/* The change can be undone if none of its steps is lost any more. */
static void forget_loss(struct undo_change *change)
{
    list_each (node, &change->steps)
        if (undo_step_of(node)->kind == UNDO_LOST)
            return;
    change->lost = NULL;
}

static void give_up(struct undo_log *log,
                    void (*give_back)(struct undo_log *log, uint64_t id, struct str name))
{
    struct undo_change *change = log->open;
    struct list *node;

    if (change == NULL)
        return;
    for (node = change->steps.prev; node != &change->steps;) {
        struct undo_step *step = undo_step_of(node);

        node = node->prev;
        if (!step->is_pending)
            continue;
        if (step->is_taken && undo_store_restore(log, step, NULL, NULL) < 0) {
            /* It stays in the log, which can still give it back. */
            settle(log, step);
            continue;
        }
        if (step->is_taken || step->is_disturbed)
            undo_follow(log, change->id, step->name, step->before);
        else if (step->kind != UNDO_NEW && step->kind != UNDO_MADE_DIR) /* nothing was there */
            give_back(log, change->id, step->from.len > 0 ? step->from : step->name);
        undo_step_free(log, change, step);
    }
    forget_loss(change);
}

void undo_did_not(struct undo_log *log)
{
    give_up(log, undo_bring_back);
}

void undo_was_too_late(struct undo_log *log)
{
    give_up(log, undo_uncarry);
}

/* ---- deleting ---- */

static int delete_unkept(struct undo_log *log, struct str name, const struct cancel *cancel,
                         struct err *err)
{
    return authority_remove(
        log->files, name,
        &(struct authority_remove_options){.is_recursive = true, .cancel = cancel}, err);
}

/* Removes it permanently. A failure in the middle has removed a part. */
static int delete_for_good(struct undo_log *log, struct undo_step *step,
                           const struct cancel *cancel, struct err *err)
{
    struct undo_measure after;
    int r = delete_unkept(log, step->name, cancel, err);

    if (r < 0 && undo_measure(log, step->name, true, &after) == 0 && after.print == step->before) {
        undo_did_not(log);
        return r;
    }
    undo_did(log);
    if (r < 0)
        return err_set(err, r, "%s; part of it is already gone", err_text(r));
    return 0;
}

int undo_delete(struct undo_log *log, struct str name, const struct cancel *cancel, struct err *err)
{
    struct undo_measure measure = {0};
    struct authority_stat about;
    struct undo_step *step;
    bool is_removal = false;
    int r;

    if (log->store == NULL)
        return delete_unkept(log, name, cancel, err);
    r = authority_stat(log->files, name, &about, err);
    if (r < 0)
        return r;
    r = undo_measure(log, name, true, &measure);
    if (r == 0 && measure.entries == 0)
        return err_set_plain(err, ERR_NOT_FOUND);
    if (stops_the_call(r))
        return err_set_plain(err, r);
    step = undo_step_add(log, UNDO_GONE, name, STR_EMPTY);
    if (step == NULL)
        return no_memory(err);
    undo_carry(log, log->open->id, name, NULL);
    step->before = measure.print;
    if (r < 0) {
        lose(log, step, r);
        return delete_for_good(log, step, cancel, err);
    }
    if (!undo_store_has_room(log, &measure)) {
        step->kind = UNDO_LOST;
        return delete_for_good(log, step, cancel, err);
    }
    r = undo_store_take(log, step, &measure, cancel, &is_removal, err);
    if (r == 0 || step->is_partial) {
        undo_did(log);
        return r;
    }
    if (is_removal || stops_the_call(r)) {
        step->is_disturbed = true;
        undo_did_not(log);
        if (r == ERR_BUSY)
            return err_set(err, r, "somebody else is changing it: nothing was deleted");
        return r;
    }
    lose(log, step, r);
    return delete_for_good(log, step, cancel, err);
}

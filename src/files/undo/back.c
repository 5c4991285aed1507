/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undoes changes. First checks all steps of a change; if someone else has touched one of them, the
 * whole change stays. Then reverses them, last one first, removing each from the log when it is
 * done: what fails in the middle is still known and kept. A change whose place is taken waits in
 * the log.
 */
#include "files/tool.h"
#include "files/undo/internal.h"

#include <stdio.h>

#include "authority/names/path.h"

/* ---- may it be taken back? ---- */

/* A later step of the same change put something there, and will be reversed before. */
static bool is_covered(struct undo_change *change, struct undo_step *step)
{
    for (struct list *node = step->link.next; node != &change->steps; node = node->next)
        if (str_eq(undo_step_of(node)->name, step->name))
            return true;
    return false;
}

static bool is_missing(const struct undo_log *log, struct str name)
{
    struct authority_stat about;

    return authority_stat(log->files, name, &about, NULL) == ERR_NOT_FOUND;
}

static bool has_parent(const struct undo_log *log, struct str name)
{
    size_t end = name.len;

    while (end > 0 && name.ptr[end - 1] != '/')
        end--;
    return end == 0 || !is_missing(log, str_slice(name, 0, end - 1));
}

static const char later[] = "a later change of it could not be undone";

/* What prevents a step; NULL: nothing. It may be temporary, and then the change waits. */
struct obstacle {
    const char *why;
    bool may_pass;
};

static const struct obstacle no_obstacle;

/* Something can come back if nothing is there and its directory exists. */
static struct obstacle find_place(const struct undo_log *log, struct str name)
{
    if (!is_missing(log, name))
        return (struct obstacle){"another file is in its place; Gatehouse keeps the old one until "
                                 "you move the other away",
                                 true};
    return has_parent(log, name) ? no_obstacle
                                 : (struct obstacle){"its directory is gone; Gatehouse keeps it "
                                                     "until you create the directory again",
                                                     true};
}

static bool is_waiting(const struct undo_log *log, uint64_t id)
{
    list_each (node, &log->changes)
        if (undo_change_of(node)->id == id)
            return undo_change_of(node)->is_waiting;
    return false;
}

static const char *why_changed(const struct undo_log *log, const struct undo_step *step)
{
    struct undo_measure measure = {0};

    if (step->carrier != 0)
        return later;
    if (step->is_off)
        return "somebody else has changed it since";
    if (undo_measure(log, step->name, step->is_tree, &measure) < 0)
        return "it can no longer be read";
    if (measure.print == step->now)
        return NULL;
    return measure.entries == 0 ? "it is gone" : "somebody else has changed it since";
}

static bool do_overlap(struct str a, struct str b)
{
    return path_is_within(a, b) || path_is_within(b, a);
}

static bool touches(const struct undo_step *step, struct str name)
{
    return do_overlap(step->name, name) || (step->from.len > 0 && do_overlap(step->from, name));
}

/* A newer change of the same place waits, and must not be disturbed. */
static bool is_behind_waiting(const struct undo_log *log, const struct undo_change *change,
                              const struct undo_step *step)
{
    for (struct list *node = log->changes.prev; node != &change->link; node = node->prev) {
        struct undo_change *newer = undo_change_of(node);

        if (!newer->is_waiting)
            continue;
        list_each (step_node, &newer->steps) {
            const struct undo_step *its = undo_step_of(step_node);

            if (!its->is_soft &&
                (touches(step, its->name) || (its->from.len > 0 && touches(step, its->from))))
                return true;
        }
    }
    return false;
}

/* What others did is permanent; a later change of ours that waits is not. */
static struct obstacle compare(const struct undo_log *log, const struct undo_step *step)
{
    return (struct obstacle){why_changed(log, step),
                             step->carrier != 0 && is_waiting(log, step->carrier)};
}

static struct obstacle obstacle_of(const struct undo_log *log, struct undo_change *change,
                                   struct undo_step *step)
{
    struct obstacle found;

    if (step->is_blocked)
        return (struct obstacle){later, false};
    switch (step->kind) {
    case UNDO_NEW:
    case UNDO_REPLACED:
        return compare(log, step);
    case UNDO_GONE:
        if (is_behind_waiting(log, change, step))
            return (struct obstacle){later, true};
        return step->is_partial || is_covered(change, step) ? no_obstacle
                                                            : find_place(log, step->name);
    case UNDO_MOVED:
        if (is_behind_waiting(log, change, step))
            return (struct obstacle){later, true};
        found = compare(log, step);
        return found.why != NULL ? found : find_place(log, step->from);
    case UNDO_MADE_DIR:
        if (step->is_soft)
            return no_obstacle;
        found = compare(log, step);
        if (found.why == NULL && tool_has_entries(log->files, step->name))
            found.why = "it is no longer empty";
        return found;
    case UNDO_LOST:
        break;
    }
    return (struct obstacle){"no undo data", false};
}

/* ---- taking it back ---- */

static int remove_new(struct undo_log *log, struct undo_step *step, const struct cancel *cancel,
                      struct err *err)
{
    if (!step->is_tree)
        return undo_store_discard(log, step, cancel, err);
    return authority_remove(
        log->files, step->name,
        &(struct authority_remove_options){.is_recursive = true, .cancel = cancel}, err);
}

/* An implied directory that others use by now stays. */
static int remove_made(struct undo_log *log, const struct undo_step *step, struct err *err)
{
    int r;

    if (step->is_soft && why_changed(log, step) != NULL)
        return 0;
    r = authority_remove(log->files, step->name, NULL, err);
    if (r == 0)
        undo_shift(log, step->name, step->now);
    return step->is_soft && r == ERR_NOT_EMPTY ? 0 : r;
}

/* Also updates the prints of older changes. */
static int reverse(struct undo_log *log, const struct undo_change *change, struct undo_step *step,
                   const struct cancel *cancel, struct err *err)
{
    int r;

    switch (step->kind) {
    case UNDO_NEW:
        r = remove_new(log, step, cancel, err);
        if (r == 0)
            undo_shift(log, step->name, step->now);
        return r;
    case UNDO_REPLACED:
        r = undo_store_replace(log, step, cancel, err);
        if (r == 0)
            undo_follow(log, change->id, step->name, step->now);
        return r;
    case UNDO_GONE:
        r = undo_store_restore(log, step, cancel, err);
        if (r == 0)
            undo_follow(log, change->id, step->name, 0);
        return r;
    case UNDO_MOVED:
        r = authority_move(log->files, step->name, step->from,
                           &(struct authority_move_options){.is_exact = true, .cancel = cancel},
                           err);
        if (r == 0) {
            undo_shift(log, step->name, step->now);
            undo_follow(log, change->id, step->from, 0);
        }
        return r;
    case UNDO_MADE_DIR:
        return remove_made(log, step, err);
    case UNDO_LOST:
        break;
    }
    return err_set_plain(err, ERR_INTERNAL);
}

/* ---- telling ---- */

/* An item for each file. */
struct report {
    struct json_writer *items; /* an array is open */
    uint64_t told;             /* items beyond UNDO_MAX_TOLD are only counted */
};

static void tell(struct report *report, const struct undo_change *change, struct str path,
                 const char *reason)
{
    struct json_writer *items = report->items;

    if (report->told++ >= UNDO_MAX_TOLD)
        return;
    json_begin_object(items);
    json_put_str(items, STR("tool"), change->tool);
    json_put_str_lossy(items, STR("path"), path);
    json_put_str(items, STR("outcome"), reason == NULL ? STR("restored") : STR("skipped"));
    if (reason != NULL)
        json_put_str_lossy(items, STR("reason"), str_from(reason));
    json_end_object(items);
}

/* Whether the step is what the change was about, not an implied one. */
static bool is_principal(struct undo_change *change, struct undo_step *step)
{
    return !step->is_soft && !is_covered(change, step);
}

static void tell_all(struct report *report, struct undo_change *change, const char *reason)
{
    list_each (node, &change->steps)
        if (is_principal(change, undo_step_of(node)))
            tell(report, change, undo_step_of(node)->name, reason);
}

/* ---- one change after the other ---- */

/*
 * A change stays: what older ones removed there must not come back, or it would be where others
 * have removed or changed something since. What they left there is compared anyway.
 */
static void block_older(struct undo_log *log, const struct undo_change *change,
                        const struct undo_step *step)
{
    list_each (change_node, &log->changes) {
        if (undo_change_of(change_node) == change)
            return;
        list_each (node, &undo_change_of(change_node)->steps) {
            struct undo_step *older = undo_step_of(node);

            if ((older->kind == UNDO_GONE || older->kind == UNDO_MOVED) &&
                (touches(older, step->name) || (step->from.len > 0 && touches(older, step->from))))
                older->is_blocked = true;
        }
    }
}

static void leave(struct undo_log *log, struct undo_change *change)
{
    list_each (node, &change->steps)
        if (!undo_step_of(node)->is_soft)
            block_older(log, change, undo_step_of(node));
    undo_change_drop(log, change);
}

bool undo_forget_waiting(struct undo_log *log)
{
    list_each (node, &log->changes) {
        if (!undo_change_of(node)->is_waiting)
            continue;
        leave(log, undo_change_of(node));
        log->forgotten++;
        return true;
    }
    return false;
}

enum verdict {
    VERDICT_GO,
    VERDICT_LEFT,  /* left as it is, and removed from the log */
    VERDICT_WAITS, /* stays in the log */
};

/* Reports the name in question if the change is not undone now. */
static enum verdict judge(struct undo_log *log, struct undo_change *change, struct report *report)
{
    struct obstacle obstacle = no_obstacle;
    struct undo_step *where = NULL;

    if (change->lost != NULL) {
        tell_all(report, change, change->lost);
        leave(log, change);
        return VERDICT_LEFT;
    }
    /* A permanent obstacle takes precedence. */
    list_each (node, &change->steps) {
        struct obstacle found = obstacle_of(log, change, undo_step_of(node));

        if (found.why == NULL || (where != NULL && found.may_pass))
            continue;
        obstacle = found;
        where = undo_step_of(node);
        if (!found.may_pass)
            break;
    }
    if (where == NULL)
        return VERDICT_GO;
    tell(report, change, where->name, obstacle.why);
    if (obstacle.may_pass) {
        change->is_waiting = true;
        return VERDICT_WAITS;
    }
    leave(log, change);
    return VERDICT_LEFT;
}

/* 0 if everything was reversed. */
static int reverse_all(struct undo_log *log, struct undo_change *change,
                       const struct cancel *cancel, struct report *report)
{
    list_each (node, &change->steps)
        undo_step_of(node)->is_aside = !is_principal(change, undo_step_of(node));
    while (!list_is_empty(&change->steps)) {
        struct undo_step *step = undo_step_of(change->steps.prev);
        char why[ERR_MESSAGE_BYTES + UNDO_NOTE_BYTES];
        struct err err = ERR_INIT;
        int r = reverse(log, change, step, cancel, &err);

        if (r < 0) {
            snprintf(why, sizeof(why), "%s; you can try again", err.message);
            tell(report, change, step->name, why);
            return r;
        }
        if (!step->is_aside)
            tell(report, change, step->name, NULL);
        log->name_bytes -= step->name.len + step->from.len;
        undo_step_free(log, change, step);
    }
    return 0;
}

/* The newest `count` changes. After ERR_CANCELLED and the like, what was taken back by then is. */
static int take_back(struct undo_log *log, uint64_t count, const struct cancel *cancel,
                     struct report *report)
{
    struct list *node = log->changes.prev;

    while (count > 0 && node != &log->changes) {
        struct undo_change *change = undo_change_of(node);
        bool has_waited = change->is_waiting;
        int r = cancel_check(cancel);

        if (r < 0)
            return r;
        node = node->prev; /* judging takes away this one alone */
        switch (judge(log, change, report)) {
        case VERDICT_GO:
            break;
        case VERDICT_LEFT:
            count--;
            continue;
        case VERDICT_WAITS:
            /* Counted once; from then on it does not block those below it. */
            count -= !has_waited;
            continue;
        }
        r = reverse_all(log, change, cancel, report);
        if (r == ERR_CANCELLED || r == ERR_TIMED_OUT)
            return r;
        /* The older ones are below this one: they wait for it. */
        if (r < 0)
            return 0;
        undo_change_drop(log, change);
        count--;
    }
    return 0;
}

/* ---- what it would be ---- */

int undo_tell(const struct undo_log *log, uint64_t count, undo_tell_fn *visit, void *data)
{
    for (struct list *node = log->changes.prev; count > 0 && node != &log->changes;
         node = node->prev, count--) {
        struct undo_change *change = undo_change_of(node);

        for (struct list *at = change->steps.prev; at != &change->steps; at = at->prev) {
            struct undo_step *step = undo_step_of(at);
            const struct undo_told told = {change->tool, step->name, step->from, change->lost};
            int r = is_principal(change, step) ? visit(data, &told) : 0;

            if (r != 0)
                return r;
        }
    }
    return 0;
}

/* ---- the tool ---- */

int tool_undo_changes(struct tool_call *call, struct buf *out, struct err *err)
{
    struct undo_log *log = call->box->undo;
    struct json_writer w;
    struct report report = {.items = &w};
    int64_t count = tool_int(call, STR("count"), 1);
    bool is_all = false;
    int r;

    if (undo_why_not(log) != NULL)
        return err_set(err, ERR_UNSUPPORTED, "%s", undo_why_not(log));
    (void)json_get_bool(call->arguments, STR("all"), &is_all);
    if (!is_all && count < 1)
        return err_set(err, ERR_INVALID_ARGUMENT, "count: must be at least 1");
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("undone"));
    json_begin_array(&w);
    /* Nobody was asked about a change that came after it was prepared. */
    r = call->has_no_effect
            ? 0
            : take_back(log, is_all ? UINT64_MAX : (uint64_t)count, call->cancel, &report);
    json_end_array(&w);
    json_put_int(&w, STR("remaining"), (int64_t)undo_remaining(log));
    if (report.told > UNDO_MAX_TOLD)
        json_put_int(&w, STR("unlisted"), (int64_t)(report.told - UNDO_MAX_TOLD));
    if (undo_forgotten(log) > 0)
        json_put_int(&w, STR("forgotten"), (int64_t)undo_forgotten(log));
    json_end_object(&w);
    if (r < 0)
        (void)json_writer_finish(&w);
    else
        r = json_writer_finish(&w);
    return r < 0 ? err_set_plain(err, r) : 0;
}

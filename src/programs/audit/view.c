/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/audit/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "gatehouse/audit.h"
#include "programs/audit/pairs.h"

enum { RECORD_MAX_BYTES = 4 << 20 }; /* of one that is read again */

struct row {
    struct str line;
    bool is_interrupted;
};

/* An intent that waits for its outcome, or a step that waits for the end of its call. */
struct held {
    struct list link;
    uint64_t key;  /* of the intent; 0: it is none */
    uint64_t call; /* 0: it waits for no call */
    size_t len;
    char line[];
};

struct view {
    struct view_config config;
    struct arena lines;
    struct arena record;
    struct row *rows; /* the newest first */
    size_t row_count;
    size_t printed;
    struct list held; /* the oldest first */
    size_t held_bytes;
    size_t held_count;
    struct pairs outcomes; /* met on the way back, whose intents were not */
    struct pairs calls;    /* whose ends were met on the way back */
};

int view_new(const struct view_config *config, struct view **out_view)
{
    struct view *view = calloc(1, sizeof(*view));

    if (view == NULL)
        return ERR_NO_MEMORY;
    view->config = *config;
    arena_init(&view->lines, VIEW_MAX_BYTES);
    arena_init(&view->record, RECORD_MAX_BYTES);
    list_init(&view->held);
    view->rows = calloc(config->limit + 1, sizeof(*view->rows));
    if (view->rows == NULL) {
        view_free(view);
        return ERR_NO_MEMORY;
    }
    *out_view = view;
    return 0;
}

static void drop_held(struct view *view, struct held *held)
{
    list_remove(&held->link);
    view->held_bytes -= held->len;
    view->held_count--;
    free(held);
}

void view_free(struct view *view)
{
    if (view == NULL)
        return;
    list_each_safe (node, &view->held)
        drop_held(view, list_entry(node, struct held, link));
    arena_done(&view->lines);
    arena_done(&view->record);
    free(view->rows);
    free(view);
}

/* ---- what a record is ---- */

static bool is_intent(const struct json_value *record)
{
    struct str outcome;

    return json_get_str(record, STR("outcome"), &outcome) &&
           str_eq_c(outcome, authority_outcome_name(AUTHORITY_INTENT));
}

/* Whether it may have an intent before it; records that only count others have none. */
static bool may_have_intent(const struct json_value *record)
{
    return audit_record_is_change(record) && json_get(record, STR("more")) == NULL;
}

static bool has_text(const struct json_value *holder, struct str field, const char *wanted)
{
    struct str text;

    return holder != NULL && json_get_str(holder, field, &text) && str_eq_c(text, wanted);
}

/*
 * A program's own housekeeping, which may look for a file in vain, and the grants at the start of a
 * session; but no record that reports others.
 */
static bool is_own(const struct json_value *record)
{
    bool is_success = has_text(record, STR("outcome"), authority_outcome_name(AUTHORITY_SUCCESS));

    if (json_get(record, STR("dropped")) != NULL || json_get(record, STR("more")) != NULL)
        return false;
    if (has_text(json_get(record, STR("subject")), STR("type"),
                 authority_subject_type_name(AUTHORITY_CORE)))
        return is_success || has_text(record, STR("error"), err_name(ERR_NOT_FOUND));
    return is_success &&
           has_text(record, STR("operation"), authority_operation_name(AUTHORITY_OP_REQUEST_ROOT));
}

static bool is_left_out(const struct view *view, const struct json_value *record)
{
    return view->config.hides_own && is_own(record);
}

/* The call that a record is a step of, in a view of calls; 0: none. */
static uint64_t step_of(const struct view *view, const struct json_value *record)
{
    return view->config.shows_calls && json_get(record, STR("dropped")) == NULL &&
                   !rows_is_call(record)
               ? pairs_call(record)
               : 0;
}

/* In a view of calls: a file that was not there, say, is no failure of the call. */
static bool is_mere_step(const struct json_value *record)
{
    return has_text(record, STR("outcome"), authority_outcome_name(AUTHORITY_FAILED)) &&
           !audit_record_is_change(record);
}

static bool makes_pairs(const struct view *view)
{
    return !view->config.is_json || view->config.only_interrupted;
}

/* A row has the time of its last record. */
static bool is_too_late(const struct view *view, const struct json_value *record)
{
    return view->config.until_ms != 0 && rows_time(record) >= view->config.until_ms;
}

static void print(struct view *view, struct str line, const struct json_value *record,
                  bool is_interrupted)
{
    view->printed++;
    if (!view->config.is_json) {
        rows_put(view->config.table, record, is_interrupted);
        return;
    }
    if (view->config.is_on_terminal)
        output_shown(view->config.output, line, PRINTABLE_JSON);
    else
        output_str(view->config.output, line);
    output_line_end(view->config.output);
}

size_t view_printed(const struct view *view)
{
    return view->printed;
}

/* ---- from the newest back ---- */

static int add_row(struct view *view, struct str line, bool is_interrupted)
{
    const char *copy = arena_copy(&view->lines, line);

    if (copy == NULL)
        return view->lines.error;
    view->rows[view->row_count++] = (struct row){{copy, line.len}, is_interrupted};
    return view->row_count == view->config.limit ? VIEW_FULL : 0;
}

int view_gather(void *data, struct str line, const struct json_value *record)
{
    struct view *view = data;
    bool is_interrupted = false;
    uint64_t call = step_of(view, record);

    if (*view->config.output->stopped_by != 0)
        return ERR_CANCELLED;
    if (view->config.shows_calls && rows_is_call(record))
        pairs_add(&view->calls, pairs_call(record));
    if (makes_pairs(view) && is_intent(record)) {
        if (pairs_take(&view->outcomes, pairs_key(record)))
            return 0;
        is_interrupted = true;
    } else if (makes_pairs(view) && may_have_intent(record)) {
        pairs_add(&view->outcomes, pairs_key(record));
    }
    if (is_too_late(view, record) || is_left_out(view, record) ||
        (view->config.only_interrupted && !is_interrupted) ||
        (call != 0 && (is_mere_step(record) || pairs_has(&view->calls, call))))
        return 0;
    return add_row(view, line, is_interrupted);
}

static int read_again(struct view *view, struct str line, const struct json_value **out_record)
{
    arena_reset(&view->record);
    return audit_parse(&view->record, line, out_record);
}

int view_print(struct view *view)
{
    int r = 0;

    for (; r == 0 && view->row_count > 0; view->row_count--) {
        const struct row *row = &view->rows[view->row_count - 1];
        const struct json_value *record;

        r = read_again(view, row->line, &record);
        if (r == 0)
            print(view, row->line, record, row->is_interrupted);
    }
    arena_reset(&view->lines);
    return r;
}

/* ---- as they come ---- */

static int print_held(struct view *view, struct held *held)
{
    struct str line = {held->line, held->len};
    const struct json_value *record;
    int r = read_again(view, line, &record);

    if (r == 0)
        print(view, line, record, held->key != 0);
    drop_held(view, held);
    return r;
}

static struct held *oldest_held(struct view *view)
{
    return list_entry(view->held.next, struct held, link);
}

static int hold(struct view *view, struct str line, uint64_t key, uint64_t call)
{
    struct held *held;
    int r = 0;

    while (r == 0 && !list_is_empty(&view->held) &&
           (view->held_bytes + line.len > VIEW_HELD_MAX_BYTES || view->held_count == VIEW_HELD_MAX))
        r = print_held(view, oldest_held(view));
    if (r < 0)
        return r;
    held = malloc(sizeof(*held) + line.len);
    if (held == NULL)
        return ERR_NO_MEMORY;
    held->key = key;
    held->call = call;
    held->len = line.len;
    memcpy(held->line, line.ptr, line.len);
    view->held_bytes += line.len;
    view->held_count++;
    list_append(&view->held, &held->link);
    return 0;
}

/* The newest one with this key. */
static void forget_intent(struct view *view, uint64_t key)
{
    for (struct list *node = view->held.prev; node != &view->held; node = node->prev) {
        struct held *held = list_entry(node, struct held, link);

        if (held->key == key) {
            drop_held(view, held);
            return;
        }
    }
}

static void forget_steps(struct view *view, uint64_t call)
{
    list_each_safe (node, &view->held) {
        struct held *held = list_entry(node, struct held, link);

        if (held->call == call && call != 0)
            drop_held(view, held);
    }
}

int view_stream(void *data, struct str line, const struct json_value *record)
{
    struct view *view = data;
    uint64_t call = step_of(view, record);

    if (*view->config.output->stopped_by != 0 || view->config.output->has_no_reader)
        return ERR_CANCELLED;
    if (makes_pairs(view) && is_intent(record))
        return is_too_late(view, record) ? 0 : hold(view, line, pairs_key(record), call);
    if (makes_pairs(view) && may_have_intent(record))
        forget_intent(view, pairs_key(record));
    if (view->config.shows_calls && rows_is_call(record))
        forget_steps(view, pairs_call(record));
    if (is_too_late(view, record) || view->config.only_interrupted || is_left_out(view, record) ||
        (call != 0 && is_mere_step(record)))
        return 0;
    if (call != 0)
        return hold(view, line, 0, call);
    print(view, line, record, false);
    return 0;
}

int view_end(struct view *view)
{
    int r = 0;

    while (r == 0 && !list_is_empty(&view->held))
        r = print_held(view, oldest_held(view));
    return r;
}

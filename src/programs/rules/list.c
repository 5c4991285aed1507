/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/rules/list.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/jsonwrite.h"
#include "base/printable.h"
#include "base/utf8.h"

enum {
    CELL_MAX_BYTES = 64 << 10,
    WIDEST_CELL = 60, /* a longer one pushes only its own line */
    COLUMN_GAP = 2,
};

enum column { ID, GROUP, EFFECT, MATCH, CWD, EXPIRES, NOTE, COLUMNS };

static const char *const titles[COLUMNS] = {"ID",  "GROUP",   "EFFECT", "MATCH",
                                            "CWD", "EXPIRES", "NOTE"};

static const char red[] = "\033[31m";
static const char green[] = "\033[32m";
static const char bold[] = "\033[1m";
static const char plain[] = "\033[0m";

static bool is_expired(const struct list_view *view, const struct rule *rule)
{
    return rule->expires_ms != 0 && rule->expires_ms <= view->wall_ms;
}

static bool is_wanted(const struct list_view *view, const struct rule *rule)
{
    return !view->has_group || rule->group == view->group;
}

/* "2026-12-01 18:00Z" */
static int add_time(int64_t wall_ms, struct buf *out)
{
    char iso[CLOCK_ISO_BYTES];

    clock_format_iso(wall_ms, iso);
    return buf_printf(out, "%.10s %.5sZ", iso, iso + 11);
}

static int add_id(const struct rule *rule, struct buf *out)
{
    char id[SETTINGS_ID_BYTES];
    int r = settings_rule_id(rule, id);

    return r == 0 ? buf_append(out, id, SETTINGS_SHORT_ID) : r;
}

static int add_match(const struct rule *rule, struct buf *out)
{
    cleanup_buf struct buf text = BUF_INIT(CELL_MAX_BYTES);
    int r = rule_format(rule, &text);

    return r == 0 ? printable_append(out, buf_view(&text), PRINTABLE_LINE) : r;
}

static int add_expiry(const struct list_view *view, const struct rule *rule, struct buf *out)
{
    int r = rule->expires_ms != 0 ? add_time(rule->expires_ms, out) : 0;

    return r == 0 && is_expired(view, rule) ? buf_append_str(out, STR(" (expired)")) : r;
}

static int add_cell(const struct list_view *view, const struct rule *rule, enum column column,
                    struct buf *out)
{
    switch (column) {
    case ID:
        return add_id(rule, out);
    case GROUP:
        return buf_append_str(out, str_from(catalog_group_name(rule->group)));
    case EFFECT:
        return buf_append_str(out, str_from(rule_effect_name(rule->effect)));
    case MATCH:
        return add_match(rule, out);
    case CWD:
        return printable_append(out, rule->cwd, PRINTABLE_LINE);
    case EXPIRES:
        return add_expiry(view, rule, out);
    case NOTE:
        return printable_append(out, rule->note, PRINTABLE_LINE);
    case COLUMNS:
        break;
    }
    return ERR_INTERNAL;
}

/* The width of each column; 0 for one that is not needed. */
static int measure(const struct list_view *view, size_t out_widths[COLUMNS])
{
    cleanup_buf struct buf cell = BUF_INIT(CELL_MAX_BYTES);

    for (size_t column = 0; column < COLUMNS; column++) {
        out_widths[column] = 0;
        for (size_t i = 0; i < view->count; i++) {
            size_t width;
            int r;

            if (!is_wanted(view, &view->rules[i]))
                continue;
            buf_clear(&cell);
            r = add_cell(view, &view->rules[i], (enum column)column, &cell);
            if (r < 0)
                return r;
            width = utf8_count(buf_view(&cell));
            width = width < WIDEST_CELL ? width : WIDEST_CELL;
            if (width > 0 && width < strlen(titles[column]))
                width = strlen(titles[column]);
            if (width > out_widths[column])
                out_widths[column] = width;
        }
    }
    return 0;
}

/* A non-empty cell: the blanks before it are printed only then. */
static void put_cell(struct output *output, struct str text, const char *colour, size_t blanks)
{
    output_printf(output, "%*s", (int)blanks, "");
    if (colour != NULL)
        output_str(output, str_from(colour));
    output_str(output, text);
    if (colour != NULL)
        output_str(output, str_from(plain));
}

static const char *colour_of(const struct list_view *view, const struct rule *rule,
                             enum column column)
{
    if (!view->has_colour)
        return NULL;
    if (column == EFFECT)
        return rule->effect == RULE_ALLOW ? green : red;
    return column == EXPIRES && is_expired(view, rule) ? red : NULL;
}

/* Without a rule, prints the titles. */
static int put_line(struct output *output, const struct list_view *view, const struct rule *rule,
                    const size_t widths[COLUMNS])
{
    cleanup_buf struct buf cell = BUF_INIT(CELL_MAX_BYTES);
    size_t blanks = 0;

    for (enum column column = ID; column < COLUMNS; column++) {
        const char *colour = view->has_colour ? bold : NULL;
        size_t taken;
        int r;

        if (widths[column] == 0)
            continue;
        buf_clear(&cell);
        if (rule != NULL) {
            r = add_cell(view, rule, column, &cell);
            colour = colour_of(view, rule, column);
        } else {
            r = buf_append_str(&cell, str_from(titles[column]));
        }
        if (r < 0)
            return r;
        taken = utf8_count(buf_view(&cell));
        if (taken > 0) {
            put_cell(output, buf_view(&cell), colour, blanks);
            blanks = 0;
        }
        blanks += (taken < widths[column] ? widths[column] - taken : 0) + COLUMN_GAP;
    }
    output_line_end(output);
    return 0;
}

int list_text(struct output *output, const struct list_view *view)
{
    size_t widths[COLUMNS];
    bool is_empty = true;
    int r;

    for (size_t i = 0; i < view->count; i++)
        is_empty = is_empty && !is_wanted(view, &view->rules[i]);
    if (is_empty) {
        output_str(output, STR("There are no rules"));
        if (view->has_group)
            output_printf(output, " for %s", catalog_group_name(view->group));
        output_str(output, STR(". Add one with 'gatehouse rules add'."));
        output_line_end(output);
        return 0;
    }
    r = measure(view, widths);
    if (r == 0)
        r = put_line(output, view, NULL, widths);
    for (size_t i = 0; r == 0 && i < view->count; i++)
        if (is_wanted(view, &view->rules[i]))
            r = put_line(output, view, &view->rules[i], widths);
    return r;
}

int list_one(struct output *output, const struct rule *rule)
{
    cleanup_buf struct buf text = BUF_INIT(CELL_MAX_BYTES);
    int r = add_id(rule, &text);

    if (r == 0)
        r = buf_printf(&text, ": %s %s ", rule_effect_name(rule->effect),
                       catalog_group_name(rule->group));
    if (r == 0)
        r = add_match(rule, &text);
    if (r == 0 && rule->cwd.len > 0)
        r = buf_append_str(&text, STR(" in "));
    if (r == 0)
        r = printable_append(&text, rule->cwd, PRINTABLE_LINE);
    if (r == 0 && rule->expires_ms != 0)
        r = buf_append_str(&text, STR(" until "));
    if (r == 0 && rule->expires_ms != 0)
        r = add_time(rule->expires_ms, &text);
    if (r < 0)
        return r;
    output_str(output, buf_view(&text));
    output_line_end(output);
    return 0;
}

/* ---- for programs ---- */

static int put_object(const struct list_view *view, const struct rule *rule, struct buf *out)
{
    struct json_writer json;
    int r;

    json_writer_init(&json, out);
    r = settings_write_rule(&json, rule, view->wall_ms);
    return r == 0 ? json_writer_finish(&json) : r;
}

int list_json(struct output *output, const struct list_view *view)
{
    cleanup_buf struct buf line = BUF_INIT(OUTPUT_MAX_BYTES);
    int r;

    for (size_t i = 0; i < view->count; i++) {
        if (!is_wanted(view, &view->rules[i]))
            continue;
        buf_clear(&line);
        r = put_object(view, &view->rules[i], &line);
        if (r < 0)
            return r;
        output_str(output, buf_view(&line));
        output_line_end(output);
    }
    return 0;
}

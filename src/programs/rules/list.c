/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/rules/list.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/jsonwrite.h"
#include "base/printable.h"
#include "base/when.h"
#include "cli/table.h"

enum { CELL_MAX_BYTES = 64 << 10 };

#define RED   STR("\033[31m")
#define GREEN STR("\033[32m")

static const struct table_column columns[] = {
    {.title = "ID"},
    {.title = "GROUP"},
    {.title = "EFFECT"},
    {.title = "MATCH", .fair = 30, .least = 20},
    {.title = "CWD", .fair = 20, .least = 8, .is_optional = true, .is_path = true},
    {.title = "EXPIRES", .is_optional = true},
    {.title = "NOTE", .fair = 20, .least = 8, .goes = 1, .is_optional = true},
};

static bool is_expired(const struct list_view *view, const struct rule *rule)
{
    return rule->expires_ms != 0 && rule->expires_ms <= view->wall_ms;
}

static bool is_wanted(const struct list_view *view, const struct rule *rule)
{
    return !view->has_group || rule->group == view->group;
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

static int put_row(struct table *table, const struct list_view *view, const struct rule *rule)
{
    cleanup_buf struct buf text = BUF_INIT(CELL_MAX_BYTES);
    char expired[16 + WHEN_BYTES] = "expired ";
    size_t id_bytes;
    int r = add_id(rule, &text);

    id_bytes = text.len;
    if (r == 0)
        r = rule_format(rule, &text);
    if (r < 0)
        return r;
    table_cell(table, str_slice(buf_view(&text), 0, id_bytes));
    table_cell(table, str_from(catalog_group_name(rule->group)));
    table_cell_coloured(table, str_from(rule_effect_name(rule->effect)),
                        rule->effect == RULE_ALLOW ? GREEN : RED);
    table_cell(table, str_slice(buf_view(&text), id_bytes, text.len));
    table_cell(table, rule->cwd);
    if (is_expired(view, rule)) {
        when_relative(rule->expires_ms, view->wall_ms, expired + strlen(expired));
        table_cell_coloured(table, str_from(expired), RED);
    } else {
        table_cell_time(table, rule->expires_ms, STR_EMPTY);
    }
    table_cell(table, rule->note);
    return 0;
}

int list_text(struct output *output, const struct list_view *view)
{
    cleanup_table struct table table = {.count = 0};
    int r = 0;

    table_init(&table, output, columns, array_size(columns));
    table.has_head = true;
    for (size_t i = 0; r == 0 && i < view->count; i++)
        if (is_wanted(view, &view->rules[i]))
            r = put_row(&table, view, &view->rules[i]);
    table_end(&table, NULL);
    if (r == 0 && table.rows == 0) {
        output_str(output, STR("There are no rules"));
        if (view->has_group)
            output_printf(output, " for %s", catalog_group_name(view->group));
        output_str(output, STR(". Add one with 'gatehouse rules add'."));
        output_line_end(output);
    }
    return r;
}

int list_one(struct output *output, const struct rule *rule, int64_t wall_ms)
{
    char until[WHEN_BYTES];
    char away[WHEN_BYTES];
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
    if (r == 0 && rule->expires_ms != 0) {
        when_format(rule->expires_ms, wall_ms, WHEN_MINUTES, until);
        when_relative(rule->expires_ms, wall_ms, away);
        r = buf_printf(&text, " until %s (%s)", until, away);
    }
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

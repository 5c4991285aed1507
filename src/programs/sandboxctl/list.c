/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse sandbox ls`, `image ls`, `stats` and `logs`. */
#include "programs/sandboxctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/printable.h"
#include "cli/output.h"
#include "cli/sandbox.h"
#include "cli/table.h"

enum { MICROSECONDS = 1000000, MIB = 1 << 20 };

#define NO_SANDBOXES "You have no sandboxes: 'gatehouse sandbox create' makes one"

static const volatile sig_atomic_t never = 0;

static int print_json(const struct ctl *ctl, struct err *err)
{
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &never);

    output_str(&output, buf_view(&ctl->body));
    output_line_end(&output);
    return output_finish(&output, err);
}

/* ---- ls ---- */

enum { SANDBOX_COLUMNS = 4, IMAGE_COLUMNS = SANDBOX_COLUMNS + 1 };

/* An image has several names: a script gets them apart from each other as columns are. */
static void put_names(struct table *table, const struct json_value *names)
{
    cleanup_buf struct buf text = BUF_INIT(CTL_MAX_TEXT_BYTES);

    if (names != NULL && names->type == JSON_ARRAY)
        json_each_item (name, names)
            if (name->type == JSON_STRING) {
                if (text.len > 0)
                    (void)buf_append_str(&text, table->is_terminal ? STR(", ") : STR("  "));
                (void)buf_append_str(&text, json_str(name));
            }
    table_cell(table, buf_view(&text));
}

static void put_row(struct table *table, const struct json_value *item)
{
    char time[CLOCK_ISO_BYTES];
    struct str id = STR_EMPTY;
    struct str status = STR_EMPTY;
    int64_t created = 0;
    struct str warning = STR_EMPTY;
    bool is_used = false;

    (void)json_get_str(item, STR("id"), &id);
    (void)json_get_str(item, STR("warning"), &warning);
    (void)json_get_int(item, STR("created_at"), &created);
    if (!json_get_str(item, STR("status"), &status) && json_get_bool(item, STR("in_use"), &is_used))
        status = is_used ? STR("in use") : STR("unused");
    created = created <= 0 ? 0 : created < CLOCK_LAST_MS / 1000 ? created * 1000 : CLOCK_LAST_MS;
    clock_format_iso(created, time);
    snprintf(time + strlen("2026-03-01T12:00:00"), 2, "Z");
    table_cell(table, id);
    table_cell(table, status);
    table_cell_time(table, created, str_from(time));
    if (table->count == IMAGE_COLUMNS)
        put_names(table, json_get(item, STR("names")));
    table_cell(table, warning);
}

int ctl_list(struct ctl *ctl, const struct option_values *values, const char *target,
             struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &never);
    bool is_images = strcmp(target, "/images") == 0;
    const struct table_column names = {.title = "NAMES", .usual = 1, .least = 10};
    const struct table_column warning = {.title = "WARNING", .is_optional = true, .is_whole = true};
    const struct table_column columns[IMAGE_COLUMNS] = {
        {.title = is_images ? "IMAGE" : "SANDBOX", .usual = 1, .least = 12},
        {.title = "STATUS", .usual = 8},
        {.title = "CREATED", .usual = 1},
        is_images ? names : warning,
        warning,
    };
    cleanup_table struct table table = {.count = 0};
    const struct json_value *answer;
    int r = ctl_ask_json(ctl, HTTP_METHOD_GET, target, NULL, &arena, &answer, err);

    if (r < 0)
        return r;
    if (options_is_on(values, SANDBOX_LS_JSON))
        return print_json(ctl, err);
    table_init(&table, &output, columns, is_images ? IMAGE_COLUMNS : SANDBOX_COLUMNS);
    json_each_item (item, answer)
        put_row(&table, item);
    table_end(&table, is_images ? "You have no images: 'gatehouse sandbox image build' makes one"
                                : NO_SANDBOXES);
    return output_finish(&output, err);
}

/* ---- stats ---- */

/* As wide as a small terminal. */
static const struct table_column usage_columns[] = {
    {.title = "SANDBOX", .usual = 1, .least = 12},
    {.title = "STATUS", .usual = 7},
    {.title = "MEMORY", .usual = 13},
    {.title = "CPU TIME", .usual = 8, .is_number = true},
    {.title = "TASKS", .usual = 1},
};

static void put_usage(struct table *table, const struct json_value *item)
{
    struct str id = STR_EMPTY;
    struct str status = STR_EMPTY;
    int64_t memory = 0;
    int64_t most_memory = 0;
    int64_t cpu_us = 0;
    int64_t processes = 0;
    int64_t most_processes = 0;

    (void)json_get_str(item, STR("id"), &id);
    (void)json_get_str(item, STR("status"), &status);
    (void)json_get_int(item, STR("memory_bytes"), &memory);
    (void)json_get_int(item, STR("memory_limit_bytes"), &most_memory);
    (void)json_get_int(item, STR("cpu_us"), &cpu_us);
    (void)json_get_int(item, STR("processes"), &processes);
    (void)json_get_int(item, STR("processes_limit"), &most_processes);
    table_cell(table, id);
    table_cell(table, status);
    table_cell_printf(table, "%.1f / %lld MiB", (double)memory / MIB,
                      (long long)(most_memory / MIB));
    table_cell_printf(table, "%.2f s", (double)cpu_us / MICROSECONDS);
    table_cell_printf(table, "%lld / %lld", (long long)processes, (long long)most_processes);
}

static int ask_usage(struct ctl *ctl, const char *id, struct arena *arena,
                     const struct json_value **out_usage, struct err *err)
{
    char target[CTL_TARGET_BYTES];

    snprintf(target, sizeof(target), "/sandboxes/%s/stats", id);
    return ctl_ask_json(ctl, HTTP_METHOD_GET, target, NULL, arena, out_usage, err);
}

/* All of them, or the one that is named. Those that are deleted meanwhile are left out. */
int ctl_stats(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &never);
    cleanup_table struct table table = {.count = 0};
    const char *given = options_argument(values, 0);
    bool is_json = options_is_on(values, SANDBOX_LS_JSON);
    const struct json_value *answer;
    char id[CTL_ID_BYTES];
    size_t count = 0;
    int r;

    table_init(&table, &output, usage_columns, array_size(usage_columns));
    if (given != NULL) {
        r = ctl_find_id(ctl, "/sandboxes", given, id, err);
        if (r == 0)
            r = ask_usage(ctl, id, &arena, &answer, err);
        if (r < 0 || is_json)
            return r < 0 ? r : print_json(ctl, err);
        put_usage(&table, answer);
        table_end(&table, NULL);
        return output_finish(&output, err);
    }
    r = ctl_ask_json(ctl, HTTP_METHOD_GET, "/sandboxes", NULL, &arena, &answer, err);
    if (r < 0)
        return r;
    answer = json_copy(&arena, answer); /* the next answer replaces the text of this one */
    if (answer == NULL)
        return err_set_plain(err, arena.error);
    if (is_json)
        output_str(&output, STR("["));
    json_each_item (item, answer) {
        const struct json_value *usage;
        struct err gone = ERR_INIT;
        struct str text;

        if (!json_get_str(item, STR("id"), &text) || text.len >= sizeof(id))
            continue;
        snprintf(id, sizeof(id), "%.*s", STR_ARG(text));
        if (ask_usage(ctl, id, &arena, &usage, &gone) < 0)
            continue;
        if (!is_json) {
            put_usage(&table, usage);
            continue;
        }
        output_str(&output, count++ > 0 ? STR(",") : STR_EMPTY);
        output_str(&output, buf_view(&ctl->body));
    }
    if (is_json) {
        output_str(&output, STR("]"));
        output_line_end(&output);
    } else {
        table_end(&table, NO_SANDBOXES);
    }
    return output_finish(&output, err);
}

/* ---- logs ---- */

/* One command whose output is shown. */
struct log_of {
    struct logs *logs;
    struct ctl_request request;
    char command[256];
};

struct logs {
    struct ctl *ctl;
    struct log_of *items;
    size_t count;
    size_t wanted;             /* commands that will be shown */
    size_t left;               /* that are not over */
    const struct log_of *last; /* whose output came last */
};

/* Before the output of another command than before, like tail(1). */
static void put_title(struct log_of *log)
{
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &never);

    if (log->logs->last == log || log->logs->wanted < 2)
        return;
    output_str(&output, log->logs->last != NULL ? STR("\n==> ") : STR("==> "));
    output_shown(&output, str_from(log->command), PRINTABLE_LINE);
    output_str(&output, STR(" <=="));
    output_line_end(&output);
    (void)output_finish(&output, NULL);
    log->logs->last = log;
}

static void take_line(void *data, struct str line)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    cleanup_buf struct buf bytes = BUF_INIT(CTL_MAX_TEXT_BYTES);
    const struct json_limits limits = {CTL_MAX_TEXT_BYTES, 4};
    const struct json_value *event;
    struct log_of *log = data;
    struct str type = STR_EMPTY;
    struct str text = STR_EMPTY;
    struct str encoding = STR_EMPTY;

    if (json_parse(&arena, line, limits, &event, NULL) < 0 ||
        !json_get_str(event, STR("type"), &type) || !json_get_str(event, STR("data"), &text))
        return;
    put_title(log);
    if (json_get_str(event, STR("encoding"), &encoding) && base64_decode(&bytes, text) == 0)
        text = buf_view(&bytes);
    ctl_write(str_eq(type, STR("stderr")) ? STDERR_FILENO : STDOUT_FILENO, text);
}

static void on_over(void *data)
{
    ((struct log_of *)data)->logs->left--;
}

static bool is_wanted(const struct json_value *item, const char *given, struct str *out_id)
{
    return json_get_str(item, STR("exec_id"), out_id) && out_id->len < CTL_ID_BYTES &&
           (given == NULL || str_starts_with(*out_id, str_from(given)));
}

static int ask_for(struct logs *logs, const struct json_value *item, const char *sandbox,
                   struct str id, bool follows, struct err *err)
{
    struct log_of *log = &logs->items[logs->count++];
    struct str command = STR_EMPTY;
    int64_t first = 0;

    log->logs = logs;
    request_init(&log->request, logs->ctl);
    log->request.take_line = take_line;
    log->request.done = on_over;
    log->request.data = log;
    (void)json_get_str(item, STR("command"), &command);
    (void)json_get_int(item, STR("first_seq"), &first);
    snprintf(log->command, sizeof(log->command), "%.*s", STR_ARG(str_slice(command, 0, 255)));
    snprintf(log->request.target, sizeof(log->request.target),
             "/sandboxes/%s/executions/%.*s?follow=%s", sandbox, STR_ARG(id),
             follows ? "true" : "false");
    if (first > 0) /* what came before is not kept any more */
        snprintf(log->request.target + strlen(log->request.target),
                 sizeof(log->request.target) - strlen(log->request.target), "&after=%lld",
                 (long long)first - 1);
    return request_send(&log->request, HTTP_METHOD_GET, NULL, err);
}

/* Waits for each before the next one is asked for; those that still run come together, last. */
static int show_all(struct logs *logs, const struct json_value *answer, const char *sandbox,
                    const char *given, bool follows, struct err *err)
{
    size_t shown = 0;
    struct str any;
    int r = 0;

    json_each_item (item, answer)
        logs->wanted += is_wanted(item, given, &any) ? 1 : 0;
    for (int turn = 0; turn < 2; turn++)
        json_each_item (item, answer) {
            struct str status = STR_EMPTY;
            struct str id;
            bool is_live;

            (void)json_get_str(item, STR("status"), &status);
            is_live = follows && str_eq(status, STR("running"));
            if (r < 0 || is_live != (turn == 1) || !is_wanted(item, given, &id))
                continue;
            logs->left++;
            r = ask_for(logs, item, sandbox, id, is_live, err);
            while (r == 0 && !is_live && logs->left > 0)
                loop_run_once(logs->ctl->loop);
        }
    while (r == 0 && logs->left > 0)
        loop_run_once(logs->ctl->loop);
    for (; r == 0 && shown < logs->count; shown++)
        r = request_result(&logs->items[shown].request, err);
    return r;
}

int ctl_logs(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    const char *given = options_argument(values, 1);
    struct logs logs = {.ctl = ctl};
    const struct json_value *answer;
    char sandbox[CTL_ID_BYTES];
    char target[CTL_TARGET_BYTES];
    int r = ctl_find_id(ctl, "/sandboxes", options_argument(values, 0), sandbox, err);

    if (r < 0)
        return r;
    snprintf(target, sizeof(target), "/sandboxes/%s/executions", sandbox);
    r = ctl_ask_json(ctl, HTTP_METHOD_GET, target, NULL, &arena, &answer, err);
    if (r < 0)
        return r;
    logs.items = calloc(answer->size + 1, sizeof(*logs.items));
    if (logs.items == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = show_all(&logs, answer, sandbox, given, options_is_on(values, SANDBOX_LOGS_FOLLOW), err);
    if (r == 0 && logs.count == 0 && given != NULL)
        r = err_set(err, ERR_NOT_FOUND, "no command of this sandbox has an id that begins so");
    for (size_t i = 0; i < logs.count; i++)
        request_done(&logs.items[i].request);
    free(logs.items);
    return r;
}

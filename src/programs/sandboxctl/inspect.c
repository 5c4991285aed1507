/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse sandbox inspect`: all that a service tells of one sandbox, on a page or as JSON. */
#include "programs/sandboxctl/ctl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/printable.h"
#include "base/when.h"
#include "cli/output.h"
#include "cli/sandbox.h"

enum {
    MICROSECONDS = 1000000,
    MIB = 1 << 20,
    MOST_COMMANDS = 20,
    SHORT_ID_BYTES = 8,
    STATE_COLUMNS = 8
};

static const volatile sig_atomic_t never = 0;

struct answers {
    const struct json_value *record;
    const struct json_value *usage;      /* or NULL: other services do not tell */
    const struct json_value *executions; /* the same */
    const struct json_value *images;     /* the same */
};

/* The answer, copied since the next one replaces its text; NULL if the service does not know it. */
static int ask(struct ctl *ctl, const char *target, struct arena *arena,
               const struct json_value **out_answer, struct err *err)
{
    const struct json_value *answer;
    int r;

    *out_answer = NULL;
    r = ctl_ask_json(ctl, HTTP_METHOD_GET, target, NULL, arena, &answer, err);
    if (r < 0)
        return r;
    *out_answer = json_copy(arena, answer);
    return *out_answer != NULL ? 0 : err_set_plain(err, arena->error);
}

static int write_json(const struct answers *answers, struct output *output, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CTL_MAX_TEXT_BYTES);
    struct json_writer json;
    int r;

    json_writer_init(&json, &text);
    json_begin_object(&json);
    json_each_member (key, answers->record) {
        json_key(&json, json_str(key));
        json_write_value(&json, key + 1);
    }
    if (answers->usage != NULL) {
        json_key(&json, STR("usage"));
        json_write_value(&json, answers->usage);
    }
    if (answers->executions != NULL) {
        json_key(&json, STR("executions"));
        json_write_value(&json, answers->executions);
    }
    json_end_object(&json);
    r = json_writer_finish(&json);
    if (r < 0)
        return err_set_plain(err, r);
    output_str(output, buf_view(&text));
    output_line_end(output);
    return 0;
}

/* ---- for people ---- */

static void put_label(struct output *output, const char *label)
{
    output_printf(output, "%-11s", label);
}

static void put_text(struct output *output, const char *label, struct str text)
{
    put_label(output, label);
    output_shown(output, text, PRINTABLE_LINE);
    output_line_end(output);
}

static void put_time(struct output *output, const char *label, const struct json_value *record,
                     struct str name)
{
    const int64_t now_ms = clock_wall_ms(&clock_system);
    char when[WHEN_BYTES];
    char ago[WHEN_BYTES];
    int64_t seconds = 0;

    if (!json_get_int(record, name, &seconds) || seconds <= 0 || seconds > CLOCK_LAST_MS / 1000)
        return;
    when_format(seconds * 1000, now_ms, WHEN_MINUTES, when);
    when_relative(seconds * 1000, now_ms, ago);
    put_label(output, label);
    output_printf(output, "%s (%s)", when, ago);
    output_line_end(output);
}

/* "a, b", behind what was there. */
static void add_list(struct buf *text, const char *before, const struct json_value *list)
{
    bool is_first = true;

    if (list == NULL || list->type != JSON_ARRAY)
        return;
    json_each_item (item, list) {
        if (item->type != JSON_STRING)
            continue;
        (void)buf_append_str(text, !is_first       ? STR(", ")
                                   : text->len > 0 ? str_from(before)
                                                   : STR_EMPTY);
        (void)buf_append_str(text, json_str(item));
        is_first = false;
    }
}

static void put_network(struct output *output, const struct json_value *record)
{
    const struct json_value *policy = json_get(record, STR("network_policy"));
    cleanup_buf struct buf text = BUF_INIT(CTL_MAX_TEXT_BYTES);

    if (policy != NULL) {
        add_list(&text, "", json_get(policy, STR("allowed_domains")));
        add_list(&text, ", ", json_get(policy, STR("allowed_ips")));
        add_list(&text, ", but not ", json_get(policy, STR("denied_ips")));
    }
    put_text(output, "Reaches:", text.len > 0 ? buf_view(&text) : STR("nothing but itself"));
}

/* By its names, if it has some: an id is long. */
static void put_image(struct output *output, const struct answers *answers)
{
    cleanup_buf struct buf text = BUF_INIT(CTL_MAX_TEXT_BYTES);
    struct str image = STR_EMPTY;

    if (!json_get_str(answers->record, STR("image_id"), &image) || image.len == 0) {
        put_text(output, "Image:", STR("the service's own system"));
        return;
    }
    if (answers->images != NULL)
        json_each_item (item, answers->images) {
            struct str id = STR_EMPTY;

            if (json_get_str(item, STR("id"), &id) && str_eq(id, image))
                add_list(&text, "", json_get(item, STR("names")));
        }
    put_text(output, "Image:", text.len > 0 ? buf_view(&text) : image);
}

static void put_usage(struct output *output, const struct json_value *usage)
{
    int64_t memory = 0;
    int64_t most_memory = 0;
    int64_t cpu_us = 0;
    int64_t most_cpu = 0;
    int64_t processes = 0;
    int64_t most_processes = 0;

    (void)json_get_int(usage, STR("memory_bytes"), &memory);
    (void)json_get_int(usage, STR("memory_limit_bytes"), &most_memory);
    (void)json_get_int(usage, STR("cpu_us"), &cpu_us);
    (void)json_get_int(usage, STR("cpu_limit_percent"), &most_cpu);
    (void)json_get_int(usage, STR("processes"), &processes);
    (void)json_get_int(usage, STR("processes_limit"), &most_processes);
    put_label(output, "Memory:");
    output_printf(output, "%.1f of %lld MiB", (double)memory / MIB, (long long)(most_memory / MIB));
    output_line_end(output);
    put_label(output, "CPU:");
    output_printf(output, "%.2f s used; at most %lld.%02lld cores", (double)cpu_us / MICROSECONDS,
                  (long long)(most_cpu / 100), (long long)(most_cpu % 100));
    output_line_end(output);
    put_label(output, "Processes:");
    output_printf(output, "%lld of %lld", (long long)processes, (long long)most_processes);
    output_line_end(output);
}

static void put_command(struct output *output, const struct json_value *item)
{
    const int64_t now_ms = clock_wall_ms(&clock_system);
    struct str id = STR_EMPTY;
    struct str command = STR_EMPTY;
    struct str status = STR_EMPTY;
    char state[32];
    char ago[WHEN_BYTES] = "";
    int64_t exit_code = 0;
    int64_t started = 0;

    (void)json_get_str(item, STR("exec_id"), &id);
    (void)json_get_str(item, STR("command"), &command);
    (void)json_get_str(item, STR("status"), &status);
    if (json_get_int(item, STR("exit_code"), &exit_code))
        snprintf(state, sizeof(state), "exit %lld", (long long)exit_code);
    else
        snprintf(state, sizeof(state), "%.*s", STR_ARG(str_slice(status, 0, 20)));
    if (json_get_int(item, STR("started_at"), &started) && started > 0 &&
        started < CLOCK_LAST_MS / 1000)
        when_relative(started * 1000, now_ms, ago);
    output_str(output, STR("  "));
    output_shown(output, str_slice(id, 0, SHORT_ID_BYTES), PRINTABLE_LINE);
    output_str(output, STR("  "));
    output_shown(output, str_from(state), PRINTABLE_LINE);
    output_printf(output, "%*s  %-14s  ", (int)(STATE_COLUMNS - strnlen(state, STATE_COLUMNS)), "",
                  ago);
    output_shown(output, command, PRINTABLE_LINE);
    output_line_end(output);
}

/* The last ones, which say most. */
static void put_commands(struct output *output, const struct json_value *executions)
{
    size_t count = 0;
    size_t at = 0;

    if (executions == NULL || executions->type != JSON_ARRAY)
        return;
    json_each_item (item, executions)
        count += item->type == JSON_OBJECT;
    if (count == 0)
        put_text(output, "Commands:", STR("none are kept"));
    else if (count > MOST_COMMANDS)
        output_printf(output, "Commands:  the last %d of %zu\n", (int)MOST_COMMANDS, count);
    else
        output_str(output, STR("Commands:\n"));
    json_each_item (item, executions)
        if (item->type == JSON_OBJECT && count - at++ <= MOST_COMMANDS)
            put_command(output, item);
}

static void put_page(struct output *output, const struct answers *answers)
{
    const struct json_value *record = answers->record;
    struct str text = STR_EMPTY;
    bool is_ephemeral = false;
    bool is_degraded = false;

    if (json_get_str(record, STR("id"), &text))
        put_text(output, "Sandbox:", text);
    if (json_get_str(record, STR("status"), &text))
        put_text(output, "Status:", text);
    put_image(output, answers);
    put_time(output, "Created:", record, STR("created_at"));
    put_time(output, "Last used:", record, STR("last_active_at"));
    if (json_get_bool(record, STR("ephemeral"), &is_ephemeral))
        put_text(output, "When idle:", is_ephemeral ? STR("it is deleted") : STR("it is stopped"));
    put_network(output, record);
    if (answers->usage != NULL)
        put_usage(output, answers->usage);
    if (json_get_bool(record, STR("degraded"), &is_degraded) && is_degraded)
        put_text(output, "Isolation:", STR("weaker than usual: this kernel lacks a part"));
    if (json_get_str(record, STR("warning"), &text))
        put_text(output, "Warning:", text);
    put_commands(output, answers->executions);
}

int ctl_inspect(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(4 * (size_t)CTL_MAX_TEXT_BYTES);
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &never);
    struct answers answers = {.record = NULL};
    bool is_json = options_is_on(values, SANDBOX_LS_JSON);
    char target[CTL_TARGET_BYTES];
    char id[CTL_ID_BYTES];
    int r = ctl_find_id(ctl, "/sandboxes", options_argument(values, 0), id, err);

    if (r < 0)
        return r;
    snprintf(target, sizeof(target), "/sandboxes/%s", id);
    r = ask(ctl, target, &arena, &answers.record, err);
    if (r < 0)
        return r;
    snprintf(target, sizeof(target), "/sandboxes/%s/stats", id);
    (void)ask(ctl, target, &arena, &answers.usage, NULL);
    snprintf(target, sizeof(target), "/sandboxes/%s/executions", id);
    (void)ask(ctl, target, &arena, &answers.executions, NULL);
    if (!is_json)
        (void)ask(ctl, "/images", &arena, &answers.images, NULL);
    if (is_json)
        r = write_json(&answers, &output, err);
    else
        put_page(&output, &answers);
    return r < 0 ? r : output_finish(&output, err);
}

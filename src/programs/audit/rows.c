/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/audit/rows.h"

#include <limits.h>

#include "base/printable.h"
#include "gatehouse/audit.h"
#include "programs/audit/moment.h"

#define COLOUR_GOOD   STR("\033[32m")
#define COLOUR_DENIED STR("\033[1;31m")
#define COLOUR_FAILED STR("\033[33m")
#define COLOUR_BROKEN STR("\033[1;35m")

enum { ROOMY = 110 }; /* a terminal with room for reasons */

static const struct table_column calls[] = {
    {.title = "TIME", .usual = 19, .has_seconds = true},
    {.title = "CLIENT", .usual = 14, .fair = 11, .least = 8, .goes = 2},
    {.title = "FOLDER", .usual = 14, .fair = 9, .least = 8, .goes = 1},
    {.title = "TOOL", .usual = 18, .fair = 18, .least = 10},
    {.title = "WHAT", .usual = 10, .fair = 30, .least = 10},
    {.title = "OUTCOME", .usual = 11, .fair = 30, .least = 11},
};

/* The name is shown whole. */
static const struct table_column steps[] = {
    {.title = "TIME", .usual = 19, .has_seconds = true},
    {.title = "TOOL", .usual = 18, .least = 13},
    {.title = "OPERATION", .usual = 15, .least = 10},
    {.title = "OUTCOME", .usual = 11},
    {.title = "DECISION", .usual = 12, .least = 8, .goes = 2},
    {.title = "BY", .usual = 12, .least = 8, .goes = 1},
    {.title = "NAME", .usual = 4, .least = 4, .is_whole = true},
};

void rows_init(struct table *table, struct output *output, bool shows_steps)
{
    if (shows_steps)
        table_init(table, output, steps, array_size(steps));
    else
        table_init(table, output, calls, array_size(calls));
}

static struct str text_of(const struct json_value *record, struct str field)
{
    struct str text = STR_EMPTY;

    json_get_str(record, field, &text);
    return text;
}

bool rows_is_call(const struct json_value *record)
{
    return str_eq_c(text_of(record, STR("operation")), authority_operation_name(AUTHORITY_OP_CALL));
}

int64_t rows_time(const struct json_value *record)
{
    int64_t ms;

    return moment_parse(text_of(record, STR("timestamp")), 0, &ms, NULL) == 0 ? ms : 0;
}

static struct str colour_of(struct str outcome, bool is_interrupted)
{
    if (is_interrupted)
        return COLOUR_BROKEN;
    if (str_eq_c(outcome, authority_outcome_name(AUTHORITY_DENIED)))
        return COLOUR_DENIED;
    if (str_eq_c(outcome, authority_outcome_name(AUTHORITY_FAILED)))
        return COLOUR_FAILED;
    return str_eq_c(outcome, authority_outcome_name(AUTHORITY_SUCCESS)) ? COLOUR_GOOD : STR_EMPTY;
}

/* Says so if only the beginning was kept; for a command the end is shown, too. */
static bool put_name(struct output *output, const struct json_value *record, struct str field,
                     struct str end_field, struct str length_field)
{
    char bytes[PATH_MAX];
    int64_t length;
    size_t len;

    if (!audit_record_name(record, field, bytes, &len))
        return false;
    output_shown(output, (struct str){bytes, len}, PRINTABLE_LINE);
    if (json_get_int(record, length_field, &length))
        output_str(output, STR("…"));
    if (audit_record_name(record, end_field, bytes, &len))
        output_shown(output, (struct str){bytes, len}, PRINTABLE_LINE);
    return true;
}

static void put_names(struct output *output, const struct json_value *record)
{
    bool is_command = str_eq_c(text_of(record, STR("operation")),
                               authority_operation_name(AUTHORITY_OP_EXECUTE)) ||
                      str_starts_with(text_of(record, STR("tool")), STR("shell_"));
    int64_t more;

    if (!put_name(output, record, STR("relativePath"), STR("relativePathEnd"),
                  STR("relativePathBytes")))
        output_str(output, json_get_int(record, STR("more"), &more) ? STR("*")
                           : rows_is_call(record)                   ? STR("-")
                                                                    : STR("."));
    if (json_get(record, STR("destinationPath")) == NULL &&
        json_get(record, STR("destinationPathHex")) == NULL)
        return;
    output_str(output, is_command ? STR("  in ") : STR(" -> "));
    put_name(output, record, STR("destinationPath"), STR("destinationPathEnd"),
             STR("destinationPathBytes"));
}

/* Those of a host's that saw the operation, in their order; our own programs have none. */
static void put_hooks(struct output *output, const struct json_value *record)
{
    const struct json_value *hooks = json_get(record, STR("wrapperIds"));
    const char *before = "  (hooks: ";

    if (hooks == NULL || hooks->type != JSON_ARRAY || hooks->size == 0)
        return;
    json_each_item (hook, hooks) {
        output_printf(output, "%s", before);
        output_shown(output, hook->type == JSON_STRING ? json_str(hook) : STR("?"), PRINTABLE_LINE);
        before = ", ";
    }
    output_str(output, STR(")"));
}

static void put_remarks(struct output *output, const struct json_value *record)
{
    struct str error = text_of(record, STR("error"));
    struct str rule = text_of(record, STR("policyRule"));
    int64_t number;

    put_hooks(output, record);
    if (rule.len > 0) {
        output_str(output, STR("  (rule: "));
        output_shown(output, rule, PRINTABLE_LINE);
        output_str(output, STR(")"));
    }
    if (error.len > 0) {
        output_str(output, STR("  ("));
        output_shown(output, error, PRINTABLE_LINE);
        output_str(output, STR(")"));
    }
    if (json_get_int(record, STR("more"), &number))
        output_printf(output, "  (%jd more like those before)", (intmax_t)number);
    if (json_get_int(record, STR("dropped"), &number))
        output_printf(output, "  (%jd entries before this are missing)", (intmax_t)number);
}

/* What became of a key or a token, "revoked": to the server these are all successes. */
static void put_change(struct output *output, const struct json_value *record)
{
    const struct json_value *root = json_get(record, STR("root"));
    struct str reason = text_of(record, STR("reason"));

    if (root == NULL || reason.len == 0 || !str_eq(text_of(root, STR("id")), STR("server")) ||
        !str_eq(text_of(root, STR("kind")), STR("secret")))
        return;
    output_str(output, STR("  ("));
    output_shown(output, reason, PRINTABLE_LINE);
    output_str(output, STR(")"));
}

/* On a terminal only the last component: it names the folder best, and fits. */
static struct str folder_of(const struct table *table, const struct json_value *record)
{
    const struct json_value *root = json_get(record, STR("root"));
    struct str path = root != NULL ? text_of(root, STR("displayName")) : STR_EMPTY;
    size_t start = path.len;

    while (table->is_terminal && start > 0 && path.ptr[start - 1] != '/')
        start--;
    return start == path.len ? path : str_slice(path, start, path.len);
}

/* Who said so, unless that is the usual: nobody had to decide. */
static struct str who_decided(const struct json_value *record)
{
    static const struct str fields[] = {STR_LITERAL("policySource"), STR_LITERAL("decision")};

    for (size_t i = 0; i < array_size(fields); i++) {
        struct str text = text_of(record, fields[i]);

        if (text.len > 0 && !str_eq(text, STR("mode")) && !str_eq(text, STR("default")))
            return text;
    }
    return STR_EMPTY;
}

/* "denied (user): the user said no" */
static void put_end(struct output *output, const struct json_value *record, bool is_interrupted,
                    bool says_why)
{
    struct str who = who_decided(record);
    int64_t number;

    output_shown(output, is_interrupted ? STR("interrupted") : text_of(record, STR("outcome")),
                 PRINTABLE_LINE);
    if (!says_why)
        return;
    if (who.len > 0) {
        output_str(output, STR(" ("));
        output_shown(output, who, PRINTABLE_LINE);
        output_str(output, STR(")"));
    }
    if (json_get(record, STR("error")) != NULL) {
        output_str(output, STR(": "));
        output_shown(output, text_of(record, rows_is_call(record) ? STR("reason") : STR("error")),
                     PRINTABLE_LINE);
    }
    if (json_get_int(record, STR("more"), &number))
        output_printf(output, " (%jd more like those before)", (intmax_t)number);
    if (json_get_int(record, STR("dropped"), &number))
        output_printf(output, " (%jd entries before this are missing)", (intmax_t)number);
}

/* ---- rows ---- */

static void put_step(struct table *table, const struct json_value *record, bool is_interrupted)
{
    struct output name = OUTPUT_INIT(-1, table->output->stopped_by); /* never written */
    struct str outcome = text_of(record, STR("outcome"));

    table_cell_time(table, rows_time(record), STR_EMPTY);
    table_cell(table, text_of(record, STR("tool")));
    table_cell(table, text_of(record, STR("operation")));
    table_cell_coloured(table, is_interrupted ? STR("interrupted") : outcome,
                        colour_of(outcome, is_interrupted));
    table_cell(table, text_of(record, STR("decision")));
    table_cell(table, text_of(record, STR("policySource")));
    put_names(&name, record);
    put_change(&name, record);
    put_remarks(&name, record);
    table_cell(table, buf_view(&name.text));
    output_done(&name);
}

static void put_call(struct table *table, const struct json_value *record, bool is_interrupted)
{
    struct output text = OUTPUT_INIT(-1, table->output->stopped_by); /* never written */

    table_cell_time(table, rows_time(record), STR_EMPTY);
    table_cell(table, text_of(record, STR("client")));
    table_cell(table, folder_of(table, record));
    table_cell(table, text_of(record, STR("tool")));
    put_names(&text, record);
    put_change(&text, record);
    table_cell(table, buf_view(&text.text));
    buf_clear(&text.text);
    put_end(&text, record, is_interrupted, table->width == 0 || table->width >= ROOMY);
    table_cell_coloured(table, buf_view(&text.text),
                        colour_of(text_of(record, STR("outcome")), is_interrupted));
    output_done(&text);
}

void rows_put(struct table *table, const struct json_value *record, bool is_interrupted)
{
    if (table->columns == steps)
        put_step(table, record, is_interrupted);
    else
        put_call(table, record, is_interrupted);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/audit/table.h"

#include <limits.h>

#include "base/printable.h"
#include "base/utf8.h"
#include "gatehouse/audit.h"
#include "programs/audit/moment.h"

#define COLOUR_HEAD   STR("\033[1m")
#define COLOUR_GOOD   STR("\033[32m")
#define COLOUR_DENIED STR("\033[1;31m")
#define COLOUR_FAILED STR("\033[33m")
#define COLOUR_BROKEN STR("\033[1;35m")
#define COLOUR_END    STR("\033[0m")

/* Wide enough for usual values; a longer one shifts the rest of its line. */
enum { WIDTH_TIME = 19, WIDTH_TOOL = 18, WIDTH_OPERATION = 15, WIDTH_OUTCOME = 11, WIDTH_BY = 12 };

enum {
    CELL_BYTES = 4096,     /* of a cell in a line of limited width */
    ROOMY_COLUMNS = 110,   /* a terminal with room for seconds and reasons */
    MIDDLING_COLUMNS = 70, /* for all columns */
    SLIM_COLUMNS = 60,     /* without the folder */
    LEAST_WHAT = 10,
    LEAST_REASON = 24,
    MOST_WHAT = 50, /* the rest is for reasons */
};

/* A line of a call. Width 0: as wide as the text. */
struct layout {
    size_t time;
    size_t client;
    size_t folder;
    size_t tool;
    size_t what;
    size_t outcome;
};

/* A line of a step, up to the name. */
struct steps {
    bool is_record; /* not the head */
    struct str time;
    struct str tool;
    struct str operation;
    struct str outcome;
    struct str decision;
    struct str by;
    struct str colour; /* of the outcome */
};

static size_t shown_width(struct str text)
{
    size_t width = 0;
    uint32_t code_point;

    while (text.len > 0) {
        (void)utf8_next(&text, &code_point);
        width++;
    }
    return width;
}

static void put_cell(struct output *output, struct str text, size_t width)
{
    size_t used;

    if (text.len == 0)
        text = STR("-");
    output_shown(output, text, PRINTABLE_LINE);
    used = shown_width(text);
    output_printf(output, "%*s", used < width ? (int)(width - used) + 2 : 2, "");
}

static struct str text_of(const struct json_value *record, struct str field)
{
    struct str text = STR_EMPTY;

    json_get_str(record, field, &text);
    return text;
}

bool table_is_call(const struct json_value *record)
{
    return str_eq_c(text_of(record, STR("operation")), authority_operation_name(AUTHORITY_OP_CALL));
}

int64_t table_time(const struct json_value *record)
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
                           : table_is_call(record)                  ? STR("-")
                                                                    : STR("."));
    if (json_get(record, STR("destinationPath")) == NULL &&
        json_get(record, STR("destinationPathHex")) == NULL)
        return;
    output_str(output, is_command ? STR("  in ") : STR(" -> "));
    put_name(output, record, STR("destinationPath"), STR("destinationPathEnd"),
             STR("destinationPathBytes"));
}

static void put_remarks(struct output *output, const struct json_value *record)
{
    struct str error = text_of(record, STR("error"));
    int64_t number;

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

/* ---- cells ---- */

static struct layout layout_for(size_t columns)
{
    struct layout layout = {.time = WIDTH_TIME, .client = 14, .folder = 14, .tool = WIDTH_TOOL};
    size_t used;

    if (columns > 0 && columns < ROOMY_COLUMNS)
        layout = (struct layout){.time = 11, .client = 11, .folder = 9, .tool = 13};
    if (columns > 0 && columns < MIDDLING_COLUMNS)
        layout.folder = 0;
    if (columns > 0 && columns < SLIM_COLUMNS)
        layout.client = 0;
    used = layout.time + layout.client + layout.folder + layout.tool + 3 + (layout.client > 0) +
           (layout.folder > 0);
    if (columns < used + LEAST_WHAT + WIDTH_OUTCOME)
        columns = used + LEAST_WHAT + WIDTH_OUTCOME;
    layout.what = columns - used - WIDTH_OUTCOME;
    if (layout.what > MOST_WHAT)
        layout.what = MOST_WHAT;
    layout.outcome = columns - used - layout.what;
    return layout;
}

/* Text of at most `width` columns, which it returns. What was cut ends in an ellipsis. */
static size_t put_cut(struct output *output, struct str text, size_t width)
{
    char bytes[CELL_BYTES + PRINTABLE_CUT_BYTES];
    struct str shown;
    struct str rest;
    size_t has;

    shown = (struct str){bytes, printable_cut(text, PRINTABLE_LINE, bytes, CELL_BYTES)};
    has = shown_width(shown);
    if (has <= width) {
        output_str(output, shown);
        return has;
    }
    rest = shown;
    for (size_t i = 0; i + 1 < width; i++) {
        uint32_t code_point;

        (void)utf8_next(&rest, &code_point);
    }
    output_str(output, str_slice(shown, 0, shown.len - rest.len));
    output_str(output, STR("…"));
    return width;
}

/* On a terminal only the last component: it names the folder best, and fits. */
static struct str folder_of(const struct table *table, const struct json_value *record)
{
    const struct json_value *root = json_get(record, STR("root"));
    struct str path = root != NULL ? text_of(root, STR("displayName")) : STR_EMPTY;
    size_t start = path.len;

    while (table->columns > 0 && start > 0 && path.ptr[start - 1] != '/')
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
        output_shown(output, text_of(record, table_is_call(record) ? STR("reason") : STR("error")),
                     PRINTABLE_LINE);
    }
    if (json_get_int(record, STR("more"), &number))
        output_printf(output, " (%jd more like those before)", (intmax_t)number);
    if (json_get_int(record, STR("dropped"), &number))
        output_printf(output, " (%jd entries before this are missing)", (intmax_t)number);
}

/* A column of no width is left out. */
static void put_text(const struct table *table, struct str text, size_t width)
{
    if (width == 0)
        return;
    if (table->columns == 0) {
        put_cell(table->output, text, width);
        return;
    }
    width -= put_cut(table->output, text.len > 0 ? text : STR("-"), width);
    output_printf(table->output, "%*s", (int)width + 1, "");
}

/* ---- steps ---- */

/* In a narrow terminal, what is cut leaves room for a name, which is shown whole. */
static void put_steps(const struct table *table, const struct steps *steps)
{
    bool is_narrow = table->columns > 0 && table->columns < ROOMY_COLUMNS;
    struct table own = *table;

    own.columns = is_narrow ? table->columns : 0;
    put_text(&own, is_narrow && steps->is_record ? str_slice(steps->time, 5, 11) : steps->time,
             is_narrow ? 11 : WIDTH_TIME);
    put_text(&own, steps->tool, is_narrow ? 13 : WIDTH_TOOL);
    put_text(&own, steps->operation, is_narrow ? 10 : WIDTH_OPERATION);
    output_str(table->output, steps->colour);
    put_text(&own, steps->outcome, WIDTH_OUTCOME);
    if (steps->colour.len > 0)
        output_str(table->output, COLOUR_END);
    put_text(&own, steps->decision, is_narrow ? 8 : WIDTH_BY);
    put_text(&own, steps->by, is_narrow ? 8 : WIDTH_BY);
}

static void put_steps_head(const struct table *table)
{
    const struct steps steps = {.time = STR("TIME"),
                                .tool = STR("TOOL"),
                                .operation = STR("OPERATION"),
                                .outcome = STR("OUTCOME"),
                                .decision = STR("DECISION"),
                                .by = STR("BY"),
                                .colour = STR_EMPTY};

    put_steps(table, &steps);
    output_str(table->output, STR("NAME"));
}

static void put_step(const struct table *table, const struct json_value *record,
                     bool is_interrupted)
{
    char time[MOMENT_BYTES];
    struct str outcome = text_of(record, STR("outcome"));
    struct steps steps = {.is_record = true,
                          .tool = text_of(record, STR("tool")),
                          .operation = text_of(record, STR("operation")),
                          .outcome = is_interrupted ? STR("interrupted") : outcome,
                          .decision = text_of(record, STR("decision")),
                          .by = text_of(record, STR("policySource")),
                          .colour = STR_EMPTY};

    moment_format(table_time(record), time);
    steps.time = str_from(time);
    if (table->has_colour)
        steps.colour = colour_of(outcome, is_interrupted);
    put_steps(table, &steps);
    put_names(table->output, record);
    put_remarks(table->output, record);
}

/* ---- calls ---- */

static void put_call(const struct table *table, const struct json_value *record,
                     bool is_interrupted)
{
    struct layout layout = layout_for(table->columns);
    struct output text = OUTPUT_INIT(-1, table->output->stopped_by); /* never written */
    struct str colour = STR_EMPTY;
    char time[MOMENT_BYTES];

    moment_format(table_time(record), time);
    put_text(table, layout.time == WIDTH_TIME ? str_from(time) : str_slice(str_from(time), 5, 11),
             layout.time);
    put_text(table, text_of(record, STR("client")), layout.client);
    put_text(table, folder_of(table, record), layout.folder);
    put_text(table, text_of(record, STR("tool")), layout.tool);
    put_names(&text, record);
    put_text(table, buf_view(&text.text), layout.what);
    buf_clear(&text.text);
    put_end(&text, record, is_interrupted, table->columns == 0 || layout.outcome >= LEAST_REASON);
    if (table->has_colour)
        colour = colour_of(text_of(record, STR("outcome")), is_interrupted);
    output_str(table->output, colour);
    put_cut(table->output, buf_view(&text.text),
            table->columns > 0 ? layout.outcome : (size_t)CELL_BYTES);
    if (colour.len > 0)
        output_str(table->output, COLOUR_END);
    output_done(&text);
}

static void put_calls_head(const struct table *table)
{
    struct layout layout = layout_for(table->columns);

    put_text(table, STR("TIME"), layout.time);
    put_text(table, STR("CLIENT"), layout.client);
    put_text(table, STR("FOLDER"), layout.folder);
    put_text(table, STR("TOOL"), layout.tool);
    put_text(table, STR("WHAT"), layout.what);
    output_str(table->output, STR("OUTCOME"));
}

void table_head(const struct table *table)
{
    if (table->has_colour)
        output_str(table->output, COLOUR_HEAD);
    if (table->shows_steps)
        put_steps_head(table);
    else
        put_calls_head(table);
    if (table->has_colour)
        output_str(table->output, COLOUR_END);
    output_line_end(table->output);
}

void table_row(const struct table *table, const struct json_value *record, bool is_interrupted)
{
    if (table->shows_steps)
        put_step(table, record, is_interrupted);
    else
        put_call(table, record, is_interrupted);
    output_line_end(table->output);
}

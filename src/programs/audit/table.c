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

int64_t table_time(const struct json_value *record)
{
    int64_t ms;

    return moment_parse(text_of(record, STR("timestamp")), 0, &ms, NULL) == 0 ? ms : 0;
}

void table_head(struct output *output, bool has_colour)
{
    if (has_colour)
        output_str(output, COLOUR_HEAD);
    put_cell(output, STR("TIME"), WIDTH_TIME);
    put_cell(output, STR("TOOL"), WIDTH_TOOL);
    put_cell(output, STR("OPERATION"), WIDTH_OPERATION);
    put_cell(output, STR("OUTCOME"), WIDTH_OUTCOME);
    put_cell(output, STR("DECISION"), WIDTH_BY);
    put_cell(output, STR("BY"), WIDTH_BY);
    output_str(output, STR("NAME"));
    if (has_colour)
        output_str(output, COLOUR_END);
    output_line_end(output);
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

static void put_outcome(struct output *output, bool has_colour, struct str outcome,
                        bool is_interrupted)
{
    struct str colour = has_colour ? colour_of(outcome, is_interrupted) : STR_EMPTY;

    output_str(output, colour);
    put_cell(output, is_interrupted ? STR("interrupted") : outcome, WIDTH_OUTCOME);
    if (colour.len > 0)
        output_str(output, COLOUR_END);
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
    bool is_command =
        str_eq_c(text_of(record, STR("operation")), authority_operation_name(AUTHORITY_OP_EXECUTE));
    int64_t more;

    if (!put_name(output, record, STR("relativePath"), STR("relativePathEnd"),
                  STR("relativePathBytes")))
        output_str(output, json_get_int(record, STR("more"), &more) ? STR("*") : STR("."));
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

void table_row(struct output *output, bool has_colour, const struct json_value *record,
               bool is_interrupted)
{
    char time[MOMENT_BYTES];

    moment_format(table_time(record), time);
    put_cell(output, str_from(time), WIDTH_TIME);
    put_cell(output, text_of(record, STR("tool")), WIDTH_TOOL);
    put_cell(output, text_of(record, STR("operation")), WIDTH_OPERATION);
    put_outcome(output, has_colour, text_of(record, STR("outcome")), is_interrupted);
    put_cell(output, text_of(record, STR("decision")), WIDTH_BY);
    put_cell(output, text_of(record, STR("policySource")), WIDTH_BY);
    put_names(output, record);
    put_remarks(output, record);
    output_line_end(output);
}

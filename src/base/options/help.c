/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options/help.h"

#include <stdarg.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

/* The first error is kept, and only the end is checked. */
struct page {
    struct buf *out;
    struct buf text; /* being put together, not yet wrapped */
    int error;
    size_t width;
    size_t indent; /* where the descriptions begin */
    size_t column;
};

enum { LEFT_MARGIN = 2, GAP = 2, TEXT_MAX_BYTES = 4096 };

__attribute__((format(printf, 2, 3))) static void add(struct page *page, const char *format, ...)
{
    va_list args;
    int r;

    va_start(args, format);
    r = buf_vprintf(&page->text, format, args);
    va_end(args);
    if (page->error == 0)
        page->error = r;
}

static void put(struct page *page, struct str text)
{
    if (page->error == 0)
        page->error = buf_append_str(page->out, text);
    page->column += utf8_count(text);
}

static void end_line(struct page *page)
{
    put(page, STR("\n"));
    page->column = 0;
}

static void pad(struct page *page, size_t column)
{
    while (page->column < column)
        put(page, STR(" "));
}

static void put_heading(struct page *page, const char *text)
{
    end_line(page);
    put(page, str_from(text));
    put(page, STR(":"));
    end_line(page);
}

int options_wrap(struct str text, size_t column, size_t indent, size_t width, struct buf *out)
{
    bool is_first = true;
    struct str word;
    int r = 0;

    while (r == 0 && str_cut(&text, ' ', &word)) {
        if (!is_first && column + 1 + utf8_count(word) > width) {
            r = buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!is_first) {
            r = buf_append_char(out, ' ');
            column++;
        }
        if (r == 0)
            r = buf_append_str(out, word);
        column += utf8_count(word);
        is_first = false;
    }
    return r == 0 ? buf_append_char(out, '\n') : r;
}

static void put_wrapped(struct page *page, size_t indent)
{
    if (page->error == 0)
        page->error =
            options_wrap(buf_view(&page->text), page->column, indent, page->width, page->out);
    page->column = 0;
    buf_clear(&page->text);
}

/* The text so far is the left side. */
static void put_left(struct page *page)
{
    pad(page, LEFT_MARGIN);
    put(page, buf_view(&page->text));
    buf_clear(&page->text);
    if (page->column + GAP > page->indent)
        end_line(page);
    pad(page, page->indent);
}

/* "-p, --port NUMBER" */
static void add_names(struct page *page, const struct option *row)
{
    if (row->letter != '\0')
        add(page, "-%c, ", row->letter);
    else
        add(page, "    ");
    add(page, "--%s%s", option_is_on_by_default(row) ? "[no-]" : "", row->name);
    if (row->alias != NULL)
        add(page, ", --%s", row->alias);
    if (row->type != OPTION_SWITCH)
        add(page, " %s", option_placeholder(row));
}

/* "local port (default: 7655; env: APP_PORT)" */
static void put_description(struct page *page, const struct option *row)
{
    const char *fallback = row->is_secret ? NULL : row->fallback;
    const char *before = " (";

    if (row->type == OPTION_SWITCH)
        fallback = option_is_on_by_default(row) ? "on" : NULL;
    add(page, "%s", row->help);
    for (size_t i = 0; row->choices != NULL && row->choices[i] != NULL; i++) {
        add(page, "%s%s", i == 0 ? " (one of " : ", ", row->choices[i]);
        before = "; ";
    }
    if (fallback != NULL && fallback[0] != '\0') {
        add(page, "%sdefault: %s", before, fallback);
        before = "; ";
    }
    if (row->env != NULL) {
        add(page, "%senv: %s", before, row->env);
        before = "; ";
    }
    add(page, "%s", before[0] == ';' ? ")" : "");
    put_wrapped(page, page->indent);
}

static void put_options(struct page *page, const struct option_command *command,
                        const char *heading)
{
    const char *last = "";

    for (size_t i = 0; i < command->option_count; i++) {
        const struct option *row = &command->options[i];
        const char *group = row->group != NULL ? row->group : heading;

        if (strcmp(group, last) != 0)
            put_heading(page, group);
        last = group;
        add_names(page, row);
        put_left(page);
        put_description(page, row);
    }
}

static void put_arguments(struct page *page, const struct option_command *command)
{
    for (size_t i = 0; i < command->argument_count; i++) {
        const struct option_argument *argument = &command->arguments[i];

        if (i == 0)
            put_heading(page, "Arguments");
        add(page, "%s", argument->name);
        put_left(page);
        put_description(page, &(struct option){.type = argument->type,
                                               .choices = argument->choices,
                                               .help = argument->help});
    }
}

/* "list (ls)" */
static void add_command(struct page *page, const struct option_command *command)
{
    add(page, command->alias != NULL ? "%s (%s)" : "%s", command->name, command->alias);
}

static void put_commands(struct page *page, const struct option_command *command)
{
    for (size_t i = 0; i < command->command_count; i++) {
        if (i == 0)
            put_heading(page, "Commands");
        add_command(page, &command->commands[i]);
        put_left(page);
        add(page, "%s", command->commands[i].summary);
        put_wrapped(page, page->indent);
    }
}

static void add_path(struct page *page, const struct option_values *values)
{
    if (values->above != NULL)
        add_path(page, values->above);
    add(page, " %s", values->command->name);
}

/* "Usage: app connect [OPTIONS] URL [DIR]" */
static void put_usage(struct page *page, const struct option_values *values)
{
    const struct option_command *command = values->command;

    add(page, "Usage:");
    add_path(page, values);
    add(page, " [OPTIONS]%s", command->command_count > 0 ? " COMMAND" : "");
    for (size_t i = 0; i < command->argument_count; i++) {
        const struct option_argument *argument = &command->arguments[i];

        add(page, argument->is_optional ? " [%s%s]" : " %s%s", argument->name,
            argument->is_rest ? "..." : "");
    }
    put_wrapped(page, 2 * LEFT_MARGIN);
}

/* Measures the text so far as a left side. */
static void measure(struct page *page, size_t *widest)
{
    size_t width = LEFT_MARGIN + utf8_count(buf_view(&page->text)) + GAP;

    *widest = width > *widest ? width : *widest;
    buf_clear(&page->text);
}

/* Wide enough for most names, but never so wide that no room is left for the descriptions. */
static size_t description_column(struct page *page, const struct option_values *values)
{
    const struct option_command *command = values->command;
    size_t widest = 0;

    for (const struct option_values *v = values; v != NULL; v = v->above) {
        for (size_t i = 0; i < v->command->option_count; i++) {
            add_names(page, &v->command->options[i]);
            measure(page, &widest);
        }
    }
    for (size_t i = 0; i < command->command_count; i++) {
        add_command(page, &command->commands[i]);
        measure(page, &widest);
    }
    for (size_t i = 0; i < command->argument_count; i++) {
        add(page, "%s", command->arguments[i].name);
        measure(page, &widest);
    }
    return widest < page->width * 3 / 8 ? widest : page->width * 3 / 8;
}

int options_help(const struct option_values *values, size_t width, struct buf *out)
{
    struct page page = {.out = out, .text = BUF_INIT(TEXT_MAX_BYTES), .width = width};

    if (page.width < OPTION_HELP_MIN_WIDTH)
        page.width = OPTION_HELP_MIN_WIDTH;
    page.indent = description_column(&page, values);
    put_usage(&page, values);
    end_line(&page);
    add(&page, "%s", values->command->summary);
    put_wrapped(&page, 0);
    put_commands(&page, values->command);
    put_arguments(&page, values->command);
    put_options(&page, values->command, "Options");
    for (const struct option_values *v = values->above; v != NULL; v = v->above)
        put_options(&page, v->command, v->above == NULL ? "Global options" : "Shared options");
    buf_done(&page.text);
    return page.error;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Output for people. */
#include "programs/search/print.h"

#include "base/err.h"
#include "base/printable.h"

#define NAME_COLOUR   "\033[35m"
#define NUMBER_COLOUR "\033[32m"
#define MATCH_COLOUR  "\033[1;31m"
#define PLAIN         "\033[0m"

/* For lines of the user's own files. */
enum { FILE_LINE = PRINTABLE_TABS | PRINTABLE_BLANKS };

static void coloured(struct output *output, const struct print_view *view, const char *colour,
                     struct str text)
{
    if (view->has_colour && text.len > 0)
        output_str(output, str_from(colour));
    output_shown(output, text, FILE_LINE);
    if (view->has_colour && text.len > 0)
        output_str(output, STR(PLAIN));
}

static void put_number(struct output *output, const struct print_view *view, uint64_t number,
                       char mark)
{
    output_printf(output, "%s%llu%s%c", view->has_colour ? NUMBER_COLOUR : "",
                  (unsigned long long)number, view->has_colour ? PLAIN : "", mark);
}

static void put_name(struct output *output, const struct print_view *view, struct str name)
{
    struct str slash =
        view->directory.len > 0 && view->directory.ptr[view->directory.len - 1] != '/' ? STR("/")
                                                                                       : STR_EMPTY;

    if (view->has_colour)
        output_str(output, STR(NAME_COLOUR));
    output_shown(output, view->directory, PRINTABLE_LINE);
    output_shown(output, slash, PRINTABLE_LINE);
    output_shown(output, name, PRINTABLE_LINE);
    if (view->has_colour)
        output_str(output, STR(PLAIN));
}

static void put_match(struct output *output, const struct print_view *view,
                      const struct search_match *match)
{
    put_number(output, view, match->line_number, ':');
    output_shown(output, str_slice(match->text, 0, match->match_start), FILE_LINE);
    coloured(output, view, MATCH_COLOUR,
             str_slice(match->text, match->match_start, match->match_end - match->match_start));
    output_shown(output, str_slice(match->text, match->match_end, match->text.len), FILE_LINE);
    output_line_end(output);
}

/* Context lines of nearby matches overlap. */
static void put_file(struct output *output, const struct print_view *view,
                     const struct search_file *file)
{
    uint64_t last = 0; /* that was put */

    put_name(output, view, file->name);
    output_line_end(output);
    for (size_t i = 0; i < file->match_count; i++) {
        const struct search_match *match = &file->matches[i];
        uint64_t first = match->line_number - match->before_count;
        uint64_t next = i + 1 < file->match_count ? match[1].line_number : UINT64_MAX;

        if (last > 0 && first > last + 1 && match->before_count + match->after_count > 0) {
            output_str(output, STR("--"));
            output_line_end(output);
        }
        for (size_t k = 0; k < match->before_count; k++) {
            if (first + k <= last)
                continue;
            put_number(output, view, first + k, '-');
            output_shown(output, match->before[k], FILE_LINE);
            output_line_end(output);
        }
        put_match(output, view, match);
        last = match->line_number;
        for (size_t k = 0; k < match->after_count && last + 1 < next; k++) {
            put_number(output, view, ++last, '-');
            output_shown(output, match->after[k], FILE_LINE);
            output_line_end(output);
        }
    }
}

void print_text(struct output *output, const struct print_view *view)
{
    const struct search_result *result = view->result;

    if (view->is_only_counted) {
        output_printf(output, "%llu", (unsigned long long)result->total);
        output_line_end(output);
        return;
    }
    for (size_t i = 0; i < result->file_count; i++) {
        if (view->is_of_files) {
            put_name(output, view, result->files[i]->name);
            output_line_end(output);
            continue;
        }
        if (i > 0)
            output_line_end(output);
        put_file(output, view, result->files[i]);
    }
}

void print_truncation(struct output *output, const struct print_view *view)
{
    const struct search_result *result = view->result;

    if (!result->is_truncated || view->is_only_counted)
        return;
    output_printf(output, "showing %zu of %llu %s", result->kept, (unsigned long long)result->total,
                  view->is_of_files ? "files" : "matching lines");
    /* Fewer than asked for are shown where they are too much for memory. */
    if (view->max_results < SEARCH_MAX_RESULTS && result->kept == view->max_results)
        output_str(output, STR("; use --max-results to show more"));
    output_line_end(output);
}

uint64_t print_missed_count(const struct print_view *view)
{
    return view->result->missed_count + (view->has_size_limit ? 0 : view->result->too_large);
}

void print_missed(struct output *output, const struct print_view *view)
{
    const struct search_result *result = view->result;
    struct print_view plain = *view;
    uint64_t named =
        result->missed_count < SEARCH_MAX_MISSED ? result->missed_count : SEARCH_MAX_MISSED;

    plain.has_colour = false;
    if (result->missed_count > 0) {
        output_printf(output, "%llu could not be read: ", (unsigned long long)result->missed_count);
        for (size_t i = 0; result->missed != NULL && i < named; i++) {
            const struct search_missed *missed = &result->missed[i];

            output_str(output, i > 0 ? STR(", ") : STR_EMPTY);
            if (missed->name[0] != '\0')
                put_name(output, &plain, str_from(missed->name));
            else
                output_shown(output, view->directory.len > 0 ? view->directory : STR("."),
                             PRINTABLE_LINE);
            output_printf(output, " (%s)", err_text(missed->code));
        }
        output_str(output, named < result->missed_count ? STR(", …") : STR_EMPTY);
        output_line_end(output);
    }
    if (result->too_large > 0 && !view->has_size_limit) {
        /* The search does not tell them apart. */
        output_printf(output,
                      "%llu could not be searched: lines too long, folders too deep or too large, "
                      "or too many ignore rules",
                      (unsigned long long)result->too_large);
        output_line_end(output);
    }
}

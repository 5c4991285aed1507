/* SPDX-License-Identifier: Apache-2.0 */
/* Output for people. */
#include "programs/search/print.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "search/matcher.h"

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

/* What a line begins with: "name:12:", and with '-' for context. */
static void put_place(struct output *output, const struct print_view *view, struct str name,
                      uint64_t number, char mark)
{
    if (view->has_names && !view->has_headings) {
        put_name(output, view, name);
        output_printf(output, "%c", mark);
    }
    if (view->has_numbers)
        put_number(output, view, number, mark);
}

/*
 * The next match at or after `from`. The search itself tells the first of a line only. The pattern
 * sees the whole line, so that ^ and \b mean the same.
 */
static bool find_next(const struct print_view *view, struct str line, size_t from,
                      struct matcher_line *out_found)
{
    cleanup_buf struct buf text = BUF_INIT(PATTERN_MAX_BYTES);
    cleanup_pattern struct pattern *pattern = NULL;
    cleanup_matcher struct matcher *matcher = NULL;
    const struct pattern_options options = {.is_regex = true, .ignores_case = view->ignores_case};

    return from < line.len &&
           buf_printf(&text, "^.{%zu}.*?\\K(?:%.*s)", utf8_count(str_slice(line, 0, from)),
                      STR_ARG(view->regex)) == 0 &&
           pattern_compile(buf_view(&text), &options, &pattern, NULL) == 0 &&
           matcher_new(pattern, NULL, &matcher) == 0 &&
           matcher_next(matcher, line, 0, out_found) == 0 && out_found->is_found &&
           out_found->match_start >= from;
}

/* Each match of the line by itself. */
static void put_parts(struct output *output, const struct print_view *view, struct str name,
                      const struct search_match *match)
{
    struct matcher_line found = {.match_start = match->match_start, .match_end = match->match_end};

    do {
        if (found.match_end == found.match_start) {
            size_t len =
                utf8_sequence(match->text.ptr + found.match_end, match->text.len - found.match_end);

            found.match_end += len > 0 ? len : 1;
            continue; /* nothing is shown of nothing */
        }
        put_place(output, view, name, match->line_number, ':');
        coloured(output, view, MATCH_COLOUR,
                 str_slice(match->text, found.match_start, found.match_end - found.match_start));
        output_line_end(output);
    } while (find_next(view, match->text, found.match_end, &found));
}

static void put_match(struct output *output, const struct print_view *view, struct str name,
                      const struct search_match *match)
{
    if (view->only_matches) {
        put_parts(output, view, name, match);
        return;
    }
    put_place(output, view, name, match->line_number, ':');
    output_shown(output, str_slice(match->text, 0, match->match_start), FILE_LINE);
    coloured(output, view, MATCH_COLOUR,
             str_slice(match->text, match->match_start, match->match_end - match->match_start));
    output_shown(output, str_slice(match->text, match->match_end, match->text.len), FILE_LINE);
    output_line_end(output);
}

static void put_context(struct output *output, const struct print_view *view, struct str name,
                        uint64_t number, struct str line)
{
    put_place(output, view, name, number, '-');
    output_shown(output, line, FILE_LINE);
    output_line_end(output);
}

static void put_gap(struct output *output)
{
    output_str(output, STR("--"));
    output_line_end(output);
}

/* Context lines of nearby matches overlap. */
static void put_file(struct output *output, const struct print_view *view,
                     const struct search_file *file)
{
    bool has_context = view->before + view->after > 0;
    uint64_t last = 0; /* that was put */

    if (view->has_headings && view->has_names) {
        put_name(output, view, file->name);
        output_line_end(output);
    }
    for (size_t i = 0; i < file->match_count; i++) {
        const struct search_match *match = &file->matches[i];
        size_t skipped =
            match->before_count > view->before ? match->before_count - view->before : 0;
        uint64_t first = match->line_number - match->before_count;
        uint64_t next = i + 1 < file->match_count ? match[1].line_number : UINT64_MAX;

        if (last > 0 && first + skipped > last + 1 && has_context)
            put_gap(output);
        for (size_t k = skipped; k < match->before_count; k++)
            if (first + k > last)
                put_context(output, view, file->name, first + k, match->before[k]);
        put_match(output, view, file->name, match);
        last = match->line_number;
        for (size_t k = 0; k < match->after_count && k < view->after && last + 1 < next; k++)
            put_context(output, view, file->name, ++last, match->after[k]);
    }
}

static void put_count(struct output *output, const struct print_view *view,
                      const struct search_file *file)
{
    if (view->has_names) {
        put_name(output, view, file->name);
        output_str(output, STR(":"));
    }
    output_printf(output, "%zu", file->match_count);
    output_line_end(output);
}

void print_text(struct output *output, const struct print_view *view)
{
    const struct search_result *result = view->result;

    if (view->is_of_files && view->is_only_counted) {
        output_printf(output, "%llu", (unsigned long long)result->total);
        output_line_end(output);
        return;
    }
    for (size_t i = 0; i < result->file_count; i++) {
        bool is_later = i > 0 || view->is_continued;

        if (view->is_of_files || view->is_only_named) {
            put_name(output, view, result->files[i]->name);
            output_line_end(output);
        } else if (view->is_only_counted) {
            put_count(output, view, result->files[i]);
        } else {
            if (is_later && view->has_headings && view->has_names)
                output_line_end(output);
            else if (is_later && view->before + view->after > 0)
                put_gap(output);
            put_file(output, view, result->files[i]);
        }
    }
}

void print_truncation(struct output *output, const struct print_view *view)
{
    const struct search_result *result = view->result;

    if (!result->is_truncated || (view->is_only_counted && view->is_of_files))
        return;
    output_printf(output, "showing %zu of %llu %s", result->kept, (unsigned long long)result->total,
                  view->is_of_files ? "files" : "matching lines");
    /* Fewer than asked for are shown where they are too much for memory. */
    if (view->max_results < SEARCH_MAX_RESULTS && result->kept == view->max_results)
        output_str(output, STR("; use --max-results to show more"));
    output_line_end(output);
}

void print_left_out(struct output *output, const struct print_view *view)
{
    const struct search_result *result = view->result;
    const struct {
        uint64_t count;
        const char *words;
    } kinds[] = {
        {result->ignored, "ignored (use --no-ignore)"},
        {view->hidden, "hidden, or of downloads and build output (use --hidden)"},
        {view->has_size_limit ? result->too_large : 0, "larger than --max-file-size"},
        {result->binary, "binary"},
    };
    bool is_first = true;

    if (result->total > 0)
        return;
    for (size_t i = 0; i < array_size(kinds); i++) {
        if (kinds[i].count == 0)
            continue;
        output_printf(output, "%s%llu %s", is_first ? "not searched: " : ", ",
                      (unsigned long long)kinds[i].count, kinds[i].words);
        is_first = false;
    }
    if (!is_first)
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

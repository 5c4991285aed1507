/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-search: one search for a person. The process gives up all rights but reading the folder
 * before it compiles the pattern or looks at any file. Its exit status is that of grep: 0 found, 1
 * not found, 2 an error.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/colour.h"
#include "base/options/options.h"
#include "base/printable.h"
#include "cli/runner.h"
#include "cli/search.h"
#include "cli/stop.h"
#include "programs/search/filter.h"
#include "programs/search/print.h"
#include "programs/search/progress.h"
#include "programs/search/query.h"
#include "programs/search/searchplace.h"
#include "search/search.h"

enum {
    EXIT_FOUND = 0,
    EXIT_NOT_FOUND = 1,
    EXIT_ERROR = 2,
    DEFAULT_RESULTS = 1000,
};

static_assert((int)SEARCH_OPTION_MOST_RESULTS == (int)SEARCH_MAX_RESULTS, "the option's ceiling");
static_assert((int)SEARCH_OPTION_MOST_CONTEXT == (int)SEARCH_MAX_CONTEXT, "the option's ceiling");
static_assert((int)SEARCH_OPTION_MOST_THREADS == (int)AUTHORITY_SIFT_MAX_THREADS,
              "the option's ceiling");

/* ---- being stopped ---- */

static struct cancel stop;

static const struct runner runner;

static void complain(const char *words)
{
    runner_complain(&runner, words);
}

/* ---- from the command line ---- */

static bool is_of_files(const struct option_values *values)
{
    return options_is_on(values, SEARCH_OPTION_FILES);
}

static bool wants_colour(const struct option_values *values)
{
    switch ((enum search_colour)options_choice(values, SEARCH_OPTION_COLOR)) {
    case SEARCH_COLOUR_ALWAYS:
        return true;
    case SEARCH_COLOUR_NEVER:
        return false;
    case SEARCH_COLOUR_AUTO:
        break;
    }
    return colour_is_wanted(STDOUT_FILENO);
}

static bool is_for_person(const struct option_values *values)
{
    return isatty(STDOUT_FILENO) ||
           options_choice(values, SEARCH_OPTION_COLOR) == SEARCH_COLOUR_ALWAYS;
}

static bool is_given_on(const struct option_values *values, size_t option, bool fallback)
{
    return options_source(values, option) != OPTION_UNSET ? options_is_on(values, option)
                                                          : fallback;
}

static bool is_counted(const struct option_values *values)
{
    return options_is_on(values, SEARCH_OPTION_COUNT);
}

static bool is_json(const struct option_values *values)
{
    return options_is_on(values, SEARCH_OPTION_JSON);
}

static unsigned context(const struct option_values *values, size_t option)
{
    if (options_source(values, option) == OPTION_UNSET)
        option = SEARCH_OPTION_CONTEXT;
    return (unsigned)options_int(values, option);
}

/* As many as are shown; fewer where only their number is wanted. */
static size_t most_results(const struct option_values *values)
{
    if (options_source(values, SEARCH_OPTION_MAX_RESULTS) != OPTION_UNSET)
        return (size_t)options_int(values, SEARCH_OPTION_MAX_RESULTS);
    return is_for_person(values) || is_json(values) ? DEFAULT_RESULTS : SEARCH_MAX_RESULTS;
}

/* The directory as given by the user, without redundant parts. */
static struct str shown_directory(const struct search_spot *spot)
{
    struct str directory = str_from(spot->given);

    if (spot->file.len > 0)
        directory.len -= spot->file.len;
    while (directory.len > 1 && directory.ptr[directory.len - 1] == '/')
        directory.len--;
    return str_eq(directory, STR(".")) && spot->file.len == 0 ? STR_EMPTY : directory;
}

/* ---- walls, then the search ---- */

static int open_place(const struct option_values *values, const struct search_query *query,
                      struct search_place *place, struct err *err)
{
    static const char *const here[] = {".", NULL};
    const struct search_place_config config = {
        .paths = query->paths.count > 0 ? query->paths : (struct option_list){here, 1},
        .state_dir = options_text(values, SEARCH_OPTION_STATE_DIR),
        .denied = query->denied,
        .complain = complain,
    };

    return search_place_open(&config, place, err);
}

static int confine(const struct search_place *place, struct err *err)
{
    struct confine_report report;
    int r = place_confine(place, &report, err);

    if (r == 0)
        confine_complain(&report, complain);
    return r;
}

/* One search of a command line, which may have several places. */
struct searching {
    const struct option_values *values;
    const struct search_query *query;
    struct file_filter filter;
    const struct pattern *pattern; /* NULL: files by name */
    bool has_names;
    bool is_continued;
    int status;
};

static int run_search(struct searching *searching, const struct search_spot *spot,
                      struct search_result *out_result, struct err *err)
{
    const struct option_values *values = searching->values;
    unsigned before = context(values, SEARCH_OPTION_BEFORE);
    unsigned after = context(values, SEARCH_OPTION_AFTER);
    bool is_quiet = options_is_on(values, SEARCH_OPTION_QUIET);
    bool has_total = is_counted(values) && (is_of_files(values) || is_json(values));
    struct progress progress;
    struct search_request request = {
        .directory = STR_EMPTY,
        .pattern = searching->pattern,
        .enters = filter_enters,
        .wants = filter_wants,
        .filter_data = &searching->filter,
        .heeds_ignore_files = options_is_on(values, SEARCH_OPTION_IGNORE) &&
                              options_times(values, SEARCH_OPTION_UNRESTRICTED) == 0 &&
                              spot->file.len == 0,
        .threads = (unsigned)options_int(values, SEARCH_OPTION_THREADS),
        .context_lines = before > after ? before : after,
        .max_results = is_quiet || has_total ? 1 : most_results(values),
        .max_counted = is_quiet ? 1 : 0,
        .max_file_bytes = (uint64_t)options_int(values, SEARCH_OPTION_MAX_FILE_SIZE),
        .cancel = &stop,
    };
    int r;

    searching->filter.only = spot->file;
    searching->filter.hidden = 0;
    if (is_counted(values) || options_is_on(values, SEARCH_OPTION_WITH_MATCHES)) {
        request.context_lines = 0;
        if (!has_total && !is_quiet &&
            options_source(values, SEARCH_OPTION_MAX_RESULTS) == OPTION_UNSET)
            request.max_results = SEARCH_MAX_RESULTS;
    }
    progress_init(&progress, STDERR_FILENO, &clock_system);
    if (colour_has_terminal(STDERR_FILENO)) {
        request.progress = progress_tell;
        request.progress_data = &progress;
    }
    r = search_run(spot->scope, &request, out_result, err);
    progress_end(&progress);
    return r;
}

static int print(struct searching *searching, const struct search_spot *spot,
                 const struct search_result *result, struct err *err)
{
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    cleanup_output struct output notes = OUTPUT_INIT(STDERR_FILENO, &stop_signal);
    const struct option_values *values = searching->values;
    const struct print_view view = {
        .result = result,
        .regex = searching->query->regex,
        .ignores_case = searching->query->ignores_case,
        .directory = shown_directory(spot),
        .is_of_files = is_of_files(values),
        .is_only_counted = is_counted(values),
        .is_only_named = options_is_on(values, SEARCH_OPTION_WITH_MATCHES),
        .only_matches = options_is_on(values, SEARCH_OPTION_ONLY_MATCHING),
        .has_headings = is_given_on(values, SEARCH_OPTION_HEADING, is_for_person(values)),
        .has_names = searching->has_names,
        .has_numbers = is_given_on(values, SEARCH_OPTION_LINE_NUMBER, is_for_person(values)) &&
                       !options_is_on(values, SEARCH_OPTION_NO_LINE_NUMBER),
        .is_continued = searching->is_continued,
        .before = context(values, SEARCH_OPTION_BEFORE),
        .after = context(values, SEARCH_OPTION_AFTER),
        .has_colour = wants_colour(values),
        .has_size_limit = options_source(values, SEARCH_OPTION_MAX_FILE_SIZE) != OPTION_UNSET,
        .max_results = most_results(values),
        .hidden = searching->filter.hidden,
    };
    int r;

    if (options_is_on(values, SEARCH_OPTION_QUIET))
        ;
    else if (is_json(values))
        print_json(&output, &view);
    else
        print_text(&output, &view);
    r = output_finish(&output, err);
    if (r < 0)
        return r;
    searching->is_continued = searching->is_continued || result->file_count > 0;
    if (!is_json(values) && !options_is_on(values, SEARCH_OPTION_QUIET))
        print_truncation(&notes, &view);
    if (is_for_person(values) && !is_json(values) && !options_is_on(values, SEARCH_OPTION_QUIET))
        print_left_out(&notes, &view);
    print_missed(&notes, &view);
    (void)output_finish(&notes, NULL);
    /* Numbers that are too small are worse than none. */
    if (print_missed_count(&view) > 0 ||
        (result->is_truncated && is_counted(values) && !is_of_files(values) && !is_json(values)))
        searching->status = EXIT_ERROR;
    else if (result->total > 0 && searching->status == EXIT_NOT_FOUND)
        searching->status = EXIT_FOUND;
    return 0;
}

/* Returns the exit status, or an error. */
static int search(const struct option_values *values, const struct search_query *query,
                  const struct search_place *place, struct arena *arena, struct err *err)
{
    cleanup_pattern struct pattern *pattern = NULL;
    const struct pattern_options options = {.is_regex = query->is_regex,
                                            .ignores_case = query->ignores_case};
    bool is_one_file = query->paths.count == 1 && place->spots[0].file.len > 0;
    struct searching searching = {.values = values, .query = query, .status = EXIT_NOT_FOUND};
    int r = filter_make(arena, query->globs, query->types,
                        is_of_files(values) ? query->pattern.ptr : NULL, query->ignores_case,
                        &searching.filter, err);

    if (r < 0)
        return r;
    searching.has_names = (!is_one_file || options_is_on(values, SEARCH_OPTION_WITH_FILENAME)) &&
                          !options_is_on(values, SEARCH_OPTION_NO_FILENAME);
    searching.filter.shows_hidden = options_is_on(values, SEARCH_OPTION_HIDDEN) ||
                                    options_times(values, SEARCH_OPTION_UNRESTRICTED) > 1;
    if (!is_of_files(values))
        r = pattern_compile(query->pattern, &options, &pattern, err);
    searching.pattern = pattern;
    for (size_t i = 0; r == 0 && i < place->spot_count; i++) {
        cleanup_search_result struct search_result result = {.total = 0};

        r = run_search(&searching, &place->spots[i], &result, err);
        if (r == 0)
            r = print(&searching, &place->spots[i], &result, err);
        if (searching.status == EXIT_FOUND && options_is_on(values, SEARCH_OPTION_QUIET))
            break;
    }
    return r == 0 ? searching.status : r;
}

static void write_record(const struct search_place *place)
{
    if (place->state.audit == NULL)
        return;
    audit_file_flush(place->state.audit);
    if (audit_file_untold(place->state.audit) > 0)
        complain("cannot write the audit log, so this search is not in it");
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct search_place place = {.state = {.audit_dir_fd = -1}};
    bool is_missing = false;
    struct search_query query;
    int r = query_make(arena, values, &query, err);

    if (r < 0)
        return r;
    cancel_init(&stop, &clock_system, CANCEL_NO_DEADLINE);
    stop_watch(&stop);
    r = open_place(values, &query, &place, err);
    if (r >= 0) {
        is_missing = r > 0;
        r = confine(&place, err);
    }
    if (r == 0)
        r = search(values, &query, &place, arena, err);
    /* As grep: one that is missing is an error, unless something was found and nothing is said. */
    if (r >= 0 && is_missing && !(r == EXIT_FOUND && options_is_on(values, SEARCH_OPTION_QUIET)))
        r = EXIT_ERROR;
    write_record(&place);
    search_place_close(&place);
    return r;
}

static const struct runner runner = {
    .program = SEARCH_PROGRAM,
    .title = "gatehouse search",
    .see = "'gatehouse search --help'",
    .command = SEARCH_COMMAND,
    .failed_status = EXIT_ERROR,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}

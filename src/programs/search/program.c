/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-search: one search for a person. The process gives up all rights but reading the folder
 * before it looks at the pattern or at any file. Its exit status is that of grep: 0 found, 1 not
 * found, 2 an error.
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
#include "programs/search/searchplace.h"
#include "search/search.h"

enum {
    EXIT_FOUND = 0,
    EXIT_NOT_FOUND = 1,
    EXIT_ERROR = 2,
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

/* Asking for colours means reading it oneself, whatever it is piped through. */
static bool wants_json(const struct option_values *values)
{
    if (options_source(values, SEARCH_OPTION_JSON) != OPTION_UNSET)
        return options_is_on(values, SEARCH_OPTION_JSON);
    return !isatty(STDOUT_FILENO) &&
           options_choice(values, SEARCH_OPTION_COLOR) != SEARCH_COLOUR_ALWAYS;
}

/* The directory as given by the user, without redundant parts. */
static struct str shown_directory(const struct option_values *values)
{
    const char *given = options_argument(values, SEARCH_ARGUMENT_DIR);
    struct str directory = given != NULL ? str_from(given) : STR_EMPTY;

    while (directory.len > 1 && directory.ptr[directory.len - 1] == '/')
        directory.len--;
    return str_eq(directory, STR(".")) ? STR_EMPTY : directory;
}

/* ---- walls, then the search ---- */

static int open_place(const struct option_values *values, struct search_place *place,
                      struct err *err)
{
    const char *directory = options_argument(values, SEARCH_ARGUMENT_DIR);
    const struct search_place_config config = {
        .directory = directory != NULL ? directory : ".",
        .state_dir = options_text(values, SEARCH_OPTION_STATE_DIR),
        .denied = options_list(values, SEARCH_OPTION_DENY).items,
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

static int run_search(const struct option_values *values, struct authority_scope *scope,
                      struct filter *filter, const struct pattern *pattern,
                      struct search_result *out_result, struct err *err)
{
    bool is_counted = options_is_on(values, SEARCH_OPTION_COUNT);
    struct progress progress;
    struct search_request request = {
        .directory = STR_EMPTY,
        .pattern = pattern,
        .enters = filter_enters,
        .wants = filter_wants,
        .filter_data = filter,
        .heeds_ignore_files = options_is_on(values, SEARCH_OPTION_IGNORE),
        .threads = (unsigned)options_int(values, SEARCH_OPTION_THREADS),
        .context_lines = (unsigned)options_int(values, SEARCH_OPTION_CONTEXT),
        .max_results = is_counted ? 1 : (size_t)options_int(values, SEARCH_OPTION_MAX_RESULTS),
        .max_file_bytes = (uint64_t)options_int(values, SEARCH_OPTION_MAX_FILE_SIZE),
        .cancel = &stop,
    };
    int r;

    progress_init(&progress, STDERR_FILENO, &clock_system);
    if (colour_has_terminal(STDERR_FILENO)) {
        request.progress = progress_tell;
        request.progress_data = &progress;
    }
    r = search_run(scope, &request, out_result, err);
    progress_end(&progress);
    return r;
}

static int print(const struct option_values *values, const struct search_result *result,
                 struct err *err)
{
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    cleanup_output struct output notes = OUTPUT_INIT(STDERR_FILENO, &stop_signal);
    const struct print_view view = {
        .result = result,
        .directory = shown_directory(values),
        .is_of_files = is_of_files(values),
        .is_only_counted = options_is_on(values, SEARCH_OPTION_COUNT),
        .has_colour = wants_colour(values),
        .has_size_limit = options_source(values, SEARCH_OPTION_MAX_FILE_SIZE) != OPTION_UNSET,
        .max_results = (size_t)options_int(values, SEARCH_OPTION_MAX_RESULTS),
    };
    bool is_json = wants_json(values);
    int r;

    if (is_json)
        print_json(&output, &view);
    else
        print_text(&output, &view);
    r = output_finish(&output, err);
    if (r < 0)
        return r;
    if (!is_json)
        print_truncation(&notes, &view);
    print_missed(&notes, &view);
    (void)output_finish(&notes, NULL);
    if (print_missed_count(&view) > 0)
        return EXIT_ERROR;
    return result->total > 0 ? EXIT_FOUND : EXIT_NOT_FOUND;
}

/* Returns the exit status, or an error. */
static int search(const struct option_values *values, struct search_place *place,
                  struct arena *arena, struct err *err)
{
    cleanup_search_result struct search_result result = {.total = 0};
    cleanup_pattern struct pattern *pattern = NULL;
    const struct pattern_options options = {
        .is_regex = !options_is_on(values, SEARCH_OPTION_LITERAL),
        .ignores_case = options_is_on(values, SEARCH_OPTION_IGNORE_CASE),
    };
    const char *text = options_argument(values, SEARCH_ARGUMENT_PATTERN);
    struct filter filter;
    int r = filter_make(arena, options_list(values, SEARCH_OPTION_GLOB),
                        is_of_files(values) ? text : NULL, options.ignores_case, &filter, err);

    if (r < 0)
        return r;
    filter.shows_hidden = options_is_on(values, SEARCH_OPTION_HIDDEN);
    if (!is_of_files(values))
        r = pattern_compile(str_from(text), &options, &pattern, err);
    if (r == 0)
        r = run_search(values, place->scope, &filter, pattern, &result, err);
    return r == 0 ? print(values, &result, err) : r;
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
    int r;

    cancel_init(&stop, &clock_system, CANCEL_NO_DEADLINE);
    stop_watch(&stop);
    r = open_place(values, &place, err);
    if (r == 0)
        r = confine(&place, err);
    if (r == 0)
        r = search(values, &place, arena, err);
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

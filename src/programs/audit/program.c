/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-audit: shows the audit log to its user. The process gives up all rights but reading
 * the log before it looks at the first line.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/colour.h"
#include "base/options/options.h"
#include "base/printable.h"
#include "cli/audit.h"
#include "cli/output.h"
#include "cli/runner.h"
#include "cli/stop.h"
#include "gatehouse/audit.h"
#include "isolate/confine.h"
#include "programs/audit/moment.h"
#include "programs/audit/rows.h"
#include "programs/audit/view.h"
#include "session/state.h"

enum {
    /* After --until, outcomes are still looked for if the intent came before it. */
    OUTCOME_MARGIN_MS = 10 * 60 * 1000,
};

static const struct runner runner;

static void complain(const char *words)
{
    runner_complain(&runner, words);
}

/* ---- from the command line ---- */

static struct str text_option(const struct option_values *values, size_t option)
{
    const char *text = options_text(values, option);

    return text != NULL ? str_from(text) : STR_EMPTY;
}

static bool is_given(const struct option_values *values, size_t option)
{
    return options_source(values, option) != OPTION_UNSET;
}

static int read_moment(const struct option_values *values, size_t option, int64_t *out_ms,
                       struct err *err)
{
    *out_ms = 0;
    if (!is_given(values, option))
        return 0;
    return moment_parse(text_option(values, option), clock_wall_ms(&clock_system), out_ms, err);
}

static bool wants_interrupted(const struct option_values *values)
{
    return is_given(values, AUDIT_OPTION_OUTCOME) &&
           options_choice(values, AUDIT_OPTION_OUTCOME) == AUDIT_SHOWN_INTERRUPTED;
}

/* Calls, unless the user asks for what they consist of. */
static bool shows_calls(const struct option_values *values)
{
    return !options_is_on(values, AUDIT_OPTION_VERBOSE) &&
           !options_is_on(values, AUDIT_OPTION_ALL) && !options_is_on(values, AUDIT_OPTION_JSON) &&
           !is_given(values, AUDIT_OPTION_OPERATION);
}

/* Unless the user asks for exactly that. */
static bool hides_own(const struct option_values *values)
{
    return !options_is_on(values, AUDIT_OPTION_ALL) && !options_is_on(values, AUDIT_OPTION_JSON) &&
           !is_given(values, AUDIT_OPTION_SUBJECT) && !is_given(values, AUDIT_OPTION_OPERATION);
}

static int check_options(const struct option_values *values, struct err *err)
{
    if (!options_is_on(values, AUDIT_OPTION_FOLLOW))
        return 0;
    if (is_given(values, AUDIT_OPTION_UNTIL))
        return err_set(err, ERR_INVALID_OPTION, "--follow has no end, so --until means nothing");
    if (wants_interrupted(values))
        return err_set(err, ERR_INVALID_OPTION,
                       "whether something was interrupted is not seen while it runs: --outcome "
                       "interrupted and --follow exclude each other");
    return 0;
}

/* What the reader searches for; the view does the rest. */
static int make_query(const struct option_values *values, struct audit_query *out_query,
                      int64_t *out_until_ms, struct err *err)
{
    int r = read_moment(values, AUDIT_OPTION_SINCE, &out_query->since_ms, err);

    if (r == 0)
        r = read_moment(values, AUDIT_OPTION_UNTIL, out_until_ms, err);
    if (r < 0)
        return r;
    if (*out_until_ms != 0 && out_query->since_ms >= *out_until_ms)
        return err_set(err, ERR_INVALID_OPTION,
                       "--since is not before --until: nothing is between");
    out_query->until_ms = *out_until_ms != 0 ? *out_until_ms + OUTCOME_MARGIN_MS : 0;
    out_query->tool = text_option(values, AUDIT_OPTION_TOOL);
    out_query->name_prefix = text_option(values, AUDIT_OPTION_PATH);
    out_query->operation = text_option(values, AUDIT_OPTION_OPERATION);
    out_query->decision = text_option(values, AUDIT_OPTION_DECISION);
    out_query->subject_id = text_option(values, AUDIT_OPTION_SUBJECT);
    if (!wants_interrupted(values))
        out_query->outcome = text_option(values, AUDIT_OPTION_OUTCOME);
    return 0;
}

static bool wants_colour(const struct option_values *values)
{
    switch ((enum audit_colour)options_choice(values, AUDIT_OPTION_COLOR)) {
    case AUDIT_COLOUR_ALWAYS:
        return true;
    case AUDIT_COLOUR_NEVER:
        return false;
    case AUDIT_COLOUR_AUTO:
        break;
    }
    return colour_is_wanted(STDOUT_FILENO);
}

/* ---- walls ---- */

static int find_state(const struct option_values *values, char out_path[PATH_MAX], int *out_fd,
                      struct err *err)
{
    const char *given = options_text(values, AUDIT_OPTION_STATE_DIR);
    int r = given != NULL ? session_state_absolute_path(given, out_path, err)
                          : session_state_default_dir(out_path, err);
    size_t len = r == 0 ? strlen(out_path) : 0;

    if (r == 0 && options_is_on(values, AUDIT_OPTION_SERVER) &&
        snprintf(out_path + len, PATH_MAX - len, "/server") >= (int)(PATH_MAX - len))
        return err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    return r == 0 ? audit_dir_find(out_path, out_fd, err) : r;
}

static int confine(const char *state_path, struct err *err)
{
    const struct landlock_place places[] = {{.path = state_path, .rights = LANDLOCK_MAY_READ}};
    const struct confine_plan plan = {
        .places = places, .place_count = array_size(places), .has_closed_fds = true};
    struct confine_report report;
    int r = confine_process(&plan, &report, err);

    if (r == 0)
        confine_complain(&report, complain);
    return r;
}

/* ---- showing ---- */

struct showing {
    const struct option_values *values;
    struct audit_reader *reader;
    struct audit_query query;
    struct output *output;
    struct table *table;
    struct view *view;
};

static int show_newest(struct showing *showing, uint64_t *skipped, struct err *err)
{
    struct audit_query query = showing->query;
    int r;

    query.newest_first = true;
    r = audit_reader_query(showing->reader, &query, view_gather, showing->view, skipped, err);
    if (r == ERR_TOO_LARGE)
        return err_set(err, r, "so many records are too much to put in order; --limit 0 does not");
    return r < 0 ? r : view_print(showing->view);
}

static int show_all(struct showing *showing, uint64_t *skipped, struct err *err)
{
    int r = audit_reader_query(showing->reader, &showing->query, view_stream, showing->view,
                               skipped, err);

    return r < 0 ? r : view_end(showing->view);
}

static bool is_filtered(const struct option_values *values)
{
    for (size_t i = AUDIT_OPTION_SINCE; i <= AUDIT_OPTION_SUBJECT; i++)
        if (options_source(values, i) != OPTION_UNSET)
            return true;
    return false;
}

static int show_what_is_there(struct showing *showing, struct err *err)
{
    bool has_limit = options_int(showing->values, AUDIT_OPTION_LIMIT) > 0;
    uint64_t skipped = 0;
    int r = has_limit ? show_newest(showing, &skipped, err) : show_all(showing, &skipped, err);

    if (r == 0 && options_is_on(showing->values, AUDIT_OPTION_FOLLOW) &&
        !options_is_on(showing->values, AUDIT_OPTION_JSON))
        table_begin(showing->table);
    if (r == 0)
        table_end(showing->table, NULL);
    if (r == 0)
        r = output_finish(showing->output, err);
    if (r == 0 && isatty(STDOUT_FILENO) && view_printed(showing->view) == 0)
        complain(is_filtered(showing->values)
                     ? "no entry of the audit log matches"
                     : "no agent has called a tool yet: 'gatehouse up' lets one in");
    if (r == 0 && skipped > 0) {
        char words[96];

        snprintf(words, sizeof(words), "%ju line%s of the audit log could not be read",
                 (uintmax_t)skipped, skipped == 1 ? "" : "s");
        complain(words);
    }
    return r;
}

/* Until it is stopped, or the reader of the output is gone. */
static int show_what_comes(struct showing *showing, struct err *err)
{
    int r = 0;

    while (r == 0 && stop_signal == 0 && !showing->output->has_no_reader) {
        struct pollfd fds[] = {
            {.fd = audit_reader_fd(showing->reader), .events = POLLIN},
            {.fd = STDOUT_FILENO, .events = 0}, /* errors are always reported */
        };

        if (!stop_wait(fds, array_size(fds)))
            continue;
        if ((fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
            return 0;
        r = audit_reader_follow(showing->reader, &showing->query, view_stream, showing->view, NULL,
                                err);
        if (r == 0)
            r = output_finish(showing->output, err);
    }
    return r;
}

static int show(const struct option_values *values, int dir_fd, struct err *err)
{
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    const struct audit_config config = {.dir_fd = dir_fd, .name = SESSION_AUDIT_NAME};
    bool follows = options_is_on(values, AUDIT_OPTION_FOLLOW);
    cleanup_table struct table table = {.count = 0};
    struct view_config look = {
        .output = &output,
        .is_json = options_is_on(values, AUDIT_OPTION_JSON),
        .is_on_terminal = isatty(STDOUT_FILENO),
        .table = &table,
        .shows_calls = shows_calls(values),
        .only_interrupted = wants_interrupted(values),
        .hides_own = hides_own(values),
        .limit = (size_t)options_int(values, AUDIT_OPTION_LIMIT),
    };
    struct showing showing = {.values = values, .output = &output, .table = &table};
    int r;

    rows_init(&table, &output, !shows_calls(values));
    table.has_colour = wants_colour(values);
    r = make_query(values, &showing.query, &look.until_ms, err);

    if (r == 0)
        r = audit_reader_open(&config, follows, &showing.reader, err);
    if (r == 0) {
        r = view_new(&look, &showing.view);
        if (r < 0)
            err_set_plain(err, r);
    }
    if (r == 0)
        r = show_what_is_there(&showing, err);
    if (r == 0 && follows)
        r = show_what_comes(&showing, err);
    view_free(showing.view);
    audit_reader_close(showing.reader);
    return output.has_no_reader ? 0 : r;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    char state_path[PATH_MAX];
    cleanup_fd int dir_fd = -1;
    int r;

    (void)arena;
    stop_watch(NULL);
    tzset(); /* which reads a file */
    r = find_state(values, state_path, &dir_fd, err);
    if (r == ERR_NOT_FOUND && !options_is_on(values, AUDIT_OPTION_FOLLOW)) {
        complain("the audit log is empty: no agent has used Gatehouse yet; 'gatehouse up' lets one "
                 "in");
        return 0;
    }
    if (r == 0)
        r = confine(state_path, err);
    return r == 0 ? show(values, dir_fd, err) : r;
}

static const struct runner runner = {
    .program = AUDIT_PROGRAM,
    .title = "gatehouse audit",
    .see = "'gatehouse audit --help'",
    .command = AUDIT_COMMAND,
    .checks_options_late = true,
    .check = check_options,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}

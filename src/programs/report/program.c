/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-report: writes what an agent did as one page. The process gives up all rights but
 * reading the audit log and creating the page before it looks at the first line.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options/options.h"
#include "base/printable.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/runner.h"
#include "cli/stop.h"
#include "gatehouse/audit.h"
#include "isolate/confine.h"
#include "programs/report/sessions.h"
#include "report/report.h"
#include "session/state.h"

enum { NAME_BYTES = 64 };

struct program {
    const struct option_values *values;
    char state_path[PATH_MAX];
    struct session_state state;
    struct authority_scope *folder; /* where the page goes; NULL: to standard output */
    char folder_path[PATH_MAX];
    struct str name;           /* in the folder */
    char shown_path[PATH_MAX]; /* as the user named it */
    char default_name[NAME_BYTES];
};

static const struct runner runner;

static void complain(const char *words)
{
    runner_complain(&runner, words);
}

static bool lists(const struct program *program)
{
    return options_is_on(program->values, REPORT_OPTION_LIST);
}

/* ---- where it goes ---- */

static void make_default_name(struct program *program)
{
    time_t now = (time_t)(clock_wall_ms(&clock_system) / 1000);
    struct tm parts;

    if (localtime_r(&now, &parts) == NULL ||
        strftime(program->default_name, sizeof(program->default_name),
                 "gatehouse-report-%Y-%m-%d-%H%M%S.html", &parts) == 0)
        snprintf(program->default_name, sizeof(program->default_name), "gatehouse-report.html");
}

static int refuse(const struct program *program, int code, const struct err *why, struct err *err)
{
    if (code == ERR_ALREADY_EXISTS)
        return err_set(err, code, "'%s' exists: name another file with -o", program->shown_path);
    return err_set(err, code, "cannot write '%s': %s", program->shown_path,
                   why->code != 0 ? why->message : err_text(code));
}

static int open_folder(struct program *program, struct err *err)
{
    struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "report"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "report", .path = program->folder_path},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "the user wants a report there",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT, .hardlinks = AUTHORITY_HARDLINKS_REJECT},
    };
    const struct session_state_config config = {.state_dir = program->state_path};
    struct err why = ERR_INIT;
    bool exists = false;
    int r = session_state_open(&config, &program->state, err);

    if (r < 0)
        return r;
    r = authority_request_root(program->state.authority, &request, &program->folder, &why);
    if (r == 0)
        r = authority_exists(program->folder, program->name, &exists, &why);
    if (r == 0 && exists)
        r = ERR_ALREADY_EXISTS;
    return r < 0 ? refuse(program, r, &why, err) : 0;
}

static int open_output(struct program *program, struct err *err)
{
    const char *given = options_text(program->values, REPORT_OPTION_OUTPUT);
    char *slash;
    int r;

    if (lists(program) || (given != NULL && strcmp(given, "-") == 0))
        return 0;
    make_default_name(program);
    given = given != NULL ? given : program->default_name;
    snprintf(program->shown_path, sizeof(program->shown_path), "%s", given);
    r = session_state_absolute_path(given, program->folder_path, err);
    if (r < 0)
        return r;
    slash = strrchr(program->folder_path, '/');
    program->name = str_from(strrchr(given, '/') != NULL ? strrchr(given, '/') + 1 : given);
    if (slash == NULL || program->name.len == 0 || strcmp(slash + 1, program->name.ptr) != 0)
        return err_set(err, ERR_INVALID_OPTION, "'%s' does not name a file", given);
    slash[slash == program->folder_path ? 1 : 0] = '\0';
    return open_folder(program, err);
}

static int confine(const struct program *program, struct err *err)
{
    const struct landlock_place places[] = {
        {.path = program->state_path,
         .rights = LANDLOCK_MAY_READ | (program->folder != NULL ? LANDLOCK_MAY_WRITE : 0U)},
        {.path = program->folder_path, .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE},
    };
    const struct confine_plan plan = {.places = places,
                                      .place_count = program->folder != NULL ? 2 : 1,
                                      .changes_files = program->folder != NULL,
                                      .has_closed_fds = true};
    struct confine_report report;
    int r = confine_process(&plan, &report, err);

    if (r == 0)
        confine_complain(&report, complain);
    return r;
}

/* ---- the report ---- */

static int add(void *data, struct str line, const struct json_value *record)
{
    (void)line;
    return stop_signal != 0 ? ERR_CANCELLED : report_add(data, record);
}

static int make_page(struct audit_reader *reader, struct str session, struct buf *out,
                     struct err *err)
{
    const struct audit_query query = {.subject_id = session};
    struct report *report = NULL;
    int r = report_new(session, REPORT_MAX_BYTES, &report);

    if (r == 0)
        r = audit_reader_query(reader, &query, add, report, NULL, err);
    if (r == 0 && report_calls(report) == 0)
        r = err_set(err, ERR_NOT_FOUND,
                    "the audit log has no call of session '%.*s'; --list shows the sessions",
                    STR_ARG(session));
    if (r == 0)
        r = report_write(report, clock_wall_ms(&clock_system), out);
    report_free(report);
    return r < 0 && err->code == 0 ? err_set_plain(err, r) : r;
}

static int write_page(const struct program *program, struct str page, struct err *err)
{
    const struct authority_write_options options = {.create = AUTHORITY_CREATE_NEW, .mode = 0600};
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    struct err why = ERR_INIT;
    int r;

    if (program->folder != NULL) {
        r = authority_write_bytes(program->folder, program->name, page, &options, &why);
        if (r < 0)
            return refuse(program, r, &why, err);
        output_printf(&output, "Report written to ");
        output_shown(&output, str_from(program->shown_path), PRINTABLE_LINE);
        output_line_end(&output);
        return output_finish(&output, err);
    }
    for (struct str line; str_cut(&page, '\n', &line);) {
        output_str(&output, line);
        if (page.ptr != NULL)
            output_line_end(&output);
    }
    return output_finish(&output, err);
}

static int report(const struct program *program, struct audit_reader *reader, struct err *err)
{
    cleanup_buf struct buf page = BUF_INIT(REPORT_MAX_BYTES);
    const char *given = options_argument(program->values, REPORT_ARGUMENT_SESSION);
    char last[SESSIONS_ID_BYTES];
    int r = given == NULL ? sessions_find_last(reader, last, err) : 0;

    if (r == 0)
        r = make_page(reader, str_from(given != NULL ? given : last), &page, err);
    return r == 0 ? write_page(program, buf_view(&page), err) : r;
}

static int list(struct audit_reader *reader, struct err *err)
{
    cleanup_output struct output output = OUTPUT_INIT(STDOUT_FILENO, &stop_signal);
    int r = sessions_list(reader, &output, err);

    return r == 0 ? output_finish(&output, err) : r;
}

static int run_with(struct program *program, int dir_fd, struct err *err)
{
    const struct audit_config config = {.dir_fd = dir_fd, .name = "audit.jsonl"};
    struct audit_reader *reader = NULL;
    int r = open_output(program, err);

    if (r == 0)
        r = confine(program, err);
    if (r == 0)
        r = audit_reader_open(&config, false, &reader, err);
    if (r == 0)
        r = lists(program) ? list(reader, err) : report(program, reader, err);
    audit_reader_close(reader);
    return r;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    const char *given = options_text(values, REPORT_OPTION_STATE_DIR);
    struct program program = {.values = values, .state = {.audit_dir_fd = -1}};
    cleanup_fd int dir_fd = -1;
    int r;

    (void)arena;
    stop_watch(NULL);
    tzset(); /* which reads a file */
    r = given != NULL ? session_state_absolute_path(given, program.state_path, err)
                      : session_state_default_dir(program.state_path, err);
    if (r == 0)
        r = audit_dir_find(program.state_path, &dir_fd, err);
    if (r == ERR_NOT_FOUND)
        r = err_set(
            err, r,
            "the audit log is empty: no agent has used Gatehouse yet; 'gatehouse up' lets one in");
    if (r == 0)
        r = run_with(&program, dir_fd, err);
    authority_scope_free(program.folder);
    session_state_close(&program.state);
    return r;
}

static int check_options(const struct option_values *values, struct err *err)
{
    if (options_is_on(values, REPORT_OPTION_LIST) &&
        (options_argument(values, REPORT_ARGUMENT_SESSION) != NULL ||
         options_source(values, REPORT_OPTION_OUTPUT) != OPTION_UNSET))
        return err_set(err, ERR_INVALID_OPTION, "--list stands alone: it writes no report");
    return 0;
}

static const struct runner runner = {
    .program = REPORT_PROGRAM,
    .title = "gatehouse report",
    .see = "'gatehouse report --help'",
    .command = REPORT_COMMAND,
    .checks_options_late = true,
    .check = check_options,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}

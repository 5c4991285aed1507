/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-rules: shows and changes the rules that the user has decided on for good. The process
 * gives up all rights but those to the settings before it looks at them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/options/options.h"
#include "base/printable.h"
#include "cli/output.h"
#include "cli/rules.h"
#include "cli/runner.h"
#include "programs/rules/change.h"
#include "programs/rules/explain.h"
#include "programs/rules/impact.h"
#include "programs/rules/list.h"
#include "programs/rules/rulesplace.h"
#include "programs/rules/subject.h"

enum {
    TEXT_MAX_BYTES = 4 << 20,
};

/* A signal kills the process at once: the file it was writing is complete or absent. */
static const volatile sig_atomic_t never_stopped;

struct program {
    const struct option_values *values;
    struct rules_place place;
    struct arena arena;
    struct settings settings;
    struct output output;
};

/* ---- what is said ---- */

static const struct runner runner;

static void complain(const char *words)
{
    runner_complain(&runner, words);
}

static void warn(const struct settings *settings)
{
    for (size_t i = 0; i < settings->warning_count && i < SETTINGS_MAX_WARNINGS; i++) {
        char words[ERR_MESSAGE_BYTES];

        snprintf(words, sizeof(words), "%.*s", STR_ARG(settings->warnings[i]));
        complain(words);
    }
    if (settings->warning_count > SETTINGS_MAX_WARNINGS)
        complain("and more that is not known");
}

static void tell_findings(const struct settings_findings *findings)
{
    char words[SETTINGS_FILE_NAME_BYTES + 256];

    if (!findings->is_set_aside)
        return;
    snprintf(words, sizeof(words),
             "%s was put aside because it is malformed: until you put it back mended, or remove "
             "it, its rules do not hold and no mode is above ask",
             findings->set_aside);
    complain(words);
}

static enum catalog_group group_of(const char *name)
{
    static const struct {
        const char *name;
        enum catalog_group group;
    } short_names[] = {{"read", CATALOG_FILESYSTEM_READ},
                       {"write", CATALOG_FILESYSTEM_WRITE},
                       {"screen", CATALOG_COMPUTER}};
    enum catalog_group group;

    for (size_t i = 0; i < array_size(short_names); i++)
        if (strcmp(name, short_names[i].name) == 0)
            return short_names[i].group;
    if (!settings_group_from(str_from(name), &group))
        abort(); /* the options have checked it */
    return group;
}

/* ---- the settings ---- */

static int read_template(struct program *program, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SETTINGS_MAX_BYTES);
    const char *copy;
    int r = settings_write_template(&text);

    if (r < 0)
        return err_set_plain(err, r);
    copy = arena_copy(&program->arena, buf_view(&text));
    if (copy == NULL)
        return err_set_plain(err, program->arena.error);
    return settings_parse(&program->arena, (struct str){copy, text.len}, &program->settings, err);
}

static int use_template(struct program *program, struct err *err)
{
    struct settings_findings findings = {.is_set_aside = false};
    int r = read_template(program, err);

    if (r == 0 && program->place.file != NULL)
        r = settings_file_look_aside(program->place.file, &findings, err);
    if (r < 0)
        return r;
    if (findings.is_set_aside)
        permission_modes_cap_ask(&program->settings.modes);
    tell_findings(&findings);
    return 0;
}

/* Reads the settings without creating or renaming anything, and reports the findings. */
static int look(struct program *program, struct err *err)
{
    struct settings_findings findings;
    struct err why = ERR_INIT;
    int r = program->place.file == NULL ? ERR_NOT_FOUND
                                        : settings_file_reload(program->place.file, &program->arena,
                                                               &program->settings, &findings, &why);

    if (r == ERR_NOT_FOUND)
        return use_template(program, err);
    if (r == ERR_SETTINGS)
        return err_set(err, r, "%s; mend it there", why.message);
    if (r < 0)
        return err_set(err, r, "%s", why.message);
    if (settings_file_note(program->place.file)[0] != '\0')
        complain(settings_file_note(program->place.file));
    tell_findings(&findings);
    warn(&program->settings);
    return 0;
}

/* ---- the commands ---- */

static int run_list(struct program *program, struct err *err)
{
    const char *group = options_text(program->values, RULES_LIST_GROUP);
    struct list_view view = {.wall_ms = clock_wall_ms(&clock_system), .has_group = group != NULL};
    int r = look(program, err);

    if (r < 0)
        return r;
    view.rules = program->settings.rules;
    view.count = program->settings.rule_count;
    if (group != NULL)
        view.group = group_of(group);
    r = options_is_on(program->values, RULES_LIST_JSON) ? list_json(&program->output, &view)
                                                        : list_text(&program->output, &view);
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int tell_change(struct program *program, struct str what, const struct rule *rule,
                       struct err *err)
{
    int r;

    output_str(&program->output, what);
    r = list_one(&program->output, rule, clock_wall_ms(&clock_system));
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* The mode takes precedence over allow rules. */
static void tell_mode(const struct program *program, const struct rule *rule)
{
    char words[128];

    if (rule->effect != RULE_ALLOW || program->settings.modes.of[rule->group] != PERMISSION_DENY)
        return;
    snprintf(words, sizeof(words),
             "the mode of %s is deny, so for now this allows nothing: see 'permissions' in the "
             "settings",
             catalog_group_name(rule->group));
    complain(words);
}

static void tell_count(struct output *output, const struct impact_count *count, const char *more)
{
    char words[128];

    snprintf(words, sizeof(words), "It touches %s%zu of %s%zu ", count->is_partial ? more : "",
             count->touched, count->is_partial ? more : "", count->looked_at);
    output_str(output, str_from(words));
}

/* The calls are the newest ones, however many were looked at. What cannot be counted is left out.
 */
static void tell_impact(struct program *program, const struct rule *rule)
{
    struct output *output = &program->output;
    struct impact_count count;

    if (program->place.state.audit_dir_fd >= 0 &&
        impact_count_calls(rule, program->place.state.audit_dir_fd, &clock_system, &count, NULL) ==
            0 &&
        count.looked_at > 0) {
        tell_count(output, &count, "");
        output_str(output, STR("recent calls in the audit log."));
        output_line_end(output);
    }
    if (program->place.folder != NULL &&
        impact_count_files(rule, program->place.folder, program->place.folder_path, &clock_system,
                           &count, NULL) == 0) {
        tell_count(output, &count, "more than ");
        output_str(output, STR("files in "));
        output_shown(output, str_from(program->place.folder_path), PRINTABLE_LINE);
        output_str(output, STR("."));
        output_line_end(output);
    }
}

static int run_add(struct program *program, struct err *err)
{
    const struct option_values *values = program->values;
    const char *effect = options_argument(values, RULES_ADD_ARG_EFFECT);
    const struct change_wish wish = {
        .effect = strcmp(effect, "allow") == 0 ? RULE_ALLOW : RULE_DENY,
        .group = group_of(options_argument(values, RULES_ADD_ARG_GROUP)),
        .match = options_argument(values, RULES_ADD_ARG_MATCH),
        .cwd = options_text(values, RULES_ADD_CWD),
        .expires = options_text(values, RULES_ADD_EXPIRES),
        .note = options_text(values, RULES_ADD_NOTE),
    };
    struct rule rule;
    bool is_new;
    int r = change_read_wish(&program->arena, &wish, clock_wall_ms(&clock_system), &rule, err);

    if (r == 0 && !subject_is_file(wish.group) && options_text(values, RULES_ADD_COUNT_IN) != NULL)
        r = err_set(err, ERR_INVALID_OPTION, "--count-in applies only to paths");
    if (r == 0)
        r = look(program, err);
    if (r < 0)
        return r;
    r = settings_file_add_rule(program->place.file, &rule, err);
    if (r < 0 && r != ERR_ALREADY_EXISTS)
        return r;
    is_new = r == 0;
    tell_mode(program, &rule);
    r = tell_change(program, is_new ? STR("Added ") : STR("There already: "), &rule, err);
    if (r == 0 && is_new)
        tell_impact(program, &rule);
    return r;
}

static int run_revoke(struct program *program, struct err *err)
{
    const char *group = options_text(program->values, RULES_REVOKE_GROUP);
    struct change_search search = {
        .words = str_from(options_argument(program->values, RULES_REVOKE_ARG_RULE)),
        .has_group = group != NULL};
    char id[SETTINGS_ID_BYTES];
    size_t index;
    int r = look(program, err);

    if (group != NULL)
        search.group = group_of(group);
    if (r == 0)
        r = change_find(&program->settings, &search, &index, err);
    if (r < 0)
        return r;
    r = settings_rule_id(&program->settings.rules[index], id);
    if (r < 0)
        return err_set_plain(err, r);
    /* By all of its id: whatever the file has become since, no other goes. */
    r = settings_file_revoke(program->place.file, str_from(id), err);
    return r == 0 ? tell_change(program, STR("Revoked "), &program->settings.rules[index], err) : r;
}

static void read_modes(const struct option_values *values, struct explain_question *question)
{
    for (size_t group = 0; group < PERMISSION_GROUPS; group++) {
        const char *mode = options_text(values, RULES_EXPLAIN_PERMISSION_READ + group);

        question->has_mode[group] =
            mode != NULL && permission_mode_from(str_from(mode), &question->modes.of[group]);
    }
}

static int run_explain(struct program *program, struct err *err)
{
    const struct option_values *values = program->values;
    const char *protected_dirs[OWNPLACES_MAX + 3];
    size_t count = 0;
    struct explain_question question = {
        .group = group_of(options_argument(values, RULES_EXPLAIN_ARG_GROUP)),
        .resource = options_argument(values, RULES_EXPLAIN_ARG_RESOURCE),
        .resolved = options_text(values, RULES_EXPLAIN_RESOLVED),
        .cwd = options_text(values, RULES_EXPLAIN_CWD),
        .protected_dirs = protected_dirs,
    };
    cleanup_buf struct buf text = BUF_INIT(TEXT_MAX_BYTES);
    struct str rest;
    struct str line;
    int r = look(program, err);

    for (size_t i = 0; i < program->place.state.own.count; i++)
        protected_dirs[count++] = program->place.state.own.items[i].path;
    protected_dirs[count++] = program->place.state.state_path;
    if (program->place.file != NULL)
        protected_dirs[count++] = settings_file_dir(program->place.file);
    protected_dirs[count] = NULL;
    read_modes(values, &question);
    if (r == 0)
        r = explain_decision(&program->arena, &program->settings, &question, &text, err);
    if (r < 0)
        return r;
    rest = str_trim(buf_view(&text));
    while (str_cut(&rest, '\n', &line)) {
        output_shown(&program->output, line, PRINTABLE_LINE);
        output_line_end(&program->output);
    }
    return 0;
}

static bool only_reads(const struct option_command *chosen)
{
    return chosen == &rules_commands[RULES_LIST] || chosen == &rules_commands[RULES_EXPLAIN];
}

static int run_command(struct program *program, struct err *err)
{
    switch (program->values->command - rules_commands) {
    case RULES_LIST:
        return run_list(program, err);
    case RULES_ADD:
        return run_add(program, err);
    case RULES_REVOKE:
    case RULES_RM:
        return run_revoke(program, err);
    default:
        return run_explain(program, err);
    }
}

/* ---- the order of things ---- */

static bool adds_path_rule(const struct option_values *values)
{
    return values->command == &rules_commands[RULES_ADD] &&
           subject_is_file(group_of(options_argument(values, RULES_ADD_ARG_GROUP)));
}

static int open_place(struct program *program, struct err *err)
{
    bool counts = adds_path_rule(program->values);
    const char *given = counts ? options_text(program->values, RULES_ADD_COUNT_IN) : NULL;
    const struct rules_place_config config = {
        .counted_dir = counts ? (given != NULL ? given : ".") : NULL,
        .has_to_count = given != NULL,
        .settings_dir = options_text(program->values->above, RULES_OPTION_SETTINGS_DIR),
        .state_dir = options_text(program->values->above, RULES_OPTION_STATE_DIR),
        .only_reads = only_reads(program->values->command),
    };

    return rules_place_open(&config, &program->place, err);
}

static int confine(const struct rules_place *place, struct err *err)
{
    struct confine_report report;
    int r = place_confine(place, &report, err);

    if (r == 0)
        confine_complain(&report, complain);
    return r;
}

static int work(struct program *program, struct err *err)
{
    int r = open_place(program, err);

    if (r == 0)
        r = confine(&program->place, err);
    if (r == 0)
        r = run_command(program, err);
    if (r == 0)
        r = output_finish(&program->output, err);
    if (program->place.state.audit != NULL) {
        audit_file_flush(program->place.state.audit);
        if (audit_file_untold(program->place.state.audit) > 0)
            complain("cannot write the audit log, so this is not in it");
    }
    return r;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct program program = {.values = values,
                              .place = {.state = {.audit_dir_fd = -1}},
                              .arena = ARENA_INIT(SETTINGS_ARENA_BYTES),
                              .output = OUTPUT_INIT(STDOUT_FILENO, &never_stopped)};
    int r;

    (void)arena;
    tzset(); /* which reads a file */
    r = work(&program, err);
    rules_place_close(&program.place);
    output_done(&program.output);
    arena_done(&program.arena);
    return r;
}

static const struct runner runner = {
    .program = RULES_PROGRAM,
    .title = "gatehouse rules",
    .see = "'gatehouse rules --help'",
    .command = RULES_COMMAND,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* shell_execute, with commands that the test simulates. */
#include "shellbench.h"

#include "shell/shellprovider.h"

static void a_command_that_ends_gives_its_streams_and_code(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"make all\"}");
    struct played *played = let_start(bench);

    assert_string_equal(played->shell, "/bin/bash");
    assert_string_equal(played->text, "make all");
    assert_string_equal(played->cwd, "/folder");
    assert_string_equal(played->terminal, "TERM=dumb");
    assert_false(played->asked.has_input);
    assert_false(played->asked.has_terminal);
    print(bench, played->output, STR("out\n"));
    print(bench, played->errors, STR("err"));
    assert_int_equal(answer->count, 0);
    let_exit(bench, played, 0);
    assert_answer(answer, false, "{\"stdout\":\"out\\n\",\"stderr\":\"err\",\"exitCode\":0}");
    assert_recorded(bench, "shell_execute intent 'make all' in '' - by user: a test\n"
                           "shell_execute success 'make all' in '' - by user: exit code 0\n");
}

static void a_code_other_than_0_is_an_error_too(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"false\"}");

    let_exit(bench, let_start(bench), 3);
    assert_answer(answer, true, "{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":3}");
}

static void a_signal_leaves_no_code(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"crash\"}");

    let_end(bench, let_start(bench), (struct starter_end){.is_signal = true, .value = SIGSEGV});
    assert_answer(answer, true,
                  "{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":null,\"signal\":\"SEGV\"}");
    answer = ask(bench, "shell_execute", "{\"command\":\"lost\"}");
    let_end(bench, let_start(bench), (struct starter_end){.error = ERR_IO});
    assert_answer(answer, true, "{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":null}");
}

static void time_ends_with_what_was_printed(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"sleep\"}");
    struct played *played = let_start(bench);

    print(bench, played->output, STR("so far"));
    pass_time(bench, SHELL_TIMEOUT_MS - 1);
    assert_int_equal(played->signals, 0);
    pass_time(bench, 1);
    assert_int_equal(played->last_signal, SIGKILL);
    assert_int_equal(answer->count, 0); /* not before it is gone */
    buf_clear(&bench->record);
    let_end(bench, played, (struct starter_end){.is_signal = true, .value = SIGKILL});
    assert_answer(answer, false,
                  "{\"stdout\":\"so far\",\"stderr\":\"\",\"exitCode\":null,\"timedOut\":true}");
    assert_recorded(bench, "shell_execute failed 'sleep' in '' timed_out by user: "
                           "timed out\n");
}

static void a_time_that_seems_to_be_in_seconds_is_told(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"make\",\"timeout\":30}");
    struct played *played = let_start(bench);

    pass_time(bench, 30);
    let_end(bench, played, (struct starter_end){.is_signal = true, .value = SIGKILL});
    assert_answer(answer, false,
                  "{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":null,\"timedOut\":true,"
                  "\"hint\":\"timeout counts milliseconds: for 30 seconds give 30000\"}");
    answer = ask(bench, "shell_execute", "{\"command\":\"make\",\"timeout\":1000}");
    played = let_start(bench);
    pass_time(bench, 1000);
    let_end(bench, played, (struct starter_end){.is_signal = true, .value = SIGKILL});
    assert_answer(answer, false,
                  "{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":null,\"timedOut\":true}");
}

static void a_launcher_that_hangs_does_not_hang_the_call(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"sleep\"}");
    struct answer *cancelled;
    struct played *played = let_start(bench);

    print(bench, played->output, STR("so far"));
    pass_time(bench, SHELL_TIMEOUT_MS);
    pass_time(bench, 4999);
    assert_int_equal(answer->count, 0);
    pass_time(bench, 1);
    assert_true(played->is_forgotten);
    assert_answer(answer, false,
                  "{\"stdout\":\"so far\",\"stderr\":\"\",\"exitCode\":null,"
                  "\"timedOut\":true}");
    cancelled = ask(bench, "shell_execute", "{\"command\":\"sleep\"}");
    shell_cancel(bench->shell, cancelled->id);
    pass_time(bench, 5000);
    assert_true(last_played(bench)->is_forgotten);
    assert_int_equal(cancelled->error, ERR_CANCELLED);
}

static void the_time_is_lowered_and_raised_up_to_a_ceiling(void **state)
{
    static const struct {
        const char *arguments;
        int64_t ms;
    } cases[] = {
        {"{\"command\":\"sleep\",\"timeout\":5}", 5},
        {"{\"command\":\"sleep\",\"timeout\":1.5e3}", 1500},
        {"{\"command\":\"sleep\",\"timeout\":100000}", 100000},
        {"{\"command\":\"sleep\",\"timeout\":100000000}", SHELL_MAX_TIMEOUT_MS},
    };
    struct shellbench *bench = *state;

    for (size_t i = 0; i < array_size(cases); i++) {
        struct played *played;

        ask(bench, "shell_execute", cases[i].arguments);
        played = let_start(bench);
        pass_time(bench, cases[i].ms - 1);
        assert_int_equal(played->signals, 0);
        pass_time(bench, 1);
        assert_int_equal(played->signals, 1);
        let_exit(bench, played, 0);
    }
}

static void who_keeps_the_pipes_open_holds_nothing_up(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"daemon &\"}");
    struct played *played = let_start(bench);

    print(bench, played->output, STR("started\n"));
    played->events.on_ended(played->events.data, (struct starter_end){0});
    turn(bench);
    assert_int_equal(answer->count, 0);
    print(bench, played->output, STR("the rest\n"));
    pass_time(bench, 1000);
    assert_answer(answer, false,
                  "{\"stdout\":\"started\\nthe rest\\n\",\"stderr\":\"\",\"exitCode\":0}");
}

static void cancelling_kills_and_answers_when_it_is_gone(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"sleep\"}");
    struct played *played = let_start(bench);

    shell_cancel(bench->shell, answer->id + 1);
    assert_int_equal(played->signals, 0);
    shell_cancel(bench->shell, answer->id);
    assert_int_equal(played->last_signal, SIGKILL);
    assert_int_equal(answer->count, 0);
    let_end(bench, played, (struct starter_end){.is_signal = true, .value = SIGKILL});
    assert_int_equal(answer->count, 1);
    assert_int_equal(answer->error, ERR_CANCELLED);
    shell_cancel(bench->shell, answer->id);
}

static void a_call_that_was_cancelled_before_it_began_starts_nothing(void **state)
{
    struct shellbench *bench = *state;
    struct answer answer = {.bench = bench};
    uint64_t id = shell_run(prepare(bench, "shell_execute", "{\"command\":\"ls\"}"),
                            &(struct shell_events){.on_done = bench_done, .data = &answer});

    shell_cancel(bench->shell, id);
    turn(bench);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.error, ERR_CANCELLED);
    assert_int_equal(bench->played_count, 0);
    assert_recorded(bench, "");
}

static void what_cannot_be_recorded_is_not_run(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer;

    bench->refuses_intents = true;
    answer = ask(bench, "shell_execute", "{\"command\":\"ls\"}");
    assert_answer(answer, true,
                  "{\"error\":\"the audit log could not be written, so nothing was changed\"}");
    assert_int_equal(bench->played_count, 0);
    answer = ask(bench, "shell_start", "{\"command\":\"ls\"}");
    assert_answer(answer, true,
                  "{\"error\":\"the audit log could not be written, so nothing was changed\"}");
    assert_int_equal(bench->played_count, 0);
}

static void progress_tells_bytes_and_the_last_line(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"make\"}");
    struct played *played = let_start(bench);

    pass_time(bench, 500);
    assert_int_equal(answer->progress, 0);
    print(bench, played->output, STR("[1/9] a\n[2/9] b\n"));
    print(bench, played->errors, STR("warning"));
    assert_int_equal(answer->progress, 0);
    pass_time(bench, 500);
    assert_int_equal(answer->progress, 1);
    assert_int_equal(answer->progress_bytes, 23);
    assert_string_equal(answer->progress_line, "[2/9] b");
    pass_time(bench, 500);
    assert_int_equal(answer->progress, 1);
    let_exit(bench, played, 0);
    pass_time(bench, 1000);
    assert_int_equal(answer->progress, 1);
}

static void output_has_a_ceiling(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer;
    struct played *played;

    bench_open(bench, (struct shell_config){.max_output_bytes = 8});
    answer = ask(bench, "shell_execute", "{\"command\":\"yes\"}");
    played = let_start(bench);
    print(bench, played->output, STR("0123456789"));
    let_exit(bench, played, 0);
    assert_answer(answer, false,
                  "{\"stdout\":\"0123\\n[… 2 bytes omitted …]\\n6789\",\"stderr\":\"\","
                  "\"exitCode\":0}");
}

static void refuse_start(struct shellbench *bench, int code, const char *field, const char *why)
{
    struct played *played = last_played(bench);
    struct err err = ERR_INIT;

    err_set_field(&err, code, field, "%s", why);
    played->events.on_started(played->events.data, code, &err, (struct starter_fds){-1, -1, -1});
    turn(bench);
}

static void where_there_is_no_bash_it_is_sh(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"ls\"}");

    refuse_start(bench, ERR_NOT_FOUND, "command", "/bin/bash: not found");
    assert_int_equal(bench->played_count, 2);
    assert_string_equal(last_played(bench)->shell, "/bin/sh");
    let_exit(bench, let_start(bench), 0);
    assert_answer(answer, false, "{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":0}");
    /* From then on at once; and sh has no other after it. */
    answer = ask(bench, "shell_start", "{\"command\":\"ls\"}");
    assert_string_equal(last_played(bench)->shell, "/bin/sh");
    refuse_start(bench, ERR_NOT_FOUND, "command", "/bin/sh: not found");
    assert_int_equal(bench->played_count, 3);
    assert_answer(answer, true, "{\"error\":\"cannot start the command: /bin/sh: not found\"}");
}

static void what_cannot_be_started_says_why(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"ls\"}");

    refuse_start(bench, ERR_UNSUPPORTED, "", "no user namespaces here");
    assert_answer(answer, true,
                  "{\"error\":\"cannot start the command: no user namespaces here\"}");
    bench->start_error = ERR_BUSY;
    answer = ask(bench, "shell_execute", "{\"command\":\"ls\"}");
    assert_answer(
        answer, true,
        "{\"error\":\"cannot start the command: too many requests are waiting; try again later\"}");
    answer = ask(bench, "shell_start", "{\"command\":\"ls\"}");
    assert_answer(
        answer, true,
        "{\"error\":\"cannot start the command: too many requests are waiting; try again later\"}");
    assert_int_equal(bench->played_count, 1);
}

static void commands_at_a_time_have_a_ceiling(void **state)
{
    struct shellbench *bench = *state;
    struct answer *first = ask(bench, "shell_execute", "{\"command\":\"ls\"}");
    struct played *played = let_start(bench);

    for (int i = 1; i < SHELL_MAX_RUNNING; i++)
        ask(bench, "shell_execute", "{\"command\":\"ls\"}");
    assert_int_equal(bench->played_count, SHELL_MAX_RUNNING);
    assert_answer(ask(bench, "shell_execute", "{\"command\":\"ls\"}"), true,
                  "{\"error\":\"32 commands are already running; wait for one to end\"}");
    let_exit(bench, played, 0);
    assert_int_equal(first->count, 1);
    ask(bench, "shell_execute", "{\"command\":\"ls\"}");
    assert_int_equal(bench->played_count, SHELL_MAX_RUNNING + 1);
}

static void the_end_of_a_session_ends_its_commands_and_no_others(void **state)
{
    struct shellbench *bench = *state;
    struct answer *mine = ask(bench, "shell_execute", "{\"command\":\"mine\"}");
    struct played *my_command = let_start(bench);
    struct answer *other = ask_as(bench, state, "shell_execute", "{\"command\":\"other\"}");
    struct played *other_command = let_start(bench);

    buf_clear(&bench->record);
    shell_end_session(bench->shell, bench);
    assert_true(my_command->is_forgotten);
    assert_recorded(bench, "shell_execute failed 'mine' in '' cancelled by user: cancelled\n");
    turn(bench);
    assert_int_equal(mine->error, ERR_CANCELLED);
    assert_false(other_command->is_forgotten);
    let_exit(bench, other_command, 0);
    assert_int_equal(other->count, 1);
    assert_int_equal(other->error, 0);
}

static void the_end_of_the_shell_ends_everything(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer = ask(bench, "shell_execute", "{\"command\":\"ls\"}");

    let_start(bench);
    ask(bench, "shell_start", "{\"command\":\"job\"}");
    let_start(bench);
    shell_free(steal_ptr(&bench->shell));
    assert_int_equal(answer->count, 1);
    assert_int_equal(answer->error, ERR_CANCELLED);
    assert_true(bench->played[0].is_forgotten);
    assert_true(bench->played[1].is_forgotten);
}

static void a_command_has_the_name_of_rules_and_its_directory(void **state)
{
    static const struct {
        const char *arguments;
        const char *command;
        const char *cwd;
    } cases[] = {
        {"{\"command\":\" sudo /usr/bin/apt install foo \"}", "apt install foo", "/folder"},
        {"{\"command\":\"ls\",\"cwd\":\"src\"}", "ls", "/folder/src"},
        {"{\"command\":\"ls\",\"cwd\":\"src/..\"}", "ls", "/folder"},
        {"{\"command\":\"ls\",\"cwd\":\"/link/to/folder/src\"}", "ls", "/folder/src"},
        {"{\"command\":\"ls\",\"cwd\":\"/folder\"}", "ls", "/folder"},
    };
    struct shellbench *bench = *state;

    for (size_t i = 0; i < array_size(cases); i++) {
        struct shell_call *call = prepare(bench, "shell_execute", cases[i].arguments);
        struct permission_resource resource;
        struct str text;

        assert_true(shell_resource(call, bench, &resource, &text));
        assert_int_equal(resource.group, CATALOG_SHELL);
        assert_true(str_eq_c(permission_resource_name(&resource), cases[i].command));
        assert_true(str_ends_with(str_trim(text), resource.resolved));
        /* Rules that deny see all of it. */
        assert_true(str_eq(resource.given, text));
        assert_true(str_eq_c(resource.cwd, cases[i].cwd));
        shell_drop(call);
    }
}

/* An agent may have put them there, under a name that a rule allows. */
static void programs_that_commands_may_change_keep_their_paths(void **state)
{
    static const char *const kept[] = {"/folder/bin/git status", "/link/to/folder/bin/git status",
                                       "/cache/bin/git status", "/usr/../cache/git status"};
    struct shellbench *bench = *state;
    struct permission_resource resource;
    struct shell_call *call;

    for (size_t i = 0; i < array_size(kept); i++) {
        char arguments[BENCH_TEXT];

        snprintf(arguments, sizeof(arguments), "{\"command\":\"%s\"}", kept[i]);
        call = prepare(bench, "shell_execute", arguments);
        assert_true(shell_resource(call, bench, &resource, NULL));
        assert_true(str_eq_c(permission_resource_name(&resource), kept[i]));
        shell_drop(call);
    }
    call = prepare(bench, "shell_execute", "{\"command\":\"/folders/bin/git status\"}");
    assert_true(shell_resource(call, bench, &resource, NULL));
    assert_str(permission_resource_name(&resource), "git status");
    shell_drop(call);
}

static void arguments_that_name_nothing_are_refused(void **state)
{
    static const struct {
        const char *arguments;
        int code;
        const char *message;
    } cases[] = {
        {"{}", ERR_SCHEMA_MISMATCH, "command is required"},
        {"{\"command\":\" \\n\"}", ERR_INVALID_ARGUMENT, "command is empty"},
        {"{\"command\":\"a\\u0000b\"}", ERR_INVALID_ARGUMENT,
         "command: must not contain a NUL character"},
        {"{\"command\":\"ls\",\"cwd\":\"..\"}", ERR_PATH_OUTSIDE_ROOT,
         "cwd is outside the root; give a directory inside it"},
        {"{\"command\":\"ls\",\"cwd\":\"/etc\"}", ERR_PATH_OUTSIDE_ROOT,
         "cwd is outside the root; give a directory inside it"},
        {"{\"command\":\"ls\",\"cwd\":\"/folders\"}", ERR_PATH_OUTSIDE_ROOT,
         "cwd is outside the root; give a directory inside it"},
    };
    struct shellbench *bench = *state;
    struct shell_call *call;

    for (size_t i = 0; i < array_size(cases); i++) {
        assert_int_equal(try_prepare(bench, "shell_execute", cases[i].arguments, &call),
                         cases[i].code);
        assert_string_equal(bench->err.message, cases[i].message);
    }
    assert_int_equal(try_prepare(bench, "read_file", "{\"filePath\":\"file\"}", &call),
                     ERR_NOT_FOUND);
}

/* Whoever decides is asked first: the error says what exists. */
static void a_missing_directory_is_told_to_who_may_run_the_command(void **state)
{
    struct shellbench *bench = *state;
    struct permission_resource resource;
    struct shell_call *call =
        prepare(bench, "shell_execute", "{\"command\":\"ls\",\"cwd\":\"none/x\"}");

    assert_true(shell_resource(call, bench, &resource, NULL));
    assert_true(str_eq(resource.cwd, STR("/folder/none/x")));
    shell_drop(call);
    assert_answer(ask(bench, "shell_execute", "{\"command\":\"ls\",\"cwd\":\"none/x\"}"), true,
                  "{\"error\":\"cwd: no such directory\"}");
    assert_answer(ask(bench, "shell_start", "{\"command\":\"ls\",\"cwd\":\"file\"}"), true,
                  "{\"error\":\"cwd is not a directory\"}");
    assert_answer(ask(bench, "shell_start", "{\"command\":\"ls\",\"cwd\":\"file/x\"}"), true,
                  "{\"error\":\"cwd is not a directory\"}");
}

static void without_the_grant_nothing_is_executed_or_typed(void **state)
{
    struct shellbench *bench = *state;
    struct shell_call *call;

    assert_true(authority_revoke(bench->authority, authority_scope_grant(bench->scope)));
    assert_int_equal(try_prepare(bench, "shell_execute", "{\"command\":\"ls\"}", &call),
                     ERR_GRANT_REVOKED);
    assert_int_equal(try_prepare(bench, "shell_start", "{\"command\":\"ls\"}", &call),
                     ERR_GRANT_REVOKED);
    assert_int_equal(
        try_prepare(bench, "shell_input", "{\"jobId\":\"job1\",\"text\":\"x\"}", &call),
        ERR_GRANT_REVOKED);
    /* What was started can be stopped. */
    shell_drop(prepare(bench, "shell_stop", "{\"jobId\":\"job1\"}"));
}

static void a_refusal_stands_in_the_record(void **state)
{
    struct shellbench *bench = *state;
    struct shell_call *call =
        prepare(bench, "shell_execute", "{\"command\":\"rm -r .\",\"cwd\":\"src\"}");

    shell_refuse(call, bench, "deny-rule", "prefix:rm", ERR_DENIED_BY_POLICY);
    shell_drop(call);
    assert_recorded(bench, "shell_execute denied 'rm -r .' in 'src' denied_by_policy by "
                           "deny-rule: a test\n");
    call = prepare(bench, "shell_list", "{}");
    shell_refuse(call, bench, "mode", NULL, ERR_DENIED_BY_POLICY);
    shell_drop(call);
    assert_recorded(bench, "");
}

static void only_tools_of_the_shell_are_here(void **state)
{
    (void)state;
    for (size_t i = 0; i < catalog_tool_count; i++)
        assert_int_equal(provider_owns(&shell_provider, &catalog_tools[i]),
                         catalog_tools[i].group == CATALOG_SHELL);
}

TEST_MAIN(shell_test(a_command_that_ends_gives_its_streams_and_code),
          shell_test(a_code_other_than_0_is_an_error_too), shell_test(a_signal_leaves_no_code),
          shell_test(time_ends_with_what_was_printed),
          shell_test(a_time_that_seems_to_be_in_seconds_is_told),
          shell_test(a_launcher_that_hangs_does_not_hang_the_call),
          shell_test(the_time_is_lowered_and_raised_up_to_a_ceiling),
          shell_test(who_keeps_the_pipes_open_holds_nothing_up),
          shell_test(cancelling_kills_and_answers_when_it_is_gone),
          shell_test(a_call_that_was_cancelled_before_it_began_starts_nothing),
          shell_test(what_cannot_be_recorded_is_not_run),
          shell_test(progress_tells_bytes_and_the_last_line), shell_test(output_has_a_ceiling),
          shell_test(where_there_is_no_bash_it_is_sh), shell_test(what_cannot_be_started_says_why),
          shell_test(commands_at_a_time_have_a_ceiling),
          shell_test(the_end_of_a_session_ends_its_commands_and_no_others),
          shell_test(the_end_of_the_shell_ends_everything),
          shell_test(a_command_has_the_name_of_rules_and_its_directory),
          shell_test(programs_that_commands_may_change_keep_their_paths),
          shell_test(arguments_that_name_nothing_are_refused),
          shell_test(a_missing_directory_is_told_to_who_may_run_the_command),
          shell_test(without_the_grant_nothing_is_executed_or_typed),
          shell_test(a_refusal_stands_in_the_record), shell_test(only_tools_of_the_shell_are_here))

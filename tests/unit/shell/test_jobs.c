/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs, with commands that the test simulates. */
#include "shellbench.h"

#define Y_TYPED                                                                                    \
    "input for a running job: 2 bytes, SHA-256 "                                                   \
    "3bb2abb69ebb27fbfe63c7639624c6ec5e331b841a5bc8c3ebc10b9285e90877: \"y\\n\""

/* The first job of a bench. */
static struct played *start_job(struct shellbench *bench, const char *arguments)
{
    struct answer *answer = ask(bench, "shell_start", arguments);
    struct played *played = let_start(bench);

    assert_answer(answer, false, "{\"jobId\":\"job1\",\"state\":\"running\"}");
    return played;
}

static void a_job_is_told_of_when_it_has_started(void **state)
{
    struct shellbench *bench = *state;
    struct answer *answer =
        ask(bench, "shell_start", "{\"command\":\"npm run dev\",\"cwd\":\"src\"}");
    struct played *played;

    assert_int_equal(answer->count, 0);
    assert_answer(ask(bench, "shell_list", "{}"), false, "{\"jobs\":[]}");
    played = let_start(bench);
    assert_answer(answer, false, "{\"jobId\":\"job1\",\"state\":\"running\"}");
    assert_string_equal(played->cwd, "/folder/src");
    assert_string_equal(played->terminal, "TERM=dumb");
    assert_true(played->asked.has_input);
    print(bench, played->output, STR("hi"));
    assert_answer(
        ask(bench, "shell_list", "{}"), false,
        "{\"jobs\":[{\"jobId\":\"job1\",\"state\":\"running\",\"command\":\"npm run dev\","
        "\"cwd\":\"src\",\"startedAt\":\"2026-01-02T03:04:05.000Z\",\"outputBytes\":2,"
        "\"terminal\":false}]}");
    let_exit(bench, played, 1);
    assert_recorded(bench, "shell_start intent 'npm run dev' in 'src' - by user: a test\n"
                           "shell_start success 'npm run dev' in 'src' - by user: exit code 1\n");
}

static void output_comes_once_and_from_any_cursor(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");

    print(bench, played->output, STR("one "));
    print(bench, played->errors, STR("two "));
    assert_answer(
        ask(bench, "shell_output", "{\"jobId\":\"job1\"}"), false,
        "{\"output\":\"one two \",\"cursor\":8,\"jobId\":\"job1\",\"state\":\"running\"}");
    assert_answer(ask(bench, "shell_output", "{\"jobId\":\"job1\"}"), false,
                  "{\"output\":\"\",\"cursor\":8,\"jobId\":\"job1\",\"state\":\"running\"}");
    print(bench, played->output, STR("three"));
    assert_answer(ask(bench, "shell_output", "{\"jobId\":\"job1\",\"cursor\":4}"), false,
                  "{\"output\":\"two three\",\"cursor\":13,\"jobId\":\"job1\","
                  "\"state\":\"running\"}");
    let_exit(bench, played, 7);
    assert_answer(ask(bench, "shell_output", "{\"jobId\":\"job1\"}"), false,
                  "{\"output\":\"\",\"cursor\":13,\"jobId\":\"job1\",\"state\":\"ended\","
                  "\"exitCode\":7}");
}

static void a_reader_waits_for_output_or_its_time(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");
    struct answer *answer = ask(bench, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":1000}");

    pass_time(bench, 999);
    assert_int_equal(answer->count, 0);
    pass_time(bench, 1);
    assert_answer(answer, false,
                  "{\"output\":\"\",\"cursor\":0,\"jobId\":\"job1\",\"state\":\"running\"}");

    /* What comes together is told together. */
    answer = ask(bench, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":1000}");
    print(bench, played->output, STR("a"));
    assert_int_equal(answer->count, 0);
    pass_time(bench, 10);
    print(bench, played->output, STR("b"));
    pass_time(bench, 10);
    assert_answer(answer, false,
                  "{\"output\":\"ab\",\"cursor\":2,\"jobId\":\"job1\",\"state\":\"running\"}");

    /* That does not make the wait longer. */
    answer = ask(bench, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":5}");
    print(bench, played->output, STR("c"));
    pass_time(bench, 5);
    assert_answer(answer, false,
                  "{\"output\":\"c\",\"cursor\":3,\"jobId\":\"job1\",\"state\":\"running\"}");

    /* Nobody waits for what is there. */
    print(bench, played->output, STR("d"));
    answer = ask(bench, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":1000}");
    assert_answer(answer, false,
                  "{\"output\":\"d\",\"cursor\":4,\"jobId\":\"job1\",\"state\":\"running\"}");
}

static void a_reader_that_waits_is_told_of_the_end(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");
    struct answer *answer = ask(bench, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":1000}");

    let_end(bench, played, (struct starter_end){.is_signal = true, .value = SIGTERM});
    assert_answer(answer, false,
                  "{\"output\":\"\",\"cursor\":0,\"jobId\":\"job1\",\"state\":\"ended\","
                  "\"exitCode\":null,\"signal\":\"TERM\"}");
}

static void what_is_no_longer_kept_is_counted(void **state)
{
    struct shellbench *bench = *state;
    struct played *played;

    bench_open(bench, (struct shell_config){.max_history_bytes = 4});
    played = start_job(bench, "{\"command\":\"server\"}");
    print(bench, played->output, STR("0123456789"));
    assert_answer(ask(bench, "shell_output", "{\"jobId\":\"job1\"}"), false,
                  "{\"output\":\"6789\",\"cursor\":10,\"droppedBytes\":6,\"jobId\":\"job1\","
                  "\"state\":\"running\"}");
}

static void much_output_comes_in_steps(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");
    char piece[4096];
    const char *object;

    memset(piece, 'x', sizeof(piece));
    for (int i = 0; i < 65; i++) /* 256 KB, and one piece more */
        print(bench, played->output, (struct str){piece, sizeof(piece)});
    object = object_of(bench, ask(bench, "shell_output", "{\"jobId\":\"job1\"}"), false);
    assert_non_null(strstr(object, "\"cursor\":262144,\"hasMore\":true,"));
    object = object_of(bench, ask(bench, "shell_output", "{\"jobId\":\"job1\"}"), false);
    assert_non_null(strstr(object, "\"cursor\":266240,\"jobId\""));
}

static struct str typed(const struct played *played, char *out_text, size_t size)
{
    int fd = played->asked.has_terminal ? played->output : played->input;
    ssize_t got = played->asked.has_terminal ? recv(fd, out_text, size, MSG_DONTWAIT)
                                             : read(fd, out_text, size);

    return got > 0 ? (struct str){out_text, (size_t)got} : STR_EMPTY;
}

static void input_reaches_the_job_and_the_record(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"cat\"}");
    char text[64];

    buf_clear(&bench->record);
    assert_answer(ask(bench, "shell_input", "{\"jobId\":\"job1\",\"text\":\"y\\n\"}"), false,
                  "{\"jobId\":\"job1\",\"bytes\":2}");
    assert_str(typed(played, text, sizeof(text)), "y\n");
    assert_recorded(bench, "shell_input intent 'cat' in '' - by user: " Y_TYPED "\n"
                           "shell_input success 'cat' in '' - by user: " Y_TYPED "\n");
    assert_answer(
        ask(bench, "shell_input", "{\"jobId\":\"job1\",\"keys\":[\"enter\"]}"), true,
        "{\"error\":\"keys work only for jobs started with terminal; send text instead\"}");
    assert_answer(ask(bench, "shell_input", "{\"jobId\":\"job1\",\"text\":\"end\",\"close\":true}"),
                  false, "{\"jobId\":\"job1\",\"bytes\":3}");
    assert_str(typed(played, text, sizeof(text)), "end");
    assert_int_equal(read(played->input, text, sizeof(text)), 0);
    assert_answer(ask(bench, "shell_input", "{\"jobId\":\"job1\",\"text\":\"more\"}"), true,
                  "{\"error\":\"the input of the job is closed\"}");
    let_exit(bench, played, 0);
    assert_answer(ask(bench, "shell_input", "{\"jobId\":\"job1\",\"text\":\"more\"}"), true,
                  "{\"error\":\"the job has ended\"}");
}

static void both_ends_of_what_was_typed_stand_in_the_record(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"sh\"}");
    char arguments[BENCH_TEXT];

    buf_clear(&bench->record);
    snprintf(arguments, sizeof(arguments),
             "{\"jobId\":\"job1\",\"text\":\"echo hi%*s; rm x\",\"close\":true}", 100, "");
    assert_answer(ask(bench, "shell_input", arguments), false,
                  "{\"jobId\":\"job1\",\"bytes\":113}");
    assert_true(str_find(buf_view(&bench->record),
                         STR("input for a running job: 113 bytes and its end, SHA-256 "
                             "3f62e1ce59b7cee766809f9880d0ad7b0493f83b40820fa55249bfb5428b8cd6"
                             ": \"echo hi                 \" ... \"                  ; rm x\"")) <
                bench->record.len);
    let_exit(bench, played, 0);
}

static void a_job_may_close_its_input(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"exec <&-\"}");

    played_close(&played->input);
    for (int i = 0; i < 2; i++)
        assert_answer(ask(bench, "shell_input", "{\"jobId\":\"job1\",\"text\":\"x\"}"), true,
                      "{\"error\":\"the input of the job is closed\"}");
    print(bench, played->output, STR("goes on"));
    let_exit(bench, played, 0);
}

static void input_that_nobody_reads_has_a_ceiling(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"sleep\"}");
    cleanup_buf struct buf arguments = BUF_INIT(4 << 20);
    const char *text;
    char sink[1 << 16];
    size_t got = 0;
    ssize_t step;

    assert_int_equal(buf_append_str(&arguments, STR("{\"jobId\":\"job1\",\"text\":\"")), 0);
    for (int i = 0; i < 700 << 10; i++)
        assert_int_equal(buf_append_char(&arguments, 'x'), 0);
    assert_int_equal(buf_append_str(&arguments, STR("\",\"close\":true}")), 0);
    assert_int_equal(buf_terminate(&arguments, &text), 0);
    /* Closed behind what waits, which it still gets. */
    assert_answer(ask(bench, "shell_input", text), false, "{\"jobId\":\"job1\",\"bytes\":716800}");
    assert_answer(ask(bench, "shell_input", text), true,
                  "{\"error\":\"the input of the job is closed\"}");
    do {
        step = read(played->input, sink, sizeof(sink));
        got += step > 0 ? (size_t)step : 0;
        turn(bench);
    } while (step != 0);
    assert_int_equal(got, 700 << 10);
    let_exit(bench, played, 0);
}

static void a_terminal_has_its_size_and_keys(void **state)
{
    struct shellbench *bench = *state;
    struct played *played =
        start_job(bench, "{\"command\":\"vi\",\"terminal\":true,\"rows\":40,\"cols\":132}");
    char text[64];

    assert_int_equal(played->asked.rows, 40);
    assert_int_equal(played->asked.columns, 132);
    assert_string_equal(played->terminal, "TERM=xterm-256color");
    print(bench, played->output, STR("\x1b[H"));
    assert_answer(
        ask(bench, "shell_output", "{\"jobId\":\"job1\"}"), false,
        "{\"output\":\"\\u001b[H\",\"cursor\":3,\"jobId\":\"job1\",\"state\":\"running\"}");
    assert_answer(ask(bench, "shell_input",
                      "{\"jobId\":\"job1\",\"text\":\"i\",\"keys\":[\"up\",\"ctrl-c\"],"
                      "\"close\":true}"),
                  false, "{\"jobId\":\"job1\",\"bytes\":5}");
    assert_str(typed(played, text, sizeof(text)), "i\x1b[A\x03\x04");
    assert_answer(
        ask(bench, "shell_input", "{\"jobId\":\"job1\",\"text\":\"x\",\"keys\":[\"any\"]}"), true,
        "{\"error\":\"keys: any is not a known key, as enter, escape, up or ctrl-c are; put "
        "characters into text\"}");
    assert_int_equal(typed(played, text, sizeof(text)).len, 0);
}

static void keys_may_have_the_names_of_others(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"vi\",\"terminal\":true}");
    char text[64];

    assert_answer(ask(bench, "shell_input",
                      "{\"jobId\":\"job1\",\"keys\":[\"Enter\",\"Esc\",\"Ctrl+C\",\"^D\","
                      "\"Page_Up\",\"ArrowUp\",\"control-z\"]}"),
                  false, "{\"jobId\":\"job1\",\"bytes\":12}");
    assert_str(typed(played, text, sizeof(text)), "\r\x1b\x03\x04\x1b[5~\x1b[A\x1a");
}

static void stopping_asks_and_then_kills(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");
    struct answer *answer = ask(bench, "shell_stop", "{\"jobId\":\"job1\"}");
    struct answer *again = ask(bench, "shell_stop", "{\"jobId\":\"job1\"}");
    struct answer *reader = ask(bench, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":60000}");

    assert_int_equal(played->last_signal, SIGTERM);
    pass_time(bench, 4999);
    assert_int_equal(played->last_signal, SIGTERM);
    assert_int_equal(answer->count, 0);
    pass_time(bench, 1);
    assert_int_equal(played->last_signal, SIGKILL);
    let_end(bench, played, (struct starter_end){.is_signal = true, .value = SIGKILL});
    assert_answer(answer, false,
                  "{\"output\":\"\",\"cursor\":0,\"jobId\":\"job1\",\"state\":\"ended\","
                  "\"exitCode\":null,\"signal\":\"KILL\"}");
    assert_answer(again, false,
                  "{\"output\":\"\",\"cursor\":0,\"jobId\":\"job1\",\"state\":\"ended\","
                  "\"exitCode\":null,\"signal\":\"KILL\"}");
    assert_int_equal(reader->count, 1);
    assert_answer(ask(bench, "shell_list", "{}"), false, "{\"jobs\":[]}");
}

static void stopping_returns_what_was_not_read(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");
    struct answer *answer;

    print(bench, played->output, STR("one "));
    ask(bench, "shell_output", "{\"jobId\":\"job1\"}");
    print(bench, played->output, STR("two "));
    /* An argument of another tool counts for nothing. */
    answer = ask(bench, "shell_stop", "{\"jobId\":\"job1\",\"cursor\":0}");
    print(bench, played->errors, STR("bye"));
    let_exit(bench, played, 0);
    assert_answer(answer, false,
                  "{\"output\":\"two bye\",\"cursor\":11,\"jobId\":\"job1\",\"state\":\"ended\","
                  "\"exitCode\":0}");
    assert_answer(ask(bench, "shell_list", "{}"), false, "{\"jobs\":[]}");
}

static void a_stopped_job_stays_until_all_of_it_was_read(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");
    const char *object;
    char piece[4096];

    memset(piece, 'x', sizeof(piece));
    for (int i = 0; i < 64; i++)
        print(bench, played->output, (struct str){piece, sizeof(piece)});
    print(bench, played->output, STR("end"));
    let_exit(bench, played, 0);
    object = object_of(bench, ask(bench, "shell_stop", "{\"jobId\":\"job1\"}"), false);
    assert_non_null(strstr(object, "\"hasMore\":true"));
    assert_answer(ask(bench, "shell_stop", "{\"jobId\":\"job1\"}"), false,
                  "{\"output\":\"end\",\"cursor\":262147,\"jobId\":\"job1\",\"state\":\"ended\","
                  "\"exitCode\":0}");
    assert_answer(ask(bench, "shell_list", "{}"), false, "{\"jobs\":[]}");
}

static void a_job_whose_end_nobody_tells_is_given_up(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");
    struct answer *answer = ask(bench, "shell_stop", "{\"jobId\":\"job1\",\"signal\":\"KILL\"}");

    assert_int_equal(played->last_signal, SIGKILL);
    pass_time(bench, 4999);
    assert_int_equal(answer->count, 0);
    pass_time(bench, 1);
    assert_true(played->is_forgotten);
    assert_answer(answer, false,
                  "{\"output\":\"\",\"cursor\":0,\"jobId\":\"job1\",\"state\":\"ended\","
                  "\"exitCode\":null}");
}

static void a_named_signal_is_sent_alone(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");

    assert_answer(ask(bench, "shell_stop", "{\"jobId\":\"job1\",\"signal\":\"INT\"}"), false,
                  "{\"jobId\":\"job1\",\"state\":\"running\"}");
    assert_int_equal(played->last_signal, SIGINT);
    pass_time(bench, 60000);
    assert_int_equal(played->signals, 1);
    let_exit(bench, played, 130);
    assert_answer(ask(bench, "shell_stop", "{\"jobId\":\"job1\"}"), false,
                  "{\"output\":\"\",\"cursor\":0,\"jobId\":\"job1\",\"state\":\"ended\","
                  "\"exitCode\":130}");
    assert_answer(ask(bench, "shell_stop", "{\"jobId\":\"job1\"}"), true,
                  "{\"error\":\"no such job; use shell_list to see the jobs\"}");
}

static void jobs_of_other_sessions_are_not_there(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");
    struct shell_call *call = prepare(bench, "shell_input", "{\"jobId\":\"job1\",\"text\":\"x\"}");
    struct permission_resource resource;

    static const char *const tools[] = {"shell_output", "shell_stop"};

    for (size_t i = 0; i < array_size(tools); i++)
        assert_answer(ask_as(bench, state, tools[i], "{\"jobId\":\"job1\"}"), true,
                      "{\"error\":\"no such job; use shell_list to see the jobs\"}");
    assert_answer(ask_as(bench, state, "shell_input", "{\"jobId\":\"job1\",\"text\":\"x\"}"), true,
                  "{\"error\":\"no such job; use shell_list to see the jobs\"}");
    assert_answer(ask_as(bench, state, "shell_list", "{}"), false, "{\"jobs\":[]}");
    assert_int_equal(played->signals, 0);
    /* Typing is decided about as the command itself was. */
    assert_false(shell_resource(call, state, &resource, NULL));
    assert_true(shell_resource(call, bench, &resource, NULL));
    assert_str(permission_resource_name(&resource), "server");
    assert_str(resource.cwd, "/folder");
    shell_drop(call);
    call = prepare(bench, "shell_output", "{\"jobId\":\"job1\"}");
    assert_false(shell_resource(call, bench, &resource, NULL));
    shell_drop(call);
}

/* What is typed into xargs becomes arguments, so its job is not called by the program alone. */
static void a_job_that_makes_words_of_its_input_says_so(void **state)
{
    struct shellbench *bench = *state;
    struct shell_call *call = prepare(bench, "shell_start", "{\"command\":\"nice xargs cat\"}");
    struct permission_resource resource;

    assert_true(shell_resource(call, bench, &resource, NULL));
    assert_str(permission_resource_name(&resource), "nice xargs cat");
    shell_drop(call);
    call = prepare(bench, "shell_execute", "{\"command\":\"nice xargs cat\"}");
    assert_true(shell_resource(call, bench, &resource, NULL));
    assert_str(permission_resource_name(&resource), "cat");
    shell_drop(call);
}

static void note_piece(void *data, const struct shell_piece *piece)
{
    char *noted = data;
    size_t len = strlen(noted);

    snprintf(noted + len, BENCH_TEXT - len, "%s from %d: '%.*s' %s\n", piece->job, (int)piece->from,
             STR_ARG(piece->text), piece->is_running ? "running" : "ended");
}

static void who_does_not_look_on_is_told_of_ends_alone(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");
    char noted[BENCH_TEXT] = "";

    print(bench, played->output, STR("one two"));
    shell_peek_ends(bench->shell, bench, note_piece, noted);
    assert_string_equal(noted, "");
    let_exit(bench, played, 0);
    shell_peek_ends(bench->shell, state, note_piece, noted); /* another session */
    assert_string_equal(noted, "");
    shell_peek_ends(bench->shell, bench, note_piece, noted);
    shell_peek_ends(bench->shell, bench, note_piece, noted);
    shell_peek_news(bench->shell, bench, note_piece, noted);
    assert_string_equal(noted, "job1 from 7: '' ended\n");
}

static void the_end_of_a_session_ends_its_jobs_and_no_others(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");
    struct answer *reader = ask(bench, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":1000}");
    struct answer *starting;
    struct played *other;

    ask_as(bench, state, "shell_start", "{\"command\":\"other\"}");
    other = let_start(bench);
    starting = ask(bench, "shell_start", "{\"command\":\"late\"}");
    buf_clear(&bench->record);
    shell_end_session(bench->shell, bench);
    assert_true(played->is_forgotten);
    assert_true(last_played(bench)->is_forgotten);
    assert_false(other->is_forgotten);
    turn(bench);
    assert_int_equal(reader->error, ERR_CANCELLED);
    assert_int_equal(starting->error, ERR_CANCELLED);
    assert_recorded(bench, "shell_start failed 'late' in '' cancelled by user: cancelled\n"
                           "shell_start failed 'server' in '' cancelled by user: cancelled\n");
    let_exit(bench, other, 0);
}

static void a_call_that_waits_can_be_cancelled(void **state)
{
    struct shellbench *bench = *state;
    struct played *played = start_job(bench, "{\"command\":\"server\"}");
    struct answer *reader = ask(bench, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":1000}");
    struct answer *starting = ask(bench, "shell_start", "{\"command\":\"late\"}");

    shell_cancel(bench->shell, reader->id);
    shell_cancel(bench->shell, starting->id);
    turn(bench);
    assert_int_equal(reader->error, ERR_CANCELLED);
    assert_int_equal(starting->error, ERR_CANCELLED);
    /* Reading is over, the job is not; what was being started is. */
    assert_false(played->is_forgotten);
    assert_true(last_played(bench)->is_forgotten);
    print(bench, played->output, STR("x"));
    pass_time(bench, 5000);
    assert_int_equal(reader->count, 1);
}

static void jobs_have_a_ceiling_and_old_ones_make_room(void **state)
{
    struct shellbench *bench = *state;
    struct played *first;

    bench_open(bench, (struct shell_config){.max_jobs = 2});
    ask(bench, "shell_start", "{\"command\":\"one\"}");
    first = let_start(bench);
    ask(bench, "shell_start", "{\"command\":\"two\"}");
    let_start(bench);
    assert_answer(ask(bench, "shell_start", "{\"command\":\"three\"}"), true,
                  "{\"error\":\"2 jobs are already running; stop one with shell_stop\"}");
    assert_int_equal(bench->played_count, 2);
    let_exit(bench, first, 0);
    ask(bench, "shell_start", "{\"command\":\"three\"}");
    let_start(bench);
    assert_answer(ask(bench, "shell_output", "{\"jobId\":\"job1\"}"), true,
                  "{\"error\":\"no such job; use shell_list to see the jobs\"}");
    ask_as(bench, state, "shell_start", "{\"command\":\"another's\"}");
    let_start(bench);
    assert_int_equal(bench->played_count, 4);
}

TEST_MAIN(shell_test(a_job_is_told_of_when_it_has_started),
          shell_test(output_comes_once_and_from_any_cursor),
          shell_test(a_reader_waits_for_output_or_its_time),
          shell_test(a_reader_that_waits_is_told_of_the_end),
          shell_test(what_is_no_longer_kept_is_counted), shell_test(much_output_comes_in_steps),
          shell_test(input_reaches_the_job_and_the_record),
          shell_test(both_ends_of_what_was_typed_stand_in_the_record),
          shell_test(a_job_may_close_its_input), shell_test(input_that_nobody_reads_has_a_ceiling),
          shell_test(a_terminal_has_its_size_and_keys),
          shell_test(keys_may_have_the_names_of_others), shell_test(stopping_asks_and_then_kills),
          shell_test(stopping_returns_what_was_not_read),
          shell_test(a_stopped_job_stays_until_all_of_it_was_read),
          shell_test(a_job_whose_end_nobody_tells_is_given_up),
          shell_test(a_named_signal_is_sent_alone),
          shell_test(jobs_of_other_sessions_are_not_there),
          shell_test(a_job_that_makes_words_of_its_input_says_so),
          shell_test(who_does_not_look_on_is_told_of_ends_alone),
          shell_test(the_end_of_a_session_ends_its_jobs_and_no_others),
          shell_test(a_call_that_waits_can_be_cancelled),
          shell_test(jobs_have_a_ceiling_and_old_ones_make_room))

/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <signal.h>

static const struct question_resource a_command = {
    .group = CATALOG_SHELL, .shown = STR_LITERAL("/srv/me: apt install foo")};
static const struct question a_question = {
    .tool = STR_LITERAL("shell_execute"),
    .group = CATALOG_SHELL,
    .resources = &a_command,
    .resource_count = 1,
    .action = STR_LITERAL("Runs a command"),
    .choices = ALL_CHOICES,
};
static const struct stage_look plain = {.is_plain = true, .has_colour = true};

static void a_dumb_terminal_asks_in_lines(void **state)
{
    struct bench bench;
    uint64_t id;

    (void)state;
    bench_open(&bench, &plain, 24, 80);
    id = bench_ask_and_wait(&bench, &a_question);
    assert_shows(&bench, "== Gatehouse asks ==");
    assert_shows(&bench, "| /srv/me: apt install foo");
    assert_shows(&bench, "  1 Deny once");
    assert_shows(&bench, "  5 Always deny");
    bench_press(&bench, "6\n");
    bench_press(&bench, "allow\n");
    bench_press(&bench, "2 2\n");
    bench_press(&bench, "-1\n");
    assert_int_equal(bench.answers[id], 0);
    bench_press(&bench, " 3 \n");
    assert_int_equal(bench.answers[id], 1);
    assert_int_equal(bench.choice[id], CHOICE_ALLOW_SESSION);
    /* Not a single sequence. */
    assert_null(memchr(bench.written.data, '\x1b', bench.written.len));
    bench_assert_restored(&bench);
    bench_close(&bench);
}

static void an_empty_line_and_interrupt_deny(void **state)
{
    static const char *const keys[] = {"\n", "   \n", "\x03", "2\x03"};

    (void)state;
    for (size_t i = 0; i < array_size(keys); i++) {
        struct bench bench;
        uint64_t id;

        bench_open(&bench, &plain, 24, 80);
        id = bench_ask_and_wait(&bench, &a_question);
        bench_press(&bench, keys[i]);
        assert_int_equal(bench.answers[id], 1);
        assert_int_equal(bench.choice[id], CHOICE_DENY_ONCE);
        bench_assert_restored(&bench);
        bench_close(&bench);
    }
}

static void lines_typed_before_do_not_count(void **state)
{
    struct bench bench;
    uint64_t first;
    uint64_t second;

    (void)state;
    bench_open(&bench, &plain, 24, 80);
    assert_int_equal(write(bench.keeper, "2\n", 2), 2);
    first = bench_ask(&bench, &a_question);
    second = bench_ask(&bench, &a_question);
    bench_settle(&bench);
    bench_press(&bench, "2\n");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_int_equal(bench.answers[first], 0);
    bench_press(&bench, "2\n2\n2\n");
    assert_int_equal(bench.choice[first], CHOICE_ALLOW_ONCE);
    assert_int_equal(bench.answers[second], 0);
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_int_equal(bench.answers[second], 0);
    question_queue_cancel(bench.queue, second, QUESTION_QUEUE_TIMED_OUT);
    bench_settle(&bench);
    assert_shows(&bench, "Timed out: \"shell_execute\"");
    bench_close(&bench);
}

static void a_long_question_is_shown_piece_by_piece(void **state)
{
    cleanup_buf struct buf detail = BUF_INIT(1 << 20);
    struct question question = a_question;
    struct bench bench;

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(buf_printf(&detail, "argument %d\n", i), 0);
    question.detail = buf_view(&detail);
    bench_open(&bench, &plain, 24, 80);
    bench_ask_and_wait(&bench, &question);
    assert_shows(&bench, "more lines (type m)");
    assert_does_not_show(&bench, "argument 99");
    for (int i = 0; i < 6; i++)
        bench_press(&bench, "m\n");
    assert_shows(&bench, "| argument 99");
    assert_does_not_show(&bench, "more lines (type m)");
    bench_close(&bench);
}

/* ---- neither side is a terminal ---- */

struct pipes {
    struct bench bench;
    int to_console;
    int from_console;
};

static void open_pipes(struct pipes *pipes)
{
    struct bench *bench = &pipes->bench;
    struct console_config config;
    int in[2];
    int out[2];

    memset(pipes, 0, sizeof(*pipes));
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pipes->to_console = in[1];
    pipes->from_console = out[0];
    bench->terminal = in[0];
    bench->spare = out[1];
    clock_fake_init(&bench->clock, 0);
    assert_int_equal(loop_new(&bench->clock, &bench->loop), 0);
    assert_int_equal(question_queue_new(&bench->queue), 0);
    config = (struct console_config){.loop = bench->loop,
                                     .queue = bench->queue,
                                     .in_fd = in[0],
                                     .out_fd = out[1],
                                     .look = bench_colour, /* which pipes do not have */
                                     .on_gone = bench_note_gone,
                                     .data = bench};
    assert_int_equal(console_new(&config, &bench->console), 0);
}

static void close_pipes(struct pipes *pipes)
{
    console_free(pipes->bench.console);
    question_queue_free(pipes->bench.queue);
    loop_free(pipes->bench.loop);
    close(pipes->bench.terminal);
    close(pipes->bench.spare);
    if (pipes->to_console >= 0)
        close(pipes->to_console);
    if (pipes->from_console >= 0)
        close(pipes->from_console);
}

static void pass(struct pipes *pipes, int64_t ms)
{
    bench_turn(&pipes->bench);
    clock_fake_advance(&pipes->bench.clock, ms);
    loop_run_due_timers(pipes->bench.loop);
    bench_turn(&pipes->bench);
}

static void pipes_are_asked_in_lines(void **state)
{
    struct pipes pipes;
    char text[4096] = "";
    uint64_t first;
    uint64_t second;

    (void)state;
    open_pipes(&pipes);
    assert_int_equal(write(pipes.to_console, "2\n2\n", 4), 4);
    first = bench_ask(&pipes.bench, &a_question);
    second = bench_ask(&pipes.bench, &a_question);
    bench_turn(&pipes.bench);
    assert_true(read(pipes.from_console, text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "== Gatehouse asks (1 more) =="));
    assert_null(strchr(text, '\x1b'));
    pass(&pipes, STAGE_GUARD_MS);
    assert_int_equal(pipes.bench.answers[first], 0); /* it was there before */
    assert_int_equal(write(pipes.to_console, "2\r\n2\n", 5), 5);
    bench_turn(&pipes.bench);
    assert_int_equal(pipes.bench.choice[first], CHOICE_ALLOW_ONCE);
    assert_int_equal(pipes.bench.answers[second], 0);
    /* Also what came while nobody read: it is older than the guard's end. */
    clock_fake_advance(&pipes.bench.clock, STAGE_GUARD_MS);
    assert_int_equal(write(pipes.to_console, "2\n", 2), 2);
    loop_run_due_timers(pipes.bench.loop);
    bench_turn(&pipes.bench);
    assert_int_equal(pipes.bench.answers[second], 0);
    assert_int_equal(write(pipes.to_console, "4\n", 2), 2);
    bench_turn(&pipes.bench);
    assert_int_equal(pipes.bench.choice[second], CHOICE_ALWAYS_ALLOW);
    assert_int_equal(fcntl(pipes.bench.terminal, F_GETFL) & O_NONBLOCK, 0);
    close_pipes(&pipes);
}

static void the_end_of_input_denies_all(void **state)
{
    struct pipes pipes;
    uint64_t first;
    uint64_t second;

    (void)state;
    open_pipes(&pipes);
    first = bench_ask(&pipes.bench, &a_question);
    second = bench_ask(&pipes.bench, &a_question);
    pass(&pipes, STAGE_GUARD_MS);
    assert_int_equal(write(pipes.to_console, "2", 1), 1); /* half a line is no answer */
    close(pipes.to_console);
    pipes.to_console = -1;
    for (int i = 0; i < 10; i++)
        bench_turn(&pipes.bench);
    assert_int_equal(pipes.bench.choice[first], CHOICE_DENY_ONCE);
    assert_int_equal(pipes.bench.choice[second], CHOICE_DENY_ONCE);
    assert_int_equal(pipes.bench.answers[first] + pipes.bench.answers[second], 2);
    assert_int_equal(pipes.bench.gone, 1);
    close_pipes(&pipes);
}

static void a_reader_that_went_away_denies_all(void **state)
{
    struct pipes pipes;
    uint64_t id;

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    open_pipes(&pipes);
    close(pipes.from_console);
    pipes.from_console = -1;
    id = bench_ask(&pipes.bench, &a_question);
    for (int i = 0; i < 10; i++)
        bench_turn(&pipes.bench);
    assert_int_equal(pipes.bench.choice[id], CHOICE_DENY_ONCE);
    assert_int_equal(pipes.bench.answers[id], 1);
    assert_int_equal(pipes.bench.gone, 1);
    close_pipes(&pipes);
    signal(SIGPIPE, SIG_DFL);
}

static void a_line_without_an_end_is_nothing(void **state)
{
    static char zeros[3 * STAGE_LINE_MAX];
    struct pipes pipes;
    uint64_t id;

    (void)state;
    memset(zeros, '0', sizeof(zeros));
    open_pipes(&pipes);
    id = bench_ask(&pipes.bench, &a_question);
    pass(&pipes, STAGE_GUARD_MS);
    assert_int_equal(write(pipes.to_console, zeros, sizeof(zeros)), sizeof(zeros));
    assert_int_equal(write(pipes.to_console, "2\n", 2), 2);
    bench_turn(&pipes.bench);
    assert_int_equal(pipes.bench.answers[id], 0);
    assert_int_equal(write(pipes.to_console, "2\n", 2), 2);
    bench_turn(&pipes.bench);
    assert_int_equal(pipes.bench.choice[id], CHOICE_ALLOW_ONCE);
    close_pipes(&pipes);
}

TEST_MAIN(cmocka_unit_test(a_dumb_terminal_asks_in_lines),
          cmocka_unit_test(an_empty_line_and_interrupt_deny),
          cmocka_unit_test(lines_typed_before_do_not_count),
          cmocka_unit_test(a_long_question_is_shown_piece_by_piece),
          cmocka_unit_test(pipes_are_asked_in_lines), cmocka_unit_test(the_end_of_input_denies_all),
          cmocka_unit_test(a_reader_that_went_away_denies_all),
          cmocka_unit_test(a_line_without_an_end_is_nothing))

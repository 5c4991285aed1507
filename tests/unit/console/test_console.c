/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

static const struct question_resource a_file = {.group = CATALOG_FILESYSTEM_WRITE,
                                                .shown = STR_LITERAL("/srv/me/src/a.c")};
static const struct question a_write = {
    .tool = STR_LITERAL("write_file"),
    .group = CATALOG_FILESYSTEM_WRITE,
    .resources = &a_file,
    .resource_count = 1,
    .action = STR_LITERAL("Replaces src/a.c"),
    .detail = STR_LITERAL("@@ -1,2 +1,2 @@\n-int old;\n+int new;\n"),
    .is_diff = true,
    .choices = ALL_CHOICES,
};
static const struct question_resource a_folder = {.group = CATALOG_FILESYSTEM_WRITE,
                                                  .shown = STR_LITERAL("/srv/me/src/build")};
static const struct question a_delete = {
    .tool = STR_LITERAL("delete"),
    .group = CATALOG_FILESYSTEM_WRITE,
    .resources = &a_folder,
    .resource_count = 1,
    .action = STR_LITERAL("Deletes the folder build with all in it"),
    .deletes = true,
    .choices = ALL_CHOICES,
};

/* The kernel has it, and the console has not been told. */
static void type(struct bench *bench, const char *keys)
{
    int there = 0;

    assert_int_equal(write(bench->keeper, keys, strlen(keys)), strlen(keys));
    while (there < (int)strlen(keys)) {
        sched_yield();
        assert_int_equal(ioctl(bench->spare, FIONREAD, &there), 0);
    }
}

static void a_question_is_shown_and_answered(void **state)
{
    struct bench bench;
    uint64_t id;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    bench_settle(&bench);
    assert_int_equal(bench.written.len, 0); /* at rest, nothing is touched */
    bench_assert_restored(&bench);
    id = bench_ask(&bench, &a_write);
    bench_settle(&bench);
    assert_true(bench.screen.is_other);
    assert_shows(&bench, "Gatehouse asks");
    assert_shows(&bench, "Change files, tool \"write_file\"");
    assert_shows(&bench, "| Replaces src/a.c");
    assert_shows(&bench, "| \"/srv/me/src/a.c\"");
    assert_shows(&bench, "| +int new;");
    assert_shows(&bench, "> 1 Deny once");
    assert_shows(&bench, "  2 Allow once");
    assert_shows(&bench, "  3 Allow this file for this session");
    assert_shows(&bench, "  4 Always allow this file");
    assert_shows(&bench, "  5 Always deny");
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "2");
    assert_shows(&bench, "> 2 Allow once");
    assert_int_equal(bench.answers[id], 0); /* a number only chooses */
    bench_press(&bench, "\r");
    assert_int_equal(bench.answers[id], 1);
    assert_int_equal(bench.choice[id], CHOICE_ALLOW_ONCE);
    assert_true(bench.is_by_terminal[id]);
    assert_false(bench.screen.is_other);
    assert_shows(&bench, "Allowed once: \"write_file\" on \"/srv/me/src/a.c\"");
    assert_false(bench.screen.is_pasting_marked);
    bench_assert_restored(&bench);
    assert_int_equal(bench.screen.foreign + bench.screen.scrolls + bench.screen.lost, 0);
    bench_close(&bench);
}

static void the_default_denies_once(void **state)
{
    static const char *const keys[] = {"\r", "\x1b", "\x03", "2\x03", "jj\x1b"};

    (void)state;
    for (size_t i = 0; i < array_size(keys); i++) {
        struct bench bench;
        uint64_t id;

        bench_open(&bench, &bench_colour, 24, 80);
        id = bench_ask_and_wait(&bench, &a_write);
        bench_press(&bench, keys[i]);
        bench_wait(&bench, STAGE_ESCAPE_MS);
        assert_int_equal(bench.answers[id], 1);
        assert_int_equal(bench.choice[id], CHOICE_DENY_ONCE);
        assert_int_equal(bench.gone, 0);
        bench_assert_restored(&bench);
        bench_close(&bench);
    }
}

static void keys_move_and_enter_answers(void **state)
{
    static const struct {
        const char *keys;
        enum permission_choice choice;
    } cases[] = {
        {"\x1b[B\r", CHOICE_ALLOW_ONCE},
        {"\x1bOB\x1bOB\r", CHOICE_ALLOW_SESSION},
        {"jjj\r", CHOICE_ALWAYS_ALLOW},
        {"jjjjjjjj\r", CHOICE_ALWAYS_DENY},
        {"5\r", CHOICE_ALWAYS_DENY},
        {"jjk\n", CHOICE_ALLOW_ONCE},
        {"k\r", CHOICE_DENY_ONCE},
        {"9x?\r", CHOICE_DENY_ONCE},
        {"jj\x1b[A\x1b[A\r", CHOICE_DENY_ONCE},
        {"3\x1b[1;5B\r", CHOICE_ALLOW_SESSION},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        struct bench bench;
        uint64_t id;

        bench_open(&bench, &bench_colour, 24, 80);
        id = bench_ask_and_wait(&bench, &a_write);
        bench_press(&bench, cases[i].keys);
        assert_int_equal(bench.answers[id], 1);
        assert_int_equal(bench.choice[id], cases[i].choice);
        bench_close(&bench);
    }
}

static void only_what_is_offered_can_be_chosen(void **state)
{
    struct question question = a_write;
    struct bench bench;
    uint64_t id;

    (void)state;
    question.choices = 1U << CHOICE_ALLOW_ONCE | 1U << CHOICE_ALWAYS_DENY;
    bench_open(&bench, &bench_colour, 24, 80);
    id = bench_ask_and_wait(&bench, &question);
    assert_shows(&bench, "  2 Allow once");
    assert_shows(&bench, "  3 Always deny");
    assert_does_not_show(&bench, "session");
    assert_does_not_show(&bench, "Always allow");
    bench_press(&bench, "4");
    assert_shows(&bench, "> 1 Deny once");
    bench_press(&bench, "3\r");
    assert_int_equal(bench.choice[id], CHOICE_ALWAYS_DENY);
    bench_close(&bench);
}

/* The defect of the original daemon. */
static void one_enter_never_answers_two(void **state)
{
    struct bench bench;
    uint64_t first;
    uint64_t second;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    first = bench_ask(&bench, &a_write);
    second = bench_ask(&bench, &a_delete);
    bench_settle(&bench);
    assert_shows(&bench, "(1 more)");
    assert_does_not_show(&bench, "build");
    bench_wait(&bench, STAGE_GUARD_MS);
    /* Both in one piece, and more of it. */
    bench_press(&bench, "2\r2\r2\r\r");
    assert_int_equal(bench.choice[first], CHOICE_ALLOW_ONCE);
    assert_int_equal(bench.answers[first], 1);
    assert_int_equal(bench.answers[second], 0);
    assert_shows(&bench, "build");
    assert_shows(&bench, "> 1 Deny once");
    /* Nor does what comes just after. */
    bench_press(&bench, "2\r");
    bench_wait(&bench, STAGE_GUARD_MS - 1);
    bench_press(&bench, "2\r");
    assert_int_equal(bench.answers[second], 0);
    assert_shows(&bench, "> 1 Deny once");
    bench_wait(&bench, 1);
    assert_int_equal(bench.answers[second], 0);
    bench_press(&bench, "2\r");
    assert_int_equal(bench.choice[second], CHOICE_ALLOW_ONCE);
    bench_close(&bench);
}

static void keys_typed_ahead_are_discarded(void **state)
{
    struct bench bench;
    uint64_t id;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    /* At the ordinary terminal, where the kernel keeps it. */
    type(&bench, "2\n2\n");
    id = bench_ask(&bench, &a_delete);
    bench_settle(&bench);
    bench_press(&bench, "2\r");
    bench_wait(&bench, STAGE_GUARD_MS);
    assert_int_equal(bench.answers[id], 0);
    assert_shows(&bench, "> 1 Deny once");
    /* What was typed while the loop did something else for a long time was not meant for it. */
    question_queue_cancel(bench.queue, id, QUESTION_QUEUE_CANCELLED);
    id = bench_ask(&bench, &a_delete);
    bench_settle(&bench);
    type(&bench, "2\r");
    bench_wait(&bench, 60000);
    assert_int_equal(bench.answers[id], 0);
    bench_press(&bench, "\r");
    assert_int_equal(bench.choice[id], CHOICE_DENY_ONCE);
    bench_close(&bench);
}

/* A half-begun sequence, or a paste, does not reach over into the next question. */
static void what_was_begun_before_is_forgotten(void **state)
{
    struct bench bench;
    uint64_t id;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    id = bench_ask_and_wait(&bench, &a_write);
    bench_press(&bench, "\x1b[200~2\r");
    assert_int_equal(bench.answers[id], 0);
    bench_press(&bench, "2\r");
    assert_int_equal(bench.answers[id], 0); /* the paste has no end yet */
    bench_press(&bench, "\x1b[201~");
    assert_shows(&bench, "> 1 Deny once");
    bench_press(&bench, "\x1b");
    question_queue_cancel(bench.queue, id, QUESTION_QUEUE_CANCELLED);
    id = bench_ask_and_wait(&bench, &a_write);
    bench_wait(&bench, STAGE_ESCAPE_MS);
    assert_int_equal(bench.answers[id], 0);
    bench_press(&bench, "B\r");
    assert_int_equal(bench.choice[id], CHOICE_DENY_ONCE);
    bench_close(&bench);
}

static void a_question_that_leaves_vanishes(void **state)
{
    static const struct {
        enum question_queue_end end;
        const char *words;
    } cases[] = {{QUESTION_QUEUE_CANCELLED, "Withdrawn: \"write_file\""},
                 {QUESTION_QUEUE_TIMED_OUT, "Timed out: \"write_file\""}};

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        struct bench bench;
        uint64_t first;
        uint64_t second;
        uint64_t third;

        bench_open(&bench, &bench_colour, 24, 80);
        first = bench_ask_and_wait(&bench, &a_write);
        second = bench_ask(&bench, &a_delete);
        third = bench_ask(&bench, &a_write);
        bench_settle(&bench);
        assert_shows(&bench, "(2 more)");
        question_queue_cancel(bench.queue, third, cases[i].end);
        bench_settle(&bench);
        assert_shows(&bench, "(1 more)");
        bench_press(&bench, "2");
        question_queue_cancel(bench.queue, first, cases[i].end);
        bench_settle(&bench);
        assert_does_not_show(&bench, "write_file");
        assert_shows(&bench, "DELETE");
        assert_shows(&bench, "> 1 Deny once");
        /* Its own time runs from now. */
        bench_press(&bench, "2\r");
        assert_int_equal(bench.answers[second], 0);
        bench_wait(&bench, STAGE_GUARD_MS);
        bench_press(&bench, "\r");
        assert_int_equal(bench.answers[first] + bench.answers[third], 0);
        assert_int_equal(bench.choice[second], CHOICE_DENY_ONCE);
        assert_shows(&bench, cases[i].words);
        bench_assert_restored(&bench);
        bench_close(&bench);
    }
}

/* The answer is on its way to the queue, and its question ends before it gets there. */
static void an_answer_to_a_question_that_left_is_for_no_other(void **state)
{
    struct bench bench;
    uint64_t first;
    uint64_t second;
    int there = 2;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    first = bench_ask_and_wait(&bench, &a_write);
    second = bench_ask(&bench, &a_delete);
    bench_settle(&bench);
    type(&bench, "2\r");
    while (there > 0) {
        assert_int_equal(bench.answers[first], 0);
        (void)uv_run(loop_uv(bench.loop), UV_RUN_NOWAIT);
        assert_int_equal(ioctl(bench.spare, FIONREAD, &there), 0);
    }
    assert_int_equal(bench.answers[first], 0);
    question_queue_cancel(bench.queue, first, QUESTION_QUEUE_TIMED_OUT);
    bench_settle(&bench);
    assert_int_equal(bench.answers[first] + bench.answers[second], 0);
    assert_shows(&bench, "DELETE");
    bench_close(&bench);
}

static void note_show(void *data, uint64_t id, const struct question *question)
{
    (void)data;
    (void)id;
    (void)question;
}

static void note_withdraw(void *data, uint64_t id, enum question_queue_end end, const char *by)
{
    (void)data;
    (void)id;
    (void)end;
    (void)by;
}

static void an_answer_from_elsewhere_takes_the_question_away(void **state)
{
    const struct question_queue_surface page = {"page", note_show, note_withdraw, NULL};
    struct bench bench;
    uint64_t id;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    assert_int_equal(question_queue_add(bench.queue, &page), 0);
    id = bench_ask_and_wait(&bench, &a_write);
    assert_int_equal(question_queue_answer(bench.queue, id, CHOICE_ALLOW_ONCE, "page"), 0);
    bench_settle(&bench);
    assert_int_equal(bench.answers[id], 1);
    assert_false(bench.screen.is_other);
    assert_shows(&bench, "Answered elsewhere: \"write_file\"");
    bench_assert_restored(&bench);
    bench_close(&bench);
}

static void a_flood_is_answered_and_does_not_garble_the_screen(void **state)
{
    struct bench bench;
    uint64_t ids[1000];
    size_t asked = 0;
    size_t refused = 0;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    for (int i = 0; i < 1000; i++) {
        uint64_t id = 0;
        int r = question_queue_ask(bench.queue, &a_write, bench_note_answer, &bench, &id);

        if (r == 0)
            ids[asked++] = id;
        else if (r == ERR_BUSY)
            refused++;
    }
    assert_int_equal(asked, QUESTION_QUEUE_MAX_OPEN);
    assert_int_equal(asked + refused, 1000);
    bench_settle(&bench);
    assert_shows(&bench, "(127 more)");
    for (size_t i = 0; i < asked; i++) {
        assert_shows(&bench, "> 1 Deny once");
        bench_wait(&bench, STAGE_GUARD_MS);
        bench_press(&bench, i % 2 == 0 ? "\x03" : "2\r");
        assert_int_equal(bench.answers[ids[i]], 1);
        assert_int_equal(bench.choice[ids[i]], i % 2 == 0 ? CHOICE_DENY_ONCE : CHOICE_ALLOW_ONCE);
    }
    assert_int_equal(question_queue_waiting(bench.queue), 0);
    assert_false(bench.screen.is_other);
    assert_int_equal(bench.screen.foreign + bench.screen.lost + bench.screen.scrolls, 0);
    bench_assert_restored(&bench);
    bench_close(&bench);
}

static void resizing_draws_anew(void **state)
{
    static const unsigned short sizes[][2] = {{40, 120}, {5, 20}, {12, 30}, {60, 200}, {24, 80}};
    struct bench bench;
    uint64_t id;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    id = bench_ask_and_wait(&bench, &a_write);
    bench_press(&bench, "2");
    for (size_t i = 0; i < array_size(sizes); i++) {
        struct winsize size = {.ws_row = sizes[i][0], .ws_col = sizes[i][1]};

        assert_int_equal(ioctl(bench.spare, TIOCSWINSZ, &size), 0);
        bench.screen.rows = size.ws_row;
        bench.screen.columns = size.ws_col;
        raise(SIGWINCH);
        bench_settle(&bench);
        assert_string_equal(screen_line(&bench.screen, 0), "Gatehouse asks");
        assert_shows(&bench, "> 2 Allow once");
        assert_int_equal(bench.screen.lost + bench.screen.scrolls + bench.screen.foreign, 0);
    }
    bench_press(&bench, "\r");
    assert_int_equal(bench.choice[id], CHOICE_ALLOW_ONCE);
    bench_close(&bench);
}

static void a_small_window_shows_all_of_it_page_by_page(void **state)
{
    struct bench bench;
    uint64_t id;
    bool has_seen_end = false;

    (void)state;
    bench_open(&bench, &bench_colour, 5, 20);
    id = bench_ask_and_wait(&bench, &a_write);
    assert_string_equal(screen_line(&bench.screen, 0), "Gatehouse asks");
    assert_shows(&bench, "> 1 Deny once");
    assert_shows(&bench, "more: space");
    for (int i = 0; i < 20 && !has_seen_end; i++) {
        bench_press(&bench, " ");
        has_seen_end = screen_find(&bench.screen, "| +int new;") >= 0;
    }
    assert_true(has_seen_end);
    assert_shows(&bench, "end; b: back");
    assert_shows(&bench, "> 1 Deny once");
    for (int i = 0; i < 20; i++)
        bench_press(&bench, "b");
    assert_shows(&bench, "Change files, tool");
    bench_press(&bench, "5");
    assert_shows(&bench, "> 5 Always deny");
    assert_int_equal(bench.screen.lost + bench.screen.scrolls, 0);
    bench_press(&bench, "\r");
    assert_int_equal(bench.choice[id], CHOICE_ALWAYS_DENY);
    bench_close(&bench);
}

static void a_window_that_shows_nothing_allows_nothing(void **state)
{
    struct bench bench;
    uint64_t id;

    (void)state;
    bench_open(&bench, &bench_colour, 4, 10);
    id = bench_ask_and_wait(&bench, &a_write);
    assert_string_equal(screen_line(&bench.screen, 0), "Window too");
    bench_press(&bench, "2\r");
    assert_int_equal(bench.answers[id], 0);
    bench_press(&bench, "\x03");
    assert_int_equal(bench.choice[id], CHOICE_DENY_ONCE);
    bench_close(&bench);
}

static void a_long_change_is_paged(void **state)
{
    cleanup_buf struct buf detail = BUF_INIT(1 << 20);
    struct question question = a_write;
    struct bench bench;

    (void)state;
    for (int i = 0; i < 200; i++)
        assert_int_equal(buf_printf(&detail, "+line %d\n", i), 0);
    question.detail = buf_view(&detail);
    bench_open(&bench, &bench_colour, 24, 80);
    bench_ask_and_wait(&bench, &question);
    /* 205 lines; 24 rows less title, choices and keys, and one for this note */
    assert_shows(&bench, "... 189 more lines (press space)");
    assert_shows(&bench, "+line 10");
    assert_does_not_show(&bench, "+line 11");
    bench_press(&bench, " ");
    assert_shows(&bench, "| +line 11");
    assert_shows(&bench, "... 173 more lines");
    bench_press(&bench, "\x1b[5~");
    assert_shows(&bench, "... 189 more lines");
    for (int i = 0; i < 20; i++)
        bench_press(&bench, i % 2 == 0 ? " " : "\x1b[6~");
    assert_shows(&bench, "| +line 199");
    assert_shows(&bench, "(the end; b goes back)");
    bench_close(&bench);
}

static void deleting_looks_different(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    bench_ask_and_wait(&bench, &a_delete);
    assert_shows(&bench, "DELETE");
    assert_int_not_equal(str_find(buf_view(&bench.written), STR("\x1b[1;31mDELETE")), SIZE_MAX);
    bench_close(&bench);
    bench_open(&bench, &bench_colour, 24, 80);
    bench_ask_and_wait(&bench, &a_write);
    assert_does_not_show(&bench, "DELETE");
    assert_int_equal(str_find(buf_view(&bench.written), STR("\x1b[1;31m")), SIZE_MAX);
    bench_close(&bench);
}

static void without_colour_there_is_none(void **state)
{
    const struct stage_look look = stage_look("xterm", "1", NULL, NULL, "C.UTF-8");
    struct bench bench;

    (void)state;
    bench_open(&bench, &look, 24, 80);
    bench_ask_and_wait(&bench, &a_delete);
    assert_shows(&bench, "DELETE");
    assert_shows(&bench, "> 1 Deny once");
    assert_int_equal(bench.screen.colours, 0);
    bench_close(&bench);
    bench_open(&bench, &bench_colour, 24, 80);
    bench_ask_and_wait(&bench, &a_delete);
    assert_true(bench.screen.colours > 0);
    bench_close(&bench);
}

static void the_environment_says_how_it_looks(void **state)
{
    (void)state;
    assert_true(stage_look(NULL, NULL, NULL, NULL, NULL).is_plain);
    assert_true(stage_look("", NULL, NULL, NULL, NULL).is_plain);
    assert_true(stage_look("dumb", NULL, NULL, NULL, NULL).is_plain);
    assert_false(stage_look("dumb", NULL, NULL, NULL, NULL).has_colour);
    assert_false(stage_look("xterm", NULL, NULL, NULL, NULL).is_plain);
    assert_true(stage_look("xterm", NULL, NULL, NULL, NULL).has_colour);
    assert_true(stage_look("xterm", "", NULL, NULL, NULL).has_colour);
    assert_false(stage_look("xterm", "1", NULL, NULL, NULL).has_colour);
    assert_false(stage_look("xterm", NULL, NULL, NULL, NULL).is_utf8);
    assert_false(stage_look("xterm", NULL, NULL, NULL, "C").is_utf8);
    assert_true(stage_look("xterm", NULL, NULL, NULL, "de_DE.UTF-8").is_utf8);
    assert_true(stage_look("xterm", NULL, NULL, "C.utf8", "C").is_utf8);
    assert_false(stage_look("xterm", NULL, "C", "C.utf8", "C.utf8").is_utf8);
    assert_true(stage_look("xterm", NULL, "", "", "en_US.UTF-8").is_utf8);
    assert_false(stage_look("xterm", NULL, NULL, NULL, "en_US.ISO-8859-1").is_utf8);
}

static void hostile_text_draws_nothing(void **state)
{
    static const char *const hostile[] = {
        "\x1b[2J\x1b[H> 2 Allow once",
        "a\r\n> 1 Deny once\r\n  2 Allow once",
        "\xc2\x9b"
        "31m", /* CSI as one character */
        "\x9b"
        "2J\x9d"
        "0;x\x07", /* and as bytes that are no UTF-8 */
        "\xe2\x80\xae"
        "cod.exe", /* right to left */
        "\xe2\x81\xa6x\xe2\x81\xa9",
        "\x1b]0;title\x07\x1bP\x1b\\",
        "\x08\x08\x08\x7f\x0e\x0f\x05",
        "\xff\xfe\xc0\xaf\xed\xa0\x80",
        "\xef\xbb\xbf\xe2\x80\x8b",
        "\" quoted \\ \"",
    };

    (void)state;
    for (size_t i = 0; i < array_size(hostile); i++) {
        struct str text = str_from(hostile[i]);
        struct question_resource resources[] = {{.group = CATALOG_SHELL, .shown = text},
                                                {.group = CATALOG_FILESYSTEM_WRITE, .shown = text}};
        struct question question = {
            .tool = text,
            .group = CATALOG_SHELL,
            .resources = resources,
            .resource_count = 2,
            .action = text,
            .detail = text,
            .is_diff = i % 2 == 0,
            .choices = ALL_CHOICES,
        };
        struct bench bench;
        int choices = 0;
        uint64_t id;

        bench_open(&bench, &bench_colour, 40, 80);
        id = bench_ask_and_wait(&bench, &question);
        assert_int_equal(bench.screen.foreign, 0);
        assert_int_equal(bench.screen.scrolls + bench.screen.lost, 0);
        assert_string_equal(screen_line(&bench.screen, 0), "Gatehouse asks");
        /* Only our own choices stand at the left edge. */
        for (size_t row = 0; row < bench.screen.rows; row++) {
            const char *line = screen_line(&bench.screen, row);

            choices += strncmp(line, "> ", 2) == 0 || strncmp(line, "  2 ", 4) == 0;
        }
        assert_int_equal(choices, 2);
        assert_null(memmem(bench.written.data, bench.written.len, "\xe2\x80\xae", 3));
        assert_null(memmem(bench.written.data, bench.written.len, "\xc2\x9b", 2));
        bench_press(&bench, "\r");
        assert_int_equal(bench.choice[id], CHOICE_DENY_ONCE);
        assert_int_equal(bench.screen.foreign, 0);
        bench_close(&bench);
    }
}

static void hanging_up_denies_all_and_the_surface_goes(void **state)
{
    struct bench bench;
    uint64_t first;
    uint64_t second;
    uint64_t third = 0;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    first = bench_ask_and_wait(&bench, &a_write);
    second = bench_ask(&bench, &a_delete);
    close(bench.keeper);
    bench.keeper = -1;
    while (bench.gone == 0)
        loop_run_once(bench.loop);
    assert_int_equal(bench.answers[first], 1);
    assert_int_equal(bench.choice[first], CHOICE_DENY_ONCE);
    assert_int_equal(bench.answers[second], 1);
    assert_int_equal(bench.choice[second], CHOICE_DENY_ONCE);
    /* From now on nobody is there. */
    assert_int_equal(question_queue_ask(bench.queue, &a_write, bench_note_answer, &bench, &third),
                     0);
    assert_int_equal(bench.answers[third], 1);
    assert_false(bench.is_by_terminal[third]);
    bench_turn(&bench);
    assert_int_equal(bench.gone, 1);
    bench_close(&bench);
}

static void freeing_it_gives_the_terminal_back(void **state)
{
    struct bench bench;
    uint64_t id;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    id = bench_ask_and_wait(&bench, &a_write);
    console_free(bench.console);
    bench.console = NULL;
    bench_assert_restored(&bench);
    bench_settle(&bench);
    assert_false(bench.screen.is_other);
    assert_true(screen_is_empty(&bench.screen));
    assert_int_equal(bench.answers[id], 1);
    assert_false(bench.is_by_terminal[id]);
    bench_close(&bench);
}

/* A terminal that takes nothing holds nobody up, and what nobody sees is not answered. */
static void a_stopped_terminal_neither_blocks_nor_answers(void **state)
{
    cleanup_buf struct buf detail = BUF_INIT(1 << 20);
    struct question question = a_write;
    struct bench bench;
    uint64_t id;

    (void)state;
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_printf(&detail, "+line %d\n", i), 0);
    question.detail = buf_view(&detail);
    bench_open(&bench, &bench_colour, 50, 190);
    assert_int_equal(tcflow(bench.spare, TCOOFF), 0);
    id = bench_ask(&bench, &question);
    bench_turn(&bench);
    clock_fake_advance(&bench.clock, 10000);
    loop_run_due_timers(bench.loop);
    assert_int_equal(write(bench.keeper, "2\r", 2), 2);
    bench_turn(&bench);
    assert_int_equal(bench.answers[id], 0);
    assert_int_equal(tcflow(bench.spare, TCOON), 0);
    bench_settle(&bench);
    assert_shows(&bench, "> 1 Deny once");
    assert_int_equal(bench.answers[id], 0);
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "G");
    bench_press(&bench, "2\r");
    assert_int_equal(bench.choice[id], CHOICE_ALLOW_ONCE);
    bench_close(&bench);
}

/* The choice that Enter would take is not on the screen yet. */
static void what_was_chosen_unseen_is_not_answered(void **state)
{
    struct bench bench;
    uint64_t id;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    id = bench_ask_and_wait(&bench, &a_write);
    assert_int_equal(tcflow(bench.spare, TCOOFF), 0);
    type(&bench, "2\r");
    bench_turn(&bench);
    assert_int_equal(bench.answers[id], 0);
    assert_int_equal(tcflow(bench.spare, TCOON), 0);
    bench_settle(&bench);
    assert_shows(&bench, "> 2 Allow once");
    bench_press(&bench, "\r");
    assert_int_equal(bench.answers[id], 0);
    bench_wait(&bench, STAGE_GUARD_MS);
    bench_press(&bench, "\r");
    assert_int_equal(bench.choice[id], CHOICE_ALLOW_ONCE);
    bench_close(&bench);
}

static void what_was_typed_at_a_question_is_not_for_the_shell(void **state)
{
    struct bench bench;
    uint64_t id;
    int there = -1;

    (void)state;
    bench_open(&bench, &bench_colour, 24, 80);
    id = bench_ask_and_wait(&bench, &a_write);
    type(&bench, "rm x\r");
    question_queue_cancel(bench.queue, id, QUESTION_QUEUE_TIMED_OUT);
    bench_settle(&bench);
    assert_int_equal(ioctl(bench.spare, FIONREAD, &there), 0);
    assert_int_equal(there, 0);
    bench_close(&bench);
}

TEST_MAIN(cmocka_unit_test(a_question_is_shown_and_answered),
          cmocka_unit_test(the_default_denies_once), cmocka_unit_test(keys_move_and_enter_answers),
          cmocka_unit_test(only_what_is_offered_can_be_chosen),
          cmocka_unit_test(one_enter_never_answers_two),
          cmocka_unit_test(keys_typed_ahead_are_discarded),
          cmocka_unit_test(what_was_begun_before_is_forgotten),
          cmocka_unit_test(a_question_that_leaves_vanishes),
          cmocka_unit_test(an_answer_to_a_question_that_left_is_for_no_other),
          cmocka_unit_test(an_answer_from_elsewhere_takes_the_question_away),
          cmocka_unit_test(a_flood_is_answered_and_does_not_garble_the_screen),
          cmocka_unit_test(resizing_draws_anew),
          cmocka_unit_test(a_small_window_shows_all_of_it_page_by_page),
          cmocka_unit_test(a_window_that_shows_nothing_allows_nothing),
          cmocka_unit_test(a_long_change_is_paged), cmocka_unit_test(deleting_looks_different),
          cmocka_unit_test(without_colour_there_is_none),
          cmocka_unit_test(the_environment_says_how_it_looks),
          cmocka_unit_test(hostile_text_draws_nothing),
          cmocka_unit_test(hanging_up_denies_all_and_the_surface_goes),
          cmocka_unit_test(freeing_it_gives_the_terminal_back),
          cmocka_unit_test(a_stopped_terminal_neither_blocks_nor_answers),
          cmocka_unit_test(what_was_chosen_unseen_is_not_answered),
          cmocka_unit_test(what_was_typed_at_a_question_is_not_for_the_shell))

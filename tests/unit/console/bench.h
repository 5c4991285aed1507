/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A console on a terminal whose other side is the test, with a clock that the test moves. Nothing
 * here waits for time, only for bytes: a mark written after the console's output shows that all of
 * it has arrived.
 */
#ifndef TESTS_UNIT_CONSOLE_BENCH_H
#define TESTS_UNIT_CONSOLE_BENCH_H

#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "console/console.h"
#include "loop/loop.h"
#include "permission/questionqueue.h"
#include "screen.h"

enum { BENCH_IDS = 2048 };

static const char bench_mark[] = "\x1b]end\x07";

struct bench {
    struct clock clock;
    struct loop *loop;
    struct question_queue *queue;
    struct console *console;
    int keeper; /* the other side of the terminal, or of a pair of pipes */
    int terminal;
    int spare; /* the terminal once more, for the test's own use */
    struct termios before;
    struct screen screen;
    struct buf written; /* all that the console wrote */
    int answers[BENCH_IDS];
    enum permission_choice choice[BENCH_IDS];
    bool is_by_terminal[BENCH_IDS];
    int gone;
};

/* All but the wider ones, which need something to name. */
#define ALL_CHOICES                                                                                \
    (1U << CHOICE_DENY_ONCE | 1U << CHOICE_ALLOW_ONCE | 1U << CHOICE_ALLOW_SESSION |               \
     1U << CHOICE_ALWAYS_ALLOW | 1U << CHOICE_ALWAYS_DENY)

static const struct stage_look bench_colour = {.has_colour = true, .is_utf8 = true};

static inline void bench_note_answer(void *data, uint64_t id, enum permission_choice choice,
                                     const char *by)
{
    struct bench *bench = data;

    assert_in_range(id, 1, BENCH_IDS - 1);
    bench->answers[id]++;
    bench->choice[id] = choice;
    bench->is_by_terminal[id] = by != NULL && strcmp(by, CONSOLE_NAME) == 0;
}

static inline void bench_note_gone(void *data)
{
    ((struct bench *)data)->gone++;
}

static inline void bench_open(struct bench *bench, const struct stage_look *look, size_t rows,
                              size_t columns)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    struct console_config config;

    memset(bench, 0, sizeof(*bench));
    buf_init(&bench->written, 64 << 20);
    clock_fake_init(&bench->clock, 0);
    assert_int_equal(openpty(&bench->keeper, &bench->terminal, NULL, NULL, &size), 0);
    bench->spare = dup(bench->terminal);
    assert_true(bench->spare >= 0);
    assert_int_equal(tcgetattr(bench->terminal, &bench->before), 0);
    screen_init(&bench->screen, rows, columns);
    assert_int_equal(loop_new(&bench->clock, &bench->loop), 0);
    assert_int_equal(question_queue_new(&bench->queue), 0);
    config = (struct console_config){.loop = bench->loop,
                                     .queue = bench->queue,
                                     .in_fd = bench->terminal,
                                     .out_fd = bench->terminal,
                                     .look = *look,
                                     .on_gone = bench_note_gone,
                                     .data = bench};
    assert_int_equal(console_new(&config, &bench->console), 0);
}

static inline void bench_close(struct bench *bench)
{
    console_free(bench->console);
    question_queue_free(bench->queue);
    loop_free(bench->loop);
    close(bench->keeper);
    close(bench->terminal);
    close(bench->spare);
    buf_done(&bench->written);
}

/* Events that are there are handled; it waits for none. */
static inline void bench_turn(struct bench *bench)
{
    for (int i = 0; i < 16; i++)
        (void)uv_run(loop_uv(bench->loop), UV_RUN_NOWAIT);
}

/* Takes what the console wrote up to now. */
static inline void bench_look(struct bench *bench)
{
    const char *mark = bench_mark;
    size_t mark_left = sizeof(bench_mark) - 1;
    size_t found = 0;

    while (found < sizeof(bench_mark) - 1) {
        struct pollfd side = {.fd = bench->keeper, .events = POLLIN};
        char c;

        while (mark_left > 0) {
            ssize_t wrote = write(bench->spare, mark, mark_left);

            if (wrote <= 0)
                break; /* no room: first read */
            mark += wrote;
            mark_left -= (size_t)wrote;
        }
        assert_int_equal(poll(&side, 1, PATIENCE_MS), 1);
        assert_int_equal(read(bench->keeper, &c, 1), 1);
        assert_int_equal(buf_append_char(&bench->written, c), 0);
        found = c == bench_mark[found] ? found + 1 : c == bench_mark[0];
    }
    bench->written.len -= sizeof(bench_mark) - 1;
}

/* All is handled and seen. */
static inline void bench_settle(struct bench *bench)
{
    for (int i = 0; i < 3; i++) {
        size_t from = bench->written.len;

        bench_turn(bench);
        bench_look(bench);
        for (; from < bench->written.len; from++)
            screen_take(&bench->screen, bench->written.data[from]);
    }
}

static inline void bench_wait(struct bench *bench, int64_t ms)
{
    clock_fake_advance(&bench->clock, ms);
    loop_run_due_timers(bench->loop);
    bench_settle(bench);
}

/* Keys are pressed; the console has seen them when this returns. */
static inline void bench_press(struct bench *bench, const char *keys)
{
    struct pollfd side = {.fd = bench->spare, .events = POLLIN};
    int there = 0;

    assert_int_equal(write(bench->keeper, keys, strlen(keys)), strlen(keys));
    assert_int_equal(poll(&side, 1, PATIENCE_MS), 1);
    /* All of them: they come from the kernel's own queue. Lines are one piece. */
    do {
        sched_yield();
        assert_int_equal(ioctl(bench->spare, FIONREAD, &there), 0);
    } while (there < (int)strlen(keys));
    bench_settle(bench);
}

static inline uint64_t bench_ask(struct bench *bench, const struct question *question)
{
    uint64_t id = 0;

    assert_int_equal(question_queue_ask(bench->queue, question, bench_note_answer, bench, &id), 0);
    return id;
}

/* The question is on the screen, and its first moments are over. */
static inline uint64_t bench_ask_and_wait(struct bench *bench, const struct question *question)
{
    uint64_t id = bench_ask(bench, question);

    bench_settle(bench);
    bench_wait(bench, STAGE_GUARD_MS);
    return id;
}

static inline void bench_assert_restored(const struct bench *bench)
{
    struct termios now;

    assert_int_equal(tcgetattr(bench->spare, &now), 0);
    assert_int_equal(now.c_iflag, bench->before.c_iflag);
    assert_int_equal(now.c_oflag, bench->before.c_oflag);
    assert_int_equal(now.c_lflag, bench->before.c_lflag);
    assert_memory_equal(now.c_cc, bench->before.c_cc, sizeof(now.c_cc));
    assert_int_equal(fcntl(bench->spare, F_GETFL) & O_NONBLOCK, 0);
}

#define assert_shows(bench, text)                                                                  \
    do {                                                                                           \
        if (screen_find(&(bench)->screen, text) < 0)                                               \
            screen_print(&(bench)->screen);                                                        \
        assert_true(screen_find(&(bench)->screen, text) >= 0);                                     \
    } while (0)
#define assert_does_not_show(bench, text) assert_int_equal(screen_find(&(bench)->screen, text), -1)

#endif

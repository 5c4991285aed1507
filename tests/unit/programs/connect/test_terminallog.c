/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/timer.h"
#include "programs/connect/terminallog.h"

enum {
    NAME_BYTES = 64,
    CHUNK_BYTES = 32 << 10,
    /* More than a terminal takes that nobody reads from. */
    CHUNKS = 8,
    LOOK_MS = 100,
    TRIES = PATIENCE_MS / LOOK_MS,
};

static struct loop *loop;
static struct terminal_log *terminal_log;
static int master_fd;
static int terminal_fd;
static bool is_question_there;
static char shown[1 << 20];
static size_t shown_bytes;
static struct timer turn; /* what the log waits for keeps no loop alone */

static void on_turn(void *data)
{
    (void)data;
}

static bool is_taken(void *data)
{
    (void)data;
    return is_question_there;
}

static int set_up(void **state)
{
    struct terminallog_config config = {.is_taken = is_taken};
    char name[NAME_BYTES];

    (void)state;
    is_question_there = false;
    shown_bytes = 0;
    master_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    assert_true(master_fd >= 0);
    assert_int_equal(grantpt(master_fd), 0);
    assert_int_equal(unlockpt(master_fd), 0);
    assert_int_equal(ptsname_r(master_fd, name, sizeof(name)), 0);
    terminal_fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal_fd >= 0);
    assert_int_equal(loop_new(&clock_system, &loop), 0);
    timer_init(&turn, loop, on_turn, NULL);
    timer_start_repeating(&turn, 1);
    config.loop = loop;
    config.out_fd = terminal_fd;
    assert_int_equal(terminallog_new(&config, &terminal_log, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    terminallog_free(terminal_log);
    timer_stop(&turn);
    loop_free(loop);
    close(terminal_fd);
    close(master_fd);
    return 0;
}

static void say(const char *text, size_t len)
{
    int left;

    assert_int_equal(write(terminallog_fd(terminal_log), text, len), (ssize_t)len);
    do {
        loop_run_once(loop);
        assert_int_equal(ioctl(terminallog_fd(terminal_log), FIONREAD, &left), 0);
    } while (left > 0);
}

/* What has come to the terminal by now, or soon; true: these words are in it. */
static bool is_shown(const char *words)
{
    struct pollfd ready = {.fd = master_fd, .events = POLLIN};
    ssize_t count;

    if (poll(&ready, 1, LOOK_MS) <= 0)
        return false;
    count = read(master_fd, shown + shown_bytes, sizeof(shown) - shown_bytes);
    if (count > 0)
        shown_bytes += (size_t)count;
    return memmem(shown, shown_bytes, words, strlen(words)) != NULL;
}

static void lines_are_shown(void **state)
{
    bool is_there = false;

    (void)state;
    say("a line\n", 7);
    for (int i = 0; i < TRIES && !is_there; i++)
        is_there = is_shown("a line");
    assert_true(is_there);
}

/* Were one write to block, this would not come to an end. */
static void a_terminal_that_nobody_reads_holds_up_nothing(void **state)
{
    static char chunk[CHUNK_BYTES];
    bool is_told = false;

    (void)state;
    memset(chunk, 'x', sizeof(chunk));
    for (int i = 0; i < CHUNKS; i++)
        say(chunk, sizeof(chunk));
    /* Others write to the same terminal, and wait for it. */
    assert_int_equal(fcntl(terminal_fd, F_GETFL) & O_NONBLOCK, 0);
    for (int i = 0; i < TRIES && !is_told; i++) {
        say("y\n", 2);
        is_told = is_shown("more bytes, which were dropped");
    }
    assert_true(is_told);
}

static void what_waits_at_the_end_holds_up_nothing_either(void **state)
{
    static char chunk[CHUNK_BYTES];

    (void)state;
    memset(chunk, 'x', sizeof(chunk));
    is_question_there = true;
    for (int i = 0; i < CHUNKS; i++)
        say(chunk, sizeof(chunk));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(CASE(lines_are_shown), CASE(a_terminal_that_nobody_reads_holds_up_nothing),
          CASE(what_waits_at_the_end_holds_up_nothing_either))

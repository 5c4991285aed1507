/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "loop/reader.h"
#include "loop/writer.h"

enum { CEILING = 4 << 20 };

struct fixture {
    struct loop *loop;
    struct writer *writer;
    int pipe_fds[2];
    int drained;
    int broken;
    int error;
    struct buf got;
};

static void note_drained(void *data)
{
    struct fixture *fixture = data;

    fixture->drained++;
}

static void note_broken(void *data, int error)
{
    struct fixture *fixture = data;

    fixture->broken++;
    fixture->error = error;
}

static int begin(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    const struct writer_events events = {
        .on_drained = note_drained, .on_broken = note_broken, .data = fixture};

    assert_non_null(fixture);
    signal(SIGPIPE, SIG_IGN);
    buf_init(&fixture->got, 2 * CEILING);
    assert_int_equal(loop_new(&clock_system, &fixture->loop), 0);
    assert_int_equal(pipe2(fixture->pipe_fds, O_CLOEXEC), 0);
    assert_int_equal(
        writer_new(fixture->loop, fixture->pipe_fds[1], CEILING, &events, &fixture->writer), 0);
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    writer_free(fixture->writer);
    loop_free(fixture->loop);
    for (int i = 0; i < 2; i++)
        if (fixture->pipe_fds[i] >= 0)
            close(fixture->pipe_fds[i]);
    buf_done(&fixture->got);
    free(fixture);
    return 0;
}

static void take(void *data, struct str bytes)
{
    struct fixture *fixture = data;

    assert_int_equal(buf_append_str(&fixture->got, bytes), 0);
}

static void ignore_end(void *data, int error)
{
    (void)data;
    (void)error;
}

/* Bytes that tell when one is lost, doubled or out of order. */
static struct str pattern(struct buf *buf, size_t len)
{
    assert_int_equal(buf_reserve(buf, len), 0);
    for (size_t i = 0; i < len; i++)
        buf->data[i] = (char)(i * 31 + i / 251);
    buf->len = len;
    return buf_view(buf);
}

static void parts_arrive_at_once_and_in_order(void **state)
{
    struct fixture *fixture = *state;
    const struct str parts[] = {STR("{"), STR(""), STR("\"a\":1"), STR("}\n")};
    char got[16];

    assert_int_equal(writer_send(fixture->writer, parts, array_size(parts)), 0);
    assert_int_equal(writer_kept(fixture->writer), 0);
    assert_int_equal(read(fixture->pipe_fds[0], got, sizeof(got)), 8);
    assert_memory_equal(got, "{\"a\":1}\n", 8);
    assert_int_equal(fixture->drained, 0);
}

static void what_is_not_taken_is_kept_and_follows(void **state)
{
    struct fixture *fixture = *state;
    const struct reader_events events = {.on_bytes = take, .on_end = ignore_end, .data = fixture};
    cleanup_buf struct buf text = BUF_INIT(CEILING);
    struct str bytes = pattern(&text, 3 << 20);
    const struct str parts[] = {str_slice(bytes, 0, 1 << 20), str_slice(bytes, 1 << 20, CEILING)};
    struct reader *reader;

    assert_int_equal(writer_send(fixture->writer, parts, 2), 0);
    assert_true(writer_kept(fixture->writer) > 0);
    assert_int_equal(writer_send(fixture->writer, &STR("the end"), 1), 0);
    assert_int_equal(reader_new(fixture->loop, fixture->pipe_fds[0], &events, &reader), 0);
    while (fixture->got.len < bytes.len + 7)
        loop_run_once(fixture->loop);
    assert_memory_equal(fixture->got.data, bytes.ptr, bytes.len);
    assert_memory_equal(fixture->got.data + bytes.len, "the end", 7);
    assert_int_equal(writer_kept(fixture->writer), 0);
    assert_int_equal(fixture->drained, 1);
    reader_free(reader);
}

static void the_ceiling_holds_and_nothing_is_sent_in_part(void **state)
{
    struct fixture *fixture = *state;
    cleanup_buf struct buf text = BUF_INIT(2 * CEILING);
    struct str bytes = pattern(&text, CEILING + 1);
    struct str half = str_slice(bytes, 0, CEILING / 2 + (1 << 20));
    char byte;

    assert_int_equal(writer_send(fixture->writer, &bytes, 1), ERR_TOO_LARGE);
    assert_int_equal(fcntl(fixture->pipe_fds[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(read(fixture->pipe_fds[0], &byte, 1), -1);
    assert_int_equal(writer_send(fixture->writer, &half, 1), 0);
    assert_int_equal(writer_send(fixture->writer, &half, 1), ERR_TOO_LARGE);
    assert_int_equal(writer_send(fixture->writer, &STR("x"), 1), 0);
}

static void a_reader_that_goes_away_is_told_once(void **state)
{
    struct fixture *fixture = *state;

    close(steal_fd(&fixture->pipe_fds[0]));
    assert_int_equal(writer_send(fixture->writer, &STR("x"), 1), ERR_IO);
    assert_int_equal(fixture->broken, 0); /* not from inside the call */
    loop_run(fixture->loop);
    assert_int_equal(fixture->broken, 1);
    assert_true(fixture->error < 0);
    assert_int_equal(writer_send(fixture->writer, &STR("x"), 1), ERR_IO);
    loop_run(fixture->loop);
    assert_int_equal(fixture->broken, 1);
}

static void a_reader_that_goes_away_in_the_middle_is_told(void **state)
{
    struct fixture *fixture = *state;
    cleanup_buf struct buf text = BUF_INIT(CEILING);
    struct str bytes = pattern(&text, 3 << 20);

    assert_int_equal(writer_send(fixture->writer, &bytes, 1), 0);
    close(steal_fd(&fixture->pipe_fds[0]));
    loop_run(fixture->loop);
    assert_int_equal(fixture->broken, 1);
    assert_int_equal(fixture->drained, 0);
    assert_int_equal(writer_kept(fixture->writer), 0);
}

static void a_file_takes_everything(void **state)
{
    struct fixture *fixture = *state;
    const struct writer_events events = {
        .on_drained = note_drained, .on_broken = note_broken, .data = fixture};
    cleanup_buf struct buf text = BUF_INIT(CEILING);
    struct str bytes = pattern(&text, 3 << 20);
    char name[] = "/tmp/gh-writer-XXXXXX";
    cleanup_fd int file = mkstemp(name);
    struct writer *writer;

    assert_int_equal(unlink(name), 0);
    assert_int_equal(writer_new(fixture->loop, file, 1, &events, &writer), 0);
    assert_int_equal(writer_send(writer, &bytes, 1), 0);
    assert_int_equal(lseek(file, 0, SEEK_CUR), (off_t)bytes.len);
    writer_free(writer);
}

/* As after Ctrl-S: nothing is taken, and nobody waits for it. */
static void a_stopped_terminal_holds_nobody_up(void **state)
{
    static char text[256 << 10];
    struct fixture *fixture = *state;
    const struct writer_events events = {
        .on_drained = note_drained, .on_broken = note_broken, .data = fixture};
    const struct str bytes = {text, sizeof(text)};
    struct writer *writer;
    size_t got = 0;
    int keeper;
    int terminal;

    memset(text, 'x', sizeof(text));
    assert_int_equal(openpty(&keeper, &terminal, NULL, NULL, NULL), 0);
    assert_int_equal(writer_new_terminal(fixture->loop, terminal, CEILING, &events, &writer), 0);
    assert_int_equal(tcflow(terminal, TCOOFF), 0);
    assert_int_equal(writer_send(writer, &bytes, 1), 0);
    assert_int_equal(writer_kept(writer), sizeof(text));
    assert_int_equal(tcflow(terminal, TCOON), 0);
    while (got < sizeof(text)) {
        struct pollfd side = {.fd = keeper, .events = POLLIN};
        char some[4096];
        ssize_t n;

        (void)uv_run(loop_uv(fixture->loop), UV_RUN_NOWAIT);
        if (poll(&side, 1, 1) < 1)
            continue;
        n = read(keeper, some, sizeof(some));
        assert_true(n > 0);
        got += (size_t)n;
    }
    loop_run_once(fixture->loop);
    assert_int_equal(writer_kept(writer), 0);
    assert_int_equal(fixture->drained, 1);
    writer_free(writer);
    assert_int_equal(fcntl(terminal, F_GETFL) & O_NONBLOCK, 0);
    close(keeper);
    close(terminal);
}

#define writer_test(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_MAIN(writer_test(parts_arrive_at_once_and_in_order),
          writer_test(what_is_not_taken_is_kept_and_follows),
          writer_test(the_ceiling_holds_and_nothing_is_sent_in_part),
          writer_test(a_reader_that_goes_away_is_told_once),
          writer_test(a_reader_that_goes_away_in_the_middle_is_told),
          writer_test(a_file_takes_everything), writer_test(a_stopped_terminal_holds_nobody_up))

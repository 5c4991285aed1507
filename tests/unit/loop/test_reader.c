/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "loop/reader.h"

struct fixture {
    struct loop *loop;
    struct reader *reader;
    struct buf got;
    int ends;
    int error;
    int pieces;
    bool pauses;
    bool frees;
};

static void take(void *data, struct str bytes)
{
    struct fixture *fixture = data;

    fixture->pieces++;
    assert_int_equal(buf_append_str(&fixture->got, bytes), 0);
    if (fixture->pauses)
        reader_pause(fixture->reader);
    if (fixture->frees) {
        reader_free(fixture->reader);
        fixture->reader = NULL;
    }
}

static void note_end(void *data, int error)
{
    struct fixture *fixture = data;

    fixture->ends++;
    fixture->error = error;
    reader_free(fixture->reader);
    fixture->reader = NULL;
}

static void begin(struct fixture *fixture, int fd)
{
    const struct reader_events events = {.on_bytes = take, .on_end = note_end, .data = fixture};

    *fixture = (struct fixture){.got = BUF_INIT(8 << 20)};
    assert_int_equal(loop_new(&clock_system, &fixture->loop), 0);
    assert_int_equal(reader_new(fixture->loop, fd, &events, &fixture->reader), 0);
}

static void end(struct fixture *fixture)
{
    reader_free(fixture->reader);
    loop_free(fixture->loop);
    buf_done(&fixture->got);
}

static void assert_got(const struct fixture *fixture, const char *text)
{
    assert_int_equal(fixture->got.len, strlen(text));
    assert_memory_equal(fixture->got.data, text, strlen(text));
}

static void a_pipe_is_read_to_its_end(void **state)
{
    struct fixture fixture;
    int pipe_fds[2];

    (void)state;
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    begin(&fixture, pipe_fds[0]);
    assert_int_equal(write(pipe_fds[1], "hello", 5), 5);
    close(pipe_fds[1]);
    loop_run(fixture.loop);
    assert_got(&fixture, "hello");
    assert_int_equal(fixture.ends, 1);
    assert_int_equal(fixture.error, 0);
    end(&fixture);
    close(pipe_fds[0]);
}

/* epoll takes neither. */
static void a_file_and_the_null_device_are_read_too(void **state)
{
    char name[] = "/tmp/gh-reader-XXXXXX";
    struct fixture fixture;
    cleanup_fd int file = mkstemp(name);
    cleanup_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_int_equal(unlink(name), 0);
    assert_int_equal(write(file, "in a file", 9), 9);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    begin(&fixture, file);
    loop_run(fixture.loop);
    assert_got(&fixture, "in a file");
    assert_int_equal(fixture.ends, 1);
    end(&fixture);
    begin(&fixture, null);
    loop_run(fixture.loop);
    assert_got(&fixture, "");
    assert_int_equal(fixture.ends, 1);
    end(&fixture);
}

static void nothing_is_read_while_it_is_paused(void **state)
{
    struct fixture fixture;
    int pipe_fds[2];

    (void)state;
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    begin(&fixture, pipe_fds[0]);
    fixture.pauses = true;
    assert_int_equal(write(pipe_fds[1], "one", 3), 3);
    loop_run(fixture.loop); /* returns: a paused reader keeps no loop running */
    assert_got(&fixture, "one");
    assert_int_equal(write(pipe_fds[1], "two", 3), 3);
    loop_run(fixture.loop);
    assert_got(&fixture, "one");
    reader_resume(fixture.reader);
    loop_run(fixture.loop);
    assert_got(&fixture, "onetwo");
    assert_int_equal(fixture.ends, 0);
    end(&fixture);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void it_may_be_freed_by_what_it_calls(void **state)
{
    struct fixture fixture;
    int pipe_fds[2];

    (void)state;
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    begin(&fixture, pipe_fds[0]);
    fixture.frees = true;
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    loop_run(fixture.loop);
    assert_int_equal(fixture.pieces, 1);
    assert_int_equal(fixture.ends, 0);
    end(&fixture);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void the_descriptor_gets_its_flags_back(void **state)
{
    struct fixture fixture;
    int pipe_fds[2];

    (void)state;
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    begin(&fixture, pipe_fds[0]);
    assert_true((fcntl(pipe_fds[0], F_GETFL) & O_NONBLOCK) != 0);
    end(&fixture);
    assert_true((fcntl(pipe_fds[0], F_GETFL) & O_NONBLOCK) == 0);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void a_closed_descriptor_is_refused(void **state)
{
    const struct reader_events events = {.on_bytes = take, .on_end = note_end};
    struct reader *reader = NULL;
    struct loop *loop;

    (void)state;
    assert_int_equal(loop_new(&clock_system, &loop), 0);
    assert_true(reader_new(loop, -1, &events, &reader) < 0);
    assert_null(reader);
    loop_free(loop);
}

static void count_ready(void *data)
{
    struct fixture *fixture = data;

    fixture->pieces++;
    loop_stop(fixture->loop);
}

static void readiness_is_told_without_reading(void **state)
{
    struct fixture fixture = {.pieces = 0};
    struct ready_watch *watch;
    int pipe_fds[2];
    char byte;

    (void)state;
    assert_int_equal(loop_new(&clock_system, &fixture.loop), 0);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    assert_int_equal(ready_watch_new(fixture.loop, pipe_fds[0], count_ready, &fixture, &watch), 0);
    loop_run(fixture.loop); /* keeps no loop running */
    assert_int_equal(fixture.pieces, 0);
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    uv_ref((uv_handle_t *)watch);
    loop_run(fixture.loop);
    assert_int_equal(fixture.pieces, 1);
    assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
    ready_watch_free(watch);
    loop_free(fixture.loop);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

TEST_MAIN(cmocka_unit_test(a_pipe_is_read_to_its_end),
          cmocka_unit_test(a_file_and_the_null_device_are_read_too),
          cmocka_unit_test(nothing_is_read_while_it_is_paused),
          cmocka_unit_test(it_may_be_freed_by_what_it_calls),
          cmocka_unit_test(the_descriptor_gets_its_flags_back),
          cmocka_unit_test(a_closed_descriptor_is_refused),
          cmocka_unit_test(readiness_is_told_without_reading))

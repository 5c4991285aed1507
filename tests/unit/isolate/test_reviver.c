/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/packet.h"
#include "isolate/reviver.h"

enum { FIRST = 1, SECOND = 2, LONG_MS = 60000 };

static int ends[2]; /* of the program, and of what starts companions */

static int setup(void **state)
{
    (void)state;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int teardown(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

/* With one end of a pipe, whose other end has that byte. */
static void answer(uint32_t which, char byte)
{
    cleanup_fd int from = -1;
    cleanup_fd int to = -1;
    int pipes[2];

    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    from = pipes[0];
    to = pipes[1];
    assert_int_equal(write(to, &byte, 1), 1);
    assert_int_equal(
        packet_send(ends[1], (struct str){(const char *)&which, sizeof(which)}, &from, 1, 0), 0);
}

static void *answer_both(void *data)
{
    uint32_t which;

    (void)data;
    assert_int_equal(packet_receive(ends[1], &which, sizeof(which), NULL, 0, 0), sizeof(which));
    assert_int_equal(which, SECOND);
    answer(FIRST, '1');
    answer(SECOND, '2');
    return NULL;
}

static void answers_to_earlier_questions_are_dropped(void **state)
{
    cleanup_fd int got = -1;
    pthread_t thread;
    char byte;

    (void)state;
    answer(SECOND, '0');
    assert_int_equal(pthread_create(&thread, NULL, answer_both, NULL), 0);
    assert_int_equal(reviver_get(ends[0], SECOND, LONG_MS, &got, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(read(got, &byte, 1), 1);
    assert_int_equal(byte, '2');
}

static void who_gets_no_answer_waits_no_longer_than_he_said(void **state)
{
    int got = -1;

    (void)state;
    assert_int_equal(reviver_get(ends[0], FIRST, 1, &got, NULL), ERR_CONNECTION_LOST);
    assert_int_equal(got, -1);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(answers_to_earlier_questions_are_dropped),
        SCENE(who_gets_no_answer_waits_no_longer_than_he_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

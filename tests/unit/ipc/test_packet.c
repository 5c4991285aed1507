/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/packet.h"

static int ends[2];

static int set_up(void **state)
{
    (void)state;
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int tear_down(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static int open_count(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void a_packet_comes_whole_with_its_descriptors(void **state)
{
    const int given[] = {STDIN_FILENO, STDOUT_FILENO};
    int fds[PACKET_MAX_FDS];
    char room[16];

    (void)state;
    assert_int_equal(packet_send(ends[0], STR("one"), given, 2, 0), 0);
    assert_int_equal(packet_send(ends[0], STR("second"), NULL, 0, 0), 0);
    assert_int_equal(packet_receive(ends[1], room, sizeof(room), fds, PACKET_MAX_FDS, 0), 3);
    assert_memory_equal(room, "one", 3);
    assert_true(fds[0] >= 0 && fds[1] >= 0 && fds[2] == -1);
    assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(packet_receive(ends[1], room, sizeof(room), fds, PACKET_MAX_FDS, 0), 6);
    assert_int_equal(fds[0], -1);
}

static void of_too_many_descriptors_none_is_kept(void **state)
{
    const int given[PACKET_MAX_FDS] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, ends[0]};
    int before = open_count();
    char room[16];

    (void)state;
    for (size_t wanted = 0; wanted < PACKET_MAX_FDS; wanted++) {
        int fds[PACKET_MAX_FDS] = {-1, -1, -1, -1};

        assert_int_equal(packet_send(ends[0], STR("x"), given, PACKET_MAX_FDS, 0), 0);
        assert_int_equal(packet_receive(ends[1], room, sizeof(room), fds, wanted, 0), 1);
        for (size_t i = 0; i < PACKET_MAX_FDS; i++)
            assert_int_equal(fds[i], -1);
        assert_int_equal(open_count(), before);
    }
}

static void a_packet_that_is_too_large_is_refused_with_its_descriptors(void **state)
{
    const int given[] = {STDIN_FILENO};
    int before = open_count();
    char room[4];
    int fd;

    (void)state;
    assert_int_equal(packet_send(ends[0], STR("12345"), given, 1, 0), 0);
    assert_int_equal(packet_receive(ends[1], room, sizeof(room), &fd, 1, 0), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_int_equal(fd, -1);
    assert_int_equal(open_count(), before);
}

static void the_other_side_s_end_is_told(void **state)
{
    char room[4];
    int fd;

    (void)state;
    assert_int_equal(packet_receive(ends[1], room, sizeof(room), &fd, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    close(ends[0]);
    assert_int_equal(packet_receive(ends[1], room, sizeof(room), &fd, 1, 0), 0);
    assert_int_equal(packet_send(ends[1], STR("x"), NULL, 0, 0), -1); /* and no signal */
    assert_int_equal(errno, EPIPE);
    ends[0] = dup(ends[1]);
}

#define packet_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(packet_test(a_packet_comes_whole_with_its_descriptors),
          packet_test(of_too_many_descriptors_none_is_kept),
          packet_test(a_packet_that_is_too_large_is_refused_with_its_descriptors),
          packet_test(the_other_side_s_end_is_told))

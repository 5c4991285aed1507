/* SPDX-License-Identifier: Apache-2.0 */
/* The test is the room, the starter and the proxies. */
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/packet.h"
#include "isolate/webproxy.h"
#include "loop_until.h"
#include "programs/sandboxd/webaccess.h"

enum { ASK_AGAIN_MS = 10 * 1000, RETRY_MS = 10 * 1000, PATIENCE_MS_OF_GRANT = 60 * 1000 };

struct fixture {
    struct clock clock;
    struct loop *loop;
    uv_async_t alive; /* without it the loop has nothing to wait for */
    struct webaccess *access;
    int starter; /* the other end */
    struct domainlist hosts;
    struct webgrant grant;
    int told;
    int code;
};

/* A sandbox as the proxy gets it. */
struct taken {
    int listener;
    int life;
};

/* ---- the room ---- */

static room_connected *listening;
static void *listening_data;

int room_listen(struct room *room, uint16_t port, room_connected *done, void *data)
{
    (void)room;
    assert_int_equal(port, WEBPROXY_PORT);
    listening = done;
    listening_data = data;
    return 0;
}

/* ---- the starter and the proxies ---- */

static bool has_been_asked(const struct fixture *fixture)
{
    uint32_t which;

    return packet_receive(fixture->starter, &which, sizeof(which), NULL, 0, MSG_DONTWAIT) ==
           (ssize_t)sizeof(which);
}

/* The proxy's end of what was started; or -1, and it could not be started. */
static int answer(struct fixture *fixture, bool is_started)
{
    const uint32_t which = 0;
    const struct str bytes = {(const char *)&which, sizeof(which)};
    int ends[2] = {-1, -1};

    if (is_started)
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(packet_send(fixture->starter, bytes, ends, is_started ? 1 : 0, 0), 0);
    if (is_started)
        close(ends[0]);
    while (loop_until_step(fixture->loop))
        ;
    return ends[1];
}

static bool take(int proxy, struct taken *out_taken)
{
    static struct webproxy_order order;
    int fds[2];

    if (packet_receive(proxy, &order, sizeof(order), fds, array_size(fds), MSG_DONTWAIT) <= 0)
        return false;
    *out_taken = (struct taken){fds[0], fds[1]};
    return true;
}

static void drop(const struct taken *taken)
{
    close(taken->listener);
    close(taken->life);
}

static bool has_hung_up(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};

    return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

/* ---- the service ---- */

static void on_done(void *data, const struct err *err)
{
    struct fixture *fixture = data;

    fixture->told++;
    fixture->code = err != NULL ? err->code : 0;
}

static void advance(struct fixture *fixture, int64_t by_ms)
{
    clock_fake_advance(&fixture->clock, by_ms);
    loop_run_due_timers(fixture->loop);
}

static void open_grant(struct fixture *fixture)
{
    assert_int_equal(webgrant_open(&fixture->grant, fixture->access, NULL, &fixture->hosts, "",
                                   on_done, fixture),
                     0);
    listening(listening_data, NULL, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    int ends[2];

    if (fixture == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    clock_fake_init(&fixture->clock, 0);
    fixture->starter = ends[1];
    *state = fixture;
    return loop_new(&fixture->clock, &fixture->loop) == 0 &&
                   uv_async_init(loop_uv(fixture->loop), &fixture->alive, NULL) == 0 &&
                   domainlist_add(&fixture->hosts, STR("example.com"), NULL) == 0
               ? webaccess_new(fixture->loop, ends[0], &fixture->access)
               : -1;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    webgrant_close(&fixture->grant);
    webaccess_free(fixture->access);
    close(fixture->starter);
    uv_close((uv_handle_t *)&fixture->alive, NULL);
    loop_free(fixture->loop);
    free(fixture);
    return 0;
}

/* ---- tests ---- */

static void a_starter_that_has_forgotten_a_question_is_asked_again(void **state)
{
    struct fixture *fixture = *state;
    struct taken taken;
    int proxy;
    int other;

    open_grant(fixture);
    assert_true(has_been_asked(fixture));
    advance(fixture, ASK_AGAIN_MS - 1);
    assert_false(has_been_asked(fixture));
    advance(fixture, 1);
    assert_true(has_been_asked(fixture));
    proxy = answer(fixture, true);
    assert_true(take(proxy, &taken));
    assert_int_equal(send(taken.life, "r", 1, 0), 1);
    loop_until(fixture->loop, fixture->told > 0);
    assert_int_equal(fixture->code, 0);
    /* The first answer was only late. */
    other = answer(fixture, true);
    assert_true(has_hung_up(other));
    assert_false(has_hung_up(proxy));
    drop(&taken);
    close(proxy);
    close(other);
}

static void a_new_sandbox_does_not_wait_for_ever_for_a_proxy_that_hangs(void **state)
{
    struct fixture *fixture = *state;
    struct taken taken;
    int proxy;

    open_grant(fixture);
    proxy = answer(fixture, true);
    assert_true(take(proxy, &taken));
    advance(fixture, PATIENCE_MS_OF_GRANT - 1);
    assert_int_equal(fixture->told, 0);
    advance(fixture, 1);
    assert_int_equal(fixture->told, 1);
    assert_int_equal(fixture->code, ERR_BUSY);
    assert_true(has_hung_up(taken.life)); /* a proxy that goes on does not serve it */
    drop(&taken);
    close(proxy);
}

static void a_sandbox_that_runs_waits_until_a_proxy_can_be_started(void **state)
{
    struct fixture *fixture = *state;
    struct taken taken;
    int proxy;

    open_grant(fixture);
    assert_true(has_been_asked(fixture));
    proxy = answer(fixture, true);
    assert_true(take(proxy, &taken));
    assert_int_equal(send(taken.life, "r", 1, 0), 1);
    loop_until(fixture->loop, fixture->told > 0);
    advance(fixture, PATIENCE_MS_OF_GRANT);
    close(proxy);
    drop(&taken);
    while (loop_until_step(fixture->loop))
        ;
    advance(fixture, RETRY_MS);
    assert_true(has_been_asked(fixture));
    (void)answer(fixture, false);
    assert_false(has_been_asked(fixture));
    advance(fixture, RETRY_MS);
    assert_true(has_been_asked(fixture));
    proxy = answer(fixture, true);
    assert_true(take(proxy, &taken));
    assert_int_equal(fixture->told, 1);
    drop(&taken);
    close(proxy);
}

static void a_new_sandbox_is_refused_if_no_proxy_can_be_started(void **state)
{
    struct fixture *fixture = *state;

    open_grant(fixture);
    (void)answer(fixture, false);
    assert_int_equal(fixture->told, 1);
    assert_int_equal(fixture->code, ERR_UNSUPPORTED);
    assert_false(webgrant_is_awaited(&fixture->grant));
}

TEST_MAIN(cmocka_unit_test_setup_teardown(a_starter_that_has_forgotten_a_question_is_asked_again,
                                          set_up, tear_down),
          cmocka_unit_test_setup_teardown(
              a_new_sandbox_does_not_wait_for_ever_for_a_proxy_that_hangs, set_up, tear_down),
          cmocka_unit_test_setup_teardown(a_sandbox_that_runs_waits_until_a_proxy_can_be_started,
                                          set_up, tear_down),
          cmocka_unit_test_setup_teardown(a_new_sandbox_is_refused_if_no_proxy_can_be_started,
                                          set_up, tear_down))

/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "programs/connect/notify.h"

enum { MESSAGE_BYTES = 4096, ADDRESS_BYTES = 128 };

static struct clock fake_clock;
static struct loop *loop;
static struct notify *notify;
static int manager;
static char address_text[ADDRESS_BYTES];

/* A manager whose socket has no file, by a name that the kernel chooses. */
static void listen_unnamed(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(sa_family_t);

    assert_int_equal(bind(manager, (struct sockaddr *)&address, len), 0);
    len = sizeof(address);
    assert_int_equal(getsockname(manager, (struct sockaddr *)&address, &len), 0);
    len -= (socklen_t)offsetof(struct sockaddr_un, sun_path);
    snprintf(address_text, sizeof(address_text), "@%.*s", (int)len - 1, address.sun_path + 1);
}

static int begin(void **state)
{
    (void)state;
    clock_fake_init(&fake_clock, 0);
    assert_int_equal(loop_new(&fake_clock, &loop), 0);
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(manager >= 0);
    notify = NULL;
    return 0;
}

static int end(void **state)
{
    (void)state;
    notify_free(notify);
    close(manager);
    loop_free(loop);
    return 0;
}

static void open_with(const char *usec, const char *pid)
{
    const struct notify_environment environment = {
        .socket = address_text, .watchdog_usec = usec, .watchdog_pid = pid};

    assert_int_equal(notify_new(loop, &environment, &notify, NULL), 0);
}

static void pass(int64_t ms)
{
    clock_fake_advance(&fake_clock, ms);
    loop_run_due_timers(loop);
}

/* The next message, or "" when there is none. */
static const char *heard(void)
{
    static char message[MESSAGE_BYTES];
    ssize_t got = recv(manager, message, sizeof(message) - 1, 0);

    message[got > 0 ? got : 0] = '\0';
    return message;
}

static void the_manager_hears_of_the_daemon_s_life(void **state)
{
    (void)state;
    listen_unnamed();
    open_with(NULL, NULL);
    assert_string_equal(heard(), "");
    notify_status(notify, STR("waiting for a page"));
    assert_string_equal(heard(), "STATUS=waiting for a page\n");
    notify_ready(notify);
    assert_string_equal(heard(), "READY=1\n");
    notify_stopping(notify);
    assert_string_equal(heard(), "STOPPING=1\n");
    pass(3600 * 1000);
    assert_string_equal(heard(), "");
}

static void a_socket_may_have_a_file(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char directory[] = "/tmp/notify-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
    assert_int_equal(bind(manager, (struct sockaddr *)&address, sizeof(address)), 0);
    snprintf(address_text, sizeof(address_text), "%s", address.sun_path);
    open_with(NULL, NULL);
    notify_ready(notify);
    assert_string_equal(heard(), "READY=1\n");
    unlink(address.sun_path);
    rmdir(directory);
}

static void a_status_is_one_line_without_secrets(void **state)
{
    char text[2 * NOTIFY_STATUS_BYTES];
    const char *message;

    (void)state;
    listen_unnamed();
    open_with(NULL, NULL);
    notify_status(notify, STR("a\nREADY=1\x1b[2J b"));
    assert_string_equal(heard(), "STATUS=a READY=1 [2J b\n");
    notify_status(notify, STR("token=abc gw_0123456789abcdef0123456789abcdef"));
    message = heard();
    assert_null(strstr(message, "abc"));
    assert_non_null(strstr(message, "[redacted]"));
    memset(text, 'x', sizeof(text));
    /* A character that does not fit as a whole is left out. */
    memcpy(text + NOTIFY_STATUS_BYTES - 1, "\xc3\xbc", 2);
    notify_status(notify, (struct str){text, sizeof(text)});
    assert_int_equal(strlen(heard()), NOTIFY_STATUS_BYTES - 1 + strlen("STATUS=\n"));
}

static void signs_of_life_come_twice_in_the_time(void **state)
{
    char pid[24];

    (void)state;
    listen_unnamed();
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    open_with("30000000", pid);
    pass(60 * 1000);
    assert_string_equal(heard(), "");
    notify_ready(notify);
    assert_string_equal(heard(), "READY=1\n");
    pass(14999);
    assert_string_equal(heard(), "");
    pass(1);
    assert_string_equal(heard(), "WATCHDOG=1\n");
    pass(15000);
    assert_string_equal(heard(), "WATCHDOG=1\n");
    notify_stopping(notify);
    assert_string_equal(heard(), "STOPPING=1\n");
    pass(15000);
    assert_string_equal(heard(), "");
}

static void signs_meant_for_others_are_not_given(void **state)
{
    static const struct {
        const char *usec;
        const char *pid;
    } rows[] = {{"30000000", "1"}, {"0", NULL}, {"-5", NULL},
                {"soon", NULL},    {"", NULL},  {"30000000", "me"}};

    (void)state;
    listen_unnamed();
    for (size_t i = 0; i < array_size(rows); i++) {
        open_with(rows[i].usec, rows[i].pid);
        notify_ready(notify);
        assert_string_equal(heard(), "READY=1\n");
        pass(3600 * 1000);
        assert_string_equal(heard(), "");
        notify_free(notify);
        notify = NULL;
    }
}

static void what_is_not_taken_at_once_is_told_later(void **state)
{
    int sent = 0;

    (void)state;
    listen_unnamed();
    open_with(NULL, NULL);
    /* The queue is full when one message has to wait. */
    for (; sent < 100000; sent++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        size_t len = strlen(address_text);
        int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        ssize_t r;

        memcpy(address.sun_path + 1, address_text + 1, len - 1);
        r = sendto(other, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&address,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
        close(other);
        if (r < 0)
            break;
    }
    assert_in_range(sent, 1, 99999);
    notify_status(notify, STR("old"));
    notify_ready(notify);
    notify_status(notify, STR("new"));
    while (strcmp(heard(), "x") == 0)
        sent--;
    assert_int_equal(sent, 0);
    assert_string_equal(heard(), "");
    pass(NOTIFY_AGAIN_MS);
    assert_string_equal(heard(), "READY=1\nSTATUS=new\n");
    pass(NOTIFY_AGAIN_MS);
    assert_string_equal(heard(), "");
}

static void without_a_manager_nothing_happens(void **state)
{
    const struct notify_environment none = {.watchdog_usec = "1000000"};

    (void)state;
    assert_int_equal(notify_new(loop, &none, &notify, NULL), 0);
    notify_status(notify, STR("nobody reads this"));
    notify_ready(notify);
    pass(3600 * 1000);
    notify_stopping(notify);
}

static void what_is_no_socket_is_told(void **state)
{
    static const struct {
        const char *socket;
        int code;
    } rows[] = {
        {"/", ERR_INVALID_ARGUMENT},        {"@", ERR_INVALID_ARGUMENT},
        {"vsock:2:1234", ERR_UNSUPPORTED},  {"relative", ERR_UNSUPPORTED},
        {"/nowhere/at/all", ERR_NOT_FOUND},
    };
    char text[ADDRESS_BYTES];

    (void)state;
    for (size_t i = 0; i < array_size(rows); i++) {
        const struct notify_environment environment = {.socket = rows[i].socket};
        struct err err = ERR_INIT;

        assert_int_equal(notify_new(loop, &environment, &notify, &err), rows[i].code);
        assert_string_equal(err.field, "NOTIFY_SOCKET");
        assert_null(notify);
    }
    memset(text, '/', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(notify_new(loop, &(struct notify_environment){.socket = text}, &notify, NULL),
                     ERR_INVALID_ARGUMENT);
}

static void a_manager_that_goes_stops_nothing(void **state)
{
    (void)state;
    listen_unnamed();
    open_with("2000000", NULL);
    close(manager);
    manager = -1;
    notify_ready(notify);
    pass(60 * 1000);
    notify_stopping(notify);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

TEST_MAIN(TEST(the_manager_hears_of_the_daemon_s_life), TEST(a_socket_may_have_a_file),
          TEST(a_status_is_one_line_without_secrets), TEST(signs_of_life_come_twice_in_the_time),
          TEST(signs_meant_for_others_are_not_given), TEST(what_is_not_taken_at_once_is_told_later),
          TEST(without_a_manager_nothing_happens), TEST(what_is_no_socket_is_told),
          TEST(a_manager_that_goes_stops_nothing))

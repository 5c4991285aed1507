/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "command/status.h"
#include "daemon/control.h"
#include "loop_until.h"

enum { GOT_BYTES = 1 << 20, TEXT_BYTES = 4096, DIR_BYTES = 256, PORT = 7655 };

static struct clock fake_clock;
static struct loop *loop;
static struct control *control;
static struct report report;
static char base[64];
static char directory[DIR_BYTES];
static char path[DIR_BYTES + STATUS_NAME_BYTES];

static void on_report(void *data, struct report *out_report)
{
    assert_ptr_equal(data, &report);
    *out_report = report;
}

static int begin(void **state)
{
    char name[STATUS_NAME_BYTES];

    (void)state;
    snprintf(base, sizeof(base), "/tmp/control-XXXXXX");
    assert_non_null(mkdtemp(base));
    /* Longer than an address of a socket may be. */
    snprintf(directory, sizeof(directory), "%s/%0100d/gatehouse", base, 1);
    status_socket_name(PORT, name);
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    report = (struct report){.dir = STR("/srv/work"), .url = STR_EMPTY};
    clock_fake_init(&fake_clock, 0);
    assert_int_equal(loop_new(&fake_clock, &loop), 0);
    control = NULL;
    return 0;
}

static int end(void **state)
{
    char lock[TEXT_BYTES];

    (void)state;
    control_free(control);
    loop_free(loop);
    snprintf(lock, sizeof(lock), "%s.lock", path);
    unlink(lock);
    unlink(path);
    rmdir(directory);
    *strrchr(directory, '/') = '\0';
    rmdir(directory);
    assert_int_equal(rmdir(base), 0);
    return 0;
}

static void serve(void)
{
    assert_int_equal(control_open(directory, PORT, &control, NULL), 0);
    assert_int_equal(control_serve(control, loop, on_report, &report), 0);
}

static int connect_to_it(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int dir_fd = open(directory, O_PATH | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(dir_fd >= 0 && fd >= 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d%s", dir_fd,
             strrchr(path, '/'));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        fd = -1;
    }
    close(dir_fd);
    return fd;
}

/* All that comes until the daemon closes. */
static bool has_ended(int fd, struct buf *out)
{
    ssize_t got;

    assert_int_equal(buf_reserve(out, TEXT_BYTES), 0);
    got = recv(fd, out->data + out->len, TEXT_BYTES, MSG_DONTWAIT);
    if (got > 0)
        out->len += (size_t)got;
    return got == 0;
}

static void assert_answer(const char *request, const char *begins, const char *has)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = connect_to_it();

    assert_true(fd >= 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    loop_until(loop, has_ended(fd, &got));
    if (!str_starts_with(buf_view(&got), str_from(begins)) ||
        str_find(buf_view(&got), str_from(has)) == SIZE_MAX)
        fail_msg("%s\n%.*s", request, STR_ARG(buf_view(&got)));
    close(fd);
}

#define REST " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

static void status_is_told_as_the_command_asks(void **state)
{
    (void)state;
    serve();
    assert_answer(STATUS_REQUEST, "HTTP/1.1 200 ",
                  "\r\n\r\n{\"connected\":false,\"dir\":\"/srv/work\",\"connectedAt\":null,"
                  "\"url\":null,\"state\":\"idle\",\"server\":null,\"reason\":null}");
    report.is_connected = true;
    report.url = STR("https://n8n.example");
    assert_answer(STATUS_REQUEST, "HTTP/1.1 200 ", "\"url\":\"https://n8n.example\",");
    assert_answer("GET /health" REST, "HTTP/1.1 200 ", "{\"status\":\"ok\"");
}

static void nothing_is_left_of_it(void **state)
{
    (void)state;
    serve();
    control_free(control);
    control = NULL;
    assert_int_equal(rmdir(directory), 0);
}

static void nothing_can_be_changed(void **state)
{
    static const char *const lines[] = {"POST /connect", "POST /disconnect", "GET /connect",
                                        "GET /events",   "POST /status",     "DELETE /status",
                                        "PUT /"};

    (void)state;
    serve();
    for (size_t i = 0; i < array_size(lines); i++) {
        char text[TEXT_BYTES];

        snprintf(text, sizeof(text), "%s" REST, lines[i]);
        assert_answer(text, "HTTP/1.1 40", "");
    }
}

static void others_cannot_reach_it(void **state)
{
    mode_t old = umask(0);
    struct stat about;

    (void)state;
    serve();
    umask(old);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode, S_IFSOCK | 0600);
    assert_int_equal(stat(directory, &about), 0);
    assert_int_equal(about.st_mode, S_IFDIR | 0700);
}

static void a_directory_that_is_open_to_others_is_refused(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    serve();
    control_free(control);
    control = NULL;
    assert_int_equal(chmod(directory, 0770), 0);
    assert_int_equal(control_open(directory, PORT, &control, &err), ERR_PERMISSION_DENIED);
    assert_null(control);
    assert_non_null(strstr(err.message, "control socket"));
    assert_true(access(path, F_OK) < 0);
}

static void the_name_goes_with_the_daemon(void **state)
{
    (void)state;
    serve();
    assert_int_equal(access(path, F_OK), 0);
    control_free(control);
    control = NULL;
    assert_true(access(path, F_OK) < 0);
    assert_int_equal(connect_to_it(), -1);
}

static void what_a_dead_daemon_has_left_is_replaced(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int dir_fd;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    serve();
    control_free(control);
    control = NULL;
    dir_fd = open(directory, O_PATH | O_CLOEXEC);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d%s", dir_fd,
             strrchr(path, '/'));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    close(dir_fd);
    assert_int_equal(access(path, F_OK), 0);
    serve();
    assert_answer(STATUS_REQUEST, "HTTP/1.1 200 ", "connected");
}

static void one_that_lives_keeps_its_name(void **state)
{
    struct control *second = NULL;
    struct err err = ERR_INIT;

    (void)state;
    serve();
    assert_int_equal(control_open(directory, PORT, &second, &err), ERR_ALREADY_EXISTS);
    assert_null(second);
    assert_non_null(strstr(err.message, "--port"));
    assert_answer(STATUS_REQUEST, "HTTP/1.1 200 ", "connected");
}

static void the_runtime_directory_comes_first(void **state)
{
    char found[PATH_MAX];

    (void)state;
    setenv("HOME", "/h", 1);
    setenv("XDG_STATE_HOME", "/s", 1);
    setenv("XDG_RUNTIME_DIR", "/r", 1);
    assert_int_equal(status_socket_dir(found, NULL), 0);
    assert_string_equal(found, "/r/gatehouse");
    setenv("XDG_RUNTIME_DIR", "relative", 1);
    assert_int_equal(status_socket_dir(found, NULL), 0);
    assert_string_equal(found, "/s/gatehouse");
    unsetenv("XDG_STATE_HOME");
    assert_int_equal(status_socket_dir(found, NULL), 0);
    assert_string_equal(found, "/h/.local/state/gatehouse");
    unsetenv("HOME");
    assert_int_equal(status_socket_dir(found, NULL), ERR_INVALID_ARGUMENT);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

TEST_MAIN(TEST(status_is_told_as_the_command_asks), TEST(nothing_can_be_changed),
          TEST(others_cannot_reach_it), TEST(a_directory_that_is_open_to_others_is_refused),
          TEST(the_name_goes_with_the_daemon), TEST(what_a_dead_daemon_has_left_is_replaced),
          TEST(one_that_lives_keeps_its_name), TEST(nothing_is_left_of_it),
          cmocka_unit_test(the_runtime_directory_comes_first))

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
#include "cli/status.h"
#include "loop_until.h"
#include "programs/connect/control.h"

enum { GOT_BYTES = 1 << 20, TEXT_BYTES = 4096, DIR_BYTES = 256, PORT = 7655, SOMEBODY = 65534 };

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
    assert_answer(
        STATUS_REQUEST, "HTTP/1.1 200 ",
        "\r\n\r\n{\"connected\":false,\"dir\":\"/srv/work\",\"connectedAt\":null,"
        "\"url\":null,\"state\":\"idle\",\"server\":null,\"reason\":null,\"command\":\"connect\"}");
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

/* ---- tokens ---- */

static struct handover taken;
static const char *refusal; /* NULL: it is taken */
static bool is_answered_at_once;
static unsigned taken_count;
static unsigned gone_count;

static int on_take(void *data, const struct handover *handover, struct err *err)
{
    assert_ptr_equal(data, &report);
    if (refusal != NULL)
        return err_set(err, ERR_BUSY, "%s", refusal);
    if (handover->token.len == 0)
        return 0;
    taken = *handover;
    taken_count++;
    if (is_answered_at_once)
        control_answer(control, NULL);
    return 0;
}

static void on_gone(void *data)
{
    assert_ptr_equal(data, &report);
    gone_count++;
}

static void serve_tokens(void)
{
    static const struct control_taker taker = {.take = on_take, .gone = on_gone};

    serve();
    control_take_tokens(control, &taker);
    refusal = NULL;
    is_answered_at_once = false;
    taken_count = 0;
    gone_count = 0;
}

static void write_message(const char *token, char out_text[TEXT_BYTES])
{
    cleanup_buf struct buf body = BUF_INIT(HANDOVER_MAX_BYTES);
    struct handover handover = {.token = SECRET_INIT};

    assert_int_equal(httpurl_parse(STR("https://n8n.example/base"), &handover.url, NULL), 0);
    snprintf(handover.terms, sizeof(handover.terms), "%064d", 7);
    if (*token != '\0')
        assert_int_equal(secret_set(&handover.token, str_from(token)), 0);
    assert_int_equal(handover_format(&handover, &body), 0);
    snprintf(out_text, TEXT_BYTES,
             "POST /token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             "Content-Length: %zu\r\n\r\n%.*s",
             body.len, STR_ARG(buf_view(&body)));
}

static void send_text(int fd, const char *text)
{
    assert_true(fd >= 0);
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static int bring(const char *token)
{
    char text[TEXT_BYTES];
    unsigned before = taken_count;
    int fd = connect_to_it();

    write_message(token, text);
    send_text(fd, text);
    loop_until(loop, taken_count > before);
    return fd;
}

static void assert_told(int fd, const char *begins, const char *has)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);

    loop_until(loop, has_ended(fd, &got));
    assert_true(str_starts_with(buf_view(&got), str_from(begins)));
    assert_true(str_find(buf_view(&got), str_from(has)) != SIZE_MAX);
    close(fd);
}

static void a_token_is_taken_and_answered_later(void **state)
{
    struct err err = ERR_INIT;
    int fd;

    (void)state;
    serve_tokens();
    fd = bring("gw_abc");
    assert_true(secret_eq(&taken.token, STR("gw_abc")));
    assert_string_equal(taken.url.host, "n8n.example");
    assert_string_equal(taken.url.path, "/base");
    assert_int_equal(strlen(taken.terms), SAVED_SESSION_TERMS_BYTES - 1);
    control_answer(control, NULL);
    assert_told(fd, "HTTP/1.1 200 ", "\"connected\"");
    fd = bring("gw_abc");
    err_set(&err, ERR_IO, "no: gw_0123456789abcdefghijklmnopqrstuv");
    control_answer(control, &err);
    assert_told(fd, "HTTP/1.1 502 ", "{\"error\":\"no: gw_[redacted]\"}");
    is_answered_at_once = true;
    assert_told(bring("gw_abc"), "HTTP/1.1 200 ", "\"connected\"");
    assert_int_equal(gone_count, 0);
}

static void who_only_asks_is_told_whether_it_is_wanted(void **state)
{
    char text[TEXT_BYTES];

    (void)state;
    serve_tokens();
    write_message("", text);
    assert_answer(text, "HTTP/1.1 200 ", "{\"status\":\"wanted\"}");
    refusal = "it is connected";
    assert_answer(text, "HTTP/1.1 409 ", "{\"error\":\"it is connected\"}");
    write_message("gw_abc", text);
    assert_answer(text, "HTTP/1.1 409 ", "{\"error\":\"it is connected\"}");
    assert_int_equal(taken_count, 0);
}

static void one_token_at_a_time(void **state)
{
    char text[TEXT_BYTES];
    int fd;

    (void)state;
    serve_tokens();
    fd = bring("gw_abc");
    write_message("gw_def", text);
    assert_answer(text, "HTTP/1.1 409 ", "another token");
    assert_int_equal(taken_count, 1);
    /* Who leaves is forgotten, and makes room. */
    close(fd);
    loop_until(loop, gone_count == 1);
    control_answer(control, NULL);
    fd = bring("gw_def");
    control_answer(control, NULL);
    assert_told(fd, "HTTP/1.1 200 ", "connected");
}

static void who_waits_is_cut_off_at_the_end(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd;

    (void)state;
    serve_tokens();
    fd = bring("gw_abc");
    control_free(control);
    control = NULL;
    loop_until(loop, has_ended(fd, &got));
    assert_int_equal(got.len, 0);
    assert_int_equal(gone_count, 0);
    close(fd);
}

static void a_token_that_nobody_takes_is_not_found(void **state)
{
    char text[TEXT_BYTES];

    (void)state;
    serve();
    write_message("gw_abc", text);
    assert_answer(text, "HTTP/1.1 404 ", "");
}

static void what_is_no_message_is_refused(void **state)
{
    static const char *const bodies[] = {"", "{}", "null", "{\"url\":\"https://n8n.example\"}"};

    (void)state;
    serve_tokens();
    for (size_t i = 0; i < array_size(bodies); i++) {
        char text[TEXT_BYTES];

        snprintf(text, sizeof(text),
                 "POST /token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                 "Content-Length: %zu\r\n\r\n%s",
                 strlen(bodies[i]), bodies[i]);
        assert_answer(text, "HTTP/1.1 400 ", "");
    }
    assert_answer("POST /token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                  "Content-Length: 9000\r\n\r\n",
                  "HTTP/1.1 413 ", "");
    assert_int_equal(taken_count, 0);
}

/* The modes would keep them out; here they do not. */
static void a_token_of_another_user_is_refused(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[TEXT_BYTES];
    int fd;

    (void)state;
    if (geteuid() != 0)
        skip_because("only root can be somebody else");
    serve_tokens();
    assert_int_equal(chmod(directory, 0711), 0);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(chdir(directory), 0);
    status_socket_name(PORT, address.sun_path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(seteuid(SOMEBODY), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chdir("/"), 0);
    write_message("gw_abc", text);
    send_text(fd, text);
    assert_told(fd, "HTTP/1.1 403 ", "");
    assert_int_equal(taken_count, 0);
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
          TEST(a_token_is_taken_and_answered_later),
          TEST(who_only_asks_is_told_whether_it_is_wanted), TEST(one_token_at_a_time),
          TEST(who_waits_is_cut_off_at_the_end), TEST(a_token_that_nobody_takes_is_not_found),
          TEST(what_is_no_message_is_refused), TEST(a_token_of_another_user_is_refused),
          TEST(one_that_lives_keeps_its_name), TEST(nothing_is_left_of_it),
          cmocka_unit_test(the_runtime_directory_comes_first))

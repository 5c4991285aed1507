/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces by key and for one run, at a service that only counts them. */
#include "test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop_until.h"
#include "workspace/workspace.h"

enum { TEXT_BYTES = 64 << 10, UUID_CHARS = 36, BACKLOG = 64 };

static struct loop *loop;
static struct workspace_settings settings;
static struct workspaces *workspaces;
static pid_t service;
static int asked_fd; /* what the service was asked, a line each */
static char asked[TEXT_BYTES];
static size_t asked_len;
static bool is_closed;

/* ---- the service: one request for each connection ---- */

static void answer(int fd, int log_fd)
{
    char request[TEXT_BYTES] = "";
    char line[256];
    const char *id;
    size_t len = 0;
    ssize_t got;

    /* Bodies here end with the only brace. */
    while (strstr(request, "\r\n\r\n") == NULL ||
           (strncmp(request, "POST", 4) == 0 && request[len - 1] != '}')) {
        got = read(fd, request + len, sizeof(request) - 1 - len);
        if (got <= 0)
            return;
        len += (size_t)got;
        request[len] = '\0';
    }
    id = strstr(request, "\"id\":\"");
    snprintf(line, sizeof(line), "%.*s\n", (int)strcspn(request, "\r?"), request);
    (void)!write(log_fd, line, strlen(line));
    if (strncmp(request, "POST", 4) == 0 && id != NULL)
        snprintf(line, sizeof(line),
                 "HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 45\r\n\r\n"
                 "{\"id\":\"%.36s\"}",
                 id + strlen("\"id\":\""));
    else if (strncmp(request, "DELETE", 6) == 0)
        snprintf(line, sizeof(line), "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    else
        snprintf(line, sizeof(line),
                 "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[]");
    (void)!write(fd, line, strlen(line));
}

static void start_service(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int ends[2];

    assert_true(fd >= 0 && pipe(ends) == 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, BACKLOG), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    service = fork();
    if (service == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            int one = accept(fd, NULL, NULL);

            if (one < 0)
                _exit(1);
            answer(one, ends[1]);
            close(one);
        }
    }
    close(fd);
    close(ends[1]);
    asked_fd = ends[0];
    snprintf(settings.url, sizeof(settings.url), "http://127.0.0.1:%d", ntohs(address.sin_port));
}

/* How often a line that begins so has come. */
static size_t count(const char *begin)
{
    struct pollfd ready = {.fd = asked_fd, .events = POLLIN};
    size_t found = 0;

    while (poll(&ready, 1, 0) > 0) {
        ssize_t got = read(asked_fd, asked + asked_len, sizeof(asked) - 1 - asked_len);

        assert_true(got > 0);
        asked_len += (size_t)got;
        asked[asked_len] = '\0';
    }
    for (const char *at = asked; at != NULL && *at != '\0';) {
        found += strncmp(at, begin, strlen(begin)) == 0;
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    return found;
}

static size_t deleted(const char *id)
{
    char line[128];

    snprintf(line, sizeof(line), "DELETE /sandboxes/%s", id);
    return count(line);
}

/* ---- the scene ---- */

static int set_up(void **state)
{
    struct workspaces_config config = {.settings = &settings};

    (void)state;
    asked_len = 0;
    asked[0] = '\0';
    is_closed = false;
    settings = (struct workspace_settings){
        .is_enabled = true, .provider = WORKSPACE_N8N_SANDBOX, .header = "X-Api-Key"};
    assert_int_equal(secret_set(&settings.key, STR("key")), 0);
    start_service();
    assert_int_equal(loop_new(&clock_system, &loop), 0);
    config.loop = loop;
    assert_int_equal(workspaces_new(&config, &workspaces, NULL), 0);
    return 0;
}

static void on_closed(void *data)
{
    (void)data;
    is_closed = true;
}

static void close_all(void)
{
    workspaces_close(workspaces, on_closed, NULL);
    loop_until(loop, is_closed);
}

static int tear_down(void **state)
{
    (void)state;
    if (!is_closed)
        close_all();
    workspaces_free(workspaces);
    loop_free(loop);
    secret_done(&settings.key);
    close(asked_fd);
    kill(service, SIGKILL);
    waitpid(service, NULL, 0);
    return 0;
}

/* A call, and how it ended. */
struct seen {
    bool is_done;
    int code;
};

static void on_done(void *data, const struct err *err, const struct workspace_answer *reply)
{
    struct seen *seen = data;

    (void)reply;
    seen->is_done = true;
    seen->code = err != NULL ? err->code : 0;
}

static void list(struct workspace *workspace, struct seen *seen)
{
    const struct workspace_request request = {.action = WORKSPACE_LIST};
    const struct workspace_events events = {.on_done = on_done, .data = seen};
    struct workspace_call *call;

    *seen = (struct seen){0};
    assert_int_equal(workspace_begin(workspace, &request, &events, &call, NULL), 0);
    assert_false(seen->is_done);
}

static void finish(const struct seen *seen, int code)
{
    loop_until(loop, seen->is_done);
    assert_int_equal(seen->code, code);
}

/* ---- tests ---- */

static void one_key_has_one_workspace_until_the_end(void **state)
{
    struct workspace *first;
    struct workspace *again;
    struct workspace *other;
    struct seen seen[3];
    char ids[2][UUID_CHARS + 1];

    (void)state;
    assert_int_equal(workspaces_get(workspaces, STR("thread 1"), &first), 0);
    assert_int_equal(workspaces_get(workspaces, STR("thread 2"), &other), 0);
    list(first, &seen[0]);
    assert_int_equal(workspaces_get(workspaces, STR("thread 1"), &again), 0);
    assert_ptr_equal(first, again);
    list(again, &seen[1]);
    list(other, &seen[2]);
    for (size_t i = 0; i < 3; i++)
        finish(&seen[i], 0);
    assert_int_equal(count("POST /sandboxes"), 2);
    assert_string_not_equal(workspace_id(first), workspace_id(other));
    snprintf(ids[0], sizeof(ids[0]), "%s", workspace_id(first));
    snprintf(ids[1], sizeof(ids[1]), "%s", workspace_id(other));
    assert_int_equal(count("DELETE"), 0);
    close_all();
    assert_int_equal(deleted(ids[0]), 1);
    assert_int_equal(deleted(ids[1]), 1);
    assert_int_equal(workspaces_get(workspaces, STR("late"), &again), ERR_SESSION_OVER);
}

static void runs_at_the_same_time_never_share(void **state)
{
    struct workspace *one;
    struct workspace *two;
    struct seen seen[2];
    char id[UUID_CHARS + 1];

    (void)state;
    assert_int_equal(workspaces_new_one(workspaces, &one), 0);
    assert_int_equal(workspaces_new_one(workspaces, &two), 0);
    list(one, &seen[0]);
    list(two, &seen[1]);
    finish(&seen[0], 0);
    finish(&seen[1], 0);
    assert_string_not_equal(workspace_id(one), workspace_id(two));
    snprintf(id, sizeof(id), "%s", workspace_id(one));
    workspace_end(one);
    loop_until(loop, deleted(id) > 0);
    list(two, &seen[1]);
    finish(&seen[1], 0);
    assert_int_equal(count("DELETE"), 1);
}

static void a_run_that_ends_while_it_is_created_leaves_nothing(void **state)
{
    struct workspace *one;
    struct seen seen;

    (void)state;
    assert_int_equal(workspaces_new_one(workspaces, &one), 0);
    list(one, &seen);
    workspace_end(one);
    assert_int_equal(seen.code, ERR_SESSION_OVER);
    close_all();
    assert_int_equal(count("POST"), count("DELETE"));
}

static void there_are_only_so_many(void **state)
{
    struct workspace *last = NULL;
    struct workspace *more;

    (void)state;
    for (size_t i = 0; i < WORKSPACE_MAX_WORKSPACES; i++)
        assert_int_equal(workspaces_new_one(workspaces, &last), 0);
    assert_int_equal(workspaces_new_one(workspaces, &more), ERR_BUSY);
    assert_int_equal(workspaces_get(workspaces, STR("key"), &more), ERR_BUSY);
    workspace_end(last); /* nobody has used it: the service is not asked */
    assert_int_equal(workspaces_get(workspaces, STR("key"), &more), 0);
    assert_int_equal(count(""), 0);
}

TEST_MAIN(cmocka_unit_test_setup_teardown(one_key_has_one_workspace_until_the_end, set_up,
                                          tear_down),
          cmocka_unit_test_setup_teardown(runs_at_the_same_time_never_share, set_up, tear_down),
          cmocka_unit_test_setup_teardown(a_run_that_ends_while_it_is_created_leaves_nothing,
                                          set_up, tear_down),
          cmocka_unit_test_setup_teardown(there_are_only_so_many, set_up, tear_down))

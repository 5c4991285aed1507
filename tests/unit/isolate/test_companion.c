/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/companion.h"

enum { TEXT_BYTES = 32 << 10 };

struct told {
    char socket[TEXT_BYTES]; /* what it wrote to its end */
    char error[TEXT_BYTES];  /* and to standard error */
};

static void read_all(int fd, char out_text[TEXT_BYTES])
{
    size_t len = 0;
    ssize_t got;

    while ((got = read(fd, out_text + len, TEXT_BYTES - 1 - len)) > 0)
        len += (size_t)got;
    assert_int_equal(got, 0);
    out_text[len] = '\0';
    close(fd);
}

/* A shell as the companion, since nothing of that name lies beside this test. */
static void run(const char *words, struct told *out_told)
{
    const char *const argv[] = {"sh", "-c", words, NULL};
    struct companion companion;
    int status;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(companion_start("sh", "/bin", argv, ends[1], &companion, NULL), 0);
    close(ends[1]);
    read_all(companion.fd, out_told->socket);
    read_all(ends[0], out_told->error);
    assert_int_equal(waitpid(companion.pid, &status, 0), companion.pid);
    assert_int_equal(status, 0);
}

static void it_has_a_socket_and_standard_error(void **state)
{
    struct told told;

    (void)state;
    run("read line; echo nothing: $line; echo to us >&3; echo to people >&2", &told);
    assert_string_equal(told.socket, "to us\n");
    assert_string_equal(told.error, "to people\n");
}

static void it_has_no_other_descriptor_of_ours(void **state)
{
    struct told told;

    (void)state;
    run("exec ls /proc/self/fd >&3", &told);
    /* The last one is that of the directory. */
    assert_string_equal(told.socket, "0\n1\n2\n3\n4\n");
}

static void variables_come_along_and_secrets_do_not(void **state)
{
    struct told told;

    (void)state;
    assert_int_equal(setenv("COMPANION_PLACE", "here", 1), 0);
    assert_int_equal(setenv("N8N_INSTANCE_AI_GATEWAY_API_KEY", "of-both-sides", 1), 0);
    assert_int_equal(setenv("DATABASE_PASSWORD", "of-the-user", 1), 0);
    assert_int_equal(setenv("https_proxy", "http://user:of-the-proxy@p.test:3128", 1), 0);
    assert_int_equal(setenv("HTTPS_PROXY", "http://user:of-the-proxy@p.test:3128", 1), 0);
    assert_int_equal(setenv("http_proxy", "http://p.test:3128", 1), 0);
    run("env >&3", &told);
    assert_non_null(strstr(told.socket, "COMPANION_PLACE=here\n"));
    assert_non_null(strstr(told.socket, "http_proxy=http://p.test:3128\n"));
    assert_null(strstr(told.socket, "of-the-proxy"));
    assert_null(strstr(told.socket, "of-both-sides"));
    assert_null(strstr(told.socket, "of-the-user"));
}

static void a_place_may_start_at_the_program(void **state)
{
    const char *const argv[] = {"sh", "-c", "echo here >&3", NULL};
    struct companion companion;
    char text[TEXT_BYTES];
    char own[PATH_MAX];
    char up[PATH_MAX] = "";
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);

    (void)state;
    assert_true(len > 0);
    own[len] = '\0';
    for (const char *at = strchr(own + 1, '/'); at != NULL; at = strchr(at + 1, '/'))
        snprintf(up + strlen(up), sizeof(up) - strlen(up), "../");
    snprintf(up + strlen(up), sizeof(up) - strlen(up), "bin");
    assert_int_equal(companion_start("sh", up, argv, STDERR_FILENO, &companion, NULL), 0);
    read_all(companion.fd, text);
    assert_string_equal(text, "here\n");
    assert_int_equal(waitpid(companion.pid, NULL, 0), companion.pid);
}

static void what_is_not_installed_is_said(void **state)
{
    const char *const argv[] = {"gatehouse-nothing", NULL};
    struct companion companion;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(
        companion_start("gatehouse-nothing", "/usr/lib", argv, STDERR_FILENO, &companion, &err),
        ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "Is it installed?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_a_socket_and_standard_error),
        cmocka_unit_test(it_has_no_other_descriptor_of_ours),
        cmocka_unit_test(variables_come_along_and_secrets_do_not),
        cmocka_unit_test(a_place_may_start_at_the_program),
        cmocka_unit_test(what_is_not_installed_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

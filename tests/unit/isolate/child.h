/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in a child what cannot be undone: the child checks the effects itself and exits with 0, or
 * prints the line that failed and exits with 1. cmocka's own assertions jump, so only the parent
 * may use them.
 */
#ifndef TESTS_UNIT_ISOLATE_CHILD_H
#define TESTS_UNIT_ISOLATE_CHILD_H

#include "test.h"

#include <fcntl.h>
#include <ftw.h>
#include <linux/audit.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "isolate/box/box.h"
#include "isolate/box/internal.h"
#include "isolate/sanitized.h"
#include "isolate/seccomp.h"
#include "isolate/syscalls.h"

/* Only where there can be no namespaces: any other step that fails is a fault. */
#define skip_without_boxes()                                                                       \
    do {                                                                                           \
        struct err err_ = ERR_INIT;                                                                \
        if (box_probe(&err_) < 0 && strcmp(err_.field, box_step_words(BOX_STEP_NAMESPACES)) == 0)  \
            skip_because("%s", err_.message);                                                      \
    } while (0)

#define expect(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(2, "%s:%d: %s (errno: %s)\n", __FILE__, __LINE__, #condition,                  \
                    err_errno_text(errno));                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* The call must fail, and for this reason. */
#define expect_errno(call, errno_value)                                                            \
    do {                                                                                           \
        errno = 0;                                                                                 \
        expect((call) == -1 && errno == (errno_value));                                            \
    } while (0)

/* The status of a child that runs `body`, as waitpid() tells it. */
static inline int status_of(void (*body)(void *data), void *data)
{
    int status = -1;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        body(data);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static inline void in_child(void (*body)(void *data), void *data)
{
    assert_int_equal(status_of(body, data), 0);
}

/* Runs the function in a thread, to its end; false when there can be none. */
static inline bool in_thread(void *(*function)(void *data), void *data)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, function, data) == 0 && pthread_join(thread, NULL) == 0;
}

/* As on a kernel, or in a container, that answers this call so. Of a child. */
static inline void take_call_away(long number, int errno_value)
{
    const struct seccomp_rule rule = {
        .first = (uint32_t)number,
        .last = (uint32_t)number,
        .answer = SECCOMP_RET_ERRNO | (uint32_t)errno_value,
    };
    const struct seccomp_policy policy = {
        .machine = SECCOMP_ON_THIS,
        .rules = &rule,
        .rule_count = 1,
        .otherwise = SECCOMP_RET_ALLOW,
    };
    struct seccomp_program program;

    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(seccomp_compile(&policy, &program, NULL) == 0);
    expect(seccomp_install(&program, NULL) == 0);
}

/* ---- Two directories, one to be granted and one beside it ---- */

enum { PLACE_PATH_BYTES = 128 };

struct place {
    char base[64];
    char inside[PLACE_PATH_BYTES];
    char outside[PLACE_PATH_BYTES];
    int base_fd;
};

static inline void place_write(int dir_fd, const char *name, const char *text)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* inside: file "one", directories "a" with a file "f", and "b"; outside: "secret" */
static inline int place_setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    const char *tmp = getenv("TMPDIR");

    assert_non_null(place);
    snprintf(place->base, sizeof(place->base), "%s/gh-isolate-XXXXXX",
             tmp != NULL && strlen(tmp) < 32 ? tmp : "/tmp");
    assert_non_null(mkdtemp(place->base));
    place->base_fd = open(place->base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->base_fd >= 0);
    snprintf(place->inside, sizeof(place->inside), "%s/inside", place->base);
    snprintf(place->outside, sizeof(place->outside), "%s/outside", place->base);
    assert_int_equal(mkdirat(place->base_fd, "inside", 0755), 0);
    assert_int_equal(mkdirat(place->base_fd, "inside/a", 0755), 0);
    assert_int_equal(mkdirat(place->base_fd, "inside/b", 0755), 0);
    assert_int_equal(mkdirat(place->base_fd, "outside", 0755), 0);
    place_write(place->base_fd, "inside/one", "1");
    place_write(place->base_fd, "inside/a/f", "text");
    place_write(place->base_fd, "outside/secret", "secret");
    *state = place;
    return 0;
}

static inline int place_forget(const char *path, const struct stat *about, int type,
                               struct FTW *where)
{
    (void)about;
    (void)type;
    (void)where;
    return remove(path);
}

static inline int place_teardown(void **state)
{
    struct place *place = *state;

    close(place->base_fd);
    assert_int_equal(nftw(place->base, place_forget, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(place);
    return 0;
}

#define place_test(function) cmocka_unit_test_setup_teardown(function, place_setup, place_teardown)

#endif

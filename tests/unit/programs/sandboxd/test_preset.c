/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the image `FROM builder`. */
#include "programs/sandboxd/preset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { OUTPUT_BYTES = 4096 };

/* The step that asks npm for the packages. */
static const char *installing(void)
{
    for (size_t i = 0; i < PRESET_BUILDER_STEPS; i++)
        if (str_find(preset_builder[i], STR("npm install")) != SIZE_MAX)
            return preset_builder[i].ptr; /* a literal, which ends with a NUL */
    fail();
    return NULL;
}

static void steps_name_packages_and_no_addresses(void **state)
{
    size_t pinned = 0;

    (void)state;
    for (size_t i = 0; i < PRESET_BUILDER_STEPS; i++) {
        assert_true(str_find(preset_builder[i], STR("://")) == SIZE_MAX);
        pinned +=
            str_find(preset_builder[i], STR("\"node_modules/npm\":{\"version\":")) != SIZE_MAX;
    }
    assert_int_equal(pinned, 1);
}

static void a_machine_without_npm_is_told_what_to_install(void **state)
{
    char output[OUTPUT_BYTES] = "";
    const char *script = strchr(installing(), ' '); /* after "RUN" */
    size_t len = 0;
    ssize_t got;
    pid_t pid;
    int ends[2];
    int status;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, strdup(script), NULL};
        char *const nothing[] = {(char[]){"PATH=/nonexistent"}, NULL};

        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execve("/bin/sh", argv, nothing);
        _exit(127);
    }
    close(ends[1]);
    while ((got = read(ends[0], output + len, sizeof(output) - 1 - len)) > 0)
        len += (size_t)got;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_non_null(strstr(output, "install the package npm"));
}

TEST_MAIN(cmocka_unit_test(steps_name_packages_and_no_addresses),
          cmocka_unit_test(a_machine_without_npm_is_told_what_to_install))

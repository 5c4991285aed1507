/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/ledger.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { TEXT_BYTES = 256 };

static char state[] = "/tmp/gatehouse-ledger-XXXXXX";

/* What was found; each ledger is closed. */
struct found {
    size_t count;
    char text[TEXT_BYTES];
    bool is_over;
};

static void take(void *data, struct ledger *dead, struct str lines)
{
    struct found *found = data;

    found->count++;
    snprintf(found->text, sizeof(found->text), "%.*s", STR_ARG(lines));
    ledger_close(dead, found->is_over);
}

static int make_state(void **data)
{
    (void)data;
    memcpy(strrchr(state, '-'), "-XXXXXX", sizeof("-XXXXXX"));
    return mkdtemp(state) != NULL ? 0 : -1;
}

static int remove_state(void **data)
{
    struct found found = {.is_over = true};
    char folder[TEXT_BYTES];

    (void)data;
    ledger_take_dead(state, "things", take, &found);
    snprintf(folder, sizeof(folder), "%s/things", state);
    (void)rmdir(folder);
    return rmdir(state);
}

/* A process that notes two lines and is killed, maybe in the middle of a third. */
static void leave_lines(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct ledger *ledger;

        if (ledger_open(state, "things", &ledger, NULL) < 0 ||
            ledger_add(ledger, STR("one"), NULL) < 0 || ledger_add(ledger, STR("two"), NULL) < 0)
            _exit(1);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void what_a_killed_process_noted_is_found(void **data)
{
    struct found found = {0};

    (void)data;
    leave_lines();
    ledger_take_dead(state, "things", take, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.text, "one\ntwo\n");
    /* It was not over: the next one finds it, too. */
    found.is_over = true;
    ledger_take_dead(state, "things", take, &found);
    assert_int_equal(found.count, 2);
    ledger_take_dead(state, "things", take, &found);
    assert_int_equal(found.count, 2);
}

static void that_of_a_living_process_is_left_alone(void **data)
{
    struct found found = {.is_over = true};
    struct ledger *ledger;

    (void)data;
    assert_int_equal(ledger_open(state, "things", &ledger, NULL), 0);
    assert_int_equal(ledger_add(ledger, STR("mine"), NULL), 0);
    ledger_take_dead(state, "things", take, &found);
    assert_int_equal(found.count, 0);
    ledger_close(ledger, false);
    ledger_take_dead(state, "things", take, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.text, "mine\n");
}

static void half_a_line_does_not_count(void **data)
{
    struct found found = {.is_over = true};
    char path[TEXT_BYTES];
    FILE *file;

    (void)data;
    snprintf(path, sizeof(path), "%s/things", state);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/things/left-0", state);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("whole\nha", file) >= 0);
    assert_int_equal(fclose(file), 0);
    ledger_take_dead(state, "things", take, &found);
    assert_string_equal(found.text, "whole\n");
}

static void a_line_that_is_too_long_is_refused(void **data)
{
    char text[LEDGER_LINE_BYTES + 1];
    struct ledger *ledger;

    (void)data;
    memset(text, 'x', sizeof(text));
    assert_int_equal(ledger_open(state, "things", &ledger, NULL), 0);
    assert_int_equal(ledger_add(ledger, (struct str){text, sizeof(text)}, NULL), ERR_TOO_LARGE);
    ledger_close(ledger, true);
}

TEST_MAIN(cmocka_unit_test_setup_teardown(what_a_killed_process_noted_is_found, make_state,
                                          remove_state),
          cmocka_unit_test_setup_teardown(that_of_a_living_process_is_left_alone, make_state,
                                          remove_state),
          cmocka_unit_test_setup_teardown(half_a_line_does_not_count, make_state, remove_state),
          cmocka_unit_test_setup_teardown(a_line_that_is_too_long_is_refused, make_state,
                                          remove_state))

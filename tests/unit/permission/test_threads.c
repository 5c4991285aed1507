/* SPDX-License-Identifier: Apache-2.0 */
/* Workers decide while the loop changes the rules and modes. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "permission/permission.h"

enum { THREADS = 4, DECISIONS = 4000, CHANGES = 1000 };

struct worker {
    struct permission *permission;
    size_t wrong;
    atomic_bool is_done;
};

/* Both books deny the one and allow the other, so it is never undecided which. */
static void *decide(void *context)
{
    struct worker *worker = context;
    const struct permission_resource closed = {.given = STR("/w/closed/x")};
    const struct permission_resource both[] = {{.given = STR("/w/open/x")},
                                               {.given = STR("/w/other")}};

    for (int i = 0; i < DECISIONS; i++) {
        cleanup_rulebook struct rulebook *book = permission_book(worker->permission);
        struct permission_decision decision;
        enum permission_mode verdict;
        size_t index;

        permission_decide(worker->permission, &closed, &decision);
        worker->wrong +=
            decision.verdict != PERMISSION_DENY || decision.source != PERMISSION_BY_DENY_RULE;
        /* Of the second nobody knows whether it is allowed at this moment; it is never denied. */
        verdict = permission_decide_all(worker->permission, both, 2, NULL, &index);
        worker->wrong += verdict == PERMISSION_DENY || (verdict == PERMISSION_ASK && index != 1);
        worker->wrong += rulebook_count(book) != 2;
    }
    atomic_store(&worker->is_done, true);
    return NULL;
}

static struct rulebook *make_book(const char *deny)
{
    struct rule rules[] = {
        {.effect = RULE_DENY, .kind = RULE_GLOB, .pattern = str_from(deny)},
        {.kind = RULE_DIR, .pattern = STR("/w/open")},
    };
    struct rulebook *book = NULL;

    assert_int_equal(rulebook_new(rules, array_size(rules), &book, NULL), 0);
    return book;
}

static void decisions_run_while_everything_changes(void **state)
{
    struct permission_config config = {.modes = {.of = {PERMISSION_ASK}}};
    cleanup_rulebook struct rulebook *first = NULL;
    struct permission *permission = NULL;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];

    (void)state;
    assert_int_equal(permission_new(&config, &permission, NULL), 0);
    first = make_book("**/closed");
    permission_set_book(permission, first);
    for (size_t t = 0; t < THREADS; t++) {
        workers[t] = (struct worker){.permission = permission};
        assert_int_equal(pthread_create(&threads[t], NULL, decide, &workers[t]), 0);
    }
    for (int i = 0; i < CHANGES || !atomic_load(&workers[0].is_done); i++) {
        cleanup_rulebook struct rulebook *book = make_book(i % 2 == 0 ? "/w/closed" : "closed");
        const struct permission_resource other = {.given = STR("/w/other")};

        permission_set_book(permission, book);
        assert_int_equal(permission_allow_for_session(permission, &other), 0);
        config.modes.of[CATALOG_FILESYSTEM_READ] = i % 3 == 0 ? PERMISSION_ALLOW : PERMISSION_ASK;
        permission_set_modes(permission, &config.modes);
        permission_end_session(permission);
    }
    for (size_t t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(workers[t].wrong, 0);
    }
    permission_free(permission);
}

TEST_MAIN(cmocka_unit_test(decisions_run_while_everything_changes))

/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/leftovers.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "loop/child.h"

enum { STEP_NS = 2 * 1000 * 1000 };

struct leftover {
    struct list node; /* in leftovers->children */
    struct leftovers *leftovers;
    struct child *child;
    pid_t pid;
    bool may_be_changing;
};

static void free_leftover(struct leftover *leftover)
{
    leftover->leftovers->count--;
    list_remove(&leftover->node);
    child_free(leftover->child);
    free(leftover);
}

static void on_exit_of_it(void *data, struct child_exit exit)
{
    (void)exit;
    free_leftover(data);
}

void leftovers_init(struct leftovers *leftovers, struct loop *loop)
{
    leftovers->loop = loop;
    leftovers->count = 0;
    leftovers->wait_ms = LEFTOVERS_WAIT_MS;
    list_init(&leftovers->children);
}

/* ---- at our end ---- */

/* The loop does not run any more, so they are polled one by one. */
static void take_watches(const struct leftovers *leftovers)
{
    list_each (node, &leftovers->children)
        child_free(steal_ptr(&list_entry(node, struct leftover, node)->child));
}

static void wait_for_all(const struct leftovers *leftovers)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    const int64_t until_ms = clock_monotonic_ms(&clock_system) + leftovers->wait_ms;

    for (;;) {
        list_each_safe (node, &leftovers->children) {
            struct leftover *leftover = list_entry(node, struct leftover, node);

            if (waitpid(leftover->pid, NULL, WNOHANG) != 0)
                free_leftover(leftover);
        }
        if (list_is_empty(&leftovers->children) || clock_monotonic_ms(&clock_system) >= until_ms)
            return;
        nanosleep(&step, NULL);
    }
}

void leftovers_done(struct leftovers *leftovers)
{
    take_watches(leftovers);
    wait_for_all(leftovers);
    list_each_safe (node, &leftovers->children) {
        struct leftover *leftover = list_entry(node, struct leftover, node);

        /* SAFETY: it was not waited for, so the number is still its own. */
        if (!leftover->may_be_changing)
            kill(leftover->pid, SIGKILL);
        free_leftover(leftover);
    }
}

static struct leftover *first_to_go(const struct leftovers *leftovers)
{
    list_each (node, &leftovers->children)
        if (!list_entry(node, struct leftover, node)->may_be_changing)
            return list_entry(node, struct leftover, node);
    return list_entry(leftovers->children.next, struct leftover, node);
}

void leftovers_add(struct leftovers *leftovers, pid_t pid, bool may_be_changing)
{
    struct leftover *leftover = calloc(1, sizeof(*leftover));

    if (leftover == NULL)
        return;
    list_init(&leftover->node);
    leftover->leftovers = leftovers;
    leftover->pid = pid;
    leftover->may_be_changing = may_be_changing;
    if (child_watch(leftovers->loop, pid, on_exit_of_it, leftover, &leftover->child) < 0) {
        free(leftover);
        return;
    }
    list_append(&leftovers->children, &leftover->node);
    /* A stopped process does not notice that its socket was closed. */
    (void)child_signal(leftover->child, SIGCONT);
    if (++leftovers->count > LEFTOVERS_MOST)
        (void)child_signal(first_to_go(leftovers)->child, SIGKILL);
}

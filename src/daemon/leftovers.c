/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/leftovers.h"

#include <signal.h>
#include <stdlib.h>

#include "loop/child.h"

struct leftover {
    struct list node; /* in leftovers->children */
    struct leftovers *leftovers;
    struct child *child;
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
    list_init(&leftovers->children);
}

void leftovers_done(struct leftovers *leftovers)
{
    list_each_safe (node, &leftovers->children)
        free_leftover(list_entry(node, struct leftover, node));
}

void leftovers_add(struct leftovers *leftovers, pid_t pid)
{
    struct leftover *leftover = calloc(1, sizeof(*leftover));

    if (leftover == NULL)
        return;
    list_init(&leftover->node);
    leftover->leftovers = leftovers;
    if (child_watch(leftovers->loop, pid, on_exit_of_it, leftover, &leftover->child) < 0) {
        free(leftover);
        return;
    }
    list_append(&leftovers->children, &leftover->node);
    if (++leftovers->count > LEFTOVERS_MOST)
        (void)child_signal(list_entry(leftovers->children.next, struct leftover, node)->child,
                           SIGKILL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saves answers like "always allow" to the settings, in workers of its own, since another program
 * may have locked the settings. To save an answer is to decide the call by it (executor_decide()).
 */
#ifndef CALL_SAVING_H
#define CALL_SAVING_H

#include "call/executor.h"
#include "loop/loop.h"

struct savers;
struct saving;

struct savers_config {
    struct loop *loop;
    atomic_uint *running; /* counts the workers' jobs; must outlive all threads */
    /*
     * On the loop: the answer is saved, or not, and the call decided. `call` is NULL if it ended
     * meanwhile. With is_stuck a worker hangs with the work, which must not be looked at.
     */
    void (*on_saved)(void *data, void *call, int result, bool is_stuck);
    void *data;
};

int savers_new(const struct savers_config *config, struct savers **out_savers);
/* Waits for the workers. */
void savers_free(struct savers *savers);

int saving_start(struct savers *savers, struct work *work, void *call, struct saving **out_saving);
/* The call has ended. Its answer is saved all the same. */
void saving_forget_call(struct saving *saving);

#endif

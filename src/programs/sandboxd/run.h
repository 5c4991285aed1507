/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command in a sandbox, of whichever API: waits until the sandbox runs, adds the variables of
 * its image and of itself, and keeps it busy until the command has ended. Its output and its end go
 * to the owner, who embeds it.
 */
#ifndef PROGRAMS_SANDBOXD_RUN_H
#define PROGRAMS_SANDBOXD_RUN_H

#include "base/arena.h"
#include "base/json.h"
#include "programs/sandboxd/service.h"

struct run_events {
    /* The room has it. May be NULL. */
    void (*on_begin)(void *data);
    void (*on_output)(void *data, enum room_stream stream, struct str bytes);
    /* One of these three, last; call run_done() then. */
    void (*on_exit)(void *data, const struct room_exit *exit);
    void (*on_fail)(void *data, const struct err *err);
    void (*on_refuse)(void *data, const struct err *err); /* it never ran */
};

struct run {
    struct sandbox *sandbox;
    const struct run_events *events;
    void *data;
    struct sandbox_use use;
    bool is_waiting;        /* for the sandbox */
    bool is_resting;        /* it runs, but has nothing to do */
    bool is_paused;         /* its readers are behind */
    struct room_exec *exec; /* while it runs */
    struct arena arena;     /* of the command */
    struct room_command command;
};

void run_init(struct run *run, struct sandbox *sandbox, const struct run_events *events,
              void *data);

/* Starts run->command, whose texts are in run->arena or static. Events may come inside. */
void run_begin(struct run *run);

/* The room's part is over: the sandbox may be stopped when it is idle. */
void run_leave(struct run *run);

/* A command that waits for its user does not keep the sandbox from being idle; or again. */
void run_rest(struct run *run);
void run_work(struct run *run);

/* Makes the command wait while somebody who reads its output is behind. */
void run_pace(struct run *run, bool is_behind);

/* Kills what runs; the end is an event. */
void run_kill(struct run *run);

/* At any time: gives up what waits; what runs, runs on. */
void run_done(struct run *run);

/*
 * Puts variables, an object of texts, before those of the command. What is wrong with them, or
 * NULL; a missing object is fine.
 */
const char *run_add_env(struct arena *arena, const struct json_value *env,
                        struct room_command *command);

#endif

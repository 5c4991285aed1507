/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shell on a folder on disk whose commands really run, each in its own sandbox. The process must
 * be single-threaded before it is opened, and only one may be open at a time.
 */
#ifndef TESTS_SUPPORT_BOXED_SHELL_H
#define TESTS_SUPPORT_BOXED_SHELL_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "gatehouse/authority.h"
#include "isolate/box/places.h"
#include "isolate/environment.h"
#include "isolate/launcher/launcher.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "patience.h"
#include "shell/launched.h"
#include "shell/shell.h"

enum {
    BOXED_BYTES = 64 << 20,
};

struct boxed_answer {
    struct boxed *boxed;
    bool is_done;
    int error;
    struct buf result;
    unsigned progress;
};

struct boxed {
    struct arena arena;
    struct authority *authority;
    struct authority_scope *scope;
    char root[PATH_MAX];
    struct launcher *launcher;
    struct loop *loop;
    struct launched *launched;
    struct shell *shell;
    struct timer patience;
    bool is_hanging;
    struct err err;
};

static inline void boxed_give_up(void *data)
{
    struct boxed *boxed = data;

    boxed->is_hanging = true;
    loop_stop(boxed->loop);
}

static inline int boxed_open_scope(struct boxed *boxed, const char *folder)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_AGENT_RUN, .id = "talk", .run_id = "run-1"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "main", .path = folder},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "a test",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_IN_ROOT},
    };
    int r = authority_new(&(struct authority_config){.backend = AUTHORITY_LINUX}, &boxed->authority,
                          &boxed->err);

    if (r == 0)
        r = authority_request_root(boxed->authority, &request, &boxed->scope, &boxed->err);
    return r == 0 ? authority_scope_path(boxed->scope, boxed->root) : r;
}

static inline int boxed_open_launcher(struct boxed *boxed)
{
    struct places *places = arena_new(&boxed->arena, struct places);
    struct launcher_envelope envelope = {0};
    struct box_plan plan = {0};
    int r;

    *places = (struct places)PLACES_INIT(&boxed->arena);
    r = places_add(places, boxed->root, BOX_WRITE, &boxed->err);
    if (r == 0)
        r = environment_clean(&boxed->arena, environ, NULL, &envelope.env, &boxed->err);
    if (r < 0)
        return r;
    plan.places = places->items;
    plan.place_count = places->count;
    envelope.plan = &plan;
    return launcher_new(&envelope, &boxed->launcher, &boxed->err);
}

/* Fills in the config's loop, starter, places and recorded scope. */
static inline int boxed_open_shell(struct boxed *boxed, struct shell_config config)
{
    int r = loop_new(&clock_system, &boxed->loop);

    if (r == 0)
        r = launched_new(boxed->loop, boxed->launcher, &boxed->launched);
    if (r < 0)
        return r;
    timer_init(&boxed->patience, boxed->loop, boxed_give_up, boxed);
    config.loop = boxed->loop;
    config.starter = launched_starter(boxed->launched);
    config.names = boxed->scope;
    config.root_path = boxed->root;
    config.recorded = boxed->scope;
    config.path = "/usr/bin:/bin";
    return shell_new(&config, &boxed->shell, &boxed->err);
}

static inline int boxed_open(struct boxed *boxed, const char *folder, struct shell_config config)
{
    int r;

    *boxed = (struct boxed){.err = ERR_INIT};
    arena_init(&boxed->arena, BOXED_BYTES);
    r = boxed_open_scope(boxed, folder);
    if (r == 0)
        r = boxed_open_launcher(boxed);
    return r == 0 ? boxed_open_shell(boxed, config) : r;
}

static inline void boxed_close(struct boxed *boxed)
{
    shell_free(boxed->shell);
    launched_free(boxed->launched);
    if (boxed->loop != NULL) {
        timer_stop(&boxed->patience);
        loop_free(boxed->loop);
    }
    launcher_free(boxed->launcher);
    authority_scope_free(boxed->scope);
    authority_free(boxed->authority);
    arena_done(&boxed->arena);
}

/* ---- calls ---- */

static inline void boxed_progress(void *data, uint64_t bytes, struct str last_line)
{
    struct boxed_answer *answer = data;

    (void)bytes;
    (void)last_line;
    answer->progress++;
}

static inline void boxed_done(void *data, int error, struct str result)
{
    struct boxed_answer *answer = data;

    answer->is_done = true;
    answer->error = error != 0 ? error : buf_append_str(&answer->result, result);
    loop_stop(answer->boxed->loop);
}

/* Starts a call; the answer must outlive it. ERR_* if the arguments are refused. */
static inline int boxed_begin(struct boxed *boxed, const char *tool, const char *arguments,
                              struct boxed_answer *answer, uint64_t *out_id)
{
    const struct json_value *value;
    struct shell_call *call;
    int r =
        json_parse(&boxed->arena, str_from(arguments), JSON_LIMITS_DEFAULT, &value, &boxed->err);

    *answer = (struct boxed_answer){.boxed = boxed, .result = BUF_INIT(BOXED_BYTES)};
    if (r == 0)
        r = shell_prepare(boxed->shell, catalog_find(str_from(tool)), value, &call, &boxed->err);
    if (r < 0)
        return r;
    *out_id = shell_run(call, &(struct shell_events){.on_progress = boxed_progress,
                                                     .on_done = boxed_done,
                                                     .data = answer,
                                                     .session = boxed});
    return 0;
}

/* Returns the answer's error, or ERR_TIMED_OUT if none comes. */
static inline int boxed_wait(struct boxed *boxed, const struct boxed_answer *answer)
{
    timer_start(&boxed->patience, PATIENCE_MS);
    while (!answer->is_done && !boxed->is_hanging)
        loop_run(boxed->loop);
    timer_stop(&boxed->patience);
    return answer->is_done ? answer->error : ERR_TIMED_OUT;
}

#endif

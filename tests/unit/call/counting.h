/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tiny families of tools, to show what a provider needs (docs/internals/adding-a-tool.md):
 * `count` blocks a worker while it counts, `echo` answers by an event of the loop when the test
 * says so.
 */
#ifndef TESTS_UNIT_CALL_COUNTING_H
#define TESTS_UNIT_CALL_COUNTING_H

#include <semaphore.h>
#include <stdlib.h>

#include "call/provider.h"
#include "test.h"

static const struct catalog_argument count_arguments[] = {
    {.name = STR_LITERAL("to"), .folded = STR_LITERAL("to"), .type = CATALOG_INTEGER}};
static const struct catalog_tool count_tool = {.name = STR_LITERAL("count"),
                                               .provider = "count",
                                               .group = CATALOG_FILESYSTEM_WRITE,
                                               .arguments = count_arguments,
                                               .argument_count = array_size(count_arguments)};
static const struct catalog_tool echo_tool = {.name = STR_LITERAL("echo"),
                                              .provider = "echo",
                                              .group = CATALOG_SHELL,
                                              .arguments = count_arguments,
                                              .argument_count = array_size(count_arguments)};

/* What both work on, and what has happened. */
struct counting {
    bool hangs_preparing, hangs_running;
    sem_t hangs; /* once for each that does */
    sem_t may_go_on;
    sem_t freed; /* once for each call that is gone */
    atomic_uint prepared, ran, refused;
    atomic_uint_fast64_t number;    /* of the call that was prepared last */
    struct provider_events started; /* of echo */
    unsigned starts, cancels, sessions_ended;
};

struct counting_call {
    struct counting *counting;
    int64_t to;
    struct permission_resource resource;
};

static inline void counting_init(struct counting *counting)
{
    *counting = (struct counting){0};
    sem_init(&counting->hangs, 0, 0);
    sem_init(&counting->may_go_on, 0, 0);
    sem_init(&counting->freed, 0, 0);
}

static inline void counting_wait(sem_t *what)
{
    while (sem_wait(what) < 0)
        continue;
}

static inline void counting_hang(struct counting *counting)
{
    sem_post(&counting->hangs);
    counting_wait(&counting->may_go_on);
}

/* ---- what both share ---- */

static int counting_prepare(void *self, const struct catalog_tool *tool,
                            const struct json_value *arguments, uint64_t number,
                            const struct cancel *cancel, void **out_call, struct err *err)
{
    struct counting *counting = self;
    struct counting_call *call;
    int64_t to;

    (void)cancel;
    counting->number = number;
    atomic_fetch_add(&counting->prepared, 1);
    if (!json_get_int(arguments, STR("to"), &to))
        return err_set_field(err, ERR_SCHEMA_MISMATCH, "to", "to is missing");
    if (counting->hangs_preparing)
        counting_hang(counting);
    call = malloc(sizeof(*call));
    assert_non_null(call);
    *call = (struct counting_call){
        .counting = counting,
        .to = to,
        .resource = {.group = tool->group,
                     .given = STR("/counted"),
                     .resolved = STR("/counted"),
                     .cwd = STR_EMPTY},
    };
    *out_call = call;
    return 0;
}

static void counting_free(void *data)
{
    struct counting *counting = ((struct counting_call *)data)->counting;

    free(data);
    sem_post(&counting->freed);
}

static int counting_subject(void *data, const void *session, struct arena *arena,
                            const struct cancel *cancel, struct provider_subject *out_subject,
                            struct err *err)
{
    struct counting_call *call = data;

    (void)session;
    (void)arena;
    (void)cancel;
    (void)err;
    *out_subject = (struct provider_subject){.resources = &call->resource, .count = 1};
    return 0;
}

static int counting_preview(void *call, struct arena *arena, enum decision_disclosure disclosure,
                            const struct cancel *cancel, struct question *question, struct err *err)
{
    (void)call;
    (void)arena;
    (void)disclosure;
    (void)cancel;
    (void)err;
    question->action = STR("Counts");
    return 0;
}

static void counting_refused(void *data, const void *session,
                             const struct permission_resource *resource, const char *source,
                             const char *rule, int code)
{
    const struct counting_call *call = data;

    (void)session;
    (void)source;
    (void)rule;
    (void)code;
    assert_ptr_equal(resource, &call->resource);
    atomic_fetch_add(&call->counting->refused, 1);
}

/* ---- count: blocks ---- */

static int count_run(void *data, const char *decision, const struct cancel *cancel,
                     provider_progress_fn *progress, void *progress_data, struct buf *out,
                     struct err *err)
{
    const struct counting_call *call = data;

    (void)decision;
    atomic_fetch_add(&call->counting->ran, 1);
    progress(progress_data, 1, (uint64_t)call->to, "counting");
    if (call->counting->hangs_running)
        counting_hang(call->counting);
    for (int64_t i = 0; i < call->to; i++) {
        int r = cancel_check(cancel);

        if (r < 0)
            return err_set_plain(err, r);
    }
    return buf_printf(out, "{\"counted\":%d}", (int)call->to);
}

static bool count_changes(const struct catalog_tool *tool)
{
    return tool == &count_tool;
}

static const struct provider count_provider = {
    .name = "count",
    .prepare = counting_prepare,
    .free = counting_free,
    .subject = counting_subject,
    .preview = counting_preview,
    .refused = counting_refused,
    .run = count_run,
    .changes = count_changes,
};

/* ---- echo: works with events ---- */

static uint64_t echo_start(void *data, const struct provider_events *events)
{
    struct counting_call *call = data;

    call->counting->started = *events;
    call->counting->starts++;
    counting_free(call);
    return 7;
}

static void echo_cancel(void *self, uint64_t id)
{
    assert_int_equal(id, 7);
    ((struct counting *)self)->cancels++;
}

static void echo_end_session(void *self, const void *session)
{
    (void)session;
    ((struct counting *)self)->sessions_ended++;
}

static const struct provider echo_provider = {
    .name = "echo",
    .prepare = counting_prepare,
    .free = counting_free,
    .subject = counting_subject,
    .preview = counting_preview,
    .refused = counting_refused,
    .start = echo_start,
    .cancel = echo_cancel,
    .end_session = echo_end_session,
};

#endif

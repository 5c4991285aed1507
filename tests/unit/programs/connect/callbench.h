/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of calls: a clock, a queue with one surface, and a toolhost, all controlled by
 * the test.
 */
#ifndef TESTS_UNIT_PROGRAMS_CONNECT_CALLBENCH_H
#define TESTS_UNIT_PROGRAMS_CONNECT_CALLBENCH_H

#include <stdio.h>

#include "programs/connect/calls.h"
#include "programs/connect/hostlink_internal.h"
/* What is waited for is done by workers on a disk, or by other processes. */
#define LOOP_UNTIL_OTHERS
#include "loop_until.h"
#include "test.h"

enum {
    CALLBENCH_TEXT_BYTES = 512,
    CALLBENCH_ARENA_BYTES = 1 << 20,
};

/* ---- the toolhost: its process is the test's ---- */

static struct {
    struct hostlink link;
    uint32_t number; /* of the call that it was given last */
    unsigned prepared, previewed, run, cancelled, dropped, rules;
} host;

int hostlink_send(struct hostlink *link, uint32_t number, enum toolwire_type type, struct str body)
{
    (void)body;
    assert_ptr_equal(link, &host.link);
    if (type == TOOLWIRE_PREPARE)
        host.number = number;
    host.prepared += type == TOOLWIRE_PREPARE;
    host.previewed += type == TOOLWIRE_PREVIEW;
    host.run += type == TOOLWIRE_RUN;
    host.cancelled += type == TOOLWIRE_CANCEL;
    host.dropped += type == TOOLWIRE_DROP;
    return 0;
}

static inline void host_says(enum toolwire_type type, struct str body)
{
    assert_int_equal(
        hostlink_take_frame(&host.link, &(struct toolwire_frame){host.number, type, body}, NULL),
        0);
}

void hostlink_replace_soon(struct hostlink *link)
{
    (void)link;
    fail();
}

void hostlink_kill(struct hostlink *link)
{
    (void)link;
    fail();
}

void hostlink_tell_rules(struct hostlink *link)
{
    (void)link;
    host.rules++;
}

bool hostlink_has(const struct hostlink *link, const struct catalog_tool *tool)
{
    (void)link;
    return tool->group != CATALOG_SHELL;
}

/* ---- everything around it ---- */

struct callbench {
    struct clock clock;
    struct loop *loop;
    struct log log;
    struct question_queue *queue;
    struct calls *calls;
    uint64_t shown; /* the question that stands; 0: none */
    enum question_queue_end withdrawn;
    unsigned answers;
    char answer[CALLBENCH_TEXT_BYTES];
};

static inline void callbench_show(void *data, uint64_t id, const struct question *question)
{
    struct callbench *bench = data;

    (void)question;
    bench->shown = id;
}

static inline void callbench_withdraw(void *data, uint64_t id, enum question_queue_end end,
                                      const char *by)
{
    struct callbench *bench = data;

    (void)by;
    assert_int_equal(id, bench->shown);
    bench->shown = 0;
    bench->withdrawn = end;
}

static inline bool callbench_offers(void *data, const struct catalog_tool *tool)
{
    (void)data;
    (void)tool;
    return true;
}

static inline void callbench_on_answer(void *data, struct str id, struct str result)
{
    struct callbench *bench = data;

    assert_str(id, "id");
    bench->answers++;
    snprintf(bench->answer, sizeof(bench->answer), "%.*s", STR_ARG(result));
}

/* First of all, for what the calls need. */
static inline void callbench_init(struct callbench *bench)
{
    memset(&host, 0, sizeof(host));
    clock_fake_init(&bench->clock, 0);
    log_init(&bench->log, STDERR_FILENO, LOG_SILENT, &bench->clock);
    assert_int_equal(loop_new(&bench->clock, &bench->loop), 0);
    host.link.executor.ops = &hostlink_ops;
    host.link.state = LINK_READY;
    host.link.config.loop = bench->loop;
    host.link.config.log = &bench->log;
    host.link.config.max_file_bytes = CALLBENCH_ARENA_BYTES;
    host.link.calls = (struct map)MAP_INIT(HOSTLINK_MAX_CALLS);
}

/* Calls that ask by this queue, or by way of the instance where there is none. */
static inline void callbench_make_calls(struct callbench *bench, struct calls_config config,
                                        struct question_queue *queue)
{
    config.loop = bench->loop;
    config.log = &bench->log;
    config.files = &host.link.executor;
    host.link.config.keeper = config.keeper;
    host.link.config.recorded = config.recorded;
    config.queue = queue;
    config.offers = callbench_offers;
    config.answer = callbench_on_answer;
    config.data = bench;
    assert_int_equal(calls_new(&config, &bench->calls), 0);
}

/* The config says by what they are decided and recorded, and which shell they have. */
static inline void callbench_open(struct callbench *bench, struct calls_config config)
{
    const struct question_queue_surface surface = {
        .name = "test", .show = callbench_show, .withdraw = callbench_withdraw, .data = bench};

    assert_int_equal(question_queue_new(&bench->queue), 0);
    assert_int_equal(question_queue_add(bench->queue, &surface), 0);
    callbench_make_calls(bench, config, bench->queue);
}

/* Before what they are decided by; then callbench_done(). */
static inline void callbench_close(struct callbench *bench)
{
    if (bench->calls != NULL) {
        calls_end_session(bench->calls);
        calls_free(bench->calls);
    }
    hostlink_free_calls(&host.link);
    question_queue_free(bench->queue);
}

static inline void callbench_done(struct callbench *bench)
{
    loop_free(bench->loop);
}

static inline void callbench_begin(struct callbench *bench, const char *tool, const char *arguments,
                                   enum gateway_shape shape)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALLBENCH_ARENA_BYTES);
    struct gateway_call call = {.id = STR("id"), .name = str_from(tool), .shape = shape};

    assert_int_equal(
        json_parse(&arena, str_from(arguments), JSON_LIMITS_DEFAULT, &call.arguments, NULL), 0);
    calls_begin(bench->calls, &call);
}

static inline void callbench_pass(struct callbench *bench, int64_t ms)
{
    clock_fake_advance(&bench->clock, ms);
    loop_run_due_timers(bench->loop);
}

#endif

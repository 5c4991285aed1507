/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on files: what the toolhost is asked for, and what comes of it. */
#include "daemon/calls_internal.h"

static void on_previewed(void *data, struct str body)
{
    struct call *call = data;
    struct err err = ERR_INIT;

    if (calls_read_previewed(call, body, &err) < 0) {
        calls_fail(call, &err);
        return;
    }
    /* It is prepared once more with the answer; until then nothing is held. */
    hostlink_forget(call->calls->config.link, call->number);
    call->number = 0;
    calls_ask(call);
}

static void on_prepared(void *data, struct str body)
{
    struct call *call = data;
    struct err err = ERR_INIT;

    if (calls_read_prepared(call, body, &err) < 0)
        calls_fail(call, &err);
    else
        calls_decide(call);
}

/* How it ended, for the record. */
static void note_end(struct call *call, struct str result, const struct err *err, bool has_begun)
{
    struct err failure = ERR_INIT;

    if (call->state != CALL_RUNNING) {
        if (err != NULL && err_category(err->code) == ERR_POLICY)
            calls_note_error(call, err);
    } else if (err == NULL) {
        bool is_failure = calls_read_failure(result, &failure);

        calls_note_outcomes(call, is_failure ? CALLS_FAILED : CALLS_DONE, failure.code);
    } else {
        calls_note_outcomes(call, has_begun ? CALLS_UNKNOWN : CALLS_FAILED, err->code);
    }
}

static void on_end(void *data, struct str result, const struct err *err, bool has_begun)
{
    struct call *call = data;

    call->number = 0;
    if (call->state == CALL_KEEPING)
        return; /* told when the worker is back */
    note_end(call, result, err, has_begun);
    if (call->is_forgotten)
        calls_drop(call);
    else if (err != NULL)
        calls_fail(call, err);
    else
        calls_answer(call, result);
}

static const struct hostlink_events events = {
    .on_prepared = on_prepared, .on_previewed = on_previewed, .on_end = on_end};

void calls_prepare(struct call *call)
{
    const struct calls_config *config = &call->calls->config;
    struct err err = ERR_INIT;

    calls_enter(call, CALL_PREPARING);
    if (hostlink_prepare(config->link, call->tool->name, call->arguments, CALLS_TIMEOUT_MS, &events,
                         call, &call->number, &err) < 0)
        calls_fail(call, &err);
}

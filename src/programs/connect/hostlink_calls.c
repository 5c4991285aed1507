/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a toolhost, as works of an executor: sent, answered in turn, cancelled. */
#include "programs/connect/hostlink_internal.h"

#include <stdlib.h>

#include "base/jsonwrite.h"
#include "base/printable.h"

enum { PROGRESS_BYTES = 200 }; /* of the words of a toolhost */

/*
 * SAFETY: every work and the executor itself were created here, as the first member of their
 * struct.
 */
static struct host_work *work_of(struct work *work)
{
    return (struct host_work *)work;
}

static struct hostlink *link_of(const struct executor *executor)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer as it was, without its const */
    return (struct hostlink *)(uintptr_t)executor;
}

static struct str key_of(const uint32_t *number)
{
    return (struct str){(const char *)number, sizeof(*number)};
}

static struct host_work *find(const struct hostlink *link, uint32_t number)
{
    return map_get(&link->calls, key_of(&number));
}

/* Its own deadline should have ended it. */
static void on_late(void *data)
{
    struct host_work *work = data;
    struct hostlink *link = work->link;

    log_write(link->config.log, LOG_ERROR, "the toolhost does not respond; replacing it");
    hostlink_kill(link);
}

static void enter(struct host_work *work, enum host_phase phase)
{
    work->phase = phase;
    switch (phase) {
    case PHASE_PREPARED:
        timer_stop(&work->late);
        return;
    case PHASE_RUNNING:
        work->has_run = true;
        timer_start(&work->late, HOSTLINK_STEP_MS + HOSTLINK_LATE_MS);
        return;
    case PHASE_PREPARING:
    case PHASE_PREVIEWING:
        timer_start(&work->late, HOSTLINK_STEP_MS + HOSTLINK_LATE_MS);
        return;
    case PHASE_CANCELLED: /* the time of its step goes on */
        return;
    case PHASE_OVER:
        timer_stop(&work->late);
        map_remove(&work->link->calls, key_of(&work->number));
        return;
    }
}

/* Releases the link's own reference. */
static void leave(struct host_work *work)
{
    enter(work, PHASE_OVER);
    work_unref(&work->work);
}

static void end(struct host_work *work, struct str result, const struct err *err, bool has_begun)
{
    const struct work_events *events = work->work.events;

    hostlink_note_end(work, result, err, has_begun);
    enter(work, PHASE_OVER);
    work->work.events = NULL;
    if (events != NULL)
        events->on_end(work->work.data, &(struct work_end){.result = result,
                                                           .change = work->change,
                                                           .err = err,
                                                           .has_begun = has_begun});
    work_unref(&work->work);
}

bool hostlink_may_be_changing(const struct hostlink *link)
{
    struct str key;
    void *value;

    for (size_t cursor = 0; map_next(&link->calls, &cursor, &key, &value);) {
        const struct host_work *work = value;

        if (work->has_run && work->work.input->tool->group != CATALOG_FILESYSTEM_READ)
            return true;
    }
    return false;
}

void hostlink_fail_calls(struct hostlink *link)
{
    struct err err = ERR_INIT;
    struct str key;
    void *value;

    err_set(&err, ERR_IO,
            "the file tool process died and is being restarted; check what was done before you try "
            "again");
    for (size_t cursor = 0; map_next(&link->calls, &cursor, &key, &value); cursor = 0) {
        struct host_work *work = value;

        end(work, STR_EMPTY, &err, work->has_run);
    }
}

void hostlink_free_calls(struct hostlink *link)
{
    struct str key;
    void *value;

    for (size_t cursor = 0; map_next(&link->calls, &cursor, &key, &value); cursor = 0)
        leave(value);
    map_done(&link->calls);
}

/* ---- what it is asked for ---- */

/* If it cannot be sent, the toolhost has died, which ends its calls. */
static void send_or_replace(struct host_work *work, enum toolwire_type type, struct str body)
{
    if (hostlink_send(work->link, work->number, type, body) < 0)
        hostlink_replace_soon(work->link);
}

static void send_cancel(struct host_work *work)
{
    if (work->phase == PHASE_CANCELLED)
        return;
    enter(work, PHASE_CANCELLED);
    send_or_replace(work, TOOLWIRE_CANCEL, STR_EMPTY);
}

static void drop(struct work *data)
{
    struct host_work *work = work_of(data);

    data->events = NULL;
    if (work->phase == PHASE_OVER)
        return;
    if (work->phase != PHASE_PREPARED) {
        send_cancel(work); /* its last answer is waited for */
        return;
    }
    send_or_replace(work, TOOLWIRE_DROP, STR_EMPTY);
    leave(work);
}

static void cancel(struct work *data, int why)
{
    struct host_work *work = work_of(data);
    const struct work_events *events = data->events;
    struct err err = ERR_INIT;

    if (events == NULL)
        return;
    if (work->has_run) {
        send_cancel(work); /* its outcome is for the audit log */
        return;
    }
    err_set_plain(&err, why);
    work_ref(data);
    drop(data);
    events->on_end(data->data, &(struct work_end){.err = &err});
    work_unref(data);
}

static int write_prepare(const struct hostlink *link, const struct call_input *input,
                         struct buf *out)
{
    struct permission_modes modes = permission_modes(keeper_permission(link->config.keeper));
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str(&json, STR("tool"), input->tool->name);
    json_key(&json, STR("arguments"));
    json_write_value(&json, input->arguments);
    json_put_int(&json, STR("timeoutMs"), HOSTLINK_STEP_MS);
    json_put_bool(&json, STR("mayList"), modes.of[CATALOG_FILESYSTEM_READ] == PERMISSION_ALLOW);
    json_end_object(&json);
    return json_writer_finish(&json);
}

static int add(struct hostlink *link, const struct work_request *request,
               struct host_work **out_work)
{
    struct host_work *work = calloc(1, sizeof(*work));
    int r;

    if (work == NULL)
        return ERR_NO_MEMORY;
    do
        link->last_number++;
    while (link->last_number == TOOLWIRE_NO_CALL || find(link, link->last_number) != NULL);
    work_init(&work->work, &link->executor, request);
    work->link = link;
    work->number = link->last_number;
    timer_init(&work->late, link->config.loop, on_late, work);
    r = map_add(&link->calls, key_of(&work->number), work);
    if (r < 0)
        work_unref(&work->work);
    else
        *out_work = work;
    return r;
}

static int prepare(struct executor *executor, const struct work_request *request,
                   struct work **out_work, struct err *err)
{
    struct hostlink *link = link_of(executor);
    cleanup_buf struct buf body = BUF_INIT(toolwire_max_request(link->config.max_file_bytes));
    struct host_work *work = NULL;
    int r = write_prepare(link, request->input, &body);

    if (link->state == LINK_ABSENT)
        return err_set(err, ERR_BUSY, "the file tool process is restarting; try again");
    if (r >= 0)
        r = add(link, request, &work);
    if (r < 0)
        return err_set_plain(err, r);
    r = hostlink_send(link, work->number, TOOLWIRE_PREPARE, buf_view(&body));
    if (r < 0) {
        leave(work);
        return err_set_plain(err, r == ERR_TOO_LARGE ? ERR_BUSY : r);
    }
    enter(work, PHASE_PREPARING);
    *out_work = work_ref(&work->work); /* the other reference is the link's */
    return 0;
}

static void preview(struct work *data, enum decision_disclosure disclosure)
{
    struct host_work *work = work_of(data);
    cleanup_buf struct buf body = BUF_INIT(HOSTLINK_ARENA_BYTES);

    if (work->phase != PHASE_PREPARED)
        return;
    enter(work, PHASE_PREVIEWING);
    if (buf_printf(&body, "{\"disclosure\":\"%s\"}", decision_disclosure_name(disclosure)) == 0)
        send_or_replace(work, TOOLWIRE_PREVIEW, buf_view(&body));
    else
        hostlink_replace_soon(work->link);
}

static int run(struct work *data)
{
    struct host_work *work = work_of(data);
    int r;

    if (work->phase != PHASE_PREPARED)
        return 0; /* it has ended meanwhile */
    r = hostlink_note_intents(work);
    if (r < 0)
        return r;
    enter(work, PHASE_RUNNING);
    send_or_replace(work, TOOLWIRE_RUN, STR_EMPTY);
    return 0;
}

static bool has(const struct executor *executor, const struct catalog_tool *tool)
{
    return hostlink_has(link_of(executor), tool);
}

static void tell_rules(struct executor *executor)
{
    hostlink_tell_rules(link_of(executor));
}

static void free_work(struct work *work)
{
    free(work_of(work));
}

const struct executor_ops hostlink_ops = {
    .has = has,
    .prepare = prepare,
    .preview = preview,
    .run = run,
    .cancel = cancel,
    .drop = drop,
    .refused = hostlink_note_refusal,
    .rules_changed = tell_rules,
    .free_work = free_work,
};

/* ---- frames from it ---- */

static int take_step(struct host_work *work, const struct toolwire_frame *frame, struct err *err)
{
    bool is_preview = frame->type == TOOLWIRE_PREVIEWED;
    const struct work_events *events = work->work.events;
    struct err why = ERR_INIT;
    int r;

    if (work->phase == PHASE_CANCELLED)
        return 0; /* it was on its way */
    if (work->phase != (is_preview ? PHASE_PREVIEWING : PHASE_PREPARING))
        return err_set(err, ERR_INVALID_ARGUMENT, "response to an unknown request");
    enter(work, PHASE_PREPARED);
    r = is_preview ? hostlink_read_previewed(work, frame->body, &why)
                   : hostlink_read_prepared(work, frame->body, &why);
    if (r < 0) {
        drop(&work->work);
        events->on_end(work->work.data, &(struct work_end){.err = &why});
    } else if (is_preview) {
        events->on_previewed(work->work.data);
    } else {
        events->on_prepared(work->work.data);
    }
    return 0;
}

static int take_result(struct host_work *work, const struct toolwire_frame *frame, struct err *err)
{
    if (!work->has_run)
        return err_set(err, ERR_INVALID_ARGUMENT, "result of a call that was not run");
    end(work, frame->body, NULL, true);
    return 0;
}

/* Comes before the result. */
static int take_change(struct host_work *work, const struct toolwire_frame *frame, struct err *err)
{
    if (!work->has_run || work->change.len > 0 || frame->body.len > TOOLWIRE_MAX_CHANGE_BYTES)
        return err_set(err, ERR_INVALID_ARGUMENT, "change of a call that cannot have one");
    (void)arena_copy_str(&work->work.arena, frame->body, &work->change); /* else it is not shown */
    return 0;
}

static void take_error(struct host_work *work, const struct toolwire_frame *frame)
{
    struct err err = ERR_INIT;
    bool has_begun;

    hostlink_read_error(frame->body, &err, &has_begun);
    end(work, STR_EMPTY, &err, has_begun && work->has_run);
}

/* A toolhost may say anything in it; only a call that runs has progress. */
static void take_progress(struct host_work *work, const struct toolwire_frame *frame)
{
    cleanup_arena struct arena arena = ARENA_INIT(HOSTLINK_ARENA_BYTES);
    const struct work_events *events = work->work.events;
    const struct json_value *document;
    char words[PROGRESS_BYTES + PRINTABLE_CUT_BYTES];
    struct str what = STR_EMPTY;
    int64_t done = 0;
    int64_t total = 0;

    if (!work->work.wants_progress || !work->has_run || events == NULL ||
        events->on_progress == NULL ||
        json_parse(&arena, frame->body, JSON_LIMITS_DEFAULT, &document, NULL) < 0 ||
        !json_get_whole(document, STR("done"), &done))
        return;
    json_get_whole(document, STR("total"), &total);
    json_get_str(document, STR("what"), &what);
    printable_cut(what, PRINTABLE_LINE, words, PROGRESS_BYTES);
    events->on_progress(work->work.data, (uint64_t)done, (uint64_t)total, words);
}

int hostlink_take_frame(struct hostlink *link, const struct toolwire_frame *frame, struct err *err)
{
    struct host_work *work = find(link, frame->call);

    if (work == NULL)
        return 0; /* dropped meanwhile */
    switch (frame->type) {
    case TOOLWIRE_PREPARED:
    case TOOLWIRE_PREVIEWED:
        return take_step(work, frame, err);
    case TOOLWIRE_RESULT:
        return take_result(work, frame, err);
    case TOOLWIRE_CHANGE:
        return take_change(work, frame, err);
    case TOOLWIRE_ERROR:
        take_error(work, frame);
        return 0;
    default: /* PROGRESS: no other is a toolhost's */
        take_progress(work, frame);
        return 0;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "call/joint.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/toolresult.h"

enum { FIRST, SECOND, HALVES };

struct joint {
    struct executor executor; /* first member: see joint_of() */
    struct joint_config config;
};

struct joint_work;

/* What the events of a half are told to. */
struct joint_half {
    struct joint_work *whole;
    struct work *work; /* NULL: not begun yet */
};

struct joint_work {
    struct work work; /* first member: see whole_of() */
    struct joint_half halves[HALVES];
    bool is_running;
};

/*
 * SAFETY: every work, and the executor itself, was created here as the first member of its struct.
 */
static struct joint_work *whole_of(struct work *work)
{
    return (struct joint_work *)work;
}

static struct joint *joint_of(const struct executor *executor)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer as it was, without its const */
    return (struct joint *)(uintptr_t)executor;
}

static void drop_halves(struct joint_work *whole)
{
    for (size_t i = 0; i < HALVES; i++)
        if (whole->halves[i].work != NULL)
            whole->halves[i].work->ops->drop(whole->halves[i].work);
}

static void end(struct joint_work *whole, const struct work_end *end)
{
    const struct work_events *events = whole->work.events;

    whole->work.events = NULL;
    drop_halves(whole);
    if (events != NULL)
        events->on_end(whole->work.data, end);
}

static void end_with(struct joint_work *whole, int code, const struct err *why)
{
    struct err err = ERR_INIT;

    if (why != NULL && why->code != 0)
        err = *why;
    else
        err_set_plain(&err, code);
    end(whole, &(struct work_end){.err = &err, .has_begun = whole->is_running});
}

/* ---- preparing ---- */

static const struct work_events half_events;

static int prepare_half(struct joint_work *whole, size_t index, struct call_input *input,
                        struct err *err)
{
    const struct joint *joint = joint_of(whole->work.executor);
    struct joint_half *half = &whole->halves[index];
    struct executor *executor = index == FIRST ? joint->config.first : joint->config.second;
    const struct work_request request = {
        .input = input,
        .session = whole->work.session,
        .wants_progress = whole->work.wants_progress,
        .events = &half_events,
        .data = half,
    };

    half->whole = whole;
    return executor->ops->prepare(executor, &request, &half->work, err);
}

/* Parsed, and with the same number in the audit log. */
static int make_first_input(const struct joint *joint, const struct call_input *whole,
                            struct call_input **out_input)
{
    struct call_input *input = call_input_new(whole->arena.max);
    cleanup_buf struct buf text = BUF_INIT(whole->arena.max);
    int r = input != NULL ? joint->config.write_arguments(whole->arguments, whole->number, &text)
                          : ERR_NO_MEMORY;

    if (r == 0)
        r = call_input_read(input, buf_view(&text));
    if (r < 0) {
        call_input_unref(input);
        return r;
    }
    input->tool = joint->config.first_tool(whole->tool, whole->arguments);
    input->number = whole->number;
    input->client = whole->client;
    *out_input = input;
    return 0;
}

static int prepare(struct executor *executor, const struct work_request *request,
                   struct work **out_work, struct err *err)
{
    const struct joint *joint = joint_of(executor);
    struct executor *second = joint->config.second;
    struct call_input *input = NULL;
    struct joint_work *whole;
    int r;

    if (joint->config.first_tool(request->input->tool, request->input->arguments) == NULL)
        return second->ops->prepare(second, request, out_work, err);
    r = make_first_input(joint, request->input, &input);
    if (r < 0)
        return err_set_plain(err, r);
    whole = calloc(1, sizeof(*whole));
    if (whole == NULL) {
        call_input_unref(input);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    work_init(&whole->work, executor, request);
    *out_work = &whole->work;
    /* The caller may drop it in an event, before this returns. */
    work_ref(&whole->work);
    r = prepare_half(whole, FIRST, input, err);
    call_input_unref(input);
    if (r < 0) {
        *out_work = NULL;
        work_unref(&whole->work);
    }
    work_unref(&whole->work);
    return r;
}

/* What both halves touch. The texts stay where they are: the halves live as long as this. */
static int join_subjects(struct joint_work *whole)
{
    const struct provider_subject *first = &whole->halves[FIRST].work->subject;
    const struct provider_subject *second = &whole->halves[SECOND].work->subject;
    size_t count = first->count + second->count;
    struct permission_resource *resources;

    whole->work.subject = (struct provider_subject){.mark = first->mark ^ second->mark};
    if (count == 0)
        return 0;
    resources = arena_alloc_array(&whole->work.arena, count, sizeof(*resources));
    if (resources == NULL)
        return whole->work.arena.error;
    for (size_t i = 0; i < first->count; i++)
        resources[i] = first->resources[i];
    for (size_t i = 0; i < second->count; i++)
        resources[first->count + i] = second->resources[i];
    whole->work.subject.resources = resources;
    whole->work.subject.count = count;
    return 0;
}

static void on_prepared(void *data)
{
    struct joint_half *half = data;
    struct joint_work *whole = half->whole;
    struct err err = ERR_INIT;
    int r;

    if (whole->work.events == NULL)
        return;
    if (half == &whole->halves[FIRST]) {
        r = prepare_half(whole, SECOND, whole->work.input, &err);
        if (r < 0)
            end_with(whole, r, &err);
        return;
    }
    r = join_subjects(whole);
    if (r < 0)
        end_with(whole, r, NULL);
    else
        whole->work.events->on_prepared(whole->work.data);
}

/* ---- asking ---- */

static void preview(struct work *work, enum decision_disclosure disclosure)
{
    struct work *second = whole_of(work)->halves[SECOND].work;

    second->decision = work->decision;
    second->ops->preview(second, disclosure);
}

static void on_previewed(void *data)
{
    const struct joint_half *half = data;
    struct joint_work *whole = half->whole;

    if (whole->work.events == NULL)
        return;
    whole->work.decision.question = half->work->decision.question;
    whole->work.events->on_previewed(whole->work.data);
}

/* The half whose resource it is knows how to record it. */
static void refused(struct work *work)
{
    struct joint_work *whole = whole_of(work);
    size_t at = (size_t)(work->refused - work->subject.resources);
    size_t firsts = whole->halves[FIRST].work->subject.count;
    struct work *half = whole->halves[at < firsts ? FIRST : SECOND].work;

    half->refused = &half->subject.resources[at < firsts ? at : at - firsts];
    half->refused_by = work->refused_by;
    half->refused_rule = work->refused_rule;
    half->err = work->err;
    half->ops->refused(half);
}

/* ---- running ---- */

static int run_half(struct joint_work *whole, size_t index)
{
    struct work *half = whole->halves[index].work;

    half->decision = whole->work.decision;
    return half->ops->run(half);
}

static int run(struct work *work)
{
    struct joint_work *whole = whole_of(work);

    whole->is_running = true;
    return run_half(whole, FIRST);
}

static void on_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    const struct joint_half *half = data;
    const struct work *work = &half->whole->work;

    if (work->events != NULL)
        work->events->on_progress(work->data, done, total, what);
}

static void on_half_end(void *data, const struct work_end *half_end)
{
    struct joint_half *half = data;
    struct joint_work *whole = half->whole;
    struct err why = ERR_INIT;
    int r;

    if (whole->work.events == NULL)
        return;
    if (half == &whole->halves[SECOND] || half_end->err != NULL ||
        toolresult_is_error(half_end->result, &why)) {
        end(whole, half_end);
        return;
    }
    r = run_half(whole, SECOND);
    if (r < 0)
        end_with(whole, r, NULL);
}

static const struct work_events half_events = {
    .on_prepared = on_prepared,
    .on_decided = on_previewed, /* never: a half gets no terms */
    .on_previewed = on_previewed,
    .on_progress = on_progress,
    .on_end = on_half_end,
};

static void cancel(struct work *work, int why)
{
    struct joint_work *whole = whole_of(work);
    struct err err = ERR_INIT;

    err_set_plain(&err, why);
    end(whole, &(struct work_end){.err = &err, .has_begun = whole->is_running});
}

static void drop(struct work *work)
{
    work->events = NULL;
    drop_halves(whole_of(work));
}

static bool has(const struct executor *executor, const struct catalog_tool *tool)
{
    const struct joint_config *config = &joint_of(executor)->config;
    const struct catalog_tool *first = config->first_tool(tool, NULL);

    return first != NULL && config->first->ops->has(config->first, first) &&
           config->second->ops->has(config->second, tool);
}

static void free_work(struct work *work)
{
    struct joint_work *whole = whole_of(work);

    /* On any thread: both were dropped before, on the loop. */
    for (size_t i = 0; i < HALVES; i++)
        if (whole->halves[i].work != NULL)
            work_unref(whole->halves[i].work);
    free(whole);
}

static const struct executor_ops ops = {
    .has = has,
    .prepare = prepare,
    .preview = preview,
    .run = run,
    .cancel = cancel,
    .drop = drop,
    .refused = refused,
    .free_work = free_work,
};

int joint_new(const struct joint_config *config, struct joint **out_joint)
{
    struct joint *joint = calloc(1, sizeof(*joint));

    if (joint == NULL)
        return ERR_NO_MEMORY;
    joint->executor.ops = &ops;
    joint->config = *config;
    *out_joint = joint;
    return 0;
}

void joint_free(struct joint *joint)
{
    free(joint);
}

struct executor *joint_executor(struct joint *joint)
{
    return &joint->executor;
}

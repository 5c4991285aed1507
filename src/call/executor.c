/* SPDX-License-Identifier: Apache-2.0 */
#include "call/executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/jsonwrite.h"

enum { MARKED_BYTES = 256 << 20 };

/* With a key that nobody knows: an agent must not find arguments with the mark of allowed ones. */
int provider_mark(const struct json_value *arguments, struct str more, uint64_t *out_mark)
{
    cleanup_buf struct buf text = BUF_INIT(MARKED_BYTES);
    struct json_writer json;
    int r = buf_append_str(&text, more);

    json_writer_init(&json, &text);
    json_write_value(&json, arguments);
    if (r == 0)
        r = json_writer_finish(&json);
    if (r == 0)
        *out_mark = hash_str(hash_process_key(), buf_view(&text));
    return r;
}

bool provider_owns(const struct provider *provider, const struct catalog_tool *tool)
{
    return tool->provider != NULL && strcmp(tool->provider, provider->name) == 0;
}

struct call_input *call_input_new(size_t max_bytes)
{
    struct call_input *input = alloc_zeroed(sizeof(*input));

    if (input == NULL)
        return NULL;
    atomic_init(&input->refs, 1);
    arena_init(&input->arena, max_bytes);
    return input;
}

int call_input_read(struct call_input *input, struct str text)
{
    struct str kept;

    return arena_copy_str(&input->arena, text, &kept)
               ? json_parse(&input->arena, kept, JSON_LIMITS_DEFAULT, &input->arguments, NULL)
               : input->arena.error;
}

static struct call_input *ref_input(struct call_input *input)
{
    atomic_fetch_add_explicit(&input->refs, 1, memory_order_relaxed);
    return input;
}

void call_input_unref(struct call_input *input)
{
    if (input == NULL || atomic_fetch_sub_explicit(&input->refs, 1, memory_order_acq_rel) != 1)
        return;
    arena_done(&input->arena);
    free(input);
}

void work_init(struct work *work, struct executor *executor, const struct work_request *request)
{
    work->ops = executor->ops;
    work->executor = executor;
    atomic_init(&work->refs, 1);
    work->input = ref_input(request->input);
    arena_init(&work->arena, request->input->arena.max);
    work->events = request->events;
    work->data = request->data;
    work->session = request->session;
    work->wants_progress = request->wants_progress;
    work->decision.source = PERMISSION_BY_MODE;
    if (request->terms != NULL)
        work->terms = *request->terms;
}

struct work *work_ref(struct work *work)
{
    atomic_fetch_add_explicit(&work->refs, 1, memory_order_relaxed);
    return work;
}

void work_unref(void *data)
{
    struct work *work = data;

    if (atomic_fetch_sub_explicit(&work->refs, 1, memory_order_acq_rel) != 1)
        return;
    call_input_unref(work->input);
    arena_done(&work->arena);
    work->ops->free_work(work);
}

void work_release(struct work *work)
{
    if (work == NULL)
        return;
    work->ops->drop(work);
    work_unref(work);
}

static void note_refusal(void *data, const struct permission_resource *resource, const char *source,
                         const char *rule, int code)
{
    struct work *work = data;

    (void)code;
    work->refused = resource;
    work->refused_by = source;
    work->refused_rule = rule;
}

static int describe(void *data, struct arena *arena, enum decision_disclosure disclosure,
                    const struct cancel *cancel, struct question *question, struct err *err)
{
    struct work *work = data;

    (void)arena; /* it is the work's */
    return work->ops->describe(work, disclosure, cancel, question, err);
}

int executor_decide(struct work *work, bool describes, const struct cancel *cancel)
{
    const struct decision_subject subject = {
        .tool = work->input->tool,
        .resources = work->subject.resources,
        .count = work->subject.count,
        .mark = work->subject.mark,
        .describe = describes ? describe : NULL,
        .refused = note_refusal,
        .data = work,
    };

    return decision_make(&work->terms, &subject, &work->arena, cancel, &work->decision, &work->err);
}

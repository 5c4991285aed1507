/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image built by itself: the answer is a line for each step, for its output as it comes, and for
 * the end. A client that reads too slowly makes the step wait; one that leaves does not end it,
 * since others may wait for the same layer.
 */
#include "programs/sandboxd/images_internal.h"

#include <stdlib.h>

#include "programs/sandboxd/contexts.h"
#include "programs/sandboxd/network.h"
#include "programs/sandboxd/sandboxes.h"
#include "programs/sandboxd/transcript.h"

enum { HIGH_BYTES = 1 << 20 }; /* unread by the client */

struct imagelog {
    struct images *images;
    struct exchange *exchange; /* NULL: the client has gone */
    struct transcript transcript;
    int64_t next;   /* the first event that was not sent */
    bool has_begun; /* the answer */
    bool is_built;  /* or has failed */
};

static void free_log(struct imagelog *log)
{
    transcript_done(&log->transcript);
    free(log);
}

/* Nobody reads it any more. */
static void leave(struct imagelog *log)
{
    log->exchange = NULL;
    if (log->is_built) {
        free_log(log);
        return;
    }
    images_unwatch(log->images, log);
    images_pace(log->images);
    free_log(log);
}

/* Sends what the client takes. False: the log is gone. */
static bool send_events(struct imagelog *log)
{
    struct transcript *transcript = &log->transcript;
    bool is_cut = transcript->error != 0; /* events are missing */

    if (!log->has_begun)
        return true;
    while (!is_cut && log->next < transcript_next(transcript) &&
           exchange_kept(log->exchange) < HIGH_BYTES) {
        const struct str line = transcript_line(transcript, log->next);

        is_cut = exchange_write(log->exchange, &line, 1) < 0;
        log->next++;
    }
    if (is_cut) {
        exchange_cut(log->exchange);
        leave(log);
        return false;
    }
    transcript_trim(transcript, 0, log->next);
    if (!transcript->is_over || log->next < transcript_next(transcript))
        return true;
    exchange_end(log->exchange);
    leave(log);
    return false;
}

static void on_gone(void *data)
{
    leave(data);
}

static void on_drained(void *data)
{
    struct imagelog *log = data;

    if (send_events(log) && !log->is_built)
        images_pace(log->images);
}

static const struct exchange_events client_events = {.on_gone = on_gone, .on_drained = on_drained};

static void on_step(void *data, size_t step, size_t steps, struct str text, bool is_cached)
{
    struct imagelog *log = data;

    transcript_add_step(&log->transcript, step, steps, text, is_cached);
    (void)send_events(log);
}

static void on_output(void *data, enum room_stream stream, struct str bytes)
{
    struct imagelog *log = data;

    transcript_add_output(&log->transcript,
                          stream == ROOM_STDOUT ? TRANSCRIPT_STDOUT : TRANSCRIPT_STDERR, bytes);
    (void)send_events(log);
}

static bool is_behind(const void *data)
{
    const struct imagelog *log = data;

    return log->next < transcript_next(&log->transcript) ||
           exchange_kept(log->exchange) >= HIGH_BYTES;
}

static void on_built(void *data, const struct err *err, struct str text, const char *image)
{
    struct imagelog *log = data;

    (void)text; /* the client has had all of it */
    log->is_built = true;
    if (err != NULL)
        transcript_add_error(&log->transcript, str_from(err->message));
    else
        transcript_add_image(&log->transcript, str_from(image));
    (void)send_events(log);
}

bool images_answer_log(struct images *images, struct exchange *exchange,
                       void (*begin)(void *data, const struct images_events *events), void *data)
{
    struct imagelog *log = calloc(1, sizeof(*log));

    if (log == NULL) {
        call_fail(exchange, 503, err_text(ERR_NO_MEMORY));
        return false;
    }
    *log = (struct imagelog){.images = images, .exchange = exchange};
    transcript_init(&log->transcript, false);
    exchange_watch(exchange, &client_events, log);
    /* First, since the request ends with the head of its answer. */
    begin(data, &(struct images_events){.done = on_built,
                                        .on_step = on_step,
                                        .on_output = on_output,
                                        .is_behind = is_behind,
                                        .data = log});
    exchange_begin(log->exchange,
                   &(struct http_answer){.status = 200, .type = STR("application/x-ndjson")});
    log->has_begun = true;
    (void)send_events(log);
    return true;
}

struct wanted {
    struct images *images;
    struct images_request request;
};

static void begin_steps(void *data, const struct images_events *events)
{
    const struct wanted *wanted = data;

    images_build(wanted->images, &wanted->request, events);
}

void images_create(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    const struct json_value *object = call_object(call, &arena, false);
    const struct json_value *steps;
    struct context *context = NULL;
    struct network_policy network = {.hosts = {.count = 0}};
    const char *wrong;

    if (object == NULL)
        return;
    steps = json_get(object, STR("dockerfile_steps"));
    wrong = contexts_choose(call, object, &context);
    if (wrong == NULL)
        wrong = network_read(json_get(object, STR("network_policy")), &network);
    if (wrong == NULL && (steps == NULL || steps->type != JSON_ARRAY || steps->size == 0))
        wrong = "dockerfile_steps must be a list of at least one step";
    if (wrong == NULL)
        wrong = images_check_steps(&arena, steps, context != NULL);
    if (wrong != NULL)
        call_fail(call->exchange, 400, wrong);
    if (wrong != NULL || !sandboxes_check_quota(call->service, call->owner, call->exchange) ||
        !images_answer_log(call->service->images, call->exchange, begin_steps,
                           &(struct wanted){.images = call->service->images,
                                            .request = {.steps = steps,
                                                        .owner = call->owner,
                                                        .context = context,
                                                        .network = &network}}))
        context_unref(context);
}

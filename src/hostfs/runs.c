/* SPDX-License-Identifier: Apache-2.0 */
#include "hostfs/runs.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/jsonwrite.h"
#include "base/rand.h"

enum { TOKEN_BYTES = 24 };

struct run {
    char id[RUNS_ID_BYTES];
    int64_t wall_ms;
    bool has_failed;
    size_t len;
    char body[];
};

void runs_init(struct runs *runs, size_t max_bytes)
{
    *runs = (struct runs){.max_bytes = max_bytes};
}

static void forget(struct runs *runs, size_t at)
{
    if (runs->all[at] == NULL)
        return;
    runs->bytes -= runs->all[at]->len;
    free(runs->all[at]);
    runs->all[at] = NULL;
}

void runs_done(struct runs *runs)
{
    for (size_t i = 0; i < RUNS_MAX; i++)
        forget(runs, i);
}

static const struct run *find(const struct runs *runs, struct str id)
{
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (runs->all[i] != NULL && str_eq_c(id, runs->all[i]->id))
            return runs->all[i];
    return NULL;
}

static struct str status_of(const struct run *run)
{
    return run->has_failed ? STR("failed") : STR("completed");
}

static void put_run(struct json_writer *json, const struct run *run)
{
    char time[CLOCK_ISO_BYTES];

    clock_format_iso(run->wall_ms, time);
    json_put_str(json, STR("runId"), str_from(run->id));
    json_put_str(json, STR("workflowId"), STR(RUNS_WORKFLOW));
    json_put_str(json, STR("status"), status_of(run));
    json_put_str(json, STR("createdAt"), str_from(time));
}

int runs_add(struct runs *runs, struct str body, bool has_failed, int64_t wall_ms, struct buf *out)
{
    char token[TOKEN_BYTES + 1];
    struct json_writer json;
    struct run *run;

    if (body.len > runs->max_bytes)
        return ERR_TOO_LARGE;
    run = malloc(sizeof(*run) + body.len);
    if (run == NULL)
        return ERR_NO_MEMORY;
    rand_token(token, TOKEN_BYTES);
    snprintf(run->id, sizeof(run->id), "run_%s", token);
    run->wall_ms = wall_ms;
    run->has_failed = has_failed;
    run->len = body.len;
    memcpy(run->body, body.ptr, body.len);
    /* From the oldest on, until there is room. */
    forget(runs, runs->next);
    for (size_t i = 1; i < RUNS_MAX && runs->bytes + body.len > runs->max_bytes; i++)
        forget(runs, (runs->next + i) % RUNS_MAX);
    runs->all[runs->next] = run;
    runs->next = (runs->next + 1) % RUNS_MAX;
    runs->bytes += run->len;
    json_writer_init(&json, out);
    json_begin_object(&json);
    put_run(&json, run);
    json_end_object(&json);
    return json_writer_finish(&json);
}

int runs_write(const struct runs *runs, struct str id, struct buf *out)
{
    const struct run *run = find(runs, id);
    struct json_writer json;

    if (run == NULL)
        return ERR_SESSION_OVER;
    json_writer_init(&json, out);
    json_begin_object(&json);
    put_run(&json, run);
    if (run->has_failed) {
        json_key(&json, STR("error"));
        json_splice(&json, (struct str){run->body, run->len});
    }
    json_end_object(&json);
    return json_writer_finish(&json);
}

/* ---- events ---- */

static void begin_event(struct json_writer *json, const struct run *run, int64_t sequence,
                        struct str type)
{
    char time[CLOCK_ISO_BYTES];

    clock_format_iso(run->wall_ms, time);
    json_begin_object(json);
    json_put_str(json, STR("runId"), str_from(run->id));
    json_put_int(json, STR("sequence"), sequence);
    json_put_str(json, STR("type"), type);
    json_put_str(json, STR("timestamp"), str_from(time));
    json_key(json, STR("payload"));
    json_begin_object(json);
}

static void end_event(struct json_writer *json)
{
    json_end_object(json);
    json_end_object(json);
}

static void put_node_event(struct json_writer *json, const struct run *run)
{
    struct str body = {run->body, run->len};

    begin_event(json, run, 1, run->has_failed ? STR("node.failed") : STR("node.completed"));
    json_put_str(json, STR("nodeId"), STR(RUNS_NODE));
    if (run->has_failed) {
        json_key(json, STR("error"));
        json_splice(json, body);
    } else {
        json_key(json, STR("outputs"));
        json_begin_object(json);
        json_key(json, STR("result"));
        json_splice(json, body);
        json_end_object(json);
    }
    end_event(json);
}

int runs_write_events(const struct runs *runs, struct str id, struct buf *out)
{
    const struct run *run = find(runs, id);
    struct json_writer json;

    if (run == NULL)
        return ERR_SESSION_OVER;
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_key(&json, STR("events"));
    json_begin_array(&json);
    begin_event(&json, run, 0, STR("run.started"));
    json_put_str(&json, STR("workflowId"), STR(RUNS_WORKFLOW));
    end_event(&json);
    put_node_event(&json, run);
    begin_event(&json, run, 2, run->has_failed ? STR("run.failed") : STR("run.completed"));
    json_put_str(&json, STR("status"), status_of(run));
    end_event(&json);
    json_end_array(&json);
    json_put_bool(&json, STR("isComplete"), true);
    json_end_object(&json);
    return json_writer_finish(&json);
}

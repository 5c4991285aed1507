/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/background.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "workspace/internal.h"
#include "workspace/kept.h"

enum {
    STREAMS = 2,
    ID_BYTES = 24,
    LOOK_MS = 500, /* between looks, while somebody waits */
    PIECE_BYTES = 64 << 10,
};

struct background {
    struct list node; /* of its workspace; the oldest first */
    struct workspace *workspace;
    char id[ID_BYTES];
    struct workspace_call *call; /* NULL: it is over */
    struct list watches;
    struct kept_stream streams[STREAMS]; /* output, errors */
    uint64_t shown[STREAMS];             /* bytes that somebody has seen */
    struct timer again;                  /* until the provider is asked once more */
    bool is_started;
    bool is_looking; /* the provider is asked */
    bool is_killed;
    bool is_timed_out;
    int exit_code;  /* -1: it was killed */
    struct err err; /* that has ended it */
};

struct background_watch {
    struct list node;
    struct background *background;
    struct background_events events;
    struct timer limit;
    bool is_start; /* it waits for the start */
    bool is_due;   /* it waits no longer than for the provider's word */
    struct str text;
    struct buf text_bytes;
    struct buf last[STREAMS]; /* where the text may begin */
    uint64_t next[STREAMS];   /* the byte after those */
    uint64_t first[STREAMS];  /* bytes before were seen, and are no beginning either */
};

const char *background_id(const struct background *background)
{
    return background->id;
}

/* ---- ends of watches ---- */

static void free_watch(struct background_watch *watch)
{
    timer_stop(&watch->limit);
    list_remove(&watch->node);
    buf_done(&watch->text_bytes);
    for (size_t i = 0; i < STREAMS; i++)
        buf_done(&watch->last[i]);
    free(watch);
}

static void end_watch(struct background_watch *watch, const struct err *err)
{
    const struct background_events events = watch->events;
    struct background *background = watch->background;

    free_watch(watch);
    events.on_done(events.data, err, background);
}

static void free_background(struct background *background)
{
    while (!list_is_empty(&background->watches))
        free_watch(list_entry(background->watches.next, struct background_watch, node));
    timer_stop(&background->again);
    list_remove(&background->node);
    for (size_t i = 0; i < STREAMS; i++)
        kept_done(&background->streams[i]);
    background->workspace->workspaces->background_count--;
    free(background);
}

/* Those that wait for the start, or the others. */
static void end_watches(struct background *background, bool is_start, const struct err *err)
{
    list_each_safe (node, &background->watches) {
        struct background_watch *watch = list_entry(node, struct background_watch, node);

        if (watch->is_start == is_start)
            end_watch(watch, err);
    }
}

void background_free_all(struct workspace *workspace)
{
    struct err err = ERR_INIT;

    err_set(&err, ERR_SESSION_OVER, "the workspace was ended");
    while (!list_is_empty(&workspace->backgrounds)) {
        struct background *background =
            list_entry(workspace->backgrounds.next, struct background, node);

        end_watches(background, false, &err);
        free_background(background);
    }
}

/* ---- the command ---- */

static void on_started(void *data)
{
    struct background *background = data;

    background->is_started = true;
    end_watches(background, true, NULL);
}

/* A text that begins in the piece before is found, too. */
static bool has_text(struct background_watch *watch, size_t stream, uint64_t at, struct str bytes)
{
    struct buf *last = &watch->last[stream];
    uint64_t seen = watch->first[stream] > at ? watch->first[stream] - at : 0;
    bool has = false;

    if (seen >= bytes.len)
        return false;
    if (at + seen != watch->next[stream])
        buf_clear(last); /* what is between them is not kept */
    watch->next[stream] = at + bytes.len;
    for (size_t from = (size_t)seen; from < bytes.len && !has; from += PIECE_BYTES) {
        if (buf_append_str(last, str_slice(bytes, from, PIECE_BYTES)) < 0)
            return false; /* no memory: it waits until its time is over */
        has = str_find(buf_view(last), watch->text) != SIZE_MAX;
        if (last->len >= watch->text.len)
            buf_drop_front(last, last->len - watch->text.len + 1);
    }
    return has;
}

static void on_output(void *data, bool is_error, struct str bytes)
{
    struct background *background = data;
    size_t stream = is_error ? 1 : 0;
    uint64_t at = background->streams[stream].total;

    kept_add(&background->streams[stream], bytes);
    list_each_safe (node, &background->watches) {
        struct background_watch *watch = list_entry(node, struct background_watch, node);

        if (watch->text.len > 0 && has_text(watch, stream, at, bytes)) {
            watch->is_due = true;
            timer_start(&watch->limit, 0); /* what came with it belongs to the answer */
        }
    }
}

static void on_rewound(void *data)
{
    struct background *background = data;

    for (size_t i = 0; i < STREAMS; i++)
        kept_clear(&background->streams[i]);
    list_each (node, &background->watches) {
        struct background_watch *watch = list_entry(node, struct background_watch, node);

        for (size_t i = 0; i < STREAMS; i++) {
            buf_clear(&watch->last[i]);
            watch->next[i] = 0;
        }
    }
}

static void on_over(struct background *background, const struct err *err)
{
    background->call = NULL;
    background->workspace->background_over_ms =
        loop_now_ms(background->workspace->workspaces->config.loop);
    background->workspace->has_background_over = true;
    background->is_looking = false;
    timer_stop(&background->again);
    if (err != NULL && !background->is_killed)
        background->err = *err;
    if (!background->is_started) { /* nobody knows it */
        struct background_watch *watch =
            list_entry(background->watches.next, struct background_watch, node);
        const struct background_events events = watch->events;
        struct err why = background->err;

        free_background(background);
        events.on_done(events.data, &why, NULL);
        return;
    }
    end_watches(background, false, NULL);
}

static void on_done(void *data, const struct err *err, const struct workspace_answer *answer)
{
    struct background *background = data;

    background->exit_code = answer != NULL ? answer->exit_code : -1;
    background->is_timed_out = answer != NULL && answer->is_timed_out;
    if (answer != NULL && answer->exit_code >= 0)
        background->is_killed = false; /* it was quicker */
    if (err == NULL && !background->is_started)
        on_started(background);
    on_over(background, err);
}

/* ---- asking the provider ---- */

static void look(void *data)
{
    struct background *background = data;

    if (background->is_looking || background->call == NULL)
        return;
    timer_stop(&background->again);
    background->is_looking = workspace_look(background->call);
}

static void on_looked(void *data, const struct err *err)
{
    struct background *background = data;

    background->is_looking = false;
    list_each_safe (node, &background->watches) {
        struct background_watch *watch = list_entry(node, struct background_watch, node);

        if (!watch->is_start && (err != NULL || watch->is_due))
            end_watch(watch, err);
    }
    if (!list_is_empty(&background->watches))
        timer_start(&background->again, LOOK_MS);
}

/* Timer callback: its time is over, or what it waits for is there. */
static void on_limit(void *data)
{
    struct background_watch *watch = data;

    watch->is_due = true;
    if (!watch->background->is_looking)
        end_watch(watch, NULL);
}

int64_t background_idle_ms(struct workspace *workspace)
{
    bool runs = false;

    list_each (node, &workspace->backgrounds) {
        struct background *background = list_entry(node, struct background, node);

        if (background->call == NULL)
            continue;
        runs = true;
        if (background->is_started && !background->is_killed)
            look(background);
    }
    if (runs)
        return 0;
    return workspace->has_background_over
               ? loop_now_ms(workspace->workspaces->config.loop) - workspace->background_over_ms
               : INT64_MAX;
}

/* ---- finding and making ---- */

static struct background *find(const struct workspace *workspace, struct str id)
{
    list_each (node, &workspace->backgrounds) {
        struct background *background = list_entry(node, struct background, node);

        if (str_eq_c(id, background->id) && background->is_started)
            return background;
    }
    return NULL;
}

static int refuse_id(const struct workspace *workspace, struct str id, struct err *err)
{
    char known[BACKGROUND_MAX_KEPT * (ID_BYTES + 2)] = "";
    size_t len = 0;

    list_each (node, &workspace->backgrounds) {
        const struct background *background = list_entry(node, struct background, node);

        if (background->is_started)
            len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", len > 0 ? ", " : "",
                                    background->id);
    }
    if (len == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "there is no process '%.*s', and no other: execute_command starts one with "
                       "background",
                       STR_ARG(str_slice(id, 0, ID_BYTES)));
    return err_set(err, ERR_NOT_FOUND, "there is no process '%.*s'; there are %s",
                   STR_ARG(str_slice(id, 0, ID_BYTES)), known);
}

static struct background *oldest_over(const struct workspace *workspace)
{
    list_each (node, &workspace->backgrounds) {
        struct background *background = list_entry(node, struct background, node);

        if (background->call == NULL && list_is_empty(&background->watches))
            return background;
    }
    return NULL;
}

/* Forgets what is over, first of this workspace. */
static int make_room(struct workspace *workspace, struct err *err)
{
    struct workspaces *workspaces = workspace->workspaces;
    struct background *over = oldest_over(workspace);
    size_t running = 0;
    size_t kept = 0;

    list_each (node, &workspace->backgrounds) {
        running += list_entry(node, struct background, node)->call != NULL;
        kept++;
    }
    if (running >= BACKGROUND_MAX_RUNNING)
        return err_set(err, ERR_BUSY,
                       "%d commands run in the background already: end one with kill_process",
                       BACKGROUND_MAX_RUNNING);
    if (kept < BACKGROUND_MAX_KEPT && workspaces->background_count < BACKGROUND_MAX_ALL)
        return 0;
    for (struct list *node = workspaces->all.next; over == NULL && node != &workspaces->all;
         node = node->next)
        over = oldest_over(list_entry(node, struct workspace, node));
    if (over == NULL)
        return err_set(err, ERR_BUSY, "too many commands run in the background: end some first");
    free_background(over);
    return 0;
}

static struct background_watch *new_watch(struct background *background,
                                          const struct background_events *events)
{
    struct background_watch *watch = calloc(1, sizeof(*watch));

    if (watch == NULL)
        return NULL;
    watch->background = background;
    watch->events = *events;
    timer_init(&watch->limit, background->workspace->workspaces->config.loop, on_limit, watch);
    buf_init(&watch->text_bytes, BACKGROUND_TEXT_BYTES);
    for (size_t i = 0; i < STREAMS; i++)
        buf_init(&watch->last[i], PIECE_BYTES + BACKGROUND_TEXT_BYTES);
    list_append(&background->watches, &watch->node);
    return watch;
}

int background_start(struct workspace *workspace, const struct workspace_request *request,
                     const struct background_events *events, struct background_watch **out_watch,
                     struct err *err)
{
    struct workspace_request asked = *request;
    struct background *background;
    struct workspace_events steps = {.on_started = on_started,
                                     .on_output = on_output,
                                     .on_rewound = on_rewound,
                                     .on_looked = on_looked,
                                     .on_done = on_done};
    int r = make_room(workspace, err);

    if (r < 0)
        return r;
    background = calloc(1, sizeof(*background));
    if (background == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    background->workspace = workspace;
    workspace->workspaces->background_count++;
    list_init(&background->watches);
    list_append(&workspace->backgrounds, &background->node);
    timer_init(&background->again, workspace->workspaces->config.loop, look, background);
    for (size_t i = 0; i < STREAMS; i++)
        kept_init(&background->streams[i], BACKGROUND_HALF_BYTES);
    snprintf(background->id, sizeof(background->id), "p%u", ++workspace->last_background);
    asked.is_background = true;
    if (asked.timeout_ms <= 0)
        asked.timeout_ms = BACKGROUND_LIMIT_MS;
    steps.data = background;
    *out_watch = new_watch(background, events);
    if (*out_watch == NULL)
        r = err_set_plain(err, ERR_NO_MEMORY);
    else
        (*out_watch)->is_start = true;
    if (r == 0)
        r = workspace_begin(workspace, &asked, &steps, &background->call, err);
    if (r < 0) {
        *out_watch = NULL;
        free_background(background);
    }
    return r;
}

/* What is kept may have the text already. */
static void search_kept(struct background_watch *watch)
{
    const struct background *background = watch->background;

    for (size_t i = 0; i < STREAMS; i++) {
        const struct kept_stream *kept = &background->streams[i];
        uint64_t before = watch->text.len - 1;

        watch->first[i] = background->shown[i] > before ? background->shown[i] - before : 0;
        if (has_text(watch, i, 0, buf_view(&kept->head)) ||
            has_text(watch, i, kept->total - kept->tail.len, buf_view(&kept->tail)))
            watch->is_due = true;
    }
}

static void end_command(struct background *background)
{
    struct workspace_call *call = background->call;

    background->is_killed = true;
    background->exit_code = -1;
    if (workspace_kill(call))
        return;
    workspace_cancel(call);
    on_over(background, NULL);
}

/* Timer callback */
static void on_kill(void *data)
{
    struct background_watch *watch = data;
    struct background *background = watch->background;

    if (background->call == NULL)
        end_watch(watch, NULL);
    else if (!background->is_killed)
        end_command(background); /* its end is that of the watch */
}

int background_watch(struct workspace *workspace, const struct background_wish *wish,
                     const struct background_events *events, struct background_watch **out_watch,
                     struct err *err)
{
    struct background *background = find(workspace, wish->id);
    struct background_watch *watch;

    if (background == NULL)
        return refuse_id(workspace, wish->id, err);
    if (wish->text.len > BACKGROUND_TEXT_BYTES)
        return err_set(err, ERR_TOO_LARGE, "the text to wait for has at most %d bytes",
                       BACKGROUND_TEXT_BYTES);
    watch = new_watch(background, events);
    if (watch == NULL || buf_append_str(&watch->text_bytes, wish->text) < 0) {
        if (watch != NULL)
            free_watch(watch);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    *out_watch = watch;
    if (wish->kills) {
        timer_init(&watch->limit, workspace->workspaces->config.loop, on_kill, watch);
        timer_start(&watch->limit, 0);
        return 0;
    }
    watch->text = buf_view(&watch->text_bytes);
    if (watch->text.len > 0)
        search_kept(watch);
    look(background);
    timer_start(&watch->limit, background->call == NULL || watch->is_due ? 0 : wish->wait_ms);
    return 0;
}

void background_leave(struct background_watch *watch)
{
    struct background *background;

    if (watch == NULL)
        return;
    background = watch->background;
    if (!watch->is_start) {
        free_watch(watch);
        return;
    }
    workspace_cancel(background->call);
    free_background(background);
}

/* ---- what is said of it ---- */

/* The last lines; all if there are not so many, or 0 are wanted. */
static struct str last_lines(struct str text, int64_t lines)
{
    size_t at = text.len;

    if (lines <= 0)
        return text;
    for (int64_t count = 0; at > 0; at--)
        if (text.ptr[at - 1] == '\n' && at < text.len && ++count == lines)
            break;
    return str_slice(text, at, text.len);
}

int background_write(struct background *background, int64_t lines, struct json_writer *json)
{
    static const char *const names[STREAMS] = {"stdout", "stderr"};
    bool is_over = background->call == NULL;

    json_put_str(json, STR("processId"), str_from(background->id));
    json_put_str(json, STR("state"), is_over ? STR("ended") : STR("running"));
    for (size_t i = 0; i < STREAMS; i++) {
        cleanup_buf struct buf text = BUF_INIT(4 * BACKGROUND_HALF_BYTES);
        int r = kept_show(&background->streams[i], &text);

        if (r < 0)
            return r;
        json_put_str_lossy(json, str_from(names[i]), last_lines(buf_view(&text), lines));
        background->shown[i] = background->streams[i].total;
    }
    json_key(json, STR("exitCode"));
    if (is_over && background->exit_code >= 0)
        json_write_int(json, background->exit_code);
    else
        json_write_null(json);
    if (background->is_timed_out)
        json_put_bool(json, STR("timedOut"), true);
    if (is_over && background->is_killed)
        json_put_bool(json, STR("killed"), true);
    if (background->err.code != 0)
        json_put_str_lossy(json, STR("error"), str_from(background->err.message));
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of the server's page. The server has checked who asks; here it is like a command of
 * the user, except that only what the page has shown is applied.
 */
#include "programs/workspace/workspace.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "isolate/companion.h"

enum { TIME_MS = 100 * 1000, MAX_LEFT = 100 };

static int answer_list(struct task *task, struct err *err)
{
    const struct task_walls walls = {.folder_count = 0};
    int r = task_confine(task, &walls, err);

    json_key(task->json, STR("copies"));
    return r == 0 ? show_list_json(task, task->json, err) : r;
}

static int answer_diff(struct task *task, struct err *err)
{
    cleanup_differences struct copies_differences differences = COPIES_DIFFERENCES_INIT;
    const char *name = task->request->name;
    struct copies_workspace workspace;
    const struct copies_applying applying = {.store = &task->store, .name = name};
    int64_t since_ms;
    int r = task_open(task, name, false, err);

    if (r < 0)
        return r;
    since_ms = clock_wall_ms(&clock_system);
    workspace = task_workspace(task);
    r = copies_compare(&workspace, NULL, 0, &differences, err);
    if (r < 0)
        return r;
    json_put_str(task->json, STR("name"), str_from(name));
    json_put_str_lossy(task->json, STR("original"), task->record.original);
    json_put_bool(task->json, STR("canUndo"), copies_can_undo(&applying));
    json_put_int(task->json, STR("count"), (int64_t)differences.count);
    json_key(task->json, STR("changes"));
    r = show_changes_json(task, &differences, since_ms, task->json);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* ---- apply and undo ---- */

struct told {
    struct task *task;
    size_t count;
};

static void tell_left(void *data, struct str name, const char *why)
{
    struct told *told = data;

    if (++told->count > MAX_LEFT)
        return;
    json_begin_object(told->task->json);
    json_put_str_lossy(told->task->json, STR("path"), name);
    json_put_str_lossy(told->task->json, STR("why"), str_from(why));
    json_end_object(told->task->json);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Leaves only what was chosen, which must all be there as it was shown. */
static int keep_chosen(struct copies_request *request, struct copies_differences *differences,
                       struct err *err)
{
    char id[COPIES_ID_CHARS + 1];
    size_t kept = 0;

    qsort(request->chosen, request->chosen_count, sizeof(*request->chosen), compare_ids);
    for (size_t i = 0; i < differences->count; i++) {
        copies_change_id(&differences->items[i], id);
        if (bsearch(id, request->chosen, request->chosen_count, sizeof(*request->chosen),
                    compare_ids) != NULL)
            differences->items[kept++] = differences->items[i];
    }
    differences->count = kept;
    if (kept != request->chosen_count)
        return err_set(err, ERR_BUSY,
                       "nothing was applied: something has changed since this was shown, so look "
                       "at the changes again");
    return 0;
}

/* Some of it may be done also after an error. */
static int tell_end(struct task *task, const struct told *told, size_t done, int result,
                    struct err *err)
{
    json_end_array(task->json);
    json_put_int(task->json, STR("leftCount"), (int64_t)told->count);
    json_put_int(task->json, STR("done"), (int64_t)done);
    if (result < 0 && done > 0)
        json_put_str_lossy(task->json, STR("problem"), str_from(err->message));
    return done > 0 ? 0 : result;
}

static int change(struct task *task, struct copies_differences *differences, struct err *err)
{
    struct told told = {.task = task};
    struct copies_workspace workspace = task_workspace(task);
    /* What conflicts was shown as such before it was chosen. */
    const struct copies_applying applying = {.store = &task->store,
                                             .name = task->request->name,
                                             .workspace = &workspace,
                                             .overwrites = true,
                                             .told = tell_left,
                                             .data = &told};
    size_t done = 0;
    int r;

    json_key(task->json, STR("left"));
    json_begin_array(task->json);
    r = differences != NULL ? copies_apply(&applying, differences, &done, err)
                            : copies_undo(&applying, &done, err);
    return tell_end(task, &told, done, r, err);
}

static int answer_apply(struct task *task, struct err *err)
{
    cleanup_differences struct copies_differences differences = COPIES_DIFFERENCES_INIT;
    struct copies_workspace workspace;
    int r = task_open(task, task->request->name, true, err);

    if (r == 0)
        r = copies_store_lock(&task->store, err);
    if (r < 0)
        return r;
    workspace = task_workspace(task);
    r = copies_compare(&workspace, NULL, 0, &differences, err);
    if (r == 0)
        r = keep_chosen(task->request, &differences, err);
    return r == 0 ? change(task, &differences, err) : r;
}

static int answer_undo(struct task *task, struct err *err)
{
    int r = task_open(task, task->request->name, true, err);

    if (r == 0)
        r = copies_store_lock(&task->store, err);
    return r == 0 ? change(task, NULL, err) : r;
}

/* ---- the request ---- */

static int answer(struct task *task, struct buf *out, struct err *err)
{
    static const struct {
        task_work *work;
        bool only_reads;
    } verbs[COPIES_VERBS] = {[COPIES_LIST] = {answer_list, true},
                             [COPIES_DIFF] = {answer_diff, true},
                             [COPIES_APPLY] = {answer_apply, false},
                             [COPIES_UNDO] = {answer_undo, false}};
    struct json_writer json;
    int r = buf_append_str(out, STR(COPIES_ANSWER_OK));

    json_writer_init(&json, out);
    task->json = &json;
    json_begin_object(&json);
    if (r == 0)
        r = task_run(task, verbs[task->request->verb].work, verbs[task->request->verb].only_reads,
                     err);
    json_end_object(&json);
    task->json = NULL;
    if (r < 0)
        return err->code != 0 ? r : err_set_plain(err, r);
    r = json_writer_finish(&json);
    return r < 0 ? err_set(err, r, "there is too much to show here") : 0;
}

int task_page(struct task *task, struct err *err)
{
    cleanup_buf struct buf bytes = BUF_INIT(COPIES_MAX_REQUEST_BYTES + COMPANION_READ_BYTES);
    cleanup_buf struct buf out = BUF_INIT(COPIES_MAX_ANSWER_BYTES);
    struct err why = ERR_INIT;
    int r = companion_receive(&bytes);

    if (r < 0)
        return err_set(err, r, "the request did not arrive");
    task->cancel.deadline_ms = clock_monotonic_ms(&clock_system) + TIME_MS;
    r = copies_request_parse(buf_view(&bytes), task->request);
    if (r < 0)
        (void)err_set_plain(&why, r);
    else
        r = answer(task, &out, &why);
    if (r < 0) {
        buf_clear(&out);
        r = copies_answer_write_error(&why, &out);
    } else {
        r = 0; /* what was left is in the answer */
    }
    if (r == 0)
        r = companion_send(buf_view(&out));
    return r < 0 ? err_set_plain(err, r) : 0;
}

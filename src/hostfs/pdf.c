/* SPDX-License-Identifier: Apache-2.0 */
/* pdf: extract the text, split or merge documents, by gatehouse-media. */
#include "hostfs/internal.h"

#include <limits.h>
#include <stdlib.h>

#include "base/jsonwrite.h"
#include "media/client.h"

enum { NAME_BYTES = PATH_MAX + 32 };

/* What an operation needs, too large for the stack of a thread. */
struct task {
    struct media_request request;
    struct media_answer answer;
    struct buf inputs[MEDIA_MAX_INPUTS];
    struct buf space;
};

static struct task *make_task(uint64_t max_file_bytes)
{
    struct task *task = calloc(1, sizeof(*task));

    if (task == NULL)
        return NULL;
    for (size_t i = 0; i < MEDIA_MAX_INPUTS; i++)
        buf_init(&task->inputs[i], (size_t)max_file_bytes);
    buf_init(&task->space, MEDIA_MAX_BYTES);
    return task;
}

static void free_task(struct task *const *task)
{
    if (*task == NULL)
        return;
    for (size_t i = 0; i < MEDIA_MAX_INPUTS; i++)
        buf_done(&(*task)->inputs[i]);
    buf_done(&(*task)->space);
    free(*task);
}
#define cleanup_task cleanup_with(free_task)

/* ---- pages ---- */

static bool read_page(struct str text, uint32_t *out_page)
{
    int64_t page;

    if (!str_to_int64(text, &page) || page < 1 || page > INT32_MAX)
        return false;
    *out_page = (uint32_t)page;
    return true;
}

/* "3", "2-5" or "4-" */
static int read_range(const struct hostfs_work *work, struct str text,
                      struct media_range *out_range)
{
    struct str rest = text;
    struct str first;
    bool has_last = str_find(text, STR("-")) != SIZE_MAX;
    struct media_range range = {0};

    (void)str_cut(&rest, '-', &first);
    if (!read_page(first, &range.first) ||
        (has_last && rest.len > 0 && !read_page(rest, &range.last)) ||
        (range.last != 0 && range.last < range.first))
        return err_set(work->err, ERR_INVALID_ARGUMENT,
                       "'pages' must be like \"3\", \"2-5\" or \"4-\", or a list of such");
    if (!has_last)
        range.last = range.first;
    *out_range = range;
    return 0;
}

static int get_ranges(const struct hostfs_work *work, struct media_request *request)
{
    const struct json_value *pages = json_get(work->inputs, STR("pages"));
    int r = 0;

    if (pages == NULL)
        return 0;
    if (pages->type == JSON_STRING) {
        request->range_count = 1;
        return read_range(work, json_str(pages), &request->ranges[0]);
    }
    if (pages->type != JSON_ARRAY)
        return read_range(work, STR_EMPTY, &request->ranges[0]);
    json_each_item (item, pages) {
        if (request->range_count == MEDIA_MAX_RANGES)
            return err_set(work->err, ERR_INVALID_ARGUMENT, "'pages' has more than %d parts",
                           MEDIA_MAX_RANGES);
        r = read_range(work, item->type == JSON_STRING ? json_str(item) : STR_EMPTY,
                       &request->ranges[request->range_count]);
        if (r < 0)
            return r;
        request->range_count++;
    }
    return 0;
}

/* ---- files ---- */

static int add_input(const struct hostfs_work *work, struct task *task, struct str given)
{
    struct buf *content = &task->inputs[task->request.input_count];
    struct str name;
    int r;

    if (task->request.input_count == MEDIA_MAX_INPUTS)
        return err_set(work->err, ERR_INVALID_ARGUMENT, "at most %d 'paths'", MEDIA_MAX_INPUTS);
    r = hostfs_take_path(given, &name, work->err);
    if (r == 0)
        r = hostfs_read_whole(work, name, content);
    if (r < 0)
        return r;
    task->request.inputs[task->request.input_count++] = buf_view(content);
    return 0;
}

/* `paths` for a merge, `path` for the others. */
static int get_inputs(const struct hostfs_work *work, struct task *task)
{
    const struct json_value *paths = json_get(work->inputs, STR("paths"));
    struct str path;

    if (task->request.operation != MEDIA_MERGE) {
        if (!json_get_str(work->inputs, STR("path"), &path))
            return err_set(work->err, ERR_INVALID_ARGUMENT, "'path' must be a text");
        return add_input(work, task, path);
    }
    if (paths == NULL || paths->type != JSON_ARRAY)
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'paths' must be a list of texts");
    json_each_item (item, paths) {
        int r = item->type == JSON_STRING
                    ? add_input(work, task, json_str(item))
                    : err_set(work->err, ERR_INVALID_ARGUMENT, "'paths' must be a list of texts");

        if (r < 0)
            return r;
    }
    return task->request.input_count > 0
               ? 0
               : err_set(work->err, ERR_INVALID_ARGUMENT, "'paths' is empty");
}

/* "reports/all.pdf" and 3: "reports/all-3.pdf" */
static int name_part(const struct hostfs_work *work, struct str to, size_t number,
                     char out_name[NAME_BYTES], struct str *out_view)
{
    const struct str ending = STR(".pdf");
    bool has_ending = to.len > ending.len &&
                      str_eq_nocase(str_slice(to, to.len - ending.len, ending.len), ending);
    struct str stem = str_slice(to, 0, has_ending ? to.len - ending.len : to.len);
    int len = snprintf(out_name, NAME_BYTES, "%.*s-%zu.pdf", STR_ARG(stem), number);

    if (len < 0 || len >= NAME_BYTES)
        return err_set(work->err, ERR_INVALID_PATH, "'to' is too long");
    *out_view = (struct str){out_name, (size_t)len};
    return 0;
}

/* ---- operations ---- */

static int write_text(const struct hostfs_work *work, const struct media_answer *answer)
{
    struct json_writer json;

    json_writer_init(&json, work->out);
    json_begin_object(&json);
    json_put_str(&json, STR("text"), answer->outputs[0]);
    json_end_object(&json);
    return json_writer_finish(&json);
}

/* One by one: what was written before an error stays. */
static int write_files(const struct hostfs_work *work, const struct task *task, struct str to)
{
    const struct media_answer *answer = &task->answer;
    bool is_split = task->request.operation == MEDIA_SPLIT;
    struct json_writer json;
    int r = 0;

    json_writer_init(&json, work->out);
    json_begin_object(&json);
    json_key(&json, STR("paths"));
    json_begin_array(&json);
    for (size_t i = 0; i < answer->output_count && r == 0; i++) {
        char space[NAME_BYTES];
        struct str name = to;

        if (is_split)
            r = name_part(work, to, i + 1, space, &name);
        if (r == 0)
            r = hostfs_write_whole(work, name, answer->outputs[i]);
        json_write_str(&json, name);
    }
    json_end_array(&json);
    json_end_object(&json);
    return r < 0 ? r : json_writer_finish(&json);
}

static int get_operation(const struct hostfs_work *work, enum media_operation *out_operation)
{
    struct str name = STR_EMPTY;

    (void)json_get_str(work->inputs, STR("op"), &name);
    if (str_eq(name, STR("extractText")))
        *out_operation = MEDIA_TEXT;
    else if (str_eq(name, STR("split")))
        *out_operation = MEDIA_SPLIT;
    else if (str_eq(name, STR("merge")))
        *out_operation = MEDIA_MERGE;
    else
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'op' must be extractText, split or merge");
    if (*out_operation != MEDIA_TEXT && (work->access & HOSTFS_MAY_WRITE) == 0)
        return err_set(work->err, ERR_SCOPE_MISSING, "the key does not allow this");
    return 0;
}

static int get_pages(const struct hostfs_work *work, struct media_request *request)
{
    int r = request->operation != MEDIA_MERGE ? get_ranges(work, request) : 0;

    if (r == 0 && request->operation == MEDIA_TEXT && request->range_count == 0) {
        request->range_count = 1;
        request->ranges[0] = (struct media_range){.first = 1};
    }
    if (r == 0 && request->operation == MEDIA_TEXT && request->range_count > 1)
        r = err_set(work->err, ERR_INVALID_ARGUMENT, "extractText takes one range of 'pages'");
    return r;
}

int hostfs_pdf(const struct hostfs_work *work)
{
    cleanup_task struct task *task = make_task(work->hostfs->max_file_bytes);
    struct str to = STR_EMPTY;
    int r;

    if (task == NULL)
        return ERR_NO_MEMORY;
    r = get_operation(work, &task->request.operation);
    if (r == 0 && task->request.operation != MEDIA_TEXT)
        r = hostfs_get_path(work, STR("to"), &to);
    if (r == 0)
        r = get_pages(work, &task->request);
    if (r == 0)
        r = get_inputs(work, task);
    if (r == 0)
        r = media_ask(work->hostfs->media, media_job_of(task->request.operation), &task->request,
                      work->cancel, &task->space, &task->answer, work->err);
    if (r < 0)
        return r;
    if (task->answer.output_count == 0)
        return ERR_INTERNAL;
    return task->request.operation == MEDIA_TEXT ? write_text(work, &task->answer)
                                                 : write_files(work, task, to);
}

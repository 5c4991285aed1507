/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that pages of file: addresses are made of. The browser has none of the user's files: it
 * stops at each request for one, and the family of files reads it, by the rules that hold for an
 * agent that reads it. Nobody is asked, except about the file that a call opens, before it begins.
 */
#include "browser/browsertools_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "browser/fileurl.h"
#include "browser/jsonf.h"

enum {
    ARGUMENTS_BYTES = 64 << 10,
    MAX_AT_WORK = 4,
    MAX_WAITING = 1024, /* a page that wants more at a time goes without */
};

/* One request of a page. */
struct page_file {
    struct list node;
    struct browser_tools *tools;
    struct browser_client_want want;
    char *path;
    struct work *work; /* NULL: it waits */
    bool is_at_work;
};

bool browser_tools_have_files(const struct browser_tools *tools)
{
    return tools->files != NULL &&
           tools->files->ops->has(tools->files, &catalog_tools[TOOL_LOAD_PAGE_FILE]);
}

static void free_file(struct page_file *file)
{
    struct browser_tools *tools = file->tools;

    list_remove(&file->node);
    tools->page_files--;
    tools->page_files_at_work -= file->is_at_work;
    work_release(file->work);
    free(file->path);
    free(file);
}

static void finish(struct page_file *file, const struct browser_client_file *given)
{
    struct browser_tools *tools = file->tools;

    browser_client_give_file(tools->config.client, &file->want, given);
    free_file(file);
    /* Not here: this may be inside the call that has begun the work. */
    loop_defer(tools->config.loop, &tools->next_page_file);
}

static void refuse_file(struct page_file *file, const struct err *err)
{
    finish(file, &(struct browser_client_file){.why = str_from(err->message)});
}

/* Whether a call that is running has the user's permission for this very file. */
static bool is_agreed(const struct page_file *file)
{
    list_each (node, &file->tools->opening) {
        const struct browser_call *call = list_entry(node, struct browser_call, opening);

        if (strcmp(call->to_file, file->path) == 0)
            return true;
    }
    return false;
}

static void on_prepared(void *data)
{
    struct page_file *file = data;
    struct work *work = file->work;
    bool can_be_asked = is_agreed(file); /* it was, or nobody had to be */
    int r;

    work->terms = (struct decision_terms){.keeper = file->tools->config.keeper,
                                          .can_ask = can_be_asked,
                                          .how_to_ask = "open the file itself first"};
    r = executor_decide(work, false, NULL);
    if (r < 0) {
        if (work->refused != NULL)
            work->ops->refused(work);
        refuse_file(file, &work->err);
        return;
    }
    if (work->decision.asks)
        work->decision.source = PERMISSION_BY_USER;
    r = work->ops->run(work);
    if (r < 0) {
        struct err err = ERR_INIT;

        err_set_plain(&err, r);
        refuse_file(file, &err);
    }
}

static void on_nothing(void *data)
{
    (void)data; /* no question is described */
}

static void on_progress(void *data, uint64_t done, uint64_t total, const char *what)
{
    (void)data;
    (void)done;
    (void)total;
    (void)what;
}

/* {"content":[{"resource":{"mimeType","blob"}}]} */
static bool read_content(struct str result, struct arena *arena, struct browser_client_file *out)
{
    const struct json_limits limits = {BROWSER_MESSAGE_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *content;
    const struct json_value *resource;
    const struct json_value *root;

    if (json_parse(arena, result, limits, &root, NULL) < 0)
        return false;
    content = json_get(root, STR("content"));
    if (content == NULL || content->type != JSON_ARRAY || content->size == 0)
        return false;
    resource = json_get(&content[1], STR("resource"));
    out->is_allowed = true;
    return resource != NULL && json_get_str(resource, STR("mimeType"), &out->type) &&
           json_get_str(resource, STR("blob"), &out->data);
}

static void on_end(void *data, const struct work_end *end)
{
    cleanup_arena struct arena arena = ARENA_INIT(BROWSER_MESSAGE_BYTES);
    struct page_file *file = data;
    struct browser_client_file given = {.is_allowed = false};
    struct err err = ERR_INIT;

    if (end->err != NULL) {
        refuse_file(file, end->err);
    } else if (toolresult_is_error(end->result, &err)) {
        refuse_file(file, &err);
    } else if (read_content(end->result, &arena, &given)) {
        finish(file, &given);
    } else {
        err_set_plain(&err, ERR_INTERNAL);
        refuse_file(file, &err);
    }
}

static const struct work_events events = {.on_prepared = on_prepared,
                                          .on_decided = on_nothing,
                                          .on_previewed = on_nothing,
                                          .on_progress = on_progress,
                                          .on_end = on_end};

static int make_input(const struct page_file *file, struct call_input **out_input)
{
    struct call_input *input = call_input_new(BROWSER_MESSAGE_BYTES);
    cleanup_buf struct buf text = BUF_INIT(ARGUMENTS_BYTES);
    int r = input != NULL ? jsonf(&text, "{\"path\":%z}", file->path) : ERR_NO_MEMORY;

    if (r == 0)
        r = call_input_read(input, buf_view(&text));
    if (r < 0) {
        call_input_unref(input);
        return r;
    }
    input->tool = &catalog_tools[TOOL_LOAD_PAGE_FILE];
    input->number = file->tools->last_number;
    *out_input = input;
    return 0;
}

/* May finish it at once. */
static void start(struct page_file *file)
{
    struct browser_tools *tools = file->tools;
    struct call_input *input = NULL;
    struct err err = ERR_INIT;
    int r = make_input(file, &input);

    file->is_at_work = true;
    tools->page_files_at_work++;
    if (r == 0) {
        const struct work_request request = {
            .input = input, .session = tools, .events = &events, .data = file};

        r = tools->files->ops->prepare(tools->files, &request, &file->work, &err);
        call_input_unref(input);
    }
    if (r == 0)
        return;
    if (err.code == 0)
        err_set_plain(&err, r);
    refuse_file(file, &err);
}

/* Also a task of the loop. */
void browser_tools_next_file(void *data)
{
    struct browser_tools *tools = data;

    list_each_safe (node, &tools->wanted_files) {
        struct page_file *file = list_entry(node, struct page_file, node);

        if (tools->page_files_at_work >= MAX_AT_WORK)
            return;
        if (!file->is_at_work)
            start(file);
    }
}

static struct page_file *add(struct browser_tools *tools, const struct browser_client_want *want,
                             const char *path)
{
    struct page_file *file = tools->page_files < MAX_WAITING ? calloc(1, sizeof(*file)) : NULL;

    if (file == NULL)
        return NULL;
    *file = (struct page_file){.tools = tools, .want = *want, .path = strdup(path)};
    if (file->path == NULL) {
        free(file);
        return NULL;
    }
    list_append(&tools->wanted_files, &file->node);
    tools->page_files++;
    return file;
}

void browser_tools_want_file(void *data, const struct browser_client_want *want, struct str url)
{
    struct browser_tools *tools = data;
    struct err err = ERR_INIT;
    char path[PATH_MAX];
    int r = browser_tools_have_files(tools) && !tools->is_without_files
                ? fileurl_path(url, path, &err)
                : ERR_UNSUPPORTED;

    if (r == 0 && add(tools, want, path) == NULL)
        r = ERR_BUSY;
    if (r == 0) {
        browser_tools_next_file(tools);
        return;
    }
    if (err.code == 0)
        err_set_plain(&err, r);
    browser_client_give_file(tools->config.client, want,
                             &(struct browser_client_file){.why = str_from(err.message)});
}

void browser_tools_use_files(struct browser_tools *tools, struct executor *files,
                             const char *first_dir)
{
    if (tools == NULL)
        return;
    tools->files = files;
    tools->first_dir = first_dir;
}

void browser_tools_drop_files(struct browser_tools *tools)
{
    if (tools == NULL)
        return;
    tools->is_without_files = true;
    while (!list_is_empty(&tools->wanted_files))
        free_file(list_entry(tools->wanted_files.next, struct page_file, node));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "files/filesprovider.h"

#include <string.h>

#include "files/consent.h"
#include "files/preview/preview.h"
#include "files/tool.h"

static bool has(const void *self, const struct catalog_tool *tool)
{
    return toolbox_has(self, tool);
}

/* A name refused here is recorded under this tool. */
static int prepare(void *self, const struct catalog_tool *tool, const struct json_value *arguments,
                   uint64_t number, const struct cancel *cancel, void **out_call, struct err *err)
{
    const struct authority_call about = {.tool = tool->name.ptr, .id = number};
    struct tool_call *call;
    int r;

    authority_call_begin(&about);
    r = tool_prepare(self, tool, arguments, cancel, &call, err);
    authority_call_end();
    if (r < 0)
        return r;
    call->number = number;
    *out_call = call;
    return 0;
}

static void free_call(void *call)
{
    tool_free(call);
}

/* Reading for the question is a step of the call, too. */
static struct authority_call about_of(const struct tool_call *call, const char *decision)
{
    return (struct authority_call){
        .tool = call->tool->name.ptr, .decision = decision, .id = call->number};
}

static int subject(void *call, const void *session, struct arena *arena,
                   const struct cancel *cancel, struct provider_subject *out_subject,
                   struct err *err)
{
    const struct authority_call about = about_of(call, NULL);
    int r = tool_permission_resources(call, &out_subject->resources, &out_subject->count, err);

    (void)session;
    (void)arena; /* they live as long as the call */
    if (r < 0)
        return r;
    authority_call_begin(&about);
    r = tool_consent_mark(call, cancel, &out_subject->mark);
    authority_call_end();
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int preview(void *call, struct arena *arena, enum decision_disclosure disclosure,
                   const struct cancel *cancel, struct question *question, struct err *err)
{
    cleanup_tool_preview struct tool_preview made;
    const struct authority_call about = about_of(call, NULL);
    int r;

    tool_preview_init(&made);
    authority_call_begin(&about);
    r = tool_preview_within(call, disclosure, cancel, &made, err);
    authority_call_end();
    if (r < 0)
        return r;
    question->is_diff = made.is_diff;
    question->deletes = tool_deletes(call);
    question->is_folder = tool_is_on_folder(call);
    return arena_copy_str(arena, buf_view(&made.action), &question->action) &&
                   arena_copy_str(arena, buf_view(&made.detail), &question->detail)
               ? 0
               : err_set_plain(err, arena->error);
}

static void refused(void *call, const void *session, const struct permission_resource *resource,
                    const char *source, const char *rule, int code)
{
    (void)session;
    tool_record_refusal(call, resource, source, rule, code);
}

static int run(void *call, const char *decision, const struct cancel *cancel,
               provider_progress_fn *progress, void *data, struct buf *out, struct err *err)
{
    struct tool_call *running = call;
    const struct authority_call about = about_of(running, decision);
    int r;

    running->may_suggest = strcmp(decision, permission_source_name(PERMISSION_BY_MODE)) == 0;
    authority_call_begin(&about);
    r = tool_run(call, cancel, progress, data, out);
    authority_call_end();
    return r < 0 ? err_set_plain(err, r) : 0;
}

static struct str change(const void *call)
{
    return tool_change(call);
}

static bool changes(const struct catalog_tool *tool)
{
    return tool->group == CATALOG_FILESYSTEM_WRITE;
}

const struct provider files_provider = {
    .name = FILES_PROVIDER_NAME,
    .has = has,
    .prepare = prepare,
    .free = free_call,
    .subject = subject,
    .preview = preview,
    .refused = refused,
    .run = run,
    .changes = changes,
    .change = change,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "hostfs/service.h"

#include "base/json.h"
#include "hostfs/errors.h"
#include "hostfs/internal.h"
#include "hostfs/runs.h"

enum {
    MAX_DEPTH = 8,
    ARENA_SPARE_BYTES = 4 << 20, /* values take more room than the text they come from */
};

static const struct {
    struct str name; /* in a run */
    unsigned access;
    unsigned feature;
    int (*run)(const struct hostfs_work *work);
} operations[HOSTFS_OPERATION_END] = {
    [HOSTFS_READ] = {STR_LITERAL("read"), HOSTFS_MAY_READ, 0, hostfs_read},
    [HOSTFS_WRITE] = {STR_LITERAL("write"), HOSTFS_MAY_WRITE, 0, hostfs_write},
    [HOSTFS_DELETE] = {STR_LITERAL("delete"), HOSTFS_MAY_WRITE, 0, hostfs_delete},
    [HOSTFS_STAT] = {STR_LITERAL("stat"), HOSTFS_MAY_READ, 0, hostfs_stat},
    [HOSTFS_LIST] = {STR_LITERAL("list"), HOSTFS_MAY_READ, 0, hostfs_list},
    [HOSTFS_ARCHIVE] = {STR_LITERAL("archive"), HOSTFS_MAY_READ | HOSTFS_MAY_WRITE,
                        HOSTFS_HAS_ARCHIVE, hostfs_archive},
    [HOSTFS_IMAGE] = {STR_LITERAL("image"), HOSTFS_MAY_READ | HOSTFS_MAY_WRITE, HOSTFS_HAS_IMAGE,
                      hostfs_image},
    [HOSTFS_PDF] = {STR_LITERAL("pdf"), HOSTFS_MAY_READ, HOSTFS_HAS_PDF, hostfs_pdf},
    [HOSTFS_TRANSPORT] = {STR_LITERAL("transport"), HOSTFS_MAY_READ | HOSTFS_MAY_WRITE, 0,
                          hostfs_transport},
};

static int work_on(enum hostfs_operation operation, const struct hostfs_request *request,
                   const struct hostfs_work *work)
{
    unsigned access = operations[operation].access;
    unsigned feature = operations[operation].feature;
    int r;

    if ((feature & work->hostfs->features) != feature)
        return err_set_plain(work->err, ERR_UNSUPPORTED);
    if ((request->access & access) != access)
        return err_set(work->err, ERR_SCOPE_MISSING, "the key does not allow this");
    r = operations[operation].run(work);
    if (r < 0 && work->err->code != r)
        err_set_plain(work->err, r);
    return r;
}

/* {workflowId, inputs: {op, path, …}}; what is wrong with the request itself makes no run. */
static int work_on_run(const struct hostfs_request *request, struct hostfs_work *work,
                       struct hostfs_answer *answer)
{
    struct str workflow;
    struct str name;
    int r;

    if (!json_get_str(work->inputs, STR("workflowId"), &workflow))
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'workflowId' must be a text");
    if (!str_eq(workflow, STR(RUNS_WORKFLOW)))
        return err_set(work->err, ERR_SESSION_OVER, "there is no such workflow");
    work->inputs = json_get(work->inputs, STR("inputs"));
    if (work->inputs == NULL || !json_get_str(work->inputs, STR("op"), &name))
        return err_set(work->err, ERR_INVALID_ARGUMENT, "'inputs.op' must be a text");
    work->takes_text = true;
    for (int i = HOSTFS_READ; i <= HOSTFS_LIST; i++) {
        if (!str_eq(name, operations[i].name))
            continue;
        r = work_on((enum hostfs_operation)i, request, work);
        *answer = (struct hostfs_answer){.status = 201, .is_run = true, .has_failed = r < 0};
        if (r < 0) {
            buf_clear(work->out);
            hostfs_write_event_error(work->err, work->out);
        }
        return 0;
    }
    return err_set(work->err, ERR_INVALID_ARGUMENT,
                   "'inputs.op' must be read, write, delete, stat or list");
}

struct hostfs_answer hostfs_handle(const struct hostfs *hostfs,
                                   const struct hostfs_request *request,
                                   const struct cancel *cancel, struct buf *out)
{
    const struct json_limits limits = {hostfs_max_request(hostfs->max_file_bytes), MAX_DEPTH};
    cleanup_arena struct arena arena = ARENA_INIT(2 * limits.max_bytes + ARENA_SPARE_BYTES);
    struct hostfs_answer answer = {.status = 200};
    struct err err = ERR_INIT;
    struct hostfs_work work = {
        .hostfs = hostfs, .access = request->access, .cancel = cancel, .out = out, .err = &err};
    int r = json_parse(&arena, request->body, limits, &work.inputs, &err);

    if (r == 0 && work.inputs->type != JSON_OBJECT)
        r = err_set(&err, ERR_INVALID_ARGUMENT, "the body must be a JSON object");
    if (r == 0 && request->operation == HOSTFS_RUN_START)
        r = work_on_run(request, &work, &answer);
    else if (r == 0)
        r = work_on(request->operation, request, &work);
    if (r < 0) {
        buf_clear(out);
        answer.status = hostfs_write_error(request->major, &err, out);
    }
    return answer;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Servers of the older dialect need the folder's tree at init; others never ask for it. */
#include "programs/connect/tree.h"

#include "programs/connect/gatewaysession_internal.h"

enum { TREE_ARENA_BYTES = 64 << 10 };

static void join(struct gateway_session *session)
{
    struct err err = ERR_INIT;

    session->has_tree = true;
    if (gateway_session_join(session, &err) < 0)
        gateway_session_fail(session, &err);
}

static void on_tree_prepared(void *data)
{
    const struct gateway_session *session = data;

    (void)session->tree_work->ops->run(session->tree_work); /* no change, so no intent */
}

static void on_tree(void *data, const struct work_end *end)
{
    struct gateway_session *session = data;

    if (end->err != NULL || tree_take(end->result, &session->tree) < 0)
        log_write(session->config.log, LOG_WARN, "cannot read the file tree of the folder");
    work_release(steal_ptr(&session->tree_work));
    join(session);
}

static int fetch(struct gateway_session *session)
{
    static const struct work_events events = {.on_prepared = on_tree_prepared, .on_end = on_tree};
    static const char arguments[] =
        "{\"dirPath\":\".\",\"maxDepth\":8,\"format\":\"json\",\"withSizes\":true}";
    struct executor *executor = hostlink_executor(session->link);
    struct call_input *input = call_input_new(TREE_ARENA_BYTES);
    const struct work_request request = {.input = input, .events = &events, .data = session};
    int r = ERR_NO_MEMORY;

    if (input != NULL) {
        input->tool = catalog_find(STR("get_file_tree"));
        r = json_parse(&input->arena, str_from(arguments), JSON_LIMITS_DEFAULT, &input->arguments,
                       NULL);
    }
    if (r == 0)
        r = executor->ops->prepare(executor, &request, &session->tree_work, NULL);
    call_input_unref(input);
    return r;
}

/* Sends names only if listing needs no permission. */
void gateway_session_join_with_tree(struct gateway_session *session)
{
    if (session->config.choices->modes.of[CATALOG_FILESYSTEM_READ] != PERMISSION_ALLOW ||
        fetch(session) < 0)
        join(session);
}

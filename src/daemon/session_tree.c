/* SPDX-License-Identifier: Apache-2.0 */
/* Servers of the older dialect want the folder's tree at init; others never ask for it. */
#include "daemon/tree.h"

#include "daemon/session_internal.h"

enum { TREE_ARENA_BYTES = 64 << 10 };

static void join(struct session *session)
{
    struct err err = ERR_INIT;

    session->has_tree = true;
    if (session_join(session, &err) < 0)
        session_fail(session, &err);
}

static void on_tree_prepared(void *data, struct str body)
{
    const struct session *session = data;

    (void)body;
    hostlink_run(session->link, session->tree_call);
}

static void on_tree_previewed(void *data, struct str body)
{
    (void)data;
    (void)body;
}

static void note_tree(const struct session *session, int error)
{
    const struct authority_call about = {.tool = "get_file_tree",
                                         .decision = permission_source_name(PERMISSION_BY_MODE)};
    struct authority_note note = {.operation = AUTHORITY_OP_LIST,
                                  .outcome = error < 0 ? AUTHORITY_FAILED : AUTHORITY_SUCCESS,
                                  .error = error};

    authority_call_begin(&about);
    (void)authority_note(session->ground->files, &note);
    authority_call_end();
}

static void on_tree(void *data, struct str result, const struct err *err, bool has_begun)
{
    struct session *session = data;

    (void)has_begun;
    session->tree_call = 0;
    note_tree(session, err != NULL ? err->code : 0);
    if (err != NULL || tree_take(result, &session->tree) < 0)
        log_write(session->config.log, LOG_WARN, "the tree of the folder cannot be told");
    join(session);
}

/* Names are told unasked only where looking needs no asking. */
void session_join_with_tree(struct session *session)
{
    static const struct hostlink_events events = {
        .on_prepared = on_tree_prepared, .on_previewed = on_tree_previewed, .on_end = on_tree};
    static const char arguments_text[] = "{\"dirPath\":\".\",\"maxDepth\":8}";
    cleanup_arena struct arena arena = ARENA_INIT(TREE_ARENA_BYTES);
    const struct json_value *arguments;

    if (session->config.wishes->modes.of[CATALOG_FILESYSTEM_READ] != PERMISSION_ALLOW ||
        json_parse(&arena, str_from(arguments_text), JSON_LIMITS_DEFAULT, &arguments, NULL) < 0 ||
        hostlink_prepare(session->link, STR("get_file_tree"), arguments, CALLS_TIMEOUT_MS, &events,
                         session, &session->tree_call, NULL) < 0)
        join(session);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Single commands, and where they run. */
#include "programs/sandboxd/daytona/sandboxes.h"
#include "programs/sandboxd/daytona/toolbox.h"
#include "programs/sandboxd/details.h"
#include "programs/sandboxd/images.h"

enum { MOST_WORDS = 1024, FIRST_WORDS = 8 };

/* ---- directories ---- */

static void answer_dir(const struct api_call *call, const char *path)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct json_writer json;

    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str_lossy(&json, STR("dir"), str_from(path));
    json_end_object(&json);
    toolbox_answer_json(call->exchange, &json, &out);
}

void toolbox_work_dir(const struct api_call *call)
{
    const struct sandbox *sandbox = toolbox_find(call);
    const char *path = NULL;

    if (sandbox == NULL)
        return;
    path = images_workdir(call->service->images, sandbox->record.image);
    answer_dir(call, path != NULL ? path : ROOM_HOME);
}

void toolbox_home_dir(const struct api_call *call)
{
    if (toolbox_find(call) != NULL)
        answer_dir(call, ROOM_HOME);
}

/* ---- variables ---- */

/* Those there are, without those of `unset` and of `set`, and then those of `set`. */
static int merge(const struct json_value *present, const struct json_value *set,
                 const struct json_value *unset, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_each_member (key, present) {
        bool stays = set == NULL || json_get(set, json_str(key)) == NULL;

        if (unset != NULL)
            json_each_item (name, unset)
                if (str_eq(json_str(name), json_str(key)))
                    stays = false;
        if (stays)
            json_put_str(&json, json_str(key), json_str(key + 1));
    }
    if (set != NULL)
        json_each_member (key, set)
            json_put_str(&json, json_str(key), json_str(key + 1));
    json_end_object(&json);
    return json_writer_finish(&json);
}

/* What is wrong with the request, or NULL. */
static const char *read_env_change(const struct json_value *object, struct arena *arena,
                                   const struct json_value **out_set,
                                   const struct json_value **out_unset)
{
    const struct json_value *set = json_get(object, STR("set"));
    const struct json_value *unset = json_get(object, STR("unset"));
    struct room_command command = {0};

    *out_set = set != NULL && set->type != JSON_NULL ? set : NULL;
    *out_unset = unset != NULL && unset->type != JSON_NULL ? unset : NULL;
    if (*out_unset != NULL && ((*out_unset)->type != JSON_ARRAY || (*out_unset)->size > MOST_WORDS))
        return "unset must be a list of names";
    if (*out_unset != NULL)
        json_each_item (name, *out_unset)
            if (name->type != JSON_STRING)
                return "unset must be a list of names";
    return run_add_env(arena, *out_set, &command);
}

/* For commands that begin later, until the sandbox stops. */
void toolbox_set_env(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    cleanup_buf struct buf merged = BUF_INIT(CALL_ARENA_BYTES);
    struct sandbox *sandbox = toolbox_find(call);
    const struct json_value *object = sandbox != NULL ? call_object(call, &arena, false) : NULL;
    const struct json_value *present = NULL;
    const struct json_value *unset = NULL;
    const struct json_value *set = NULL;
    struct room_command command = {0};
    struct details *details;
    const char *wrong;

    if (object == NULL)
        return;
    wrong = read_env_change(object, &arena, &set, &unset);
    if (wrong != NULL) {
        call_fail(call->exchange, 400, wrong);
        return;
    }
    details = daytona_change_details(call, sandbox);
    if (details == NULL)
        return;
    if (json_parse(&arena, str_from(details_env(details)), JSON_LIMITS_DEFAULT, &present, NULL) <
            0 ||
        merge(present, set, unset, &merged) < 0 ||
        json_parse(&arena, buf_view(&merged), JSON_LIMITS_DEFAULT, &present, NULL) < 0 ||
        !details_is_texts(present) || run_add_env(&arena, present, &command) != NULL ||
        details_set_texts(&details->changed_env, present) < 0)
        call_fail(call->exchange, 400, "the variables are too large");
    else
        call_answer_json(call->exchange, 200, STR("{}"));
}

/* ---- commands ---- */

static void answer_result(struct exchange *exchange, const struct toolbox_result *result,
                          bool has_artifacts)
{
    cleanup_buf struct buf out = BUF_INIT(8 * (size_t)TOOLBOX_MAX_OUTPUT_BYTES);
    struct json_writer json;

    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_int(&json, STR("exitCode"), result->exit_code);
    json_put_str_lossy(&json, STR("result"), result->output);
    if (has_artifacts) {
        json_key(&json, STR("artifacts"));
        json_splice(&json, STR("{\"charts\":[]}"));
    }
    json_end_object(&json);
    toolbox_answer_json(exchange, &json, &out);
}

static void on_executed(void *data, struct exchange *exchange, const struct toolbox_result *result)
{
    (void)data;
    answer_result(exchange, result, false);
}

static void on_code_run(void *data, struct exchange *exchange, const struct toolbox_result *result)
{
    (void)data;
    answer_result(exchange, result, true);
}

/* What is wrong with cwd, envs and timeout, or NULL. */
static const char *read_common(const struct json_value *object, struct tool *tool)
{
    struct room_command *command = &tool->run.command;
    char path[ROOM_PATH_BYTES];
    struct str cwd = STR_EMPTY;
    int64_t timeout_s = TOOLBOX_TIMEOUT_S;

    if (!call_member_str(object, STR("cwd"), &cwd) || (cwd.len > 0 && !toolbox_path(cwd, path)))
        return "cwd must be a path";
    if (!call_member_int(object, STR("timeout"), &timeout_s) || timeout_s < 0 ||
        timeout_s > TOOLBOX_MAX_TIMEOUT_S)
        return "timeout must be a number of seconds, at most a day";
    command->timeout_ms = (timeout_s > 0 ? timeout_s : TOOLBOX_MAX_TIMEOUT_S) * 1000;
    if (cwd.len > 0) {
        command->workdir = tool_text(tool, str_from(path));
        if (command->workdir == NULL)
            return "cwd is too long";
    }
    return run_add_env(&tool->run.arena, json_get(object, STR("envs")), command);
}

/* The request's sandbox and fields; NULL after an answer. */
static struct tool *begin(const struct api_call *call, struct arena *arena, toolbox_done *done,
                          const struct json_value **out_object)
{
    struct sandbox *sandbox = toolbox_find(call);
    struct tool *tool;
    const char *wrong;

    *out_object = sandbox != NULL ? call_object(call, arena, false) : NULL;
    if (*out_object == NULL)
        return NULL;
    tool = tool_new(call->exchange, sandbox, done, NULL, NULL);
    if (tool == NULL)
        return NULL;
    tool->joins_streams = true;
    wrong = read_common(*out_object, tool);
    if (wrong == NULL)
        return tool;
    call_fail(call->exchange, 400, wrong);
    tool_free(tool);
    return NULL;
}

/*
 * Older kits send `sh -c "…"`, for a service that splits words but has no shell of its own: ours
 * would expand what is in the quotes first, so they are taken off.
 */
static struct str unwrap(struct str command)
{
    const struct str before = STR("sh -c \"");

    return str_starts_with(command, before) && str_ends_with(command, STR("\"")) &&
                   command.len > before.len
               ? str_slice(command, before.len, command.len - before.len - 1)
               : command;
}

void toolbox_execute(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    const struct json_value *object;
    struct tool *tool = begin(call, &arena, on_executed, &object);
    struct str command = STR_EMPTY;

    if (tool == NULL)
        return;
    if (json_get_str(object, STR("command"), &command) && str_trim(command).len > 0 &&
        !str_has_nul(command))
        tool->run.command.shell =
            tool_text(tool, toolbox_is_old_client(call->request) ? unwrap(command) : command);
    if (tool->run.command.shell != NULL) {
        tool_start(tool);
        return;
    }
    call_fail(call->exchange, 400, "command must be a text that is not empty");
    tool_free(tool);
}

/* How code of each language is run: these words, the code, and the words of the request. */
static const struct language {
    const char *name;
    const char *words[FIRST_WORDS];
} languages[] = {
    {"python", {"python3", "-u", "-c"}},
    {"javascript", {"node", "-e"}},
    {"typescript",
     {"/bin/sh", "-c",
      "if command -v tsx >/dev/null; then exec tsx -e \"$@\"; else"
      " exec node --experimental-strip-types --input-type=commonjs-typescript -e \"$@\"; fi",
      "sh"}},
};

static const struct language *find_language(const struct json_value *object)
{
    struct str name = STR("python");

    if (!call_member_str(object, STR("language"), &name))
        return NULL;
    for (size_t i = 0; i < array_size(languages); i++)
        if (str_eq_c(name, languages[i].name))
            return &languages[i];
    return NULL;
}

/* What is wrong with the code and its words, or NULL. */
static const char *read_code(const struct json_value *object, struct tool *tool)
{
    const struct json_value *more = json_get(object, STR("argv"));
    const struct language *language = find_language(object);
    struct str code = STR_EMPTY;
    const char **words;
    size_t count = 0;

    if (language == NULL)
        return "language must be python, javascript or typescript";
    if (!json_get_str(object, STR("code"), &code) || str_has_nul(code))
        return "code must be a text";
    if (more != NULL && more->type != JSON_NULL &&
        (more->type != JSON_ARRAY || more->size > MOST_WORDS))
        return "argv must be a list of texts";
    words = arena_alloc_array(&tool->run.arena, FIRST_WORDS + MOST_WORDS + 2, sizeof(*words));
    if (words == NULL)
        return "argv is too large";
    while (language->words[count] != NULL) {
        words[count] = language->words[count];
        count++;
    }
    words[count++] = tool_text(tool, code);
    if (more != NULL)
        json_each_item (item, more) {
            if (item->type != JSON_STRING || str_has_nul(json_str(item)))
                return "argv must be a list of texts";
            words[count++] = tool_text(tool, json_str(item));
        }
    for (size_t i = 0; i < count; i++)
        if (words[i] == NULL)
            return "the code is too large";
    words[count] = NULL;
    tool->run.command.argv = words;
    return NULL;
}

void toolbox_run_code(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    const struct json_value *object;
    struct tool *tool = begin(call, &arena, on_code_run, &object);
    const char *wrong;

    if (tool == NULL)
        return;
    wrong = read_code(object, tool);
    if (wrong == NULL) {
        tool_start(tool);
        return;
    }
    call_fail(call->exchange, 400, wrong);
    tool_free(tool);
}

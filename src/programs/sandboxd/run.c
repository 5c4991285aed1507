/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/run.h"

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/details.h"
#include "programs/sandboxd/images.h"

enum { MOST_VARIABLES = 1024, MAX_DEPTH = 4 };

static void on_ready(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct run *run = data;
    const struct room_exec_events events = {.on_output = run->events->on_output,
                                            .on_exit = run->events->on_exit,
                                            .on_fail = run->events->on_fail,
                                            .data = run->data};
    struct err failed = ERR_INIT;

    run->is_waiting = false;
    if (err != NULL) {
        run->events->on_refuse(run->data, err);
        return;
    }
    if (room_exec(sandbox->room, &run->command, &events, &run->exec, &failed) < 0) {
        run->exec = NULL;
        service_release(sandbox);
        run->events->on_refuse(run->data, &failed);
        return;
    }
    sandbox->service->executed++;
    if (run->events->on_begin != NULL)
        run->events->on_begin(run->data);
}

void run_init(struct run *run, struct sandbox *sandbox, const struct run_events *events, void *data)
{
    *run = (struct run){.sandbox = sandbox, .events = events, .data = data};
    run->use = (struct sandbox_use){.ready = on_ready, .data = run};
    arena_init(&run->arena, CALL_ARENA_BYTES);
}

/* Those of the sandbox come before those of the command, and those of the image before both. */
static const char *add_variables(struct run *run)
{
    const struct json_limits limits = {CALL_ARENA_BYTES, MAX_DEPTH};
    const struct details *details = run->sandbox->details;
    const struct json_value *env = NULL;
    const char *wrong;

    if (details != NULL &&
        json_parse(&run->arena, str_from(details_env(details)), limits, &env, NULL) < 0)
        return "the sandbox's variables are too large";
    wrong = run_add_env(&run->arena, env, &run->command);
    if (wrong == NULL && images_apply(run->sandbox->service->images, run->sandbox->record.image,
                                      &run->arena, &run->command) < 0)
        wrong = "the image's variables are too large";
    return wrong;
}

void run_begin(struct run *run)
{
    const char *wrong = add_variables(run);
    struct err err = ERR_INIT;

    if (wrong != NULL) {
        err_set(&err, ERR_INVALID_ARGUMENT, "%s", wrong);
        run->events->on_refuse(run->data, &err);
        return;
    }
    run->is_waiting = true;
    service_use(run->sandbox, &run->use);
}

void run_leave(struct run *run)
{
    if (run->exec == NULL)
        return;
    run_work(run);
    room_exec_free(run->exec);
    run->exec = NULL;
    service_release(run->sandbox);
}

void run_rest(struct run *run)
{
    if (run->exec == NULL || run->is_resting)
        return;
    run->is_resting = true;
    service_release(run->sandbox);
}

void run_work(struct run *run)
{
    if (!run->is_resting)
        return;
    run->is_resting = false;
    run->sandbox->users++;
    service_touch(run->sandbox);
}

void run_pace(struct run *run, bool is_behind)
{
    if (run->exec == NULL || is_behind == run->is_paused)
        return;
    run->is_paused = is_behind;
    if (is_behind)
        room_exec_pause(run->exec);
    else
        room_exec_resume(run->exec);
}

void run_kill(struct run *run)
{
    if (run->exec != NULL)
        room_exec_kill(run->exec);
}

void run_done(struct run *run)
{
    if (run->is_waiting)
        service_cancel(&run->use);
    run->is_waiting = false;
    run_leave(run);
    arena_done(&run->arena);
}

/* ---- variables ---- */

static bool is_variable(struct str name, struct str value)
{
    return name.len > 0 && memchr(name.ptr, '=', name.len) == NULL && !str_has_nul(name) &&
           !str_has_nul(value);
}

const char *run_add_env(struct arena *arena, const struct json_value *env,
                        struct room_command *command)
{
    const char **list;
    size_t given = 0;
    size_t count = 0;

    if (env == NULL || env->type == JSON_NULL)
        return NULL;
    if (env->type != JSON_OBJECT)
        return "env must be an object of texts";
    if (env->size > MOST_VARIABLES)
        return "env has too many variables";
    while (command->env != NULL && command->env[given] != NULL)
        given++;
    list = arena_alloc_array(arena, env->size + given + 1, sizeof(*list));
    if (list == NULL)
        return "env is too large";
    json_each_member (key, env) {
        struct str name = json_str(key);
        struct str value;
        char *pair;

        if ((key + 1)->type != JSON_STRING)
            return "env must be an object of texts";
        value = json_str(key + 1);
        if (!is_variable(name, value))
            return "env has a variable with an impossible name or value";
        pair = arena_alloc(arena, name.len + value.len + 2);
        if (pair == NULL)
            return "env is too large";
        memcpy(pair, name.ptr, name.len);
        pair[name.len] = '=';
        memcpy(pair + name.len + 1, value.ptr, value.len);
        pair[name.len + 1 + value.len] = '\0';
        list[count++] = pair;
    }
    for (size_t i = 0; i < given; i++)
        list[count++] = command->env[i];
    list[count] = NULL;
    command->env = list;
    return NULL;
}

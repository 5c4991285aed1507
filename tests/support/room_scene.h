/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A keeper in a directory of its own, and calls of isolate/room/room.h that wait for their answers.
 * gatehouse-init lies beside the test or where GATEHOUSE_TEST_BESIDE says.
 */
#ifndef TESTS_SUPPORT_ROOM_SCENE_H
#define TESTS_SUPPORT_ROOM_SCENE_H

#define LOOP_UNTIL_OTHERS

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "isolate/room/inner.h"
#include "isolate/room/room.h"
#include "test.h"

#include "loop_until.h"

enum { SCENE_OUTPUT_BYTES = 256 << 20 };

struct scene {
    struct loop *loop;
    struct room_keeper *keeper;
    char directory[256];
    char libexec[PATH_MAX];
    bool keeper_ended;
};

/* The result of whatever was asked last. */
struct scene_result {
    bool is_done;
    struct err err;
    struct room *room;
    struct room_reached reached;
    bool has_ended; /* the room */
    struct err ended;
    int fd;
    struct room_entry entry;
    char name[ROOM_PATH_BYTES];
    size_t count;
    struct buf names; /* a line each: type and name */
    struct room_usage usage;
};

static inline void scene_take_error(struct scene_result *result, const struct err *err)
{
    result->is_done = true;
    result->err = err != NULL ? *err : (struct err){0};
}

static inline void scene_on_keeper_end(void *data)
{
    struct scene *scene = data;

    scene->keeper_ended = true;
}

static inline int scene_keeper(struct scene *scene, struct err *err)
{
    const struct room_keeper_config config = {.directory = scene->directory,
                                              .libexec = scene->libexec,
                                              .error_fd = STDERR_FILENO,
                                              .is_degraded = geteuid() != 0,
                                              .on_end = scene_on_keeper_end,
                                              .data = scene};

    int r = ERR_BUSY;

    scene->keeper_ended = false;
    /* What an earlier keeper had may still be ending. */
    for (int i = 0; i < PATIENCE_MS && r == ERR_BUSY; i++) {
        r = room_keeper_new(&config, &scene->keeper, err);
        if (r == ERR_BUSY)
            usleep(1000);
    }
    return r == 0 ? room_keeper_watch(scene->keeper, scene->loop) : r;
}

static inline void scene_open(struct scene *scene)
{
    const char *beside = getenv("GATEHOUSE_TEST_BESIDE");
    struct err err = ERR_INIT;
    char *slash;

    *scene = (struct scene){0};
    snprintf(scene->directory, sizeof(scene->directory), "%s/room-test-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/var/tmp");
    assert_non_null(mkdtemp(scene->directory));
    snprintf(scene->libexec, sizeof(scene->libexec), "%s", beside != NULL ? beside : "");
    slash = strrchr(scene->libexec, '/');
    if (slash != NULL)
        *slash = '\0';
    assert_int_equal(loop_new(&clock_system, &scene->loop), 0);
    if (scene_keeper(scene, &err) < 0)
        fail_msg("no keeper: %s", err.message);
}

static inline void scene_on_started(void *data, const struct err *err, struct room *room,
                                    const struct room_reached *reached)
{
    struct scene_result *result = data;

    scene_take_error(result, err);
    result->room = room;
    if (err == NULL)
        result->reached = *reached;
}

static inline void scene_on_end(void *data, const struct err *why)
{
    struct scene_result *result = data;

    result->has_ended = true;
    result->ended = why != NULL ? *why : (struct err){0};
    result->room = NULL;
}

/* `result` must live as long as the room. */
static inline int scene_start(struct scene *scene, struct room_plan plan,
                              struct scene_result *result)
{
    int r;

    memset(result, 0, sizeof(*result));
    result->fd = -1;
    plan.on_end = scene_on_end;
    plan.data = result;
    r = room_start(scene->keeper, &plan, scene_on_started, result, &result->err);
    if (r < 0)
        return r;
    loop_until(scene->loop, result->is_done);
    return result->err.code;
}

static inline struct room *scene_room(struct scene *scene, const char *id,
                                      struct scene_result *result)
{
    if (scene_start(scene, (struct room_plan){.id = id}, result) < 0)
        fail_msg("no room: %s", result->err.message);
    return result->room;
}

static inline void scene_on_done(void *data, const struct err *err)
{
    scene_take_error(data, err);
}

/* ---- Commands ---- */

struct scene_run {
    struct room_exec *exec;
    bool has_started;
    bool has_exited;
    bool has_failed;
    struct room_exit exit;
    struct err err;
    struct buf out;
    struct buf errors;
    size_t bytes;
    bool drops;
};

static inline void scene_on_exec_start(void *data)
{
    struct scene_run *run = data;

    assert_int_equal(run->bytes, 0);
    run->has_started = true;
}

static inline void scene_on_output(void *data, enum room_stream stream, struct str bytes)
{
    struct scene_run *run = data;

    run->bytes += bytes.len;
    if (!run->drops)
        assert_int_equal(buf_append_str(stream == ROOM_STDOUT ? &run->out : &run->errors, bytes),
                         0);
}

static inline void scene_on_exit(void *data, const struct room_exit *exit)
{
    struct scene_run *run = data;

    assert_false(run->has_exited || run->has_failed);
    run->has_exited = true;
    run->exit = *exit;
}

static inline void scene_on_fail(void *data, const struct err *err)
{
    struct scene_run *run = data;

    assert_false(run->has_exited || run->has_failed);
    run->has_failed = true;
    run->err = *err;
}

static inline void scene_begin(struct room *room, const struct room_command *command,
                               struct scene_run *run)
{
    const struct room_exec_events events = {.on_start = scene_on_exec_start,
                                            .on_output = scene_on_output,
                                            .on_exit = scene_on_exit,
                                            .on_fail = scene_on_fail,
                                            .data = run};
    struct err err = ERR_INIT;

    *run = (struct scene_run){.drops = run->drops};
    buf_init(&run->out, SCENE_OUTPUT_BYTES);
    buf_init(&run->errors, SCENE_OUTPUT_BYTES);
    if (room_exec(room, command, &events, &run->exec, &err) < 0)
        fail_msg("%s", err.message);
}

static inline void scene_wait(struct scene *scene, struct scene_run *run)
{
    loop_until(scene->loop, run->has_exited || run->has_failed);
    assert_int_equal(buf_append_char(&run->out, '\0'), 0);
    assert_int_equal(buf_append_char(&run->errors, '\0'), 0);
}

static inline void scene_forget(struct scene_run *run)
{
    room_exec_free(run->exec);
    buf_done(&run->out);
    buf_done(&run->errors);
}

static inline void scene_run(struct scene *scene, struct room *room,
                             const struct room_command *command, struct scene_run *run)
{
    run->drops = false;
    scene_begin(room, command, run);
    scene_wait(scene, run);
}

/* Its output; free it. The command must succeed. */
static inline char *scene_output(struct scene *scene, struct room *room, const char *shell)
{
    struct scene_run run;
    char *text;

    scene_run(scene, room, &(struct room_command){.shell = shell}, &run);
    if (run.has_failed)
        fail_msg("%s: %s", shell, run.err.message);
    if (run.exit.code != 0)
        fail_msg("%s: exit %d, signal %d: %s", shell, run.exit.code, run.exit.signal,
                 run.errors.data);
    text = strdup(run.out.data);
    scene_forget(&run);
    return text;
}

#define scene_expect(scene, room, shell, expected)                                                 \
    do {                                                                                           \
        char *text_ = scene_output(scene, room, shell);                                            \
                                                                                                   \
        assert_string_equal(text_, expected);                                                      \
        free(text_);                                                                               \
    } while (0)

/* ---- Other calls ---- */

#define scene_await(scene, result, call)                                                           \
    ({                                                                                             \
        (result)->is_done = false;                                                                 \
        assert_int_equal((call), 0);                                                               \
        loop_until((scene)->loop, (result)->is_done);                                              \
        (result)->err.code;                                                                        \
    })

static inline void scene_on_used(void *data, const struct err *err, const struct room_usage *usage)
{
    struct scene_result *result = data;

    scene_take_error(result, err);
    if (err == NULL)
        result->usage = *usage;
}

static inline void scene_on_opened(void *data, const struct err *err, int fd,
                                   const struct room_entry *entry)
{
    struct scene_result *result = data;

    scene_take_error(result, err);
    result->fd = fd;
    if (err == NULL) {
        result->entry = *entry;
        snprintf(result->name, sizeof(result->name), "%s", entry->name);
    }
}

static inline void scene_on_connected(void *data, const struct err *err, int fd)
{
    struct scene_result *result = data;

    scene_take_error(result, err);
    result->fd = fd;
}

static inline void scene_on_statted(void *data, const struct err *err,
                                    const struct room_entry *entry)
{
    scene_on_opened(data, err, -1, entry);
}

static inline int scene_compare(const void *a, const void *b)
{
    return strcmp(((const struct room_entry *)a)->name, ((const struct room_entry *)b)->name);
}

/* `names` gets "d a\nf a/b\n", sorted. */
static inline void scene_on_listed(void *data, const struct err *err,
                                   const struct room_entry *entries, size_t count)
{
    struct scene_result *result = data;
    struct room_entry *sorted;

    scene_take_error(result, err);
    result->count = count;
    buf_done(&result->names);
    buf_init(&result->names, SCENE_OUTPUT_BYTES);
    if (err != NULL)
        return;
    sorted = calloc(count + 1, sizeof(*sorted));
    assert_non_null(sorted);
    memcpy(sorted, entries, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), scene_compare);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            buf_printf(&result->names, "%c %s\n", "fdlo"[sorted[i].type], sorted[i].name), 0);
    assert_int_equal(buf_append_char(&result->names, '\0'), 0);
    free(sorted);
}

static inline int scene_delete(struct scene *scene, const char *id)
{
    struct scene_result result = {0};

    return scene_await(scene, &result, room_delete(scene->keeper, id, scene_on_done, &result));
}

static inline void scene_on_names(void *data, const struct err *err, const char *const *names,
                                  size_t count)
{
    struct scene_result *result = data;

    scene_take_error(result, err);
    buf_done(&result->names);
    buf_init(&result->names, SCENE_OUTPUT_BYTES);
    result->count = count;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(buf_printf(&result->names, "%s\n", names[i]), 0);
}

/* Deletes all rooms and layers: a keeper is started once for all cases, since that takes longest.
 */
static inline void scene_clear(struct scene *scene)
{
    struct scene_result result = {0};

    for (int is_layers = 0; is_layers < 2; is_layers++) {
        struct str rest;

        scene_await(scene, &result,
                    room_list(scene->keeper, is_layers != 0, scene_on_names, &result));
        rest = buf_view(&result.names);
        for (struct str line; str_cut(&rest, '\n', &line) && line.len > 0;) {
            struct scene_result deleted = {0};
            char name[ROOM_ID_BYTES];

            snprintf(name, sizeof(name), "%.*s", STR_ARG(line));
            (void)(is_layers != 0 ? scene_await(scene, &deleted,
                                                room_layer_delete(scene->keeper, name,
                                                                  scene_on_done, &deleted))
                                  : scene_delete(scene, name));
        }
    }
    buf_done(&result.names);
}

static inline void scene_close(struct scene *scene)
{
    room_keeper_free(scene->keeper);
    loop_free(scene->loop);
    room_remove_tree(AT_FDCWD, scene->directory);
    /* Files of the range of an ordinary user can be removed only with that range. */
    if (access(scene->directory, F_OK) == 0) {
        const pid_t pid = fork();

        if (pid == 0) {
            execlp("unshare", "unshare", "--map-root-user", "--map-auto", "rm", "-rf",
                   scene->directory, NULL);
            _exit(127);
        }
        (void)waitpid(pid, NULL, 0);
    }
    assert_int_not_equal(access(scene->directory, F_OK), 0);
}

#endif

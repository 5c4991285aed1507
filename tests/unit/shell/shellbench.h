/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shell whose commands the test simulates: it starts them, prints for them and ends them, with a
 * fake clock. Files are in memory, and the audit log is kept as text.
 */
#ifndef TESTS_UNIT_SHELL_SHELLBENCH_H
#define TESTS_UNIT_SHELL_SHELLBENCH_H

#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "gatehouse/authority.h"
#include "loop/loop.h"
#include "shell/shell.h"

enum {
    BENCH_PROCESSES = 80,
    BENCH_CALLS = 80,
    BENCH_BYTES = 16 << 20,
    BENCH_TURNS = 6, /* enough for whatever follows from one thing */
    BENCH_TEXT = 512,
};

/* A command as the shell asked for it, and the other ends of its pipes. */
struct played {
    struct starter_events events;
    char shell[64];
    char text[BENCH_TEXT];
    char cwd[BENCH_TEXT];
    char terminal[64];
    struct starter_command asked; /* pointers are gone */
    int input;
    int output;
    int errors;
    int last_signal;
    int signals;
    bool is_forgotten;
};

struct answer {
    struct shellbench *bench;
    uint64_t id;
    int count;
    int error;
    struct buf result;
    int progress;
    uint64_t progress_bytes;
    char progress_line[BENCH_TEXT];
};

struct shellbench {
    struct clock clock;
    struct loop *loop;
    struct authority *authority;
    struct authority_scope *scope;
    struct starter starter;
    struct shell *shell;
    struct loop_task nothing;
    struct played played[BENCH_PROCESSES];
    size_t played_count;
    struct answer answers[BENCH_CALLS];
    size_t answer_count;
    int start_error; /* of the next starts */
    bool refuses_intents;
    struct buf record;
    struct arena arena;
    struct err err;
};

/* ---- the commands ---- */

static inline int bench_start_command(void *data, const struct starter_command *command,
                                      const struct starter_events *events, uint64_t *out_id,
                                      struct err *err)
{
    struct shellbench *bench = data;
    struct played *played = &bench->played[bench->played_count];

    if (bench->start_error < 0)
        return err_set_plain(err, bench->start_error);
    assert_true(bench->played_count < BENCH_PROCESSES);
    *played = (struct played){.events = *events, .asked = *command};
    played->input = played->output = played->errors = -1;
    snprintf(played->shell, sizeof(played->shell), "%s", command->argv[0]);
    assert_string_equal(command->argv[1], "-c");
    assert_string_equal(command->argv[2], "--");
    snprintf(played->text, sizeof(played->text), "%s", command->argv[3]);
    assert_null(command->argv[4]);
    snprintf(played->cwd, sizeof(played->cwd), "%s", command->cwd);
    snprintf(played->terminal, sizeof(played->terminal), "%s", command->variables[0]);
    *out_id = ++bench->played_count;
    return 0;
}

static inline void bench_signal(void *data, uint64_t id, int signum)
{
    struct shellbench *bench = data;

    bench->played[id - 1].last_signal = signum;
    bench->played[id - 1].signals++;
}

static inline void bench_forget(void *data, uint64_t id)
{
    struct shellbench *bench = data;

    assert_false(bench->played[id - 1].is_forgotten);
    bench->played[id - 1].is_forgotten = true;
}

/* Turns of the loop, none of which waits. */
static inline void nothing(void *data)
{
    (void)data;
}

static inline void turn(struct shellbench *bench)
{
    for (int i = 0; i < BENCH_TURNS; i++) {
        loop_defer(bench->loop, &bench->nothing);
        loop_run_once(bench->loop);
    }
}

static inline void pass_time(struct shellbench *bench, int64_t ms)
{
    clock_fake_advance(&bench->clock, ms);
    loop_run_due_timers(bench->loop);
    turn(bench);
}

static inline struct played *last_played(struct shellbench *bench)
{
    assert_true(bench->played_count > 0);
    return &bench->played[bench->played_count - 1];
}

static inline void played_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static inline struct played *let_start(struct shellbench *bench)
{
    struct played *played = last_played(bench);
    struct starter_fds fds = {-1, -1, -1};
    int ends[2];

    if (played->asked.has_terminal) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        fds.output = ends[0];
        played->output = ends[1];
    } else {
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        fds.output = ends[0];
        played->output = ends[1];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        fds.errors = ends[0];
        played->errors = ends[1];
    }
    if (played->asked.has_input) {
        assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        played->input = ends[0];
        fds.input = ends[1];
    }
    played->events.on_started(played->events.data, 0, NULL, fds);
    turn(bench);
    return played;
}

static inline void print(struct shellbench *bench, int fd, struct str text)
{
    assert_int_equal(write(fd, text.ptr, text.len), text.len);
    turn(bench);
}

static inline void let_end(struct shellbench *bench, struct played *played, struct starter_end end)
{
    played_close(&played->output);
    played_close(&played->errors);
    played->events.on_ended(played->events.data, end);
    turn(bench);
}

static inline void let_exit(struct shellbench *bench, struct played *played, int code)
{
    let_end(bench, played, (struct starter_end){.value = code});
}

/* ---- the record ---- */

static inline int bench_hear(void *data, const struct authority_event *event)
{
    struct shellbench *bench = data;

    if (event->operation != AUTHORITY_OP_EXECUTE)
        return 0;
    assert_int_equal(
        buf_printf(&bench->record, "%s %s '%.*s' in '%.*s' %s by %s: %s\n",
                   event->call != NULL ? event->call->tool : "-",
                   authority_outcome_name(event->outcome), STR_ARG(event->name),
                   STR_ARG(event->destination), event->error < 0 ? err_name(event->error) : "-",
                   event->policy_source != NULL ? event->policy_source : "-", event->reason),
        0);
    return bench->refuses_intents ? ERR_IO : 0;
}

static inline void assert_recorded(struct shellbench *bench, const char *text)
{
    const char *record;

    assert_int_equal(buf_terminate(&bench->record, &record), 0);
    assert_string_equal(record, text);
    buf_clear(&bench->record);
}

/* ---- calls ---- */

static inline void bench_progress(void *data, uint64_t bytes, struct str last_line)
{
    struct answer *answer = data;

    answer->progress++;
    answer->progress_bytes = bytes;
    snprintf(answer->progress_line, sizeof(answer->progress_line), "%.*s", STR_ARG(last_line));
}

static inline void bench_done(void *data, int error, struct str result)
{
    struct answer *answer = data;

    answer->count++;
    answer->error = error;
    assert_int_equal(buf_append_str(&answer->result, result), 0);
}

/* Its session is a string: the same text is the same session. */
static inline int try_prepare(struct shellbench *bench, const char *tool, const char *arguments,
                              struct shell_call **out_call)
{
    const struct json_value *value;

    assert_int_equal(
        json_parse(&bench->arena, str_from(arguments), JSON_LIMITS_DEFAULT, &value, &bench->err),
        0);
    bench->err = (struct err)ERR_INIT;
    return shell_prepare(bench->shell, catalog_find(str_from(tool)), value, out_call, &bench->err);
}

static inline struct shell_call *prepare(struct shellbench *bench, const char *tool,
                                         const char *arguments)
{
    struct shell_call *call = NULL;

    if (try_prepare(bench, tool, arguments, &call) < 0)
        fail_msg("%s: %s", arguments, bench->err.message);
    return call;
}

static inline struct answer *ask_as(struct shellbench *bench, const void *session, const char *tool,
                                    const char *arguments)
{
    struct answer *answer = &bench->answers[bench->answer_count++];

    assert_true(bench->answer_count <= BENCH_CALLS);
    *answer = (struct answer){.bench = bench, .result = BUF_INIT(BENCH_BYTES)};
    answer->id = shell_run(prepare(bench, tool, arguments),
                           &(struct shell_events){.on_progress = bench_progress,
                                                  .on_done = bench_done,
                                                  .data = answer,
                                                  .session = session,
                                                  .decision = "user"});
    assert_int_equal(answer->count, 0);
    turn(bench);
    return answer;
}

static inline struct answer *ask(struct shellbench *bench, const char *tool, const char *arguments)
{
    return ask_as(bench, bench, tool, arguments);
}

/* The object of an answer, of both its forms; and whether it is an error. */
static inline const char *object_of(struct shellbench *bench, const struct answer *answer,
                                    bool is_error)
{
    const struct json_value *result;
    const struct json_value *block;
    bool has_failed = false;
    struct str text = STR_EMPTY;

    assert_int_equal(answer->count, 1);
    assert_int_equal(answer->error, 0);
    assert_int_equal(json_parse(&bench->arena, buf_view(&answer->result), JSON_LIMITS_DEFAULT,
                                &result, &bench->err),
                     0);
    (void)json_get_bool(result, STR("isError"), &has_failed);
    assert_int_equal(has_failed, is_error);
    block = json_get(result, STR("content")) + 1;
    assert_true(json_get_str(block, STR("text"), &text));
    return arena_copy(&bench->arena, text);
}

#define assert_answer(given, is_error, json)                                                       \
    do {                                                                                           \
        struct answer *answer_ = (given);                                                          \
                                                                                                   \
        assert_string_equal(object_of(answer_->bench, answer_, is_error), json);                   \
    } while (0)

/* ---- beginning and end ---- */

static inline void bench_open(struct shellbench *bench, struct shell_config config)
{
    shell_free(bench->shell);
    config.loop = bench->loop;
    config.starter = &bench->starter;
    config.names = bench->scope;
    config.root_path = "/folder";
    config.given_path = "/link/to/folder";
    config.recorded = bench->scope;
    config.path =
        "/usr/bin:/bin:relative:/folder/bin:/link/to/folder/bin:/folders/bin:/usr/../cache:"
        "/cache/bin";
    config.writable = (const char *const[]){"/cache", NULL};
    if (shell_new(&config, &bench->shell, &bench->err) < 0)
        fail_msg("%s", bench->err.message);
}

static inline int bench_setup(void **state)
{
    struct shellbench *bench = calloc(1, sizeof(*bench));
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_AGENT_RUN, .id = "talk", .run_id = "run-1"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "main", .path = "/folder"},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "a test",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_IN_ROOT},
    };

    assert_non_null(bench);
    clock_fake_init(&bench->clock, 1767323045000);
    buf_init(&bench->record, BENCH_BYTES);
    arena_init(&bench->arena, 4 * BENCH_BYTES);
    loop_task_init(&bench->nothing, nothing, NULL);
    bench->starter = (struct starter){.start = bench_start_command,
                                      .signal = bench_signal,
                                      .forget = bench_forget,
                                      .data = bench};
    assert_int_equal(loop_new(&bench->clock, &bench->loop), 0);
    assert_int_equal(authority_new(&(struct authority_config){.backend = AUTHORITY_MEMORY},
                                   &bench->authority, &bench->err),
                     0);
    if (authority_request_root(bench->authority, &request, &bench->scope, &bench->err) < 0)
        fail_msg("%s", bench->err.message);
    assert_int_equal(authority_mkdir(bench->scope, STR("src"), NULL, &bench->err), 0);
    assert_int_equal(authority_write_bytes(bench->scope, STR("file"), STR("x"), NULL, &bench->err),
                     0);
    assert_int_equal(authority_add_listener(bench->authority, bench_hear, bench), 0);
    bench_open(bench, (struct shell_config){0});
    *state = bench;
    return 0;
}

static inline int bench_teardown(void **state)
{
    struct shellbench *bench = *state;

    shell_free(bench->shell);
    authority_remove_listener(bench->authority, bench_hear, bench);
    for (size_t i = 0; i < bench->played_count; i++) {
        played_close(&bench->played[i].input);
        played_close(&bench->played[i].output);
        played_close(&bench->played[i].errors);
    }
    for (size_t i = 0; i < bench->answer_count; i++)
        buf_done(&bench->answers[i].result);
    authority_scope_free(bench->scope);
    authority_free(bench->authority);
    loop_free(bench->loop);
    buf_done(&bench->record);
    arena_done(&bench->arena);
    free(bench);
    return 0;
}

#define shell_test(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

#endif

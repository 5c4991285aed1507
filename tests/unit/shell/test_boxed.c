/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that really run, in sandboxes: their results, and that nothing of them remains. */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "boxed_shell.h"
#include "isolate/confine.h"

/* A sanitizer holds what was freed, to see who uses it. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_FREED_MEMORY true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS_FREED_MEMORY true
#endif
#endif
#ifndef KEEPS_FREED_MEMORY
#define KEEPS_FREED_MEMORY false
#endif

struct room {
    char base[PATH_MAX];
    int fd;
    struct boxed boxed;
};

static void open_room(struct room *room, struct shell_config config)
{
    struct err why = ERR_INIT;

    if (box_probe(&why) < 0)
        skip_because("no boxes here: %s", why.message);
    if (boxed_open(&room->boxed, room->base, config) < 0)
        fail_msg("%s", room->boxed.err.message);
}

static int setup(void **state)
{
    struct room *room = calloc(1, sizeof(*room));
    const char *tmp = getenv("TMPDIR");

    assert_non_null(room);
    snprintf(room->base, sizeof(room->base), "%s/gh-shell-XXXXXX", tmp != NULL ? tmp : "/var/tmp");
    assert_non_null(mkdtemp(room->base));
    room->fd = open(room->base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(room->fd >= 0);
    assert_int_equal(mkdirat(room->fd, "sub", 0700), 0);
    *state = room;
    return 0;
}

static void remove_tree(char *path)
{
    char *const paths[] = {path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

    for (FTSENT *entry; tree != NULL && (entry = fts_read(tree)) != NULL;)
        if (entry->fts_info != FTS_D)
            (void)remove(entry->fts_path);
    if (tree != NULL)
        fts_close(tree);
}

static int teardown(void **state)
{
    struct room *room = *state;

    if (room->boxed.authority != NULL)
        boxed_close(&room->boxed);
    close(room->fd);
    remove_tree(room->base);
    free(room);
    return 0;
}

/* The object of a call's result, and whether it is an error. */
static const struct json_value *call(struct room *room, const char *tool, const char *arguments,
                                     bool *out_is_error)
{
    struct boxed *boxed = &room->boxed;
    struct boxed_answer answer;
    const struct json_value *result;
    const struct json_value *object;
    uint64_t id;
    int r = boxed_begin(boxed, tool, arguments, &answer, &id);

    if (r == 0)
        r = boxed_wait(boxed, &answer);
    if (r < 0)
        fail_msg("%s %s: %s %s", tool, arguments, err_name(r), boxed->err.message);
    /* The text must live as long as what is read from it. */
    r = json_parse(
        &boxed->arena,
        (struct str){arena_copy(&boxed->arena, buf_view(&answer.result)), answer.result.len},
        JSON_LIMITS_DEFAULT, &result, &boxed->err);
    buf_done(&answer.result);
    assert_int_equal(r, 0);
    *out_is_error = false;
    (void)json_get_bool(result, STR("isError"), out_is_error);
    object = json_get(result, STR("structuredContent"));
    if (object == NULL)
        fail_msg("%.*s",
                 STR_ARG(json_str(json_get(json_get(result, STR("content")) + 1, STR("text")))));
    return object;
}

static struct str text_member(const struct json_value *object, const char *name)
{
    struct str text = STR_EMPTY;

    assert_true(json_get_str(object, str_from(name), &text));
    return text;
}

static const struct json_value *execute(struct room *room, const char *arguments,
                                        bool *out_is_error)
{
    return call(room, "shell_execute", arguments, out_is_error);
}

static void expect_code(const struct json_value *object, int64_t code)
{
    int64_t found = -1;

    assert_true(json_get_int(object, STR("exitCode"), &found));
    assert_int_equal(found, code);
}

static void expect_no_code(const struct json_value *object)
{
    assert_int_equal(json_get(object, STR("exitCode"))->type, JSON_NULL);
}

static void streams_and_exit_code_come_back(void **state)
{
    struct room *room = *state;
    const struct json_value *object;
    bool is_error;

    open_room(room, (struct shell_config){0});
    object = execute(room, "{\"command\":\"echo out; echo err >&2\"}", &is_error);
    assert_str(text_member(object, "stdout"), "out\n");
    assert_str(text_member(object, "stderr"), "err\n");
    expect_code(object, 0);
    assert_int_equal(object->size, 3);
    assert_false(is_error);

    object = execute(room, "{\"command\":\"echo partly; exit 3\"}", &is_error);
    assert_str(text_member(object, "stdout"), "partly\n");
    expect_code(object, 3);
    assert_true(is_error);

    object = execute(room, "{\"command\":\"no-such-program-here\"}", &is_error);
    expect_code(object, 127);
    assert_true(is_error);

    object = execute(room, "{\"command\":\"kill -SEGV $$\"}", &is_error);
    expect_no_code(object);
    assert_str(text_member(object, "signal"), "SEGV");
    assert_true(is_error);
}

static void input_is_empty_and_text_is_valid(void **state)
{
    struct room *room = *state;
    const struct json_value *object;
    bool is_error;

    open_room(room, (struct shell_config){0});
    object = execute(room, "{\"command\":\"cat; printf 'a\\\\377b'\"}", &is_error);
    assert_str(text_member(object, "stdout"), "a\uFFFDb");
    object = execute(room, "{\"command\":\"-x 2>&1 || echo second\"}", &is_error);
    assert_true(str_ends_with(text_member(object, "stdout"), STR("second\n")));
}

static void it_runs_where_it_was_told_to(void **state)
{
    struct room *room = *state;
    const struct json_value *object;
    struct stat about;
    bool is_error;

    open_room(room, (struct shell_config){0});
    object = execute(room, "{\"command\":\"echo x > here; basename \\\"$PWD\\\"\",\"cwd\":\"sub\"}",
                     &is_error);
    assert_str(text_member(object, "stdout"), "sub\n");
    assert_int_equal(fstatat(room->fd, "sub/here", &about, 0), 0);
}

static void the_environment_keeps_no_keys(void **state)
{
    struct room *room = *state;
    const struct json_value *object;
    struct str text;
    bool is_error;

    assert_int_equal(setenv("N8N_GATEWAY_KEY", "do-not-tell", 1), 0);
    open_room(room, (struct shell_config){0});
    object = execute(room, "{\"command\":\"env\"}", &is_error);
    text = text_member(object, "stdout");
    assert_int_equal(str_find(text, STR("do-not-tell")), SIZE_MAX);
    assert_true(str_find(text, STR("TERM=dumb\n")) != SIZE_MAX);
    assert_true(str_find(text, STR("PATH=")) != SIZE_MAX);
}

static void no_editor_waits_where_nobody_types(void **state)
{
    struct room *room = *state;
    const struct json_value *object;
    bool is_error;

    assert_int_equal(setenv("EDITOR", "vi", 1), 0);
    open_room(room, (struct shell_config){0});
    assert_int_equal(unsetenv("EDITOR"), 0);
    object = execute(room, "{\"command\":\"echo $GIT_EDITOR $VISUAL $EDITOR; $EDITOR || echo no\"}",
                     &is_error);
    assert_str(text_member(object, "stdout"), "false false false\nno\n");
}

/* Whether nobody holds the lock: the processes that did are gone. */
static bool is_lock_free(struct room *room)
{
    cleanup_fd int fd = openat(room->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* The same for those that die by themselves now: the kernel wakes us when the last is gone. */
static void wait_for_lock(struct room *room)
{
    cleanup_fd int fd = openat(room->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    alarm(PATIENCE_S);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    alarm(0);
}

/* Leaves behind, each in its own session, a process and the child of one that is gone. */
#define HOLD                                                                                       \
    "setsid bash -c 'exec 9<>lock; flock -s 9; touch one; exec sleep 1000' & "                     \
    "(setsid bash -c '(exec 9<>lock; flock -s 9; touch two; exec sleep 1000) & exit' &) "
#define WAIT_FOR_BOTH "while [ ! -e one ] || [ ! -e two ]; do :; done; "

static void nothing_of_a_command_outlives_it(void **state)
{
    struct room *room = *state;
    const struct json_value *object;
    bool is_error;

    open_room(room, (struct shell_config){0});
    object = execute(room, "{\"command\":\"" HOLD "; " WAIT_FOR_BOTH "echo both\"}", &is_error);
    assert_str(text_member(object, "stdout"), "both\n");
    expect_code(object, 0);
    assert_true(is_lock_free(room));
}

static void time_ends_the_whole_tree_and_keeps_what_was_printed(void **state)
{
    /* The later ones are for a machine that has not come to it. */
    static const char *const commands[] = {
        "{\"command\":\"echo begun; " HOLD "; sleep 1000\",\"timeout\":3000}",
        "{\"command\":\"echo begun; " HOLD "; sleep 1000\",\"timeout\":30000}",
        "{\"command\":\"echo begun; " HOLD "; sleep 1000\",\"timeout\":200000}"};
    struct room *room = *state;
    const struct json_value *object = NULL;
    bool is_timed_out = false;
    bool is_error;

    open_room(room, (struct shell_config){0});
    for (size_t i = 0;
         i == 0 || (i < array_size(commands) && text_member(object, "stdout").len == 0); i++)
        object = execute(room, commands[i], &is_error);
    assert_str(text_member(object, "stdout"), "begun\n");
    expect_no_code(object);
    assert_true(json_get_bool(object, STR("timedOut"), &is_timed_out) && is_timed_out);
    assert_int_equal(object->size, 4);
    assert_false(is_error);
    assert_true(is_lock_free(room));
}

static void cancelling_ends_the_whole_tree(void **state)
{
    struct room *room = *state;
    struct boxed *boxed;
    struct boxed_answer answer;
    uint64_t id = 0;

    open_room(room, (struct shell_config){0});
    boxed = &room->boxed;
    assert_int_equal(boxed_begin(boxed, "shell_execute",
                                 "{\"command\":\"" HOLD "; " WAIT_FOR_BOTH
                                 "echo both; sleep 1000\"}",
                                 &answer, &id),
                     0);
    while (answer.progress == 0)
        loop_run_once(boxed->loop);
    assert_false(is_lock_free(room));
    shell_cancel(boxed->shell, id);
    assert_int_equal(boxed_wait(boxed, &answer), ERR_CANCELLED);
    assert_true(is_lock_free(room));
}

/* The most that this process has ever held. */
static long peak_kb(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static bool has_grown_since(long before_kb)
{
    return !KEEPS_FREED_MEMORY && peak_kb() > before_kb + 4096;
}

static void a_flood_is_cut_in_flat_memory(void **state)
{
    struct room *room = *state;
    const struct json_value *object;
    struct str text;
    long before;
    bool is_error;

    open_room(room, (struct shell_config){0});
    (void)execute(room, "{\"command\":\"head -c 1000000 /dev/zero | tr '\\\\0' x\"}", &is_error);
    before = peak_kb();
    object =
        execute(room, "{\"command\":\"head -c 100000000 /dev/zero | tr '\\\\0' x\"}", &is_error);
    text = text_member(object, "stdout");
    assert_true(str_find(text, STR("\n[… 99.7 MB omitted …]\n")) != SIZE_MAX);
    assert_true(text.len < (256 << 10) + 64);
    expect_code(object, 0);
    assert_false(has_grown_since(before));
}

static size_t count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void many_at_once_all_end_and_leave_no_descriptors(void **state)
{
    struct boxed_answer answers[SHELL_MAX_RUNNING];
    struct room *room = *state;
    struct boxed *boxed;
    size_t before;
    bool is_error;
    uint64_t id;

    open_room(room, (struct shell_config){0});
    boxed = &room->boxed;
    (void)execute(room, "{\"command\":\"true\"}", &is_error);
    before = count_descriptors();
    for (size_t i = 0; i < array_size(answers); i++) {
        char arguments[64];

        snprintf(arguments, sizeof(arguments), "{\"command\":\"echo %zu; exit %zu\"}", i, i % 2);
        assert_int_equal(boxed_begin(boxed, "shell_execute", arguments, &answers[i], &id), 0);
    }
    for (size_t i = 0; i < array_size(answers); i++) {
        char wanted[64];

        assert_int_equal(boxed_wait(boxed, &answers[i]), 0);
        snprintf(wanted, sizeof(wanted), "{\"stdout\":\"%zu\\n\",\"stderr\":\"\",\"exitCode\":%zu}",
                 i, i % 2);
        assert_true(str_find(buf_view(&answers[i].result), str_from(wanted)) != SIZE_MAX);
        buf_done(&answers[i].result);
    }
    assert_int_equal(count_descriptors(), before);
}

static void a_job_in_a_terminal_is_typed_into(void **state)
{
    struct room *room = *state;
    const struct json_value *object;
    cleanup_buf struct buf seen = BUF_INIT(1 << 20);
    bool is_error;

    open_room(room, (struct shell_config){0});
    object = call(room, "shell_start",
                  "{\"command\":\"test -t 0 && test -t 1 && stty size && read x && echo got $x\","
                  "\"terminal\":true,\"rows\":40,\"cols\":132}",
                  &is_error);
    assert_str(text_member(object, "jobId"), "job1");
    (void)call(room, "shell_input", "{\"jobId\":\"job1\",\"text\":\"hello\",\"keys\":[\"enter\"]}",
               &is_error);
    do {
        object = call(room, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":60000}", &is_error);
        assert_int_equal(buf_append_str(&seen, text_member(object, "output")), 0);
    } while (!str_eq(text_member(object, "state"), STR("ended")));
    assert_true(str_find(buf_view(&seen), STR("40 132\r\n")) != SIZE_MAX);
    assert_true(str_ends_with(buf_view(&seen), STR("got hello\r\n")));
    expect_code(object, 0);
}

static void a_job_is_fed_and_stopped_with_all_it_started(void **state)
{
    struct room *room = *state;
    const struct json_value *object;
    bool is_error;

    open_room(room, (struct shell_config){0});
    (void)call(room, "shell_start",
               "{\"command\":\"trap '' TERM; " HOLD "; " WAIT_FOR_BOTH
               "cat; echo all; sleep 1000\"}",
               &is_error);
    (void)call(room, "shell_input", "{\"jobId\":\"job1\",\"text\":\"in\\n\",\"close\":true}",
               &is_error);
    do
        object = call(room, "shell_output", "{\"jobId\":\"job1\",\"cursor\":0,\"waitMs\":1000}",
                      &is_error);
    while (!str_eq(text_member(object, "output"), STR("in\nall\n")));
    assert_false(is_lock_free(room));
    object = call(room, "shell_stop", "{\"jobId\":\"job1\",\"signal\":\"KILL\"}", &is_error);
    assert_str(text_member(object, "state"), "ended");
    expect_no_code(object);
    assert_true(is_lock_free(room));
}

static void jobs_end_with_the_program(void **state)
{
    struct room *room = *state;
    bool is_error;

    open_room(room, (struct shell_config){0});
    (void)call(room, "shell_start",
               "{\"command\":\"" HOLD "; " WAIT_FOR_BOTH "echo both; sleep 1000\"}", &is_error);
    (void)call(room, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":60000}", &is_error);
    assert_false(is_lock_free(room));
    boxed_close(&room->boxed);
    room->boxed.authority = NULL;
    wait_for_lock(room);
}

static int leave_reading(void *data, struct launched_less *less, struct err *err)
{
    const bool *is_read_only = data;

    (void)err;
    less->at_most[0] = *is_read_only ? BOX_READ : BOX_WRITE;
    less->at_most_count = 1;
    return 0;
}

static void a_place_that_was_taken_back_is_gone_from_the_next_command(void **state)
{
    struct room *room = *state;
    bool is_read_only = false;
    bool is_error;

    open_room(room, (struct shell_config){0});
    launched_set_narrow(room->boxed.launched, leave_reading, &is_read_only);
    (void)execute(room, "{\"command\":\"echo x > first\"}", &is_error);
    assert_false(is_error);
    is_read_only = true;
    (void)execute(room, "{\"command\":\"cat first && echo x > second\"}", &is_error);
    assert_true(is_error);
    assert_int_equal(faccessat(room->fd, "first", F_OK, 0), 0);
    assert_int_equal(faccessat(room->fd, "second", F_OK, 0), -1);
}

static void calls_end_with_their_launcher_and_the_next_gets_another(void **state)
{
    struct room *room = *state;
    struct boxed *boxed;
    struct boxed_answer running;
    struct boxed_answer late;
    const struct json_value *object;
    bool is_error;
    uint64_t id;

    open_room(room, (struct shell_config){0});
    boxed = &room->boxed;
    (void)call(room, "shell_start",
               "{\"command\":\"" HOLD "; " WAIT_FOR_BOTH "echo both; sleep 1000\"}", &is_error);
    (void)call(room, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":60000}", &is_error);
    assert_int_equal(
        boxed_begin(boxed, "shell_execute", "{\"command\":\"sleep 1000\"}", &running, &id), 0);
    loop_run_once(boxed->loop);
    assert_int_equal(shutdown(launcher_fd(boxed->launcher), SHUT_RDWR), 0);
    assert_int_equal(boxed_wait(boxed, &running), 0);
    assert_true(str_find(buf_view(&running.result), STR("\"isError\":true")) != SIZE_MAX);
    buf_done(&running.result);
    do
        object = call(room, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":1000}", &is_error);
    while (!str_eq(text_member(object, "state"), STR("ended")));
    expect_no_code(object);
    wait_for_lock(room);
    assert_int_equal(boxed_begin(boxed, "shell_execute", "{\"command\":\"true\"}", &late, &id), 0);
    assert_int_equal(boxed_wait(boxed, &late), 0);
    assert_true(str_find(buf_view(&late.result), STR("\"exitCode\":0")) != SIZE_MAX);
    buf_done(&late.result);
}

/* Where there is room for one of two descriptors, the output would be lost. */
static void without_descriptors_a_command_is_killed_and_told_of(void **state)
{
    struct room *room = *state;
    struct boxed_answer answer;
    struct rlimit before;
    struct rlimit tight;
    bool is_error;
    uint64_t id;
    int fd;

    open_room(room, (struct shell_config){0});
    expect_code(execute(room, "{\"command\":\"true\"}", &is_error), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(boxed_begin(&room->boxed, "shell_execute",
                                 "{\"command\":\"" HOLD "; sleep 1000\"}", &answer, &id),
                     0);
    fd = dup(STDERR_FILENO);
    assert_true(fd >= 0);
    close(fd);
    tight = (struct rlimit){.rlim_cur = (rlim_t)fd + 1, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    assert_int_equal(boxed_wait(&room->boxed, &answer), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(str_find(buf_view(&answer.result), STR("cannot start")) != SIZE_MAX);
    assert_true(str_find(buf_view(&answer.result), str_from(err_text(ERR_TOO_MANY_FILES))) !=
                SIZE_MAX);
    buf_done(&answer.result);
    wait_for_lock(room);
    expect_code(execute(room, "{\"command\":\"true\"}", &is_error), 0);
}

/* The order of a program: the launcher, the walls, and only then the first call. */
static int run_confined(struct room *room)
{
    struct boxed *boxed = &room->boxed;
    struct boxed_answer answer;
    struct confine_report report;
    uint64_t id;

    *boxed = (struct boxed){.err = ERR_INIT};
    arena_init(&boxed->arena, BOXED_BYTES);
    if (boxed_open_scope(boxed, room->base) < 0 || boxed_open_launcher(boxed) < 0)
        return 1;
    {
        const struct landlock_place place = {.path = boxed->root, .rights = LANDLOCK_MAY_READ};
        const struct confine_plan plan = {
            .places = &place,
            .place_count = 1,
            .passes_messages = true,
            .has_closed_fds = true,
        };

        if (confine_process(&plan, &report, &boxed->err) < 0)
            return 2;
    }
    if (boxed_open_shell(boxed, (struct shell_config){0}) < 0 ||
        boxed_begin(boxed, "shell_execute",
                    "{\"command\":\"head -c 3000000 /dev/zero | tr '\\\\0' x\"}", &answer, &id) < 0)
        return 3;
    if (boxed_wait(boxed, &answer) < 0 ||
        str_find(buf_view(&answer.result), STR("[… 2.7 MB omitted …]")) == SIZE_MAX)
        return 4;
    if (boxed_begin(boxed, "shell_start", "{\"command\":\"cat\",\"terminal\":true}", &answer, &id) <
            0 ||
        boxed_wait(boxed, &answer) < 0 ||
        str_find(buf_view(&answer.result), STR("running")) == SIZE_MAX)
        return 5;
    if (boxed_begin(boxed, "shell_input", "{\"jobId\":\"job1\",\"text\":\"typed\\n\"}", &answer,
                    &id) < 0 ||
        boxed_wait(boxed, &answer) < 0)
        return 6;
    if (boxed_begin(boxed, "shell_output", "{\"jobId\":\"job1\",\"waitMs\":60000}", &answer, &id) <
            0 ||
        boxed_wait(boxed, &answer) < 0 ||
        str_find(buf_view(&answer.result), STR("typed")) == SIZE_MAX)
        return 7;
    return 0;
}

static void a_confined_process_has_its_commands_started(void **state)
{
    struct room *room = *state;
    struct err why = ERR_INIT;
    int status;
    pid_t pid;

    if (box_probe(&why) < 0)
        skip_because("no boxes here: %s", why.message);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        status = run_confined(room);
        if (status != 0)
            dprintf(2, "step %d: %s\n", status, room->boxed.err.message);
        _exit(status);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define boxed_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

TEST_MAIN(boxed_test(streams_and_exit_code_come_back), boxed_test(input_is_empty_and_text_is_valid),
          boxed_test(it_runs_where_it_was_told_to), boxed_test(the_environment_keeps_no_keys),
          boxed_test(no_editor_waits_where_nobody_types),
          boxed_test(nothing_of_a_command_outlives_it),
          boxed_test(time_ends_the_whole_tree_and_keeps_what_was_printed),
          boxed_test(cancelling_ends_the_whole_tree), boxed_test(a_flood_is_cut_in_flat_memory),
          boxed_test(many_at_once_all_end_and_leave_no_descriptors),
          boxed_test(a_job_in_a_terminal_is_typed_into),
          boxed_test(a_job_is_fed_and_stopped_with_all_it_started),
          boxed_test(jobs_end_with_the_program),
          boxed_test(a_place_that_was_taken_back_is_gone_from_the_next_command),
          boxed_test(calls_end_with_their_launcher_and_the_next_gets_another),
          boxed_test(without_descriptors_a_command_is_killed_and_told_of),
          boxed_test(a_confined_process_has_its_commands_started))

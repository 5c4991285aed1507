/* SPDX-License-Identifier: Apache-2.0 */
/* A misbehaving toolhost is replaced. Scripts take its place, with a fake clock. */
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../authority/scene.h"
#include "programs/connect/hostlink.h"
#include "programs/connect/medialink.h"
/* What is waited for is done by workers on a disk, or by other processes. */
#define LOOP_UNTIL_OTHERS
#include "loop_until.h"
#include "protocol/toolwire.h"

enum {
    PATH_BYTES = 160,
    TEXT_BYTES = 1024,
    GOT_BYTES = 64 << 10,
    NUMBER_BYTES = 32,
    ROUNDS = 6,
    INPUT_BYTES = 1 << 20,
};

#define READY "{\"wire\":3,\"tools\":[\"read_file\"]}"
#define PREPARED                                                                                   \
    "{\"resources\":[],\"consent\":[{\"group\":\"filesystemRead\",\"given\":\"/a\","               \
    "\"resolved\":\"/"                                                                             \
    "a\",\"operation\":\"reads\"}],\"mark\":\"0000000000000000\",\"deletes\":false,\"isFolder\":"  \
    "false}"
#define PREVIEWED "{\"action\":\"Reads a\",\"detail\":\"\",\"isDiff\":false}"

struct world {
    struct scene scene;
    struct clock clock;
    struct loop *loop;
    struct log log;
    struct keeper *keeper;
    struct leftovers leftovers;
    struct authority *authority;
    struct authority_scope *scope;
    struct hostlink *link;
    struct work *work; /* the last one */
    int to_link;       /* what is written here is what the toolhost says */
    unsigned begun, begun_badly;
    unsigned prepared, previewed, ended;
    int error; /* of the last end; 0: a result */
    bool has_begun;
    char change[16];
    uint32_t number;
};

/* ---- scripts ---- */

static void path_of(const struct world *world, const char *name, char out[PATH_BYTES])
{
    assert_true(snprintf(out, PATH_BYTES, "%s/%s", world->scene.path, name) < PATH_BYTES);
}

static void write_program(const struct world *world, const char *name, const char *before,
                          const char *what_it_does)
{
    char text[TEXT_BYTES];
    int fd;

    assert_true(snprintf(text, sizeof(text), "#!/bin/sh\ncd %s\n%s%s\n", world->scene.path, before,
                         what_it_does) < (int)sizeof(text));
    make_file(world->scene.fd, name, text);
    fd = openat(world->scene.fd, name, O_RDONLY | O_CLOEXEC);
    assert_int_equal(fchmod(fd, 0755), 0);
    close(fd);
}

/* Each opens all it needs, writes down who it is, and does then what the test wants. */
static void write_script(const struct world *world, const char *what_it_does)
{
    write_program(world, "gatehouse-toolhost", "exec 6<&4 4<said 5>>got\necho $$ >>pids\n",
                  what_it_does);
}

/* Says what the test writes, and keeps what it is told. */
#define RELAY "cat <&3 >&5 &\nexec cat <&4 >&3"

static size_t read_pids(const struct world *world, pid_t *pids, size_t max)
{
    char line[NUMBER_BYTES];
    char path[PATH_BYTES];
    size_t count = 0;
    FILE *file;

    path_of(world, "pids", path);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    while (count < max && fgets(line, sizeof(line), file) != NULL && strchr(line, '\n') != NULL)
        pids[count++] = (pid_t)strtol(line, NULL, 10);
    fclose(file);
    return count;
}

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) < 0;
}

static void say_to(int fd, uint32_t call, enum toolwire_type type, const char *body)
{
    char header[TOOLWIRE_HEADER_BYTES];
    size_t len = strlen(body);

    toolwire_write_header(call, type, len, header);
    assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
    assert_int_equal(write(fd, body, len), (ssize_t)len);
}

static void say(const struct world *world, uint32_t call, enum toolwire_type type, const char *body)
{
    say_to(world->to_link, call, type, body);
}

/* Whether it was told this, which has no body. */
static bool was_told(const struct world *world, uint32_t call, enum toolwire_type type)
{
    char header[TOOLWIRE_HEADER_BYTES];
    char got[GOT_BYTES];
    int fd = openat(world->scene.fd, "got", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, got, sizeof(got));

    if (fd >= 0)
        close(fd);
    toolwire_write_header(call, type, 0, header);
    return len > 0 && memmem(got, (size_t)len, header, sizeof(header)) != NULL;
}

/* ---- the link ---- */

static void on_begun(void *data, const struct err *err)
{
    struct world *world = data;

    if (err == NULL)
        world->begun++;
    else
        world->begun_badly++;
}

static void on_prepared(void *data)
{
    struct world *world = data;

    world->prepared++;
}

static void on_previewed(void *data)
{
    struct world *world = data;

    world->previewed++;
}

static void on_end(void *data, const struct work_end *end)
{
    struct world *world = data;

    world->ended++;
    world->error = end->err != NULL ? end->err->code : 0;
    world->has_begun = end->has_begun;
    snprintf(world->change, sizeof(world->change), "%.*s", STR_ARG(end->change));
}

static void release(struct world *world)
{
    work_release(steal_ptr(&world->work));
}

/* The work before it is let go of, but not dropped. */
static void prepare(struct world *world, const char *tool)
{
    static const struct work_events events = {
        .on_prepared = on_prepared, .on_previewed = on_previewed, .on_end = on_end};
    static const struct json_value nothing = {.type = JSON_OBJECT, .span = 1};
    struct executor *executor = hostlink_executor(world->link);
    struct work_request request = {
        .input = call_input_new(INPUT_BYTES), .events = &events, .data = world};

    assert_non_null(request.input);
    request.input->tool = catalog_find(str_from(tool));
    request.input->arguments = &nothing;
    if (world->work != NULL)
        work_unref(world->work);
    assert_int_equal(executor->ops->prepare(executor, &request, &world->work, NULL), 0);
    call_input_unref(request.input);
    world->number++; /* they are counted up */
}

static void run(struct world *world)
{
    assert_int_equal(world->work->ops->run(world->work), 0);
}

static void cancel(struct world *world)
{
    world->work->ops->cancel(world->work, ERR_CANCELLED);
}

static void start(struct world *world, const char *what_it_does)
{
    static const char *const words[] = {"gatehouse-toolhost", NULL};
    struct hostlink_config config = {.loop = world->loop,
                                     .log = &world->log,
                                     .libexec = world->scene.path,
                                     .argv = words,
                                     .max_file_bytes = 1024,
                                     .keeper = world->keeper,
                                     .recorded = world->scope,
                                     .leftovers = &world->leftovers,
                                     .on_begun = on_begun,
                                     .data = world};

    write_script(world, what_it_does);
    assert_int_equal(hostlink_new(&config, &world->link, NULL), 0);
}

/* Up to a call that is prepared. */
static void start_call_of(struct world *world, const char *tool)
{
    start(world, RELAY);
    prepare(world, tool);
    say(world, 0, TOOLWIRE_READY, READY);
    say(world, world->number, TOOLWIRE_PREPARED, PREPARED);
    loop_until(world->loop, world->prepared == 1);
    assert_int_equal(world->begun, 1);
}

static void start_call(struct world *world)
{
    start_call_of(world, "read_file");
}

static void pass(struct world *world, int64_t ms)
{
    clock_fake_advance(&world->clock, ms);
    loop_run_due_timers(world->loop);
}

static void open_scope(struct world *world)
{
    const struct authority_config config = {.backend = AUTHORITY_LINUX};
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "test"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "root", .path = world->scene.path},
        .access = AUTHORITY_READ | AUTHORITY_METADATA,
        .reason = "a test",
        .source = AUTHORITY_FROM_CORE,
    };

    assert_int_equal(authority_new(&config, &world->authority, NULL), 0);
    assert_int_equal(authority_request_root(world->authority, &request, &world->scope, NULL), 0);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct keeper_config config = {.may_save = false};
    char path[PATH_BYTES];

    assert_non_null(world);
    scene_make(&world->scene);
    open_scope(world);
    path_of(world, "said", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    /* Of both kinds, so that nobody waits for the other end. */
    world->to_link = open(path, O_RDWR | O_CLOEXEC);
    assert_true(world->to_link >= 0);
    clock_fake_init(&world->clock, 0);
    assert_int_equal(loop_new(&world->clock, &world->loop), 0);
    leftovers_init(&world->leftovers, world->loop);
    world->leftovers.wait_ms = 0; /* scripts do not end with their sockets */
    log_init(&world->log, STDERR_FILENO, LOG_SILENT, &world->clock);
    assert_int_equal(keeper_new(&config, &world->keeper, NULL, NULL), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    release(world);
    hostlink_free(world->link);
    leftovers_done(&world->leftovers);
    authority_scope_free(world->scope);
    authority_free(world->authority);
    keeper_free(world->keeper);
    loop_free(world->loop);
    close(world->to_link); /* which every script ends by */
    scene_drop(&world->scene);
    free(world);
    return 0;
}

/* ---- tests ---- */

static void a_call_goes_its_way(void **state)
{
    struct world *world = *state;

    start_call(world);
    world->work->ops->preview(world->work, DECISION_DISCLOSES_ALL);
    say(world, world->number, TOOLWIRE_PREVIEWED, PREVIEWED);
    loop_until(world->loop, world->previewed == 1);
    run(world);
    say(world, world->number, TOOLWIRE_PROGRESS, "{}");
    say(world, world->number, TOOLWIRE_RESULT, "{}");
    loop_until(world->loop, world->ended == 1);
    assert_int_equal(world->error, 0);
    assert_true(world->has_begun);
}

static bool has_file(const struct world *world, const char *name)
{
    return faccessat(world->scene.fd, name, F_OK, 0) == 0;
}

static void media_is_started_when_something_comes_for_it(void **state)
{
    struct world *world = *state;

    write_program(world, "gatehouse-media", "",
                  "test \"$*\" = '--job serve' && head -c 1 <&3 >asked");
    start(world, "until test -e ask; do sleep 0.01; done; echo >&6\n" RELAY);
    say(world, 0, TOOLWIRE_READY, READY);
    loop_run_due_timers(world->loop);
    assert_false(has_file(world, "asked"));
    make_file(world->scene.fd, "ask", "");
    loop_until(world->loop, has_file(world, "asked"));
    loop_until(world->loop, world->begun == 1);
}

/* Frames of ipc/frames.h: job 1 with two bytes, and the end of it. */
#define MEDIA_REQUEST     "\\007\\0\\0\\0\\001\\0\\0\\0\\001ab"
#define MEDIA_NOT_STARTED "\6\0\0\0\1\0\0\0\101\3"
enum { MEDIA_NOT_STARTED_BYTES = 10 };

static bool has_answer(const struct world *world, const char *name)
{
    char got[MEDIA_NOT_STARTED_BYTES];
    int fd = openat(world->scene.fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, got, sizeof(got));

    if (fd >= 0)
        close(fd);
    if (len < MEDIA_NOT_STARTED_BYTES)
        return false;
    assert_memory_equal(got, MEDIA_NOT_STARTED, sizeof(got));
    return true;
}

static void media_that_did_not_start_is_started_for_a_later_request(void **state)
{
    struct world *world = *state;

    start(world,
          "(for n in 1 2 3; do until test -e ask$n; do test -e said || exit; sleep 0.01; done\n"
          "printf '" MEDIA_REQUEST "' >&6; test $n = 3 || head -c 10 <&6 >answer$n\n"
          "done) &\n" RELAY);
    say(world, 0, TOOLWIRE_READY, READY);
    make_file(world->scene.fd, "ask1", "");
    loop_until(world->loop, has_answer(world, "answer1"));
    write_program(world, "gatehouse-media", "", "head -c 11 <&3 >asked");
    /* Not at once: whatever the reason was, it may last. */
    make_file(world->scene.fd, "ask2", "");
    loop_until(world->loop, has_answer(world, "answer2"));
    assert_false(has_file(world, "asked"));
    pass(world, MEDIALINK_AGAIN_MS);
    make_file(world->scene.fd, "ask3", "");
    loop_until(world->loop, has_file(world, "asked"));
    assert_int_equal(world->begun_badly, 0);
}

/* Whatever it says out of turn: the call ends with an error, and another one is started. */
static void assert_replaced(struct world *world, enum toolwire_type type, const char *body)
{
    pid_t pids[2] = {0};

    start_call(world);
    say(world, type == TOOLWIRE_READY || type == TOOLWIRE_LOST ? 0 : world->number, type, body);
    loop_until(world->loop, world->ended == 1);
    assert_int_equal(world->error, ERR_IO);
    assert_false(world->has_begun);
    assert_int_equal(world->prepared, 1);
    assert_int_equal(world->previewed, 0);
    pass(world, HOSTLINK_FIRST_WAIT_MS);
    loop_until(world->loop, read_pids(world, pids, 2) == 2);
}

static void prepared_twice_is_against_the_rules(void **state)
{
    assert_replaced(*state, TOOLWIRE_PREPARED, PREPARED);
}

static void a_preview_that_nobody_wanted_is_against_the_rules(void **state)
{
    assert_replaced(*state, TOOLWIRE_PREVIEWED, PREVIEWED);
}

static void a_result_before_it_was_run_is_against_the_rules(void **state)
{
    assert_replaced(*state, TOOLWIRE_RESULT, "{}");
}

static void a_change_before_it_was_run_is_against_the_rules(void **state)
{
    assert_replaced(*state, TOOLWIRE_CHANGE, "+x");
}

static void a_call_ends_with_the_change_that_was_told(void **state)
{
    struct world *world = *state;

    start_call(world);
    run(world);
    say(world, world->number, TOOLWIRE_CHANGE, "+x");
    say(world, world->number, TOOLWIRE_RESULT, "{}");
    loop_until(world->loop, world->ended == 1);
    assert_int_equal(world->error, 0);
    assert_string_equal(world->change, "+x");
}

static void a_change_told_twice_is_against_the_rules(void **state)
{
    struct world *world = *state;

    start_call(world);
    run(world);
    say(world, world->number, TOOLWIRE_CHANGE, "+x");
    say(world, world->number, TOOLWIRE_CHANGE, "+y");
    loop_until(world->loop, world->ended == 1);
    assert_int_equal(world->error, ERR_IO);
}

static void ready_twice_is_against_the_rules(void **state)
{
    assert_replaced(*state, TOOLWIRE_READY, READY);
}

static void it_has_tools_for_files_and_no_others(void **state)
{
    struct world *world = *state;

    start(world, RELAY);
    say(world, 0, TOOLWIRE_READY, "{\"wire\":3,\"tools\":[\"shell_execute\",\"read_file\"]}");
    loop_until(world->loop, world->begun == 1);
    assert_true(hostlink_has(world->link, catalog_find(STR("read_file"))));
    assert_false(hostlink_has(world->link, catalog_find(STR("shell_execute"))));
}

static void one_that_has_lost_its_workers_is_replaced(void **state)
{
    assert_replaced(*state, TOOLWIRE_LOST, "");
}

static void nothing_comes_before_ready(void **state)
{
    struct world *world = *state;

    start(world, RELAY);
    prepare(world, "read_file");
    say(world, world->number, TOOLWIRE_PREPARED, PREPARED);
    loop_until(world->loop, world->begun_badly == 1);
    assert_int_equal(world->prepared, 0);
}

static void one_that_hangs_is_killed_and_its_call_answered(void **state)
{
    struct world *world = *state;
    pid_t pids[2] = {0};

    start_call(world);
    run(world);
    assert_int_equal(read_pids(world, pids, 2), 1);
    pass(world, HOSTLINK_STEP_MS + HOSTLINK_LATE_MS - 1);
    assert_false(is_gone(pids[0]));
    pass(world, 1);
    loop_until(world->loop, world->ended == 1 && is_gone(pids[0]));
    assert_int_equal(world->error, ERR_IO);
    assert_true(world->has_begun); /* what it did may be there */
    pass(world, HOSTLINK_FIRST_WAIT_MS);
    loop_until(world->loop, read_pids(world, pids, 2) == 2);
}

static void one_that_is_never_ready_is_not_waited_for(void **state)
{
    struct world *world = *state;

    start(world, RELAY);
    pass(world, HOSTLINK_READY_MS);
    loop_until(world->loop, world->begun_badly == 1);
}

static void what_is_cancelled_still_has_its_last_answer(void **state)
{
    struct world *world = *state;

    start_call(world);
    run(world);
    cancel(world);
    cancel(world);
    loop_until(world->loop, was_told(world, world->number, TOOLWIRE_CANCEL));
    assert_int_equal(world->ended, 0);
    say(world, world->number, TOOLWIRE_ERROR, "{\"error\":\"cancelled\",\"hasBegun\":true}");
    loop_until(world->loop, world->ended == 1);
    assert_int_equal(world->error, ERR_CANCELLED);
    assert_true(world->has_begun);
}

static void an_answer_that_crosses_with_a_cancel_is_no_fault(void **state)
{
    struct world *world = *state;

    start(world, RELAY);
    prepare(world, "read_file");
    say(world, 0, TOOLWIRE_READY, READY);
    loop_until(world->loop, world->begun == 1);
    cancel(world);
    assert_int_equal(world->ended, 1);
    assert_int_equal(world->error, ERR_CANCELLED);
    assert_false(world->has_begun);
    say(world, world->number, TOOLWIRE_PREPARED, PREPARED);
    say(world, world->number, TOOLWIRE_ERROR, "{\"error\":\"cancelled\"}");
    prepare(world, "read_file");
    say(world, world->number, TOOLWIRE_PREPARED, PREPARED);
    loop_until(world->loop, world->prepared == 1);
    assert_int_equal(world->ended, 1);
}

static void what_is_prepared_and_cancelled_is_dropped(void **state)
{
    struct world *world = *state;

    start_call(world);
    cancel(world);
    assert_int_equal(world->ended, 1);
    assert_int_equal(world->error, ERR_CANCELLED);
    loop_until(world->loop, was_told(world, world->number, TOOLWIRE_DROP));
    run(world); /* comes too late, and nothing is sent */
    assert_false(was_told(world, world->number, TOOLWIRE_RUN));
}

static void a_cancel_that_nobody_hears_is_the_end_of_the_toolhost(void **state)
{
    struct world *world = *state;

    start_call(world);
    run(world);
    cancel(world);
    pass(world, HOSTLINK_STEP_MS + HOSTLINK_LATE_MS);
    loop_until(world->loop, world->ended == 1);
    assert_int_equal(world->error, ERR_IO);
    assert_true(world->has_begun);
}

static void a_call_that_a_lost_toolhost_was_running_may_have_been_done(void **state)
{
    struct world *world = *state;

    start_call(world);
    run(world);
    say(world, 0, TOOLWIRE_LOST, "");
    loop_until(world->loop, world->ended == 1);
    assert_int_equal(world->error, ERR_IO);
    assert_true(world->has_begun);
}

static void all_that_waits_for_a_lost_toolhost_is_answered(void **state)
{
    struct world *world = *state;

    start_call(world);
    prepare(world, "read_file");
    prepare(world, "read_file");
    say(world, 0, TOOLWIRE_LOST, "");
    loop_until(world->loop, world->ended == 3);
    assert_int_equal(world->error, ERR_IO);
    assert_false(world->has_begun);
    assert_int_equal(world->prepared, 1);
}

static void what_was_forgotten_is_not_told_and_still_finds_out_a_toolhost_that_hangs(void **state)
{
    struct world *world = *state;
    pid_t pids[1] = {0};

    start(world, RELAY);
    prepare(world, "read_file");
    say(world, 0, TOOLWIRE_READY, READY);
    loop_until(world->loop, world->begun == 1);
    release(world);
    loop_until(world->loop, was_told(world, world->number, TOOLWIRE_CANCEL));
    say(world, world->number, TOOLWIRE_PREPARED, PREPARED);
    say(world, world->number, TOOLWIRE_ERROR, "{\"error\":\"cancelled\"}");
    prepare(world, "read_file");
    say(world, world->number, TOOLWIRE_PREPARED, PREPARED);
    loop_until(world->loop, world->prepared == 1);
    prepare(world, "read_file");
    release(world);
    assert_int_equal(read_pids(world, pids, 1), 1);
    pass(world, HOSTLINK_STEP_MS + HOSTLINK_LATE_MS);
    loop_until(world->loop, is_gone(pids[0]) && world->ended == 1); /* the one that was prepared */
}

static void those_that_do_not_go_when_replaced_are_killed_in_the_end(void **state)
{
    struct world *world = *state;
    pid_t pids[ROUNDS] = {0};
    int frames = openat(world->scene.fd, "frames", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    say_to(frames, 0, TOOLWIRE_READY, READY);
    say_to(frames, 0, TOOLWIRE_LOST, "");
    close(frames);
    start(world, "cat frames >&3\nexec cat <&4");
    for (unsigned i = 0; i < ROUNDS; i++) {
        prepare(world, "read_file");
        loop_until(world->loop, world->ended == i + 1);
        assert_int_equal(read_pids(world, pids, ROUNDS), i + 1);
        if (i + 1 < ROUNDS)
            pass(world, (int64_t)HOSTLINK_FIRST_WAIT_MS << i);
    }
    loop_until(world->loop, is_gone(pids[0]));
    assert_false(is_gone(pids[ROUNDS - 1]));
}

static pid_t leave_child(struct world *world, bool may_be_changing)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        while (true)
            pause();
    }
    leftovers_add(&world->leftovers, pid, may_be_changing);
    return pid;
}

static void one_that_may_be_changing_something_is_the_last_to_be_killed(void **state)
{
    struct world *world = *state;
    pid_t changing = leave_child(world, true);
    pid_t first = leave_child(world, false);

    for (int i = 2; i <= LEFTOVERS_MOST; i++)
        leave_child(world, false);
    loop_until(world->loop, is_gone(first));
    assert_false(is_gone(changing));
    assert_int_equal(kill(changing, SIGKILL), 0);
    loop_until(world->loop, is_gone(changing));
}

/* ---- at the end of the daemon ---- */

static pid_t only_pid(const struct world *world)
{
    pid_t pids[2] = {0};

    assert_int_equal(read_pids(world, pids, 2), 1);
    return pids[0];
}

static void end_daemon(struct world *world)
{
    work_unref(steal_ptr(&world->work));
    hostlink_free(steal_ptr(&world->link));
    leftovers_done(&world->leftovers);
}

static void assert_killed_by(pid_t pid, int signum)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), signum);
}

static void one_that_does_not_end_with_the_daemon_is_killed(void **state)
{
    struct world *world = *state;
    pid_t pid;

    start_call(world);
    pid = only_pid(world);
    run(world);
    end_daemon(world);
    assert_killed_by(pid, SIGKILL);
}

static void one_that_may_be_changing_something_is_left_to_finish(void **state)
{
    struct world *world = *state;
    pid_t pid;

    start_call_of(world, "write_file");
    pid = only_pid(world);
    run(world);
    end_daemon(world);
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_killed_by(pid, SIGTERM);
}

static void a_change_that_is_over_keeps_nobody(void **state)
{
    struct world *world = *state;
    pid_t pid;

    start_call_of(world, "write_file");
    pid = only_pid(world);
    run(world);
    say(world, world->number, TOOLWIRE_RESULT, "{}");
    loop_until(world->loop, world->ended == 1);
    end_daemon(world);
    assert_killed_by(pid, SIGKILL);
}

static void one_that_is_stopped_goes_on_to_see_its_end(void **state)
{
    struct world *world = *state;
    pid_t pid;
    int status;

    start_call(world);
    pid = only_pid(world);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    hostlink_free(steal_ptr(&world->link));
    assert_int_equal(waitpid(pid, &status, WCONTINUED), pid);
    assert_true(WIFCONTINUED(status));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(CASE(a_call_goes_its_way), CASE(prepared_twice_is_against_the_rules),
          CASE(a_preview_that_nobody_wanted_is_against_the_rules),
          CASE(a_result_before_it_was_run_is_against_the_rules),
          CASE(a_change_before_it_was_run_is_against_the_rules),
          CASE(a_call_ends_with_the_change_that_was_told),
          CASE(a_change_told_twice_is_against_the_rules), CASE(ready_twice_is_against_the_rules),
          CASE(it_has_tools_for_files_and_no_others),
          CASE(one_that_has_lost_its_workers_is_replaced), CASE(nothing_comes_before_ready),
          CASE(one_that_hangs_is_killed_and_its_call_answered),
          CASE(one_that_is_never_ready_is_not_waited_for),
          CASE(what_is_cancelled_still_has_its_last_answer),
          CASE(an_answer_that_crosses_with_a_cancel_is_no_fault),
          CASE(what_is_prepared_and_cancelled_is_dropped),
          CASE(a_cancel_that_nobody_hears_is_the_end_of_the_toolhost),
          CASE(a_call_that_a_lost_toolhost_was_running_may_have_been_done),
          CASE(all_that_waits_for_a_lost_toolhost_is_answered),
          CASE(what_was_forgotten_is_not_told_and_still_finds_out_a_toolhost_that_hangs),
          CASE(those_that_do_not_go_when_replaced_are_killed_in_the_end),
          CASE(one_that_may_be_changing_something_is_the_last_to_be_killed),
          CASE(one_that_does_not_end_with_the_daemon_is_killed),
          CASE(one_that_may_be_changing_something_is_left_to_finish),
          CASE(a_change_that_is_over_keeps_nobody),
          CASE(one_that_is_stopped_goes_on_to_see_its_end),
          CASE(media_is_started_when_something_comes_for_it),
          CASE(media_that_did_not_start_is_started_for_a_later_request))

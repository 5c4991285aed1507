/* SPDX-License-Identifier: Apache-2.0 */
/* host.fs without a server: rights of the system, links, threads, runs, and the wire. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "../authority/scene.h"
#include "hostfs/runs.h"
#include "hostfs/service.h"

enum { MAX_FILE = 4096, THREADS = 4, ROUNDS = 300, TEXT_BYTES = 512, EVENTS_BYTES = 4096 };

struct stage {
    struct scene scene;
    struct authority *authority;
    struct authority_scope *scope;
    struct hostfs hostfs;
};

static void open_stage(struct stage *stage, authority_backend_fn *backend)
{
    struct authority_request request = {
        .subject = {.type = AUTHORITY_AUTOMATION, .id = "test"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "host.fs"},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "test",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_IN_ROOT,
                   .hardlinks = AUTHORITY_HARDLINKS_REJECT,
                   .max_file_bytes = MAX_FILE},
    };

    scene_make(&stage->scene);
    make_dir(stage->scene.fd, "root");
    request.root.path = backend == AUTHORITY_MEMORY ? "/sandbox" : stage->scene.path;
    if (backend == AUTHORITY_LINUX)
        make_file(stage->scene.fd, "a.txt", "hello\n");
    assert_int_equal(
        authority_new(&(struct authority_config){.backend = backend}, &stage->authority, NULL), 0);
    assert_int_equal(authority_request_root(stage->authority, &request, &stage->scope, NULL), 0);
    stage->hostfs = (struct hostfs){
        .scope = stage->scope, .max_file_bytes = MAX_FILE, .features = HOSTFS_HAS_ARCHIVE};
}

static void close_stage(struct stage *stage)
{
    authority_scope_free(stage->scope);
    authority_free(stage->authority);
    scene_drop(&stage->scene);
}

/* The status; `out_text` gets the body. */
static int ask(struct stage *stage, enum hostfs_operation operation, enum hostfs_major major,
               unsigned access, const char *body, char out_text[TEXT_BYTES])
{
    cleanup_buf struct buf out = BUF_INIT(hostfs_max_answer(MAX_FILE));
    const struct hostfs_request request = {
        .operation = operation, .major = major, .access = access, .body = str_from(body)};
    struct hostfs_answer answer = hostfs_handle(&stage->hostfs, &request, NULL, &out);

    snprintf(out_text, TEXT_BYTES, "%.*s", STR_ARG(buf_view(&out)));
    return answer.status;
}

static void assert_answer(struct stage *stage, enum hostfs_operation operation,
                          enum hostfs_major major, const char *body, int status, const char *part)
{
    char text[TEXT_BYTES];
    int found = ask(stage, operation, major, HOSTFS_MAY_READ | HOSTFS_MAY_WRITE, body, text);

    if (found != status || strstr(text, part) == NULL)
        fail_msg("%s: %d %s instead of %d with %s", body, found, text, status, part);
}

static void what_the_system_denies_has_its_own_error(void **state)
{
    struct stage stage;

    (void)state;
    if (geteuid() == 0)
        skip_because("root may read everything");
    open_stage(&stage, AUTHORITY_LINUX);
    make_file(stage.scene.fd, "closed", "secret");
    assert_int_equal(fchmodat(stage.scene.fd, "closed", 0, 0), 0);
    make_dir(stage.scene.fd, "locked");
    make_file(stage.scene.fd, "locked/x", "secret");
    assert_int_equal(fchmodat(stage.scene.fd, "locked", 0500, 0), 0);
    assert_answer(&stage, HOSTFS_READ, HOSTFS_V1, "{\"path\":\"closed\"}", 403,
                  "\"error\":\"fs_permission_denied\"");
    assert_answer(&stage, HOSTFS_READ, HOSTFS_V2, "{\"path\":\"closed\"}", 403,
                  "\"details\":{\"service\":\"fs\",\"reason\":\"permission-denied\"}");
    assert_answer(&stage, HOSTFS_WRITE, HOSTFS_V1, "{\"path\":\"locked/new\",\"bytes\":\"\"}", 403,
                  "\"error\":\"fs_permission_denied\"");
    assert_answer(&stage, HOSTFS_DELETE, HOSTFS_V1, "{\"path\":\"locked/x\"}", 403,
                  "\"error\":\"fs_permission_denied\"");
    assert_answer(&stage, HOSTFS_WRITE, HOSTFS_V1, "{\"path\":\"closed\",\"bytes\":\"\"}", 403,
                  "\"error\":\"fs_permission_denied\"");
    assert_int_equal(fchmodat(stage.scene.fd, "locked", 0, 0), 0);
    assert_answer(&stage, HOSTFS_STAT, HOSTFS_V1, "{\"path\":\"locked/x\"}", 403,
                  "\"error\":\"fs_permission_denied\"");
    /* What cannot be looked at is left out of a list. */
    assert_answer(&stage, HOSTFS_LIST, HOSTFS_V1, "{}", 200, "\"a.txt\"");
    assert_int_equal(fchmodat(stage.scene.fd, "locked", 0700, 0), 0);
    close_stage(&stage);
}

static void a_key_does_no_more_than_it_may(void **state)
{
    static const struct {
        enum hostfs_operation operation;
        unsigned access;
        const char *body;
    } rows[] = {
        {HOSTFS_READ, HOSTFS_MAY_WRITE, "{\"path\":\"a.txt\"}"},
        {HOSTFS_STAT, HOSTFS_MAY_WRITE, "{\"path\":\"a.txt\"}"},
        {HOSTFS_LIST, HOSTFS_MAY_WRITE, "{}"},
        {HOSTFS_WRITE, HOSTFS_MAY_READ, "{\"path\":\"a.txt\",\"bytes\":\"\"}"},
        {HOSTFS_DELETE, HOSTFS_MAY_READ, "{\"path\":\"a.txt\"}"},
        {HOSTFS_ARCHIVE, HOSTFS_MAY_READ,
         "{\"op\":\"create\",\"path\":\"a.txt\",\"to\":\"a.zip\"}"},
        {HOSTFS_ARCHIVE, HOSTFS_MAY_WRITE, "{\"op\":\"extract\",\"path\":\"a.zip\",\"to\":\"b\"}"},
    };
    struct stage stage;
    char text[TEXT_BYTES];

    (void)state;
    open_stage(&stage, AUTHORITY_LINUX);
    for (size_t i = 0; i < array_size(rows); i++) {
        assert_int_equal(
            ask(&stage, rows[i].operation, HOSTFS_V1, rows[i].access, rows[i].body, text), 403);
        assert_non_null(strstr(text, "fs_permission_denied"));
    }
    assert_true(is_there(stage.scene.fd, "a.txt"));
    close_stage(&stage);
}

static void both_backends_answer_alike(void **state)
{
    authority_backend_fn *const backends[] = {AUTHORITY_LINUX, AUTHORITY_MEMORY};

    (void)state;
    for (size_t i = 0; i < array_size(backends); i++) {
        struct stage stage;

        open_stage(&stage, backends[i]);
        assert_answer(&stage, HOSTFS_WRITE, HOSTFS_V1, "{\"path\":\"d/x\",\"bytes\":\"aGk=\"}", 200,
                      "{\"path\":\"d/x\",\"sizeBytes\":2}");
        assert_answer(&stage, HOSTFS_READ, HOSTFS_V1, "{\"path\":\"/sandbox/d/../d/x\"}", 200,
                      "\"bytes\":\"aGk=\"");
        assert_answer(&stage, HOSTFS_STAT, HOSTFS_V1, "{\"path\":\"d\"}", 409, "not_a_file");
        assert_answer(&stage, HOSTFS_READ, HOSTFS_V1, "{\"path\":\"d/../../x\"}", 403,
                      "path_outside_sandbox");
        assert_answer(&stage, HOSTFS_WRITE, HOSTFS_V1, "{\"path\":\"d/x/y\",\"bytes\":\"\"}", 409,
                      "not_a_directory");
        assert_answer(&stage, HOSTFS_LIST, HOSTFS_V1, "{\"prefix\":\"d\"}", 200,
                      "{\"entries\":[{\"path\":\"d/x\",\"sizeBytes\":2}]}");
        assert_answer(&stage, HOSTFS_DELETE, HOSTFS_V1, "{\"path\":\"d/x\"}", 200,
                      "{\"deleted\":true}");
        assert_answer(&stage, HOSTFS_READ, HOSTFS_V2, "{\"path\":\"d/x\"}", 404, "\"not_found\"");
        close_stage(&stage);
    }
}

static void what_is_not_there_is_not_offered(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage, AUTHORITY_MEMORY);
    stage.hostfs.features = 0;
    assert_answer(&stage, HOSTFS_ARCHIVE, HOSTFS_V1, "{\"op\":\"create\"}", 501,
                  "host_capability_missing");
    assert_answer(&stage, HOSTFS_ARCHIVE, HOSTFS_V2, "{\"op\":\"create\"}", 422,
                  "capability_not_provided");
    close_stage(&stage);
}

/* ---- threads ---- */

struct reader_task {
    struct stage *stage;
    unsigned number;
    atomic_uint *wrong;
};

static void *use(void *data)
{
    const struct reader_task *task = data;
    char write[TEXT_BYTES];
    char read[TEXT_BYTES];
    char text[TEXT_BYTES];

    snprintf(write, sizeof(write), "{\"path\":\"t%u\",\"bytes\":\"aGk=\"}", task->number);
    snprintf(read, sizeof(read), "{\"path\":\"t%u\"}", task->number);
    for (int i = 0; i < ROUNDS; i++) {
        unsigned access = HOSTFS_MAY_READ | HOSTFS_MAY_WRITE;

        if (ask(task->stage, HOSTFS_WRITE, HOSTFS_V1, access, write, text) != 200 ||
            ask(task->stage, HOSTFS_READ, HOSTFS_V1, access, read, text) != 200 ||
            strstr(text, "aGk=") == NULL ||
            ask(task->stage, HOSTFS_LIST, HOSTFS_V1, access, "{}", text) != 200)
            atomic_fetch_add(task->wrong, 1);
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    struct reader_task tasks[THREADS];
    pthread_t threads[THREADS];
    atomic_uint wrong = 0;
    struct stage stage;

    (void)state;
    open_stage(&stage, AUTHORITY_MEMORY);
    for (unsigned i = 0; i < THREADS; i++) {
        tasks[i] = (struct reader_task){.stage = &stage, .number = i, .wrong = &wrong};
        assert_int_equal(pthread_create(&threads[i], NULL, use, &tasks[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
    close_stage(&stage);
}

/* ---- runs ---- */

static void take_id(const struct buf *answer, char out_id[RUNS_ID_BYTES])
{
    const char *at = strstr(answer->data, "run_");

    snprintf(out_id, RUNS_ID_BYTES, "%.*s", (int)strcspn(at, "\""), at);
}

static void old_runs_make_room(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(EVENTS_BYTES);
    char first[RUNS_ID_BYTES];
    char last[RUNS_ID_BYTES];
    struct runs runs;

    (void)state;
    runs_init(&runs, 100);
    assert_int_equal(runs_add(&runs, STR("{\"x\":1}"), false, 0, &out), 0);
    take_id(&out, first);
    buf_clear(&out);
    assert_int_equal(runs_write(&runs, str_from(first), &out), 0);
    for (int i = 0; i < 3 * RUNS_MAX; i++) {
        buf_clear(&out);
        assert_int_equal(
            runs_add(&runs, STR("{\"y\":\"0123456789012345678901234\"}"), true, 0, &out), 0);
        take_id(&out, last);
        assert_true(runs.bytes <= 100);
    }
    buf_clear(&out);
    assert_int_equal(runs_write(&runs, str_from(first), &out), ERR_SESSION_OVER);
    assert_int_equal(runs_write_events(&runs, str_from(last), &out), 0);
    assert_int_equal(runs_add(&runs, (struct str){out.data, 101}, false, 0, &out), ERR_TOO_LARGE);
    assert_int_equal(runs_write(&runs, STR(""), &out), ERR_SESSION_OVER);
    runs_done(&runs);
}

/* ---- the wire ---- */

static void only_requests_and_answers_pass_the_wire(void **state)
{
    struct ipc_frame frame = {.number = 1, .type = HOSTFS_READ, .body = STR("\1\3{}")};
    struct hostfs_request request;
    struct str body;
    int status;

    (void)state;
    assert_int_equal(hostfs_check_request(NULL, &frame, NULL), 0);
    assert_int_equal(hostfs_read_request(&frame, &request, NULL), 0);
    assert_int_equal(request.major, HOSTFS_V1);
    assert_true(str_eq(request.body, STR("{}")));
    frame.body = STR("\3\3{}");
    assert_int_equal(hostfs_read_request(&frame, &request, NULL), ERR_INVALID_ARGUMENT);
    frame.number = 0;
    assert_int_equal(hostfs_check_request(NULL, &frame, NULL), ERR_INVALID_ARGUMENT);
    frame = (struct ipc_frame){.number = 1, .type = HOSTFS_ANSWER, .body = STR("\xc8\0{}")};
    assert_int_equal(hostfs_check_request(NULL, &frame, NULL), ERR_INVALID_ARGUMENT);
    assert_int_equal(hostfs_check_answer(NULL, &frame, NULL), 0);
    assert_int_equal(hostfs_read_answer(&frame, &status, &body), 0);
    assert_int_equal(status, 200);
    frame.body = STR("\1\0{}");
    assert_int_equal(hostfs_read_answer(&frame, &status, &body), ERR_INVALID_ARGUMENT);
    frame.body = STR("1");
    assert_int_equal(hostfs_check_answer(NULL, &frame, NULL), ERR_INVALID_ARGUMENT);
}

TEST_MAIN(cmocka_unit_test(what_the_system_denies_has_its_own_error),
          cmocka_unit_test(a_key_does_no_more_than_it_may),
          cmocka_unit_test(both_backends_answer_alike),
          cmocka_unit_test(what_is_not_there_is_not_offered),
          cmocka_unit_test(threads_do_not_disturb_each_other), cmocka_unit_test(old_runs_make_room),
          cmocka_unit_test(only_requests_and_answers_pass_the_wire))

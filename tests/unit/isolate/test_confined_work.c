/* SPDX-License-Identifier: Apache-2.0 */
/* Confined programs can still do the work that they are for. */
#include "child.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "gatehouse/audit.h"
#include "gatehouse/authority.h"
#include "isolate/confine.h"
#include "loop/loop.h"
#include "loop/signal.h"
#include "loop/timer.h"
#include "loop/worker.h"

static const int standard_fds[] = {0, 1, 2};

enum { BUF_BYTES = 1 << 20, JOBS = 20 };

/* What a program of file work has: a root, a directory for its state, one for its record. */
struct work {
    struct place *place;
    bool walks_components;
    bool changes_files;
    bool has_landlock; /* once it is confined */
    char state[PLACE_PATH_BYTES];
    int audit_dir;
    struct authority *authority;
    struct authority_scope *scope;
    struct audit_file *audit;
    struct err err;
};

#define expect_ok(work, call)                                                                      \
    do {                                                                                           \
        int expect_code_ = (call);                                                                 \
                                                                                                   \
        if (expect_code_ != 0) {                                                                   \
            dprintf(2, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, err_name(expect_code_),  \
                    (work)->err.message);                                                          \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void work_prepare(struct work *work, struct place *place)
{
    *work = (struct work){.place = place, .changes_files = true};
    snprintf(work->state, sizeof(work->state), "%s/state", place->base);
    assert_int_equal(mkdirat(place->base_fd, "state", 0700), 0);
    assert_int_equal(mkdirat(place->base_fd, "record", 0700), 0);
    work->audit_dir = openat(place->base_fd, "record", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(work->audit_dir >= 0);
}

/* The order of a program: close what is not ours, open the record, confine, then all else. */
static void work_begin(struct work *work)
{
    const unsigned rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE;
    const struct landlock_place places[] = {
        {.path = work->place->inside, .rights = work->changes_files ? rights : LANDLOCK_MAY_READ},
        {.path = work->state, .rights = rights},
        {.fd = work->audit_dir, .rights = rights},
    };
    const int kept[] = {0, 1, 2, work->audit_dir, work->place->base_fd};
    const struct confine_plan plan = {
        .places = places,
        .place_count = array_size(places),
        .changes_files = work->changes_files,
        .has_closed_fds = true,
    };
    const struct audit_config record = {.dir_fd = work->audit_dir,
                                        .name = "audit.jsonl",
                                        .max_bytes = 128 << 10,
                                        .sync = AUDIT_SYNC_INTENTS};
    const struct authority_config config = {.backend = AUTHORITY_LINUX,
                                            .state_dir = work->state,
                                            .walk_components = work->walks_components};
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_AGENT_RUN, .id = "talk", .run_id = "run-1"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "main", .path = work->place->inside},
        .access = work->changes_files ? AUTHORITY_ALL_ACCESS
                                      : AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA,
        .reason = "a test",
        .source = AUTHORITY_FROM_USER_APPROVAL,
    };
    struct confine_report report;

    expect_ok(work, confine_close_fds(kept, array_size(kept), &work->err));
    expect_ok(work, audit_file_open(&record, &work->audit, &work->err));
    expect_ok(work, confine_process(&plan, &report, &work->err));
    work->has_landlock = report.walls[CONFINE_FILES].is_up;
    expect_ok(work, authority_new(&config, &work->authority, &work->err));
    expect_ok(work, authority_add_listener(work->authority, audit_file_record, work->audit));
    expect_ok(work, authority_request_root(work->authority, &request, &work->scope, &work->err));
}

static void work_end(struct work *work)
{
    authority_scope_free(work->scope);
    authority_free(work->authority);
    audit_file_close(work->audit);
}

static void work_drop(struct work *work)
{
    close(work->audit_dir);
}

static int count_entry(void *data, const struct authority_entry *entry)
{
    (void)entry;
    ++*(unsigned *)data;
    return 0;
}

static void read_and_look(struct work *work)
{
    struct buf text = BUF_INIT(BUF_BYTES);
    struct authority_stat stat;
    unsigned listed = 0;
    unsigned walked = 0;

    expect_ok(work, authority_read_text(work->scope, STR("a/f"), NULL, &text, &work->err));
    expect(str_eq(buf_view(&text), STR("text")));
    expect_ok(work, authority_stat(work->scope, STR("a/f"), &stat, &work->err));
    expect(stat.size == 4 && stat.type == AUTHORITY_FILE);
    expect_ok(work, authority_list(work->scope, STR(""),
                                   &(struct authority_list_options){.with_stat = true}, count_entry,
                                   &listed, &work->err));
    expect_ok(work,
              authority_walk(work->scope, STR(""),
                             &(struct authority_walk_options){.with_stat = true, .is_sorted = true},
                             count_entry, &walked, &work->err));
    expect(listed == 3 && walked == 4);
    buf_done(&text);
}

static void change(struct work *work)
{
    struct authority_scope *scope = work->scope;
    struct authority_scope *temp = NULL;
    struct buf text = BUF_INIT(BUF_BYTES);
    struct stat about;

    expect_ok(work, authority_write_text(scope, STR("new/deep/file"), STR("first"),
                                         &(struct authority_write_options){.make_parents = true},
                                         &work->err));
    expect_ok(work,
              authority_write_text(scope, STR("new/deep/file"), STR("second"), NULL, &work->err));
    expect_ok(work,
              authority_append(scope, STR("new/deep/file"), STR(" and more"), NULL, &work->err));
    expect_ok(work, authority_append(scope, STR("new/log"), STR("line\n"), NULL, &work->err));
    expect_ok(work, authority_mkdir(scope, STR("new/dir"), NULL, &work->err));
    /* Between directories: what Landlock would break without the right to it. */
    expect_ok(work,
              authority_move(scope, STR("new/deep/file"), STR("new/dir/file"), NULL, &work->err));
    expect_ok(work, authority_move(scope, STR("new/dir"), STR("b/dir"), NULL, &work->err));
    expect_ok(work, authority_copy(scope, STR("b/dir/file"), STR("copied"), NULL, &work->err));
    expect_ok(work, authority_read_text(scope, STR("copied"), NULL, &text, &work->err));
    expect(str_eq(buf_view(&text), STR("second and more")));
    expect_ok(work, authority_write_text(scope, STR("tree/deep/file"), STR(""),
                                         &(struct authority_write_options){.make_parents = true},
                                         &work->err));
    expect_ok(work, authority_remove(scope, STR("tree"),
                                     &(struct authority_remove_options){.is_recursive = true},
                                     &work->err));

    expect_ok(work, authority_create_temp(
                        work->authority,
                        &(struct authority_subject){.type = AUTHORITY_CORE, .id = "test"}, "a test",
                        &temp, &work->err));
    expect_ok(work, authority_write_text(temp, STR("draft"), STR("draft"), NULL, &work->err));
    expect_ok(work,
              authority_copy_in(scope, STR("from-temp"), temp, STR("draft"), NULL, &work->err));
    expect_ok(work,
              authority_move_in(scope, STR("moved-in"), temp, STR("draft"), NULL, &work->err));
    authority_scope_free(temp);
    expect(fstatat(work->place->base_fd, "inside/copied", &about, 0) == 0 && about.st_size == 15);
    expect(fstatat(work->place->base_fd, "inside/tree", &about, 0) == -1);
    buf_done(&text);
}

static void pack_and_unpack(struct work *work)
{
    static const struct {
        enum authority_archive_format format;
        const char *archive;
        const char *out;
    } forms[] = {
        {AUTHORITY_TAR_GZ, "pack.tar.gz", "out-gz"},
        {AUTHORITY_TAR_XZ, "pack.tar.xz", "out-xz"},
        {AUTHORITY_TAR_ZST, "pack.tar.zst", "out-zst"},
        {AUTHORITY_ZIP, "pack.zip", "out-zip"},
    };
    struct authority_scope *scope = work->scope;

    /* A name that takes a locale and a conversion. */
    expect_ok(work, authority_write_text(scope, STR("b/\xc3\xa4\xe2\x82\xac"), STR("text"), NULL,
                                         &work->err));
    for (size_t i = 0; i < array_size(forms); i++) {
        struct authority_archive_result result = {0};
        struct buf text = BUF_INIT(BUF_BYTES);
        char name[64];

        expect_ok(work, authority_create_archive(scope, STR("b"), str_from(forms[i].archive),
                                                 forms[i].format, NULL, &result, &work->err));
        expect_ok(work,
                  authority_extract_archive(scope, str_from(forms[i].archive),
                                            str_from(forms[i].out), NULL, &result, &work->err));
        expect(result.files >= 1);
        snprintf(name, sizeof(name), "%s/\xc3\xa4\xe2\x82\xac", forms[i].out);
        expect_ok(work, authority_read_text(scope, str_from(name), NULL, &text, &work->err));
        expect(str_eq(buf_view(&text), STR("text")));
        buf_done(&text);
    }
}

static void note_change(void *data, enum authority_change change, struct str name)
{
    if (change == AUTHORITY_CREATED && str_eq(name, STR("seen")))
        *(bool *)data = true;
}

static void watch(struct work *work)
{
    struct authority_watch *watch_of_a = NULL;
    struct pollfd waiting = {.events = POLLIN};
    bool has_seen = false;

    expect_ok(work, authority_watch(work->scope, STR("a"), &watch_of_a, &waiting.fd, &work->err));
    expect_ok(work, authority_write_text(work->scope, STR("a/seen"), STR(""), NULL, &work->err));
    expect(poll(&waiting, 1, PATIENCE_MS) == 1);
    expect_ok(work, authority_watch_read(watch_of_a, note_change, &has_seen));
    expect(has_seen);
    authority_watch_free(watch_of_a);
}

static void be_refused(struct work *work)
{
    struct buf text = BUF_INIT(BUF_BYTES);

    expect(authority_read_text(work->scope, STR("../outside/secret"), NULL, &text, &work->err) ==
           ERR_PATH_OUTSIDE_ROOT);
    expect_errno(socket(AF_INET, SOCK_STREAM, 0), EPERM);
    buf_done(&text);
}

static void do_all(void *data)
{
    struct work *work = data;

    work_begin(work);
    read_and_look(work);
    change(work);
    pack_and_unpack(work);
    watch(work);
    be_refused(work);
    work_end(work);
}

static int count_record(void *data, const struct json_value *record)
{
    (void)record;
    ++*(unsigned *)data;
    return 0;
}

static unsigned count_records(const struct work *work)
{
    const struct audit_config config = {.dir_fd = work->audit_dir, .name = "audit.jsonl"};
    const struct audit_query query = {0};
    uint64_t skipped = 0;
    unsigned count = 0;

    assert_int_equal(audit_query(&config, &query, count_record, &count, &skipped, NULL), 0);
    assert_int_equal(skipped, 0);
    return count;
}

static void all_operations_of_the_authority_work(void **state)
{
    struct work work;

    work_prepare(&work, *state);
    in_child(do_all, &work);
    assert_true(count_records(&work) > 40);
    work_drop(&work);
}

static void all_operations_work_by_components_too(void **state)
{
    struct work work;

    work_prepare(&work, *state);
    work.walks_components = true;
    in_child(do_all, &work);
    work_drop(&work);
}

static void read_and_turn_over(void *data)
{
    struct work *work = data;
    struct authority_stat stat;
    struct stat about;

    work_begin(work);
    read_and_look(work);
    for (int i = 0; i < 2000; i++)
        expect_ok(work, authority_stat(work->scope, STR("one"), &stat, &work->err));
    work_end(work);
    expect(fstatat(work->audit_dir, "audit.jsonl.reads.1", &about, 0) == 0);
}

static void who_only_reads_still_turns_its_record_over(void **state)
{
    struct work work;

    work_prepare(&work, *state);
    work.changes_files = false;
    in_child(read_and_turn_over, &work);
    assert_true(count_records(&work) > 2000);
    work_drop(&work);
}

/* ---- The loop, with workers that use the authority ---- */

struct rounds {
    struct work *work;
    struct loop *loop;
    struct worker_pool *pool;
    struct timer timer;
    unsigned submitted;
    unsigned done;
    bool has_ticked;
    bool has_signal;
};

static int run_job(void *data, struct cancel *token)
{
    struct rounds *rounds = data;
    struct authority_stat stat;

    (void)token;
    if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 && rounds->work->has_landlock)
        return ERR_INTERNAL;
    return authority_stat(rounds->work->scope, STR("one"), &stat, NULL);
}

static void on_done(void *context, int result, void *data)
{
    struct rounds *rounds = context;

    (void)data;
    expect(result == 0);
    rounds->done++;
}

static void on_tick(void *data)
{
    struct rounds *rounds = data;

    if (!rounds->has_ticked)
        expect(raise(SIGUSR1) == 0);
    rounds->has_ticked = true;
}

static void on_signal(void *data, int signum)
{
    struct rounds *rounds = data;

    rounds->has_signal = signum == SIGUSR1;
}

static void run_loop(void *data)
{
    static const struct worker_config config = {
        .threads = 3, .queue_max = JOBS, .abandoned_max = 1, .grace_ms = 1000, .nice = 1};
    struct work *work = data;
    struct rounds rounds = {.work = work};
    struct signal_watch *usr1 = NULL;

    work_begin(work);
    expect_ok(work, loop_new(&clock_system, &rounds.loop));
    expect_ok(work, worker_pool_new(rounds.loop, &config, &rounds.pool));
    expect_ok(work, signal_watch_new(rounds.loop, SIGUSR1, on_signal, &rounds, &usr1));
    timer_init(&rounds.timer, rounds.loop, on_tick, &rounds);
    timer_start_repeating(&rounds.timer, 1);
    for (; rounds.submitted < JOBS; rounds.submitted++) {
        const struct worker_job job = {.run = run_job,
                                       .done = on_done,
                                       .data = &rounds,
                                       .context = &rounds,
                                       .timeout_ms = WORKER_NO_DEADLINE};
        uint64_t id;

        expect_ok(work, worker_submit(rounds.pool, &job, &id));
    }
    while (rounds.done < JOBS || !rounds.has_signal)
        loop_run_once(rounds.loop);
    timer_stop(&rounds.timer);
    signal_watch_free(usr1);
    worker_pool_free(rounds.pool);
    loop_free(rounds.loop);
    work_end(work);
}

static void the_loop_runs_with_workers_timers_and_signals(void **state)
{
    struct work work;

    work_prepare(&work, *state);
    in_child(run_loop, &work);
    work_drop(&work);
}

/* ---- Standard streams, as libuv has them ---- */

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *out_buf)
{
    static char room[64];

    (void)handle;
    (void)size;
    *out_buf = uv_buf_init(room, sizeof(room));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *bytes)
{
    uv_buf_t answer = uv_buf_init(bytes->base, count > 0 ? (unsigned)count : 0);

    if (count > 0)
        expect(uv_try_write(stream, &answer, 1) == (int)count);
    else
        uv_close((uv_handle_t *)stream, NULL);
}

static void echo(void *data)
{
    const int *fds = data;
    static const struct confine_plan plan = {.has_closed_fds = true};
    struct confine_report report;
    struct loop *loop = NULL;
    uv_pipe_t pipe;

    expect(dup2(fds[1], 0) == 0);
    expect(confine_close_fds(standard_fds, 3, NULL) == 0);
    expect(confine_process(&plan, &report, NULL) == 0);
    expect(loop_new(&clock_system, &loop) == 0);
    expect(uv_pipe_init(loop_uv(loop), &pipe, 0) == 0);
    expect(uv_guess_handle(0) != UV_UNKNOWN_HANDLE);
    expect(uv_pipe_open(&pipe, 0) == 0);
    expect(uv_read_start((uv_stream_t *)&pipe, on_alloc, on_read) == 0);
    loop_run(loop);
    loop_free(loop);
}

static void streams_that_are_sockets_or_pipes_are_served(void **state)
{
    int fds[2];
    char answer[8];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(write(fds[0], "hello", 5), 5);
    assert_int_equal(shutdown(fds[0], SHUT_WR), 0);
    in_child(echo, fds);
    assert_int_equal(read(fds[0], answer, sizeof(answer)), 5);
    assert_memory_equal(answer, "hello", 5);
    close(fds[0]);
    close(fds[1]);
}

TEST_MAIN(place_test(all_operations_of_the_authority_work),
          place_test(all_operations_work_by_components_too),
          place_test(who_only_reads_still_turns_its_record_over),
          place_test(the_loop_runs_with_workers_timers_and_signals),
          place_test(streams_that_are_sockets_or_pipes_are_served))

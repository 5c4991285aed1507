/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse audit` beside jq: a few records of a million, whole processes from exec to exit, on
 * one core, turn by turn over the same file, and they must print the same. Arguments: a directory
 * to work in, and gatehouse-audit.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "bench.h"
#include "gatehouse/audit.h"
#include "program_run.h"

enum {
    RECORDS = 1000000,
    RARE = 10000, /* one of so many is looked for */
    ROUNDS = 1,   /* jq takes its time, and the goal is far away */
    QUICK_ROUNDS = 11,
    ROUND_MS = 1,
    FILE_BLOCK_BYTES = 1 << 20,
};

#define START_MS INT64_C(1772366400123)

static const double jq_goal = 20;
static const double query_goal_ms = 500;
static const double newest_goal_ms = 20;
static const double moment_goal_ms =
    100; /* with the minutes around it, in which lines may be late */
static const double peak_goal_mb = 8;

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "bench_audit: %s\n", what);
    exit(1);
}

/* ---- the record ---- */

static void write_out(int fd, struct buf *text)
{
    struct str rest = buf_view(text);

    while (rest.len > 0) {
        ssize_t written = write(fd, rest.ptr, rest.len);

        if (written < 0)
            die("cannot write");
        rest = str_slice(rest, (size_t)written, rest.len);
    }
    buf_clear(text);
}

/* An agent that mostly reads, writes now and then, and once in a while does what is looked for. */
static void make_record(const char *path)
{
    static const char *const tools[] = {"read_file", "list_files", "write_file", "search_files"};
    static const enum authority_operation operations[] = {AUTHORITY_OP_READ, AUTHORITY_OP_LIST,
                                                          AUTHORITY_OP_WRITE, AUTHORITY_OP_SEARCH};
    const struct authority_subject subject = {
        .type = AUTHORITY_AGENT_RUN, .id = "conversation-4711", .run_id = "run-0815"};
    const struct authority_root root = {.kind = AUTHORITY_WORKSPACE, .id = "folder"};
    cleanup_buf struct buf text = BUF_INIT(2 * FILE_BLOCK_BYTES);
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        die("cannot make the record");
    for (unsigned i = 0; i < RECORDS; i++) {
        bool is_rare = i % RARE == RARE / 2;
        const struct authority_call call = {.tool =
                                                is_rare ? "delete" : tools[i % array_size(tools)],
                                            .decision = i % 7 == 0 ? "allow-rule" : "mode",
                                            .id = i + 1};
        char name[64];
        struct authority_event event = {
            .wall_ms = START_MS + (int64_t)i * 50,
            .request_id = i + 1,
            .subject = &subject,
            .root = &root,
            .operation = is_rare ? AUTHORITY_OP_REMOVE : operations[i % array_size(operations)],
            .outcome = AUTHORITY_SUCCESS,
            .call = &call,
            .policy_source = "default",
            .reason = "the user lets an MCP client use this folder",
        };

        snprintf(name, sizeof(name), "src/module%u/part%u.c", i % 97, i);
        event.name = str_from(name);
        if (audit_format(&event, &text) < 0 || buf_append_char(&text, '\n') < 0)
            die("no memory");
        if (text.len > FILE_BLOCK_BYTES)
            write_out(fd, &text);
    }
    write_out(fd, &text);
}

/* ---- the two ---- */

static void run(void *context)
{
    program_run(context);
}

static size_t count_lines(struct str text)
{
    size_t lines = 0;

    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    return lines;
}

static void beside_jq(const char *what, struct program_run *ours, const char *filter,
                      const char *file, size_t wanted)
{
    struct program_run jq = {.arguments = {"jq", "-c", filter, file},
                             .answer = BUF_INIT(PROGRAM_RUN_ANSWER_BYTES)};
    struct bench_contender contenders[] = {{.name = "audit", .run = run, .context = ours},
                                           {.name = "jq", .run = run, .context = &jq}};

    bench_compare(contenders, array_size(contenders), ROUNDS, ROUND_MS);
    if (count_lines(buf_view(&ours->answer)) != wanted ||
        !str_eq(buf_view(&ours->answer), buf_view(&jq.answer)))
        die("they do not print the same");
    printf("%s: audit %.0f ms, jq %.0f ms; they hold %.1f and %.1f MB\n", what,
           contenders[0].middle_ns / 1e6, contenders[1].middle_ns / 1e6,
           (double)ours->peak_kb / 1024, (double)jq.peak_kb / 1024);
    bench_goal_at_least(what, bench_ratio(&contenders[1], &contenders[0]), jq_goal);
    bench_goal_at_most_of(what, contenders[0].middle_ns / 1e6, query_goal_ms, "ms");
    buf_done(&jq.answer);
}

static void alone(const char *what, struct program_run *ours, size_t wanted, double goal_ms)
{
    struct bench_contender contender = {.name = "audit", .run = run, .context = ours};

    bench_compare(&contender, 1, QUICK_ROUNDS, ROUND_MS);
    if (count_lines(buf_view(&ours->answer)) != wanted)
        die("a query found something else");
    bench_goal_at_most_of(what, contender.middle_ns / 1e6, goal_ms, "ms");
}

int main(int argc, char **argv)
{
    char state[PATH_MAX];
    char file[PATH_MAX];
    cpu_set_t core;
    struct stat about;
    long peak_kb = 0;

    if (argc != 3)
        die("usage: bench_audit DIRECTORY GATEHOUSE-AUDIT");
    snprintf(state, sizeof(state), "%s/audit-state", argv[1]);
    if (snprintf(file, sizeof(file), "%s/audit.jsonl", state) >= (int)sizeof(file))
        die("the directory's name is too long");
    if (mkdir(state, 0700) < 0 && errno != EEXIST)
        die("cannot make the directory");
    make_record(file);
    if (stat(file, &about) < 0)
        die("the record is gone");
    printf("%u records, %.0f MB\n", (unsigned)RECORDS, (double)about.st_size / 1e6);
    CPU_ZERO(&core);
    CPU_SET((size_t)sched_getcpu(), &core);
    sched_setaffinity(0, sizeof(core), &core);

    struct program_run jobs[] = {
        {.arguments = {argv[2], "--state-dir", state, "--json", "--limit", "0", "--tool",
                       "delete"}},
        {.arguments = {argv[2], "--state-dir", state, "--json", "--limit", "0", "--path",
                       "src/module13/part500048.c"}},
        {.arguments = {argv[2], "--state-dir", state}},
        {.arguments = {argv[2], "--state-dir", state, "--since", "2026-03-01T20:00:00.123Z",
                       "--until", "2026-03-01T20:00:10.123Z"}},
    };

    for (size_t i = 0; i < array_size(jobs); i++)
        buf_init(&jobs[i].answer, PROGRAM_RUN_ANSWER_BYTES);
    beside_jq("a tool that was called 100 times in a million", &jobs[0],
              "select(.tool==\"delete\")", file, RECORDS / RARE);
    alone("one name in a million", &jobs[1], 1, query_goal_ms);
    alone("the newest 200 of a million", &jobs[2], 200, newest_goal_ms);
    alone("ten seconds of a million records", &jobs[3], 200, moment_goal_ms);
    for (size_t i = 0; i < array_size(jobs); i++) {
        peak_kb = jobs[i].peak_kb > peak_kb ? jobs[i].peak_kb : peak_kb;
        buf_done(&jobs[i].answer);
    }
    bench_goal_at_most_of("its memory at the most", (double)peak_kb / 1024, peak_goal_mb, "MB");
    unlink(file);
    rmdir(state);
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the matcher of src/search with ripgrep with one thread: both read the same file from
 * memory and must count the same lines. ripgrep's start-up time is measured with an empty file and
 * subtracted. Argument: a directory in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "bench.h"
#include "search/matcher.h"
#include "searches.h"
#include "source_text.h"

enum {
    TEXT_BYTES = 100 << 20,
    LINE_MAX_BYTES = SOURCE_TEXT_LINE_BYTES,
    READ_BYTES = 128 << 10,
    SMALL_FILE_BYTES = 10 << 10,
    ROUNDS = 5,
    ROUND_MS = 1,
};

extern char **environ;

static char text_path[4096], empty_path[4096];
static struct buf text = BUF_INIT(TEXT_BYTES + LINE_MAX_BYTES);

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "bench_search_pattern: %s\n", what);
    exit(1);
}

static void make_text(void)
{
    struct source_text source = SOURCE_TEXT_INIT;
    cleanup_fd int fd = -1;
    size_t written = 0;

    while (text.len < TEXT_BYTES)
        source_text_append_line(&source, &text);
    fd = open(text_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    while (fd >= 0 && written < text.len) {
        ssize_t count = write(fd, text.data + written, text.len - written);

        if (count <= 0)
            die("no room for the text");
        written += (size_t)count;
    }
    if (fd < 0)
        die("the text cannot be written there");
    close(open(empty_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

/* ---- the two ---- */

struct job {
    const struct search *search;
    const char *path;
    struct matcher *matcher;
    char *memory;
    size_t lines;
};

/* Blocks of whole lines, the rest of the last carried to the next. */
static void run_gatehouse(void *context)
{
    struct job *job = context;
    cleanup_fd int fd = open(job->path, O_RDONLY | O_CLOEXEC);
    size_t held = 0;

    job->lines = 0;
    for (;;) {
        ssize_t count = read(fd, job->memory + held, READ_BYTES);
        const char *newline;
        size_t whole, lines;

        if (count < 0)
            die("the text cannot be read");
        held += (size_t)count;
        newline = count > 0 ? memrchr(job->memory, '\n', held) : NULL;
        whole = newline != NULL ? (size_t)(newline - job->memory) + 1 : held;
        if (matcher_count(job->matcher, (struct str){job->memory, whole}, &lines) < 0)
            die("the matcher failed");
        job->lines += lines;
        if (count == 0)
            return;
        memmove(job->memory, job->memory + whole, held - whole);
        held -= whole;
    }
}

static char *mutable(const char *word_of_argv)
{
    /* SAFETY: posix_spawn does not change its arguments, whatever its type says. */
    return (char *)(uintptr_t)word_of_argv;
}

static void run_ripgrep(void *context)
{
    struct job *job = context;
    char *const argv[] = {mutable("rg"),
                          mutable("--no-config"),
                          mutable("-c"),
                          mutable("--no-mmap"),
                          mutable("-j1"),
                          mutable(job->search->is_literal ? "-F" : "--no-fixed-strings"),
                          mutable(job->search->ignores_case ? "-i" : "-s"),
                          mutable("-e"),
                          mutable(job->search->pattern),
                          mutable(job->path),
                          NULL};
    posix_spawn_file_actions_t actions;
    char answer[64] = "";
    int pipe_fds[2];
    int status;
    pid_t pid;
    ssize_t len;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        die("no pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
    if (posix_spawnp(&pid, "rg", &actions, NULL, argv, environ) != 0)
        die("rg did not start");
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    len = read(pipe_fds[0], answer, sizeof(answer) - 1);
    close(pipe_fds[0]);
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
        die("rg failed");
    job->lines = len > 0 ? (size_t)strtoul(answer, NULL, 10) : 0;
}

static struct pattern *compile(const struct search *search)
{
    struct pattern_options options = {.is_regex = !search->is_literal,
                                      .ignores_case = search->ignores_case};
    struct pattern *pattern = NULL;

    if (pattern_compile(str_from(search->pattern), &options, &pattern, NULL) < 0)
        die("a pattern does not compile");
    return pattern;
}

static void compare(const struct search *search)
{
    cleanup_pattern struct pattern *pattern = compile(search);
    cleanup_matcher struct matcher *matcher = NULL;
    cleanup_free char *memory = malloc(READ_BYTES + LINE_MAX_BYTES);
    struct job jobs[3] = {{search, text_path, NULL, memory, 0},
                          {search, text_path, NULL, NULL, 0},
                          {search, empty_path, NULL, NULL, 0}};
    struct bench_contender contenders[3] = {
        {.name = "gatehouse", .run = run_gatehouse, .context = &jobs[0]},
        {.name = "rg", .run = run_ripgrep, .context = &jobs[1]},
        {.name = "rg, empty", .run = run_ripgrep, .context = &jobs[2]}};
    double rg_ns;
    char what[96];

    if (memory == NULL || matcher_new(pattern, NULL, &matcher) < 0)
        die("no memory");
    jobs[0].matcher = matcher;
    bench_compare(contenders, 3, ROUNDS, ROUND_MS);
    if (jobs[0].lines != jobs[1].lines) {
        fprintf(stderr, "%s: %zu lines, rg %zu\n", search->pattern, jobs[0].lines, jobs[1].lines);
        die("the counts differ");
    }
    rg_ns = contenders[1].middle_ns - contenders[2].middle_ns;
    printf("/%s/ in %d MB: %zu lines, %.1f ms, rg %.1f ms\n", search->pattern, TEXT_BYTES >> 20,
           jobs[0].lines, contenders[0].middle_ns / 1e6, rg_ns / 1e6);
    snprintf(what, sizeof(what), "%s: beside rg", search->what);
    bench_goal_at_most(what, contenders[0].middle_ns / rg_ns, search->goal);
}

/* ---- many small texts ---- */

struct pieces {
    struct matcher *matcher;
    size_t bytes;
};

static void run_pieces(void *context)
{
    const struct pieces *pieces = context;
    size_t lines;

    for (size_t at = 0; at < text.len; at += pieces->bytes) {
        size_t left = text.len - at;
        struct str piece = {text.data + at, left < pieces->bytes ? left : pieces->bytes};

        if (matcher_count(pieces->matcher, piece, &lines) < 0)
            die("the matcher failed");
    }
}

static void compare_pieces(const struct search *search)
{
    cleanup_pattern struct pattern *pattern = compile(search);
    cleanup_matcher struct matcher *matcher = NULL;
    struct pieces large, small;
    struct bench_contender contenders[2] = {
        {.name = "128 KB", .run = run_pieces, .context = &large},
        {.name = "10 KB", .run = run_pieces, .context = &small}};
    char what[96];

    if (matcher_new(pattern, NULL, &matcher) < 0)
        die("no memory");
    large = (struct pieces){matcher, READ_BYTES};
    small = (struct pieces){matcher, SMALL_FILE_BYTES};
    bench_compare(contenders, 2, ROUNDS, ROUND_MS);
    snprintf(what, sizeof(what), "%s: texts of 10 KB beside 128 KB", search->what);
    bench_goal_at_most(what, bench_ratio(&contenders[1], &contenders[0]), 1.1);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    snprintf(text_path, sizeof(text_path), "%s/text", argv[1]);
    snprintf(empty_path, sizeof(empty_path), "%s/empty", argv[1]);
    make_text();
    for (size_t i = 0; i < search_count; i++)
        compare(&searches[i]);
    for (size_t i = 0; i < search_count; i++)
        if (i % 3 == 0)
            compare_pieces(&searches[i]);
    unlink(text_path);
    unlink(empty_path);
    buf_done(&text);
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}

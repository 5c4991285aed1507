/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse search` beside ripgrep: two threads each, whole processes from exec to
 * exit, turn by turn over the same tree, and they must count the same. Ours opens
 * its folder, confines itself and writes its record, as it always does. Arguments: a
 * directory to work in, and gatehouse-search.
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "bench.h"
#include "program_run.h"
#include "searches.h"
#include "source_tree.h"

enum {
    ROUNDS = 11,
    ROUND_MS = 1,
    NOTHING_FOUND = 1, /* as a status */
};

static const double peak_goal_mb = 32;

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "bench_search: %s\n", what);
    exit(1);
}

/* ---- the two ---- */

struct job {
    struct program_run program;
    uint64_t (*count)(struct str answer);
    uint64_t counted;
};

static void run(void *context)
{
    struct job *job = context;

    program_run(&job->program);
    job->counted = job->count(buf_view(&job->program.answer));
}

/* "path:12" of each file. */
static uint64_t sum_of_counts(struct str answer)
{
    uint64_t sum = 0;
    struct str line;

    while (str_cut(&answer, '\n', &line)) {
        const char *colon = line.len > 0 ? memrchr(line.ptr, ':', line.len) : NULL;
        int64_t number = 0;

        if (colon != NULL &&
            str_to_int64((struct str){colon + 1, line.len - (size_t)(colon + 1 - line.ptr)},
                         &number))
            sum += (uint64_t)number;
    }
    return sum;
}

static uint64_t count_of_lines(struct str answer)
{
    uint64_t lines = 0;

    for (size_t i = 0; i < answer.len; i++)
        lines += answer.ptr[i] == '\n';
    return lines;
}

/* Of the summary. */
static uint64_t total_matches(struct str answer)
{
    struct str key = STR("\"totalMatches\":");
    size_t at = str_find(answer, key);
    uint64_t number = 0;

    if (at == SIZE_MAX)
        die("gatehouse search says no number");
    for (at += key.len; at < answer.len && answer.ptr[at] >= '0' && answer.ptr[at] <= '9'; at++)
        number = number * 10 + (uint64_t)(answer.ptr[at] - '0');
    return number;
}

static uint64_t one_number(struct str answer)
{
    struct str line;
    int64_t number = 0;

    if (!str_cut(&answer, '\n', &line) || !str_to_int64(line, &number))
        die("gatehouse search says no number");
    return (uint64_t)number;
}

static void compare(const char *what, const char *pattern, struct job jobs[2], double goal)
{
    struct bench_contender contenders[2] = {
        {.name = "gatehouse", .run = run, .context = &jobs[0]},
        {.name = "rg", .run = run, .context = &jobs[1]},
    };
    char label[96];

    for (size_t i = 0; i < 2; i++) {
        jobs[i].program.worst_status = NOTHING_FOUND;
        buf_init(&jobs[i].program.answer, PROGRAM_RUN_ANSWER_BYTES);
    }
    bench_compare(contenders, 2, ROUNDS, ROUND_MS);
    if (jobs[0].counted != jobs[1].counted) {
        fprintf(stderr, "%s: %ju, rg %ju\n", pattern, (uintmax_t)jobs[0].counted,
                (uintmax_t)jobs[1].counted);
        die("the counts differ");
    }
    printf("/%s/: %ju, %.0f ms, rg %.0f ms; at most %.1f MB, rg %.1f MB\n", pattern,
           (uintmax_t)jobs[0].counted, contenders[0].middle_ns / 1e6, contenders[1].middle_ns / 1e6,
           (double)jobs[0].program.peak_kb / 1024, (double)jobs[1].program.peak_kb / 1024);
    snprintf(label, sizeof(label), "%s: beside rg", what);
    bench_goal_at_most(label, bench_ratio(&contenders[0], &contenders[1]), goal);
    for (size_t i = 0; i < 2; i++)
        buf_done(&jobs[i].program.answer);
}

/* The largest peak of ours. */
static double compare_contents(const char *ours, const char *state, const char *tree)
{
    double peak_mb = 0;

    for (size_t i = 0; i < search_count; i++) {
        const struct search *search = &searches[i];
        const char *letters = search->ignores_case ? "-i" : "--no-ignore-case";
        struct job jobs[2] = {
            {.program.arguments = {ours, "-c", "--threads=2", "--json", "--state-dir", state,
                                   letters, search->is_literal ? "--literal" : "--no-literal", "--",
                                   search->pattern, tree},
             .count = total_matches},
            {.program.arguments = {"rg", "--no-config", "-c", "-j2",
                                   search->ignores_case ? "-i" : "-s",
                                   search->is_literal ? "-F" : "--no-fixed-strings", "-e",
                                   search->pattern, tree},
             .count = sum_of_counts},
        };

        if (!search->is_for_trees)
            continue;
        compare(search->what, search->pattern, jobs, search->goal);
        if ((double)jobs[0].program.peak_kb / 1024 > peak_mb)
            peak_mb = (double)jobs[0].program.peak_kb / 1024;
    }
    return peak_mb;
}

static void compare_names(const char *ours, const char *state, const char *tree)
{
    struct job jobs[2] = {
        {.program.arguments = {ours, "--files", "-c", "--threads=2", "--no-json", "--state-dir",
                               state, "*.c", tree},
         .count = one_number},
        {.program.arguments = {"rg", "--no-config", "--files", "-j2", "-g", "*.c", tree},
         .count = count_of_lines},
    };

    compare("names of 100,000 files", "*.c", jobs, 1.1);
}

int main(int argc, char **argv)
{
    char tree[PATH_MAX], names[PATH_MAX], state[PATH_MAX];
    double peak_mb;

    if (argc != 3)
        return 2;
    snprintf(tree, sizeof(tree), "%s/tree", argv[1]);
    snprintf(names, sizeof(names), "%s/names", argv[1]);
    snprintf(state, sizeof(state), "%s/state", argv[1]);
    if (mkdir(state, 0700) < 0 && errno != EEXIST)
        die("the directory cannot be written to");
    source_tree_make(tree);
    peak_mb = compare_contents(argv[2], state, tree);
    source_tree_remove(tree);
    source_tree_make_names(names);
    compare_names(argv[2], state, names);
    source_tree_remove(names);
    source_tree_remove(state);
    bench_goal_at_most("most memory, beside 32 MB", peak_mb / peak_goal_mb, 1);
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}

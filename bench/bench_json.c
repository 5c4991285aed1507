/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/json beside Debian's jansson, cJSON and json-c, on what travels most:
 * a file's content as one large string, and a tree of 10,000 entries. Each
 * library reads the same text into its own form and writes that form back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "bench.h"
#include "json_peer.h"

enum {
    TREE_ENTRIES = 10000,
    LARGE_STRING_BYTES = 1 << 20,
    SAMPLE_MAX_BYTES = 64 << 20,
    ROUNDS = 12,
    ROUND_MS = 25,
};

static const struct json_peer *const peers[] = {&peer_gatehouse, &peer_jansson, &peer_cjson,
                                                &peer_jsonc};
enum { PEERS = array_size(peers), GATEHOUSE = 0, JANSSON = 1 };

struct task {
    const struct json_peer *peer;
    struct str text;
    void *document;
};

static void must(bool is_true, const char *peer, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "bench_json: %s %s\n", peer, what);
    exit(1);
}

/* Lines of source-like text: mostly plain, an escape now and then. */
static void make_large_string(struct buf *text)
{
    static const char line[] = "    if (value->size == other->size && text[i] != \\\"x\\\")\\n"
                               "        return compare(value, other); /* the usual case */\\n";

    buf_printf(text, "{\"path\":\"src/main.c\",\"content\":\"");
    while (text->len < LARGE_STRING_BYTES)
        buf_append(text, line, sizeof(line) - 1);
    buf_printf(text, "\",\"truncated\":false,\"totalLines\":18000}");
}

static void make_tree(struct buf *text)
{
    buf_append_char(text, '[');
    for (int i = 0; i < TREE_ENTRIES; i++)
        buf_printf(text,
                   "%s{\"path\":\"packages/core/src/module-%d/file-%d.ts\",\"type\":\"%s\","
                   "\"sizeBytes\":%d}",
                   i > 0 ? "," : "", i / 40, i, i % 40 == 0 ? "directory" : "file", i * 37 % 65536);
    buf_append_char(text, ']');
}

static void run_parse(void *context)
{
    const struct task *task = context;

    must(task->peer->parse(task->text.ptr, task->text.len), task->peer->name, "refused the sample");
}

/* Compact output of compact input has its length, or the speeds compare different work. */
static void run_write(void *context)
{
    const struct task *task = context;

    must(task->peer->write(task->document) == task->text.len, task->peer->name,
         "wrote something else than it read");
}

static void compare(const char *verb, const char *what, void (*run)(void *), struct task *tasks)
{
    struct bench_contender contenders[PEERS];
    char goal[128];

    for (size_t i = 0; i < PEERS; i++)
        contenders[i] =
            (struct bench_contender){.name = peers[i]->name, .run = run, .context = &tasks[i]};
    bench_compare(contenders, PEERS, ROUNDS, ROUND_MS);
    printf("%s, %s (%zu bytes)\n", verb, what, tasks[0].text.len);
    for (size_t i = 0; i < PEERS; i++)
        printf("  %-10s %9.1f us  %7.0f MB/s  %6.2f x\n", contenders[i].name,
               contenders[i].middle_ns / 1e3,
               (double)tasks[0].text.len / contenders[i].middle_ns * 1e3,
               bench_ratio(&contenders[i], &contenders[GATEHOUSE]));
    snprintf(goal, sizeof(goal), "%s, %s: jansson takes", verb, what);
    bench_goal_at_least(goal, bench_ratio(&contenders[JANSSON], &contenders[GATEHOUSE]), 10);
}

static void compare_on(const char *what, struct str text)
{
    struct task tasks[PEERS];

    for (size_t i = 0; i < PEERS; i++) {
        tasks[i] = (struct task){peers[i], text, peers[i]->load(text.ptr, text.len)};
        must(tasks[i].document != NULL, peers[i]->name, "refused the sample");
    }
    compare("parse", what, run_parse, tasks);
    compare("write", what, run_write, tasks);
    for (size_t i = 0; i < PEERS; i++)
        peers[i]->unload(tasks[i].document);
}

int main(void)
{
    cleanup_buf struct buf large = BUF_INIT(SAMPLE_MAX_BYTES);
    cleanup_buf struct buf tree = BUF_INIT(SAMPLE_MAX_BYTES);

    make_large_string(&large);
    compare_on("one large string", buf_view(&large));
    make_tree(&tree);
    compare_on("tree of 10,000 entries", buf_view(&tree));
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}

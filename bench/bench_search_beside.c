/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a read takes in `gatehouse mcp` while it searches a whole tree with all
 * cores: idle and busy take turns. Arguments: a directory to work in, and
 * gatehouse-mcp.
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "mcp_peer.h"
#include "source_tree.h"

enum {
    TURNS = 12,
    READS = 3000, /* in each turn, if the search takes as long */
    LINE_MAX_BYTES = 1 << 20,
    READ_BYTES = 64 << 10,
    SEARCH_ID = 1 << 30,
};

static const double goal_ms = 1;

struct times {
    double ns[TURNS * READS];
    size_t count;
};

/* Answers come in any order here. */
struct beside {
    struct mcp_peer peer;
    struct buf lines;
    long next_id;
    bool is_searching;
};

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "bench_search_beside: %s\n", what);
    exit(1);
}

static void ask(struct beside *beside, const char *tool, const char *arguments, long id)
{
    char request[512];
    int len = snprintf(request, sizeof(request),
                       "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\",\"params\":{"
                       "\"name\":\"%s\",\"arguments\":{%s}}}\n",
                       id, tool, arguments);

    if (write(beside->peer.to_fd, request, (size_t)len) != len)
        die("it does not read");
}

static long id_of(struct str line)
{
    size_t at = str_find(line, STR("\"id\":"));

    if (at == SIZE_MAX || str_find(line, STR("\"isError\":true")) != SIZE_MAX ||
        str_find(line, STR("\"error\":")) != SIZE_MAX)
        die("it refused");
    return strtol(line.ptr + at + 5, NULL, 10);
}

/* Whatever comes until the answer to this has. */
static void wait_for(struct beside *beside, long id)
{
    for (;;) {
        const char *newline =
            beside->lines.len > 0 ? memchr(beside->lines.data, '\n', beside->lines.len) : NULL;
        ssize_t got;

        if (newline != NULL) {
            size_t len = (size_t)(newline - beside->lines.data) + 1;
            long answered = id_of((struct str){beside->lines.data, len});

            buf_drop_front(&beside->lines, len);
            if (answered == SEARCH_ID)
                beside->is_searching = false;
            if (answered == id)
                return;
            continue;
        }
        if (buf_reserve(&beside->lines, READ_BYTES) < 0)
            die("its answers have no end");
        got = read(beside->peer.from_fd, beside->lines.data + beside->lines.len, READ_BYTES);
        if (got <= 0)
            die("it ended");
        beside->lines.len += (size_t)got;
    }
}

static void read_often(struct beside *beside, bool is_busy, struct times *times)
{
    for (int i = 0; i < READS && (!is_busy || beside->is_searching); i++) {
        double start = mcp_peer_now_ns();

        ask(beside, "read_file", "\"filePath\":\"" SOURCE_TREE_FILE "\"", ++beside->next_id);
        wait_for(beside, beside->next_id);
        times->ns[times->count++] = mcp_peer_now_ns() - start;
    }
}

static void read_while_searching(struct beside *beside, struct times *times)
{
    beside->is_searching = true;
    ask(beside, "search_files", "\"pattern\":\"\\\\w{25,}\"", SEARCH_ID);
    read_often(beside, true, times);
    if (beside->is_searching)
        wait_for(beside, SEARCH_ID);
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static double percentile_ms(struct times *times, size_t percent)
{
    qsort(times->ns, times->count, sizeof(times->ns[0]), by_value);
    return times->ns[(times->count - 1) * percent / 100] / 1e6;
}

static void measure(struct beside *beside)
{
    static struct times idle, busy, unused;
    double extra_ms;

    read_often(beside, false, &unused);
    for (int turn = 0; turn < TURNS; turn++) {
        read_often(beside, false, &idle);
        read_while_searching(beside, &busy);
    }
    printf("%zu reads beside no search: middle %.3f ms, 99 of 100 within %.3f, all %.3f\n",
           idle.count, percentile_ms(&idle, 50), percentile_ms(&idle, 99),
           percentile_ms(&idle, 100));
    printf("%zu reads beside a search: middle %.3f ms, 99 of 100 within %.3f, all %.3f\n",
           busy.count, percentile_ms(&busy, 50), percentile_ms(&busy, 99),
           percentile_ms(&busy, 100));
    extra_ms = percentile_ms(&busy, 99) - percentile_ms(&idle, 99);
    bench_goal_at_most("99 of 100 reads beside a search, above idle, beside 1 ms",
                       extra_ms / goal_ms, 1);
}

int main(int argc, char **argv)
{
    static struct beside beside;
    char tree[PATH_MAX], state[PATH_MAX];

    if (argc != 3)
        return 2;
    snprintf(tree, sizeof(tree), "%s/tree", argv[1]);
    snprintf(state, sizeof(state), "%s/state", argv[1]);
    if (mkdir(state, 0700) < 0 && errno != EEXIST)
        die("the directory cannot be written to");
    source_tree_make(tree);
    mcp_peer_start(&beside.peer, "gatehouse mcp",
                   (char *[]){argv[2], (char[]){"--state-dir"}, state, tree, NULL});
    buf_init(&beside.lines, LINE_MAX_BYTES);
    measure(&beside);
    mcp_peer_end(&beside.peer);
    buf_done(&beside.lines);
    source_tree_remove(tree);
    source_tree_remove(state);
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}

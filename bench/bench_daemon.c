/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares `gatehouse connect` with n8n's daemon, both connected to our servers in this process:
 *
 *     bench_daemon PLACE CERTIFICATES GATEHOUSE INSTALLED [NODE CLI.js NODE_MODULES]
 *
 * PLACE is an empty directory, in memory if possible: the disk is the same for both.
 * CERTIFICATES has server.pem and server.key, and in trusted/ the authority by its hash. INSTALLED
 * and NODE_MODULES are measured for their size on disk. Both daemons run with their defaults,
 * except where a line says otherwise, and take turns, so that a busy moment of the machine affects
 * both. They run on one core with us and on any core, and the better result of each counts. Both
 * must give the same answers.
 */
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "daemon_pair.h"
#include "ordinary_user.h"
#include "source_tree.h"

enum {
    SMALL_BYTES = 10 << 10,
    LARGE_BYTES = 1 << 20, /* the most that the other one reads */
    LINE_BYTES = 64,
    AT_ONCE = 16,
    STARTS = 15,
    OTHER_STARTS = 7,
    WARM_UP = 400, /* so that the other's compiler has seen enough */
    LARGE_WARM_UP = 10,
    TURNS = 20,
    CALLS = 40, /* in a turn, in each place */
    MANY_CALLS = 160,
    LARGE_CALLS = 3,
    SETTLE_SECONDS = 3,
    SEARCHES = 7,
    OTHER_SEARCHES = 3,
    READS_BESIDE = 600,
    OTHER_READS_BESIDE = 20,
    BESIDE_PLACE = 1, /* of the search, among the calls */
    PEM_BYTES = 16 << 10,
    OPEN_DIRECTORIES = 32,
    STAT_BLOCK_BYTES = 512,
    OPEN_FILES = 12500, /* more than the tree has */
};

/* How many times as much the other one takes. */
static const double start_goal = 20;
static const double memory_goal = 8;
static const double disk_goal = BENCH_BY_ARCH(40, 34);
static const double read_goal = 5;
static const double many_goal = 4;
static const double large_goal = 2.5;
static const double cpu_goal = 10;
static const double search_goal = 20;
/* Of ours alone. */
static const double tls_start_goal_ms = 25;
static const double beside_goal_ms = 20;

#define NEEDLE "needle-in-the-tree"
#define SEARCH "{\"name\":\"**/*\",\"query\":\"" NEEDLE "\"}"

static struct loop *loop;
static char place[PATH_MAX];

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "bench_daemon: %s\n", what);
    exit(1);
}

/* ---- numbers ---- */

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static double percentile(double *values, size_t count, size_t percent)
{
    qsort(values, count, sizeof(*values), by_value);
    return values[(count - 1) * percent / 100];
}

static double median(double *values, size_t count)
{
    return percentile(values, count, 50);
}

/* ---- files ---- */

static void write_whole(const char *name, struct str content)
{
    FILE *file = fopen(name, "we");

    if (file == NULL || fwrite(content.ptr, 1, content.len, file) != content.len ||
        fclose(file) != 0)
        die("the files cannot be made");
}

static void make_directory(const char *name)
{
    if (mkdir(name, 0755) < 0)
        die("the directories cannot be made");
}

/* Lines of letters, with something to escape on each. */
static void make_text(const char *name, size_t size)
{
    cleanup_buf struct buf text = BUF_INIT(LARGE_BYTES);
    int r = 0;

    for (size_t i = 0; i < size && r == 0; i++)
        r = buf_append_char(&text, i % LINE_BYTES == LINE_BYTES - 1 ? '\n'
                                   : i % LINE_BYTES == 7            ? '"'
                                                                    : (char)('a' + i % 23));
    if (r < 0)
        die("no memory");
    write_whole(name, buf_view(&text));
}

/* From the place on, which is the current directory. */
static void make_files(void)
{
    make_directory("root");
    make_text("root/small.txt", SMALL_BYTES);
    make_text("root/large.txt", LARGE_BYTES);
    make_directory("ours");
    make_directory("theirs");
    source_tree_make_coarse("tree");
    write_whole("tree/part07/module0210/last.txt", STR("one " NEEDLE "\n\nand " NEEDLE ".\n"));
    write_whole("tree/part39/module1199/last.txt", STR("the " NEEDLE "\n"));
}

static double tree_bytes;

static int add_size(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)path;
    (void)at;
    if (type != FTW_NS)
        tree_bytes += (double)status->st_blocks * STAT_BLOCK_BYTES;
    return 0;
}

/* As du counts. */
static double disk_bytes(const char *path)
{
    tree_bytes = 0;
    if (nftw(path, add_size, OPEN_DIRECTORIES, FTW_PHYS) != 0)
        die("what is installed cannot be looked at");
    return tree_bytes;
}

/* The other one opens all files of a search at once, and finds nothing in those that it may not. */
static bool may_open_all(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= OPEN_FILES;
}

static char *absolute(const char *name)
{
    char *path = realpath(name, NULL);

    if (path == NULL)
        die("a program or the place is missing");
    return path;
}

static struct tls_context *tls;

/* ---- on a disk ---- */

static void compare_disk(void)
{
    double ours = disk_bytes(daemon_sides[OURS].installed);
    double theirs = daemon_pair_has(THEIRS) ? disk_bytes(daemon_sides[THEIRS].installed) : 0;

    printf("installed: ours %.1f MB", ours / 1e6);
    if (!daemon_pair_has(THEIRS)) {
        printf("\n");
        return;
    }
    printf(", theirs %.1f MB without Node itself\n", theirs / 1e6);
    bench_goal_at_least("what is installed for the daemon", theirs / ours, disk_goal);
}

/* ---- starting ---- */

static double start_once(struct daemon_peer *peer)
{
    double took = daemon_peer_start(peer);

    daemon_peer_stop(peer);
    return took / 1e6;
}

static void compare_starts(struct tls_context *context)
{
    static struct daemon_pair pair;
    double ours[STARTS];
    double theirs[STARTS];
    size_t other_starts = 0;

    daemon_pair_open(&pair, "root", false, context);
    for (size_t i = 0; i < STARTS; i++) {
        ours[i] = start_once(&pair.of[OURS]);
        if (daemon_pair_has(THEIRS) && other_starts < OTHER_STARTS)
            theirs[other_starts++] = start_once(&pair.of[THEIRS]);
    }
    daemon_pair_close(&pair);
    printf("start to connected%s: ours %.1f ms", context != NULL ? " over TLS" : "",
           median(ours, STARTS));
    if (daemon_pair_has(THEIRS))
        printf(", theirs %.0f ms", median(theirs, other_starts));
    printf("\n");
    if (context != NULL)
        bench_goal_at_most_of("start to connected over TLS", median(ours, STARTS),
                              tls_start_goal_ms, "ms");
    else if (daemon_pair_has(THEIRS))
        bench_goal_at_least("start to connected",
                            median(theirs, other_starts) / median(ours, STARTS), start_goal);
}

/* ---- reading ---- */

struct task {
    const char *what;
    const char *arguments;
    size_t at_once;
    size_t calls; /* in a turn */
    size_t warm_up;
    double goal;
    bool has_cpu_goal;
};

/* Of one daemon, in microseconds. */
struct result {
    double values[PLACES][TURNS * CALLS];
    size_t count[PLACES];
    double medians[PLACES];
    double cpu;
};

static void take_turn(struct daemon_peer *peer, const struct task *task, struct result *result,
                      int where)
{
    double *values = result->values[where];
    size_t *count = &result->count[where];

    daemon_pair_go_to(peer, where);
    if (task->at_once > 1) {
        values[(*count)++] =
            daemon_peer_ask_often(peer, "read_file", task->arguments, task->calls, task->at_once) /
            1e3 / (double)task->calls;
        return;
    }
    for (size_t i = 0; i < task->calls; i++)
        values[(*count)++] = daemon_peer_ask(peer, "read_file", task->arguments) / 1e3;
}

static void tell_result(const char *name, const struct result *result)
{
    printf("%s %.0f us on one core, %.0f on any, %.0f of CPU", name, result->medians[NEAR],
           result->medians[FREE], result->cpu);
}

static void check_same_text(struct daemon_pair *pair)
{
    struct str ours = STR_EMPTY;
    struct str theirs = STR_EMPTY;

    if (!json_get_str(daemon_peer_content(&pair->of[OURS]), STR("content"), &ours) || ours.len == 0)
        die("our read has no content");
    if (daemon_pair_has(THEIRS) &&
        (!json_get_str(daemon_peer_content(&pair->of[THEIRS]), STR("content"), &theirs) ||
         !str_eq(ours, theirs)))
        die("the texts differ");
}

static void compare_reads(const struct task *task, struct daemon_pair *pair)
{
    static struct result results[SIDES];

    memset(results, 0, sizeof(results));
    for (int side = OURS; side < SIDES; side++) {
        if (!daemon_pair_has(side))
            continue;
        daemon_peer_ask_often(&pair->of[side], "read_file", task->arguments, task->warm_up,
                              task->at_once);
        results[side].cpu = -daemon_peer_cpu_ns(&pair->of[side]);
    }
    for (int turn = 0; turn < TURNS; turn++)
        for (int where = NEAR; where < PLACES; where++)
            for (int side = OURS; side < SIDES; side++)
                if (daemon_pair_has(side))
                    take_turn(&pair->of[side], task, &results[side], where);
    for (int side = OURS; side < SIDES; side++) {
        struct result *result = &results[side];

        if (!daemon_pair_has(side))
            continue;
        /* What was left for later is in it. */
        result->cpu += daemon_peer_cpu_ns(&pair->of[side]);
        result->cpu /= 1e3 * (double)(PLACES * TURNS * task->calls);
        for (int where = NEAR; where < PLACES; where++)
            result->medians[where] = median(result->values[where], result->count[where]);
        daemon_pair_go_to(&pair->of[side], FREE);
    }
    check_same_text(pair);
    printf("%s: ", task->what);
    tell_result("ours", &results[OURS]);
    if (!daemon_pair_has(THEIRS)) {
        printf("\n");
        return;
    }
    printf("; ");
    tell_result("theirs", &results[THEIRS]);
    printf("\n");
    bench_goal_at_least(task->what,
                        daemon_pair_better(results[THEIRS].medians) /
                            daemon_pair_better(results[OURS].medians),
                        task->goal);
    if (task->has_cpu_goal)
        bench_goal_at_least("CPU of that, all processes", results[THEIRS].cpu / results[OURS].cpu,
                            cpu_goal);
}

static void compare_memory(struct daemon_pair *pair)
{
    double held[SIDES] = {0};

    sleep(SETTLE_SECONDS);
    for (int side = OURS; side < SIDES; side++)
        if (daemon_pair_has(side))
            held[side] = daemon_peer_pss_kb(&pair->of[side]) / 1024;
    if (held[OURS] < 0 || held[THEIRS] < 0) {
        printf("memory: only root may look\n");
        return;
    }
    printf("PSS of all processes after those reads: ours %.1f MB", held[OURS]);
    if (daemon_pair_has(THEIRS)) {
        printf(", theirs %.1f MB\n", held[THEIRS]);
        bench_goal_at_least("PSS of all processes", held[THEIRS] / held[OURS], memory_goal);
    } else {
        printf("\n");
    }
}

static void compare_small(void)
{
    static const struct task one = {
        "read 10 KB", "{\"filePath\":\"small.txt\"}", 1, CALLS, WARM_UP, read_goal, true};
    static const struct task many = {"read 10 KB, 16 at a time, each",
                                     "{\"filePath\":\"small.txt\"}",
                                     AT_ONCE,
                                     MANY_CALLS,
                                     WARM_UP,
                                     many_goal,
                                     false};
    static struct daemon_pair pair;

    daemon_pair_open(&pair, "root", false, NULL);
    daemon_pair_start(&pair);
    compare_reads(&one, &pair);
    compare_reads(&many, &pair);
    compare_memory(&pair);
    daemon_pair_close(&pair);
}

static void compare_large(void)
{
    static const struct task large = {"read 1 MB, ours with --max-file-size and --max-lines",
                                      "{\"filePath\":\"large.txt\",\"maxLines\":1000000}",
                                      1,
                                      LARGE_CALLS,
                                      LARGE_WARM_UP,
                                      large_goal,
                                      false};
    static struct daemon_pair pair;

    daemon_pair_open(&pair, "root", true, NULL);
    daemon_pair_start(&pair);
    compare_reads(&large, &pair);
    daemon_pair_close(&pair);
}

/* ---- searching ---- */

/* The answer that is there: three lines, in any order. */
static void check_found(struct daemon_peer *peer)
{
    const struct json_value *matches = json_get(daemon_peer_content(peer), STR("matches"));

    if (matches == NULL || matches->type != JSON_ARRAY || matches->size != 3)
        daemon_peer_fail(peer, "did not find what there is");
    json_each_item (match, matches) {
        struct str line;

        if (!json_get_str(match, STR("line"), &line) || str_find(line, STR(NEEDLE)) == SIZE_MAX)
            daemon_peer_fail(peer, "found something else");
    }
}

static double search_once(struct daemon_peer *peer)
{
    double took = daemon_peer_ask(peer, "search_files", SEARCH) / 1e6;

    check_found(peer);
    return took;
}

static void compare_searches(struct daemon_pair *pair)
{
    double ours[SEARCHES];
    double theirs[SEARCHES];
    size_t other_searches = 0;

    for (size_t i = 0; i < SEARCHES; i++) {
        ours[i] = search_once(&pair->of[OURS]);
        if (daemon_pair_has(THEIRS) && other_searches < OTHER_SEARCHES)
            theirs[other_searches++] = search_once(&pair->of[THEIRS]);
    }
    printf("search of the tree: ours %.0f ms", median(ours, SEARCHES));
    if (!daemon_pair_has(THEIRS)) {
        printf("\n");
        return;
    }
    printf(", theirs %.0f ms\n", median(theirs, other_searches));
    bench_goal_at_least("search of the tree",
                        median(theirs, other_searches) / median(ours, SEARCHES), search_goal);
}

/* Reads for as long as the search takes. */
static void read_beside(struct daemon_peer *peer, size_t wanted, double *times, size_t *out_count)
{
    *out_count = 0;
    while (*out_count < wanted) {
        daemon_peer_send(peer, BESIDE_PLACE, "search_files", SEARCH);
        do
            times[(*out_count)++] =
                daemon_peer_ask(peer, "read_file", "{\"filePath\":\"" SOURCE_TREE_FILE "\"}") / 1e6;
        while (*out_count < wanted && daemon_peer_waits(peer, BESIDE_PLACE));
        daemon_peer_wait(peer, BESIDE_PLACE);
    }
}

static void measure_beside(struct daemon_pair *pair)
{
    double times[READS_BESIDE];
    size_t count;
    double middle;
    double slow;

    read_beside(&pair->of[OURS], READS_BESIDE, times, &count);
    middle = median(times, count);
    slow = percentile(times, count, 99);
    printf("%zu reads beside a search: ours, middle %.2f ms, 99 of 100 within %.2f, all %.2f",
           count, middle, slow, percentile(times, count, 100));
    if (daemon_pair_has(THEIRS)) {
        read_beside(&pair->of[THEIRS], OTHER_READS_BESIDE, times, &count);
        printf("; theirs, of %zu all within %.0f", count, percentile(times, count, 100));
    }
    printf("\n");
    bench_goal_at_most_of("99 of 100 reads beside a search", slow, beside_goal_ms, "ms");
}

static void compare_tree(void)
{
    static struct daemon_pair pair;

    if (daemon_pair_has(THEIRS) && !may_open_all()) {
        printf("searches are not compared: that needs a higher limit of open files, ulimit -Hn\n");
        daemon_sides[THEIRS].program[0] = NULL;
    }
    daemon_pair_open(&pair, "tree", false, NULL);
    daemon_pair_start(&pair);
    compare_searches(&pair);
    measure_beside(&pair);
    daemon_pair_close(&pair);
}

/* ---- the program ---- */

static struct str read_pem(const char *folder, const char *name, char bytes[PEM_BYTES])
{
    char path[PATH_MAX];
    size_t len;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "re");
    if (file == NULL)
        die("the certificate is missing");
    len = fread(bytes, 1, PEM_BYTES, file);
    fclose(file);
    return (struct str){bytes, len};
}

static void open_tls(const char *folder)
{
    static char chain[PEM_BYTES];
    static char key[PEM_BYTES];
    struct secret_text secret = SECRET_TEXT_INIT;
    struct str chain_pem = read_pem(folder, "server.pem", chain);

    if (secret_text_set(&secret, read_pem(folder, "server.key", key)) < 0 ||
        tls_server_context_new(chain_pem, &secret, &clock_system, &tls, NULL) < 0)
        die("the certificate is no good");
    secret_text_done(&secret);
}

/* Only we stay root, who may look at the memory of a confined process. */
static void leave_root(void)
{
    const char *const programs[] = {daemon_sides[OURS].program[0], daemon_sides[THEIRS].program[0],
                                    NULL};
    const char *const folders[] = {"root", "tree", "ours", "theirs", NULL};

    if (!ordinary_user_find(programs, folders))
        printf("as root: an ordinary user cannot get at the programs\n");
}

int main(int argc, char **argv)
{
    static char ours_trust[PATH_MAX];
    static char theirs_trust[PATH_MAX];
    char *certificates;

    if (argc != 5 && argc != 8)
        return 2;
    snprintf(place, sizeof(place), "%s", absolute(argv[1]));
    certificates = absolute(argv[2]);
    snprintf(ours_trust, sizeof(ours_trust), "SSL_CERT_DIR=%s/trusted", certificates);
    snprintf(theirs_trust, sizeof(theirs_trust), "NODE_EXTRA_CA_CERTS=%s/server.pem", certificates);
    daemon_sides[OURS].program[0] = absolute(argv[3]);
    daemon_sides[OURS].installed = absolute(argv[4]);
    daemon_sides[OURS].trust = ours_trust;
    if (argc == 8) {
        daemon_sides[THEIRS].program[0] = absolute(argv[5]);
        daemon_sides[THEIRS].program[1] = absolute(argv[6]);
        daemon_sides[THEIRS].installed = absolute(argv[7]);
        daemon_sides[THEIRS].trust = theirs_trust;
    } else {
        printf("without the peer: only what needs none has a goal\n");
    }
    if (chdir(place) < 0)
        die("no such place");
    if (loop_new(&clock_system, &loop) < 0)
        die("no loop");
    open_tls(certificates);
    make_files();
    leave_root();
    daemon_pair_init(loop, place);

    compare_disk();
    compare_starts(NULL);
    compare_starts(tls);
    compare_small();
    compare_large();
    compare_tree();
    tls_context_unref(tls);
    loop_free(loop);
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}

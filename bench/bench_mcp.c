/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse mcp` beside the reference server for files, over pipes, one call
 * at a time:
 *
 *     bench_mcp PLACE GATEHOUSE [NODE SERVER.js]
 *
 * PLACE is an empty directory, in memory: what a disk does is the same for
 * both. Each server runs twice: on one core, where waking the other side costs
 * little, and on any, where a server of many threads may use them. All of them
 * take turns, so that a busy moment of the machine hits all; some calls at a time,
 * because what one's garbage collector still does would be another's loss. Of each
 * server the better median counts. Both must have answered the same
 * bytes or entries. Our state lies in PLACE too: each write also keeps what it
 * replaces and is recorded, which the other one does not do.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "mcp_peer.h"
#include "ordinary_user.h"

enum {
    SMALL_BYTES = 4 << 10,
    LARGE_BYTES = 1 << 20,
    LINE_BYTES = 64,
    NAMES = 1000,
    TREE_DIRECTORIES = 1000,
    TREE_FILES = 100, /* in each */
    WARM_UP = 300, /* so that the other's compiler has seen enough, if there are that many calls */
    CALLS = 1500,
    LARGE_CALLS = 60,
    LIST_CALLS = 150,
    TURNS = 30,
    STARTS = 20,
    READS_BEFORE_PSS = 1000,
    IDLE_SECONDS = 5,
    TREES = 7,
    REQUEST_BYTES = 2 << 20,
};

static const char *place;
static int missed;

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "bench_mcp: %s\n", what);
    exit(1);
}

/* ---- numbers ---- */

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return values[count / 2];
}

static void goal_at_most(const char *what, double value, double goal, const char *unit)
{
    printf("  %-58s %7.2f %s  goal <= %.2f %s  %s\n", what, value, unit, goal, unit,
           value <= goal ? "met" : "MISSED");
    missed += value > goal;
}

/* ---- files ---- */

static void write_whole(const char *name, const char *content, size_t size)
{
    FILE *file = fopen(name, "we");

    if (file == NULL || fwrite(content, 1, size, file) != size || fclose(file) != 0)
        die("the files cannot be made");
}

static void make_directory(const char *name)
{
    if (mkdir(name, 0755) < 0)
        die("the directories cannot be made");
}

/* Lines of letters, with something to escape on each. */
static char *make_text(size_t size)
{
    char *text = malloc(size + 1);

    if (text == NULL)
        die("no memory");
    for (size_t i = 0; i < size; i++)
        text[i] = i % LINE_BYTES == LINE_BYTES - 1 ? '\n'
                  : i % LINE_BYTES == 7            ? '"'
                                                   : (char)('a' + i % 23);
    text[size] = '\0';
    return text;
}

/* From the place on, which is the current directory. */
static void make_files(void)
{
    char *text = make_text(LARGE_BYTES);
    char name[64];

    make_directory("root");
    write_whole("root/small.txt", text, SMALL_BYTES);
    write_whole("root/large.txt", text, LARGE_BYTES);
    make_directory("root/names");
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "root/names/file-%04d.txt", i);
        write_whole(name, text, (size_t)i);
    }
    make_directory("tree");
    for (int i = 0; i < TREE_DIRECTORIES; i++) {
        snprintf(name, sizeof(name), "tree/d%03d", i);
        make_directory(name);
        for (int j = 0; j < TREE_FILES; j++) {
            snprintf(name, sizeof(name), "tree/d%03d/file-%03d.txt", i, j);
            write_whole(name, text, 0);
        }
    }
    free(text);
}

/* ---- what is asked ---- */

#define CALL(tool, arguments)                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\",\"params\":{\"name\":\"" tool       \
    "\",\"arguments\":{" arguments "}}}"

/* `ours` as it is; in `theirs` @ stands for the folder. */
struct task {
    const char *what;
    const char *ours;
    const char *theirs;
    int calls;
    double goal;
};

static char *with_folder(const char *request)
{
    char *out = malloc(REQUEST_BYTES);
    size_t len = 0;

    if (out == NULL)
        die("no memory");
    for (; *request != '\0'; request++) {
        if (*request == '@')
            len += (size_t)snprintf(out + len, PATH_MAX, "%s/root", place);
        else
            out[len++] = *request;
    }
    out[len] = '\0';
    return out;
}

/* The text of a file as a tool told it: ours in a structure, theirs as it is. */
static struct str file_text(struct mcp_peer *peer, bool is_ours)
{
    const struct json_value *structured;
    struct str text;

    if (!is_ours)
        return mcp_peer_text(peer);
    structured = json_get(mcp_peer_result(peer), STR("structuredContent"));
    if (structured == NULL || !json_get_str(structured, STR("content"), &text))
        die("our read has no content");
    return text;
}

static void check_same_text(struct mcp_peer *ours, struct mcp_peer *theirs)
{
    if (!str_eq(file_text(ours, true), file_text(theirs, false)))
        die("the texts differ");
}

/* Each of the names that there are, once, in both. */
static void check_same_names(struct mcp_peer *ours, struct mcp_peer *theirs)
{
    const struct json_value *structured = json_get(mcp_peer_result(ours), STR("structuredContent"));
    const struct json_value *entries = json_get(structured, STR("entries"));
    struct str lines = mcp_peer_text(theirs);
    int seen = 0;

    if (entries == NULL || entries->size != NAMES)
        die("our list is not complete");
    json_each_item (entry, entries) {
        char wanted[64];
        int64_t size = -1;
        struct str path;

        snprintf(wanted, sizeof(wanted), "names/file-%04d.txt", seen);
        /* Where sizes were asked for, they are right. */
        if (!json_get_str(entry, STR("path"), &path) || !str_eq(path, str_from(wanted)) ||
            (json_get_int(entry, STR("sizeBytes"), &size) && size != seen))
            die("our list has something else");
        snprintf(wanted, sizeof(wanted), "[FILE] file-%04d.txt", seen);
        if (str_find(lines, str_from(wanted)) == SIZE_MAX)
            die("the lists differ");
        seen++;
    }
}

/* For mcp_peer_ask(): with a line that is another each time, as after most edits, or without. */
static char *make_written_text(const char *number)
{
    const int half = SMALL_BYTES / 2 / LINE_BYTES * LINE_BYTES;
    char *text = make_text(SMALL_BYTES);
    char *out = malloc(SMALL_BYTES + 64);

    if (out == NULL)
        die("no memory");
    snprintf(out, SMALL_BYTES + 64, "%.*s%s%s%s%s", half, text, number != NULL ? "change " : "",
             number != NULL ? number : "", number != NULL ? "\n" : "", text + half);
    free(text);
    return out;
}

static void check_file(struct mcp_peer *ours, const char *request, const char *number)
{
    char *text = make_written_text(number);

    mcp_peer_ask(ours, request);
    if (!str_eq(file_text(ours, true), str_from(text)))
        die("what was written is not there");
    free(text);
}

static void check_files(struct mcp_peer *ours, struct mcp_peer *theirs, bool is_changing)
{
    char our_number[32];
    char their_number[32];

    snprintf(our_number, sizeof(our_number), "%ld", ours->last_id);
    snprintf(their_number, sizeof(their_number), "%ld", theirs->last_id);
    mcp_peer_result(ours);
    mcp_peer_result(theirs);
    check_file(ours, CALL("read_file", "\"filePath\":\"ours.txt\",\"maxLines\":100000"),
               is_changing ? our_number : NULL);
    check_file(ours, CALL("read_file", "\"filePath\":\"theirs.txt\",\"maxLines\":100000"),
               is_changing ? their_number : NULL);
}

static void check_written(struct mcp_peer *ours, struct mcp_peer *theirs)
{
    check_files(ours, theirs, false);
}

static void check_changed(struct mcp_peer *ours, struct mcp_peer *theirs)
{
    check_files(ours, theirs, true);
}

/* Asks `count` times; keeps the times where there is room for them. */
static void ask_often(struct mcp_peer *peer, const char *request, int count, double *out_times)
{
    for (int i = 0; i < count; i++) {
        mcp_peer_ask(peer, request);
        if (out_times != NULL)
            out_times[i] = peer->last_call_ns;
    }
}

/* A server twice: on one core with whoever asks it, and wherever the kernel puts it. */
enum { NEAR, FREE, PLACEMENTS };
struct pair {
    const char *name;
    struct mcp_peer peers[PLACEMENTS];
    double medians[PLACEMENTS]; /* of the last comparison, in us */
};

static cpu_set_t one_core;
static cpu_set_t all_cores;

static void find_cores(void)
{
    size_t last = 0;

    sched_getaffinity(0, sizeof(all_cores), &all_cores);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all_cores))
            last = i;
    CPU_ZERO(&one_core);
    CPU_SET(last, &one_core);
}

static void start_pair(struct pair *pair, const char *name, char *const *argv)
{
    pair->name = name;
    for (int i = 0; i < PLACEMENTS; i++) {
        sched_setaffinity(0, sizeof(cpu_set_t), i == NEAR ? &one_core : &all_cores);
        mcp_peer_start(&pair->peers[i], name, argv);
    }
    sched_setaffinity(0, sizeof(all_cores), &all_cores);
}

static void end_pair(struct pair *pair)
{
    for (int i = 0; i < PLACEMENTS; i++)
        mcp_peer_end(&pair->peers[i]);
}

/* The better of its two places: which one that is depends on how the server is built. */
static double best_of(const struct pair *pair)
{
    return pair->medians[NEAR] < pair->medians[FREE] ? pair->medians[NEAR] : pair->medians[FREE];
}

static void tell_pair(const struct pair *pair)
{
    printf("%s %.1f us on one core, %.1f on any", pair->name, pair->medians[NEAR],
           pair->medians[FREE]);
}

/* One server in one of its places. */
struct contender {
    struct pair *pair;
    int placement;
    const char *request;
    double times[CALLS];
};

/* All take turns. */
static void measure(const struct task *task, struct contender *contenders, int count)
{
    int warm_up = task->calls < WARM_UP ? task->calls : WARM_UP;
    int calls = task->calls / TURNS;

    for (int turn = -1; turn < TURNS; turn++) {
        for (int i = 0; i < count; i++) {
            struct contender *contender = &contenders[i];
            struct mcp_peer *peer = &contender->pair->peers[contender->placement];

            mcp_peer_go_to(peer);
            if (turn < 0)
                ask_often(peer, contender->request, warm_up, NULL);
            else
                ask_often(peer, contender->request, calls, contender->times + turn * calls);
        }
    }
    for (int i = 0; i < count; i++)
        contenders[i].pair->medians[contenders[i].placement] =
            median(contenders[i].times, (size_t)calls * TURNS) / 1e3;
}

static void compare(const struct task *task, struct pair *ours, struct pair *theirs,
                    void (*check)(struct mcp_peer *ours, struct mcp_peer *theirs))
{
    static struct contender contenders[2 * PLACEMENTS];
    char *request = theirs != NULL ? with_folder(task->theirs) : NULL;
    int count = 0;

    for (int i = 0; i < PLACEMENTS; i++) {
        contenders[count].request = task->ours;
        contenders[count].placement = i;
        contenders[count++].pair = ours;
        if (theirs != NULL) {
            contenders[count].request = request;
            contenders[count].placement = i;
            contenders[count++].pair = theirs;
        }
    }
    measure(task, contenders, count);
    for (int i = 0; theirs != NULL && i < PLACEMENTS; i++)
        check(&ours->peers[i], &theirs->peers[i]);
    printf("%s: ", task->what);
    tell_pair(ours);
    if (theirs != NULL) {
        printf("; ");
        tell_pair(theirs);
        printf("\n");
        bench_goal_at_least(task->what, best_of(theirs) / best_of(ours), task->goal);
    } else {
        printf("\n");
    }
    free(request);
}

/* A tool call with the small text as its content. */
static char *write_request(const char *before, bool is_changing)
{
    char *text = make_written_text(is_changing ? "%ld" : NULL);
    char *out = malloc(REQUEST_BYTES);
    size_t len;

    if (out == NULL)
        die("no memory");
    len = (size_t)snprintf(out, REQUEST_BYTES, "%s", before);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\n')
            out[len++] = '\\';
        out[len++] = *c == '\n' ? 'n' : *c;
    }
    snprintf(out + len, REQUEST_BYTES - len, "\"}}}");
    free(text);
    return out;
}

static void compare_writes(struct pair *ours, struct pair *theirs, bool is_changing)
{
    char *mine = write_request("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\","
                               "\"params\":{\"name\":\"write_file\",\"arguments\":{"
                               "\"filePath\":\"ours.txt\",\"content\":\"",
                               is_changing);
    char *other = write_request("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\","
                                "\"params\":{\"name\":\"write_file\",\"arguments\":{"
                                "\"path\":\"@/theirs.txt\",\"content\":\"",
                                is_changing);
    /* A change is kept in the audit log, line by line; what stays the same is not. */
    const struct task task = {
        is_changing ? "write 4 KB in memory, one line changed" : "write 4 KB in memory", mine,
        other, CALLS, is_changing ? BENCH_BY_ARCH(8, 6) : BENCH_BY_ARCH(10, 7.5)};

    compare(&task, ours, theirs, is_changing ? check_changed : check_written);
    free(mine);
    free(other);
}

/* ---- ours alone ---- */

static void measure_start(char *const *argv, char *const *other)
{
    double times[STARTS];
    struct mcp_peer peer;

    for (int i = 0; i < STARTS; i++) {
        double start = mcp_peer_now_ns();

        mcp_peer_start(&peer, "gatehouse", argv);
        mcp_peer_ask(&peer, CALL("read_file", "\"filePath\":\"small.txt\""));
        times[i] = mcp_peer_now_ns() - start;
        mcp_peer_result(&peer);
        mcp_peer_end(&peer);
    }
    printf("start to the first answer of read_file: ours %.2f ms", median(times, STARTS) / 1e6);
    if (other != NULL) {
        char *request = with_folder(CALL("read_text_file", "\"path\":\"@/small.txt\""));
        double start = mcp_peer_now_ns();

        mcp_peer_start(&peer, "peer", other);
        mcp_peer_ask(&peer, request);
        printf(", theirs %.0f ms", (mcp_peer_now_ns() - start) / 1e6);
        mcp_peer_end(&peer);
        free(request);
    }
    printf("\n");
    goal_at_most("start to the first answer", median(times, STARTS) / 1e6, 6, "ms");
}

static void measure_memory(char *const *argv)
{
    struct mcp_peer peer;
    double kilobytes;

    mcp_peer_start(&peer, "gatehouse", argv);
    for (int i = 0; i < READS_BEFORE_PSS; i++)
        mcp_peer_ask(&peer, CALL("read_file", "\"filePath\":\"small.txt\""));
    sleep(IDLE_SECONDS);
    kilobytes = mcp_peer_pss_kb(&peer);
    mcp_peer_end(&peer);
    if (kilobytes < 0)
        printf("memory: only root may look\n");
    else
        goal_at_most("PSS, 5 s after 1,000 reads", kilobytes / 1024, 6, "MB");
}

static double own_cpu_ns(void)
{
    struct timespec spent;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (double)spent.tv_sec * 1e9 + (double)spent.tv_nsec;
}

/* As few system calls as it takes to see every name; returns how many there are. */
static long walk_raw(int parent, const char *name)
{
    static _Alignas(struct dirent64) char entries[64 << 10];
    char *below = NULL;
    size_t below_len = 0;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long found = 0;
    long got;

    if (fd < 0)
        die("the tree cannot be walked");
    while ((got = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
            size_t len = strlen(entry->d_name) + 1;

            at += entry->d_reclen;
            if (entry->d_name[0] == '.')
                continue;
            found++;
            if (entry->d_type != DT_DIR)
                continue;
            below = realloc(below, below_len + len);
            if (below == NULL)
                die("no memory");
            memcpy(below + below_len, entry->d_name, len);
            below_len += len;
        }
    }
    for (size_t at = 0; at < below_len; at += strlen(below + at) + 1)
        found += walk_raw(fd, below + at);
    free(below);
    close(fd);
    return found;
}

static void measure_tree(char *gatehouse)
{
    char *argv[] = {gatehouse, (char[]){"mcp"}, (char[]){"tree"}, NULL};
    double raw[TREES];
    double walked[TREES];
    struct mcp_peer peer;

    mcp_peer_start(&peer, "gatehouse", argv);
    for (int i = 0; i < TREES; i++) {
        double start = own_cpu_ns();

        if (walk_raw(AT_FDCWD, "tree") != TREE_DIRECTORIES * (TREE_FILES + 1))
            die("the tree is not as it was made");
        raw[i] = own_cpu_ns() - start;
        start = mcp_peer_cpu_ns(&peer);
        mcp_peer_ask(&peer, CALL("get_file_tree", "\"dirPath\":\".\",\"maxDepth\":1000"));
        walked[i] = mcp_peer_cpu_ns(&peer) - start;
        if (str_find(mcp_peer_text(&peer), STR("d000/\n    file-000.txt")) == SIZE_MAX)
            die("the tree is not shown");
    }
    mcp_peer_end(&peer);
    printf("tree of 100,000 files: ours %.1f ms of CPU, getdents64 alone %.1f ms\n",
           median(walked, TREES) / 1e6, median(raw, TREES) / 1e6);
    goal_at_most("CPU of the tree beyond the bare walk",
                 (median(walked, TREES) - median(raw, TREES)) / 1e6, 60, "ms");
}

static char *absolute(const char *name)
{
    char *path = realpath(name, NULL);

    if (path == NULL)
        die("a program or the place is missing");
    return path;
}

/* Only we stay root, who may look at the memory of a confined process. */
static void leave_root(const char *ours, const char *theirs)
{
    const char *const programs[] = {ours, theirs, NULL};
    const char *const folders[] = {".", "root", NULL};

    if (!ordinary_user_find(programs, folders))
        printf("as root: an ordinary user cannot get at the programs\n");
}

int main(int argc, char **argv)
{
    static const struct task reading = {
        "read 4 KB", CALL("read_file", "\"filePath\":\"small.txt\",\"maxLines\":1000"),
        CALL("read_text_file", "\"path\":\"@/small.txt\""), CALLS, 12};
    static const struct task reading_large = {
        "read 1 MB", CALL("read_file", "\"filePath\":\"large.txt\",\"maxLines\":1000000"),
        CALL("read_text_file", "\"path\":\"@/large.txt\""), LARGE_CALLS, 4};
    static const struct task listing = {
        "list 1,000 names",
        CALL("list_files", "\"dirPath\":\"names\",\"maxResults\":1000,\"withSizes\":false"),
        CALL("list_directory", "\"path\":\"@/names\""), LIST_CALLS, 2};
    static const struct task sizing = {
        "list 1,000 names with sizes",
        CALL("list_files", "\"dirPath\":\"names\",\"maxResults\":1000"),
        CALL("list_directory_with_sizes", "\"path\":\"@/names\""), LIST_CALLS, 8};
    char *ours_argv[] = {NULL,
                         (char[]){"mcp"},
                         (char[]){"--write"},
                         (char[]){"--max-file-size=2MiB"},
                         (char[]){"--max-lines=1000000"},
                         (char[]){"--state-dir=state"},
                         (char[]){"root"},
                         NULL};
    char *theirs_argv[] = {NULL, NULL, (char[]){"root"}, NULL};
    static struct pair ours;
    static struct pair peer;
    struct pair *theirs = NULL;

    if (argc != 3 && argc != 5)
        return 2;
    place = absolute(argv[1]);
    ours_argv[0] = absolute(argv[2]);
    if (argc == 5) {
        theirs_argv[0] = absolute(argv[3]);
        theirs_argv[1] = absolute(argv[4]);
    }
    if (chdir(place) < 0)
        die("no such place");
    setenv("XDG_STATE_HOME", place, 1);
    setenv("HOME", place, 1);
    make_files();
    find_cores();
    leave_root(ours_argv[0], theirs_argv[0]);
    if (argc == 5) {
        theirs = &peer;
        start_pair(theirs, "theirs", theirs_argv);
    } else {
        printf("without the peer: only what needs none has a goal\n");
    }
    start_pair(&ours, "ours", ours_argv);

    compare(&reading, &ours, theirs, check_same_text);
    compare_writes(&ours, theirs, false);
    compare_writes(&ours, theirs, true);
    compare(&reading_large, &ours, theirs, check_same_text);
    compare(&listing, &ours, theirs, check_same_names);
    compare(&sizing, &ours, theirs, check_same_names);
    end_pair(&ours);
    if (theirs != NULL)
        end_pair(theirs);
    sched_setaffinity(0, sizeof(all_cores), &all_cores);
    measure_start(ours_argv, theirs != NULL ? theirs_argv : NULL);
    measure_memory(ours_argv);
    measure_tree(ours_argv[0]);
    return bench_missed() + missed > 0 ? BENCH_GOALS_MISSED : 0;
}

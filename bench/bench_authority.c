/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The authority beside the bare system calls that it cannot do without: three
 * directories deep, warm cache. Argument: a directory to work in.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench.h"
#include "gatehouse/audit.h"
#include "gatehouse/authority.h"

enum {
    FILE_BYTES = 4096,
    LISTED_FILES = 1000,
    ROUNDS = 150,
    ROUND_MS = 4,
    SYNCED_ROUNDS = 80,
    SYNCED_ROUND_MS = 15,
    MEMORY_OPERATIONS = 1000000,
    /* What malloc may keep for itself without anything having leaked. */
    MEMORY_SLACK_KB = 256,
};

static int root_fd;
static struct authority_scope *scope;
static struct authority_scope *audited;
static struct buf content = BUF_INIT(1 << 20);
static char bytes[FILE_BYTES];

static void must(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "bench_authority: %s (%s)\n", what, err_errno_text(errno));
    exit(1);
}

/* ---- reading ---- */

static void read_plain(void *unused)
{
    int fd = openat(root_fd, "a/b/c/file", O_RDONLY | O_CLOEXEC);
    struct stat about;

    (void)unused;
    must(fd >= 0 && fstat(fd, &about) == 0 && read(fd, bytes, sizeof(bytes)) == FILE_BYTES, "read");
    close(fd);
}

static void read_ours(void *through)
{
    buf_clear(&content);
    must(authority_read_bytes(through, STR("a/b/c/file"), NULL, &content, NULL) == 0 &&
             content.len == FILE_BYTES,
         "our read");
}

/* ---- looking ---- */

static void stat_plain(void *unused)
{
    struct stat about;

    (void)unused;
    must(fstatat(root_fd, "a/b/c/file", &about, AT_SYMLINK_NOFOLLOW) == 0, "fstatat");
}

static void stat_ours(void *unused)
{
    struct authority_stat about;

    (void)unused;
    must(authority_stat(scope, STR("a/b/c/file"), &about, NULL) == 0, "our stat");
}

static unsigned listed;

static void list_plain(void *unused)
{
    static _Alignas(struct dirent64) char entries[32 << 10];
    int fd = openat(root_fd, "a/b/many", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t got;

    (void)unused;
    listed = 0;
    while ((got = getdents64(fd, entries, sizeof(entries))) > 0)
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(entries + at);

            listed += entry->d_type == DT_REG;
            at += entry->d_reclen;
        }
    close(fd);
    must(listed == LISTED_FILES, "getdents64");
}

static int count(void *data, const struct authority_entry *entry)
{
    (void)data;
    listed += entry->type == AUTHORITY_FILE;
    return 0;
}

static void list_ours(void *unused)
{
    (void)unused;
    listed = 0;
    must(authority_list(scope, STR("a/b/many"), NULL, count, NULL, NULL) == 0 &&
             listed == LISTED_FILES,
         "our list");
}

/* ---- writing ---- */

static void write_plain(void *unused)
{
    int dir = openat(root_fd, "a/b/c", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(dir, ".temporary", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    (void)unused;
    must(fd >= 0 && write(fd, bytes, sizeof(bytes)) == FILE_BYTES && fchmod(fd, 0644) == 0 &&
             fsync(fd) == 0 && renameat2(dir, ".temporary", dir, "written", 0) == 0 &&
             fsync(dir) == 0,
         "write");
    close(fd);
    close(dir);
}

static void write_ours(void *unused)
{
    (void)unused;
    must(authority_write_bytes(scope, STR("a/b/c/written"), (struct str){bytes, sizeof(bytes)},
                               NULL, NULL) == 0,
         "our write");
}

/* ---- comparing ---- */

static void compare(const char *what, void (*plain)(void *), void (*ours)(void *), void *context,
                    double goal, int rounds, int round_ms)
{
    struct bench_contender pair[] = {{.name = "plain", .run = plain},
                                     {.name = "authority", .run = ours, .context = context}};

    bench_compare(pair, 2, rounds, round_ms);
    printf("%s: plain %.2f us, authority %.2f us\n", what, pair[0].middle_ns / 1e3,
           pair[1].middle_ns / 1e3);
    bench_goal_at_most(what, bench_ratio(&pair[1], &pair[0]), goal);
}

static long resident_kb(void)
{
    cleanup_fd int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char text[128] = "";
    long pages = 0;

    must(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && sscanf(text, "%*d %ld", &pages) == 1,
         "statm");
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void check_memory(void)
{
    long before;
    long after;

    for (int i = 0; i < 1000; i++)
        read_ours(audited);
    before = resident_kb();
    for (int i = 0; i < MEMORY_OPERATIONS / 2; i++) {
        read_ours(audited);
        stat_ours(NULL);
    }
    after = resident_kb();
    printf("resident memory before and after %d operations: %ld and %ld KB\n", MEMORY_OPERATIONS,
           before, after);
    bench_goal_at_most("memory after a million operations, growth in KB / 256",
                       (double)(after - before) / MEMORY_SLACK_KB, 1);
}

static struct authority_scope *make_scope(const char *path, struct audit_file *audit)
{
    const struct authority_config config = {.backend = AUTHORITY_LINUX};
    const struct authority_request request = {
        .subject = {AUTHORITY_AGENT_RUN, "conversation", "run"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "bench", .path = path},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "measure",
        .source = AUTHORITY_FROM_CORE,
    };
    struct authority_scope *made;
    struct authority *authority;
    struct err err = ERR_INIT;

    must(authority_new(&config, &authority, &err) == 0, err.message);
    if (audit != NULL)
        must(authority_add_listener(authority, audit_file_record, audit) == 0, "listener");
    must(authority_request_root(authority, &request, &made, &err) == 0, err.message);
    return made;
}

static void make_files(void)
{
    const struct authority_write_options deep = {.make_parents = true, .is_unsynced = true};

    memset(bytes, 'x', sizeof(bytes));
    must(authority_write_bytes(scope, STR("a/b/c/file"), (struct str){bytes, sizeof(bytes)}, &deep,
                               NULL) == 0,
         "file");
    for (int i = 0; i < LISTED_FILES; i++) {
        char name[64];

        snprintf(name, sizeof(name), "a/b/many/file-number-%d.txt", i);
        must(authority_write_bytes(scope, str_from(name), STR("x"), &deep, NULL) == 0, name);
    }
}

int main(int argc, char **argv)
{
    struct audit_config audit_config = {
        .name = "audit.jsonl", .sync = AUDIT_SYNC_NEVER, .gathers_reads = true};
    struct audit_file *audit;
    struct err err = ERR_INIT;
    char audit_dir[4096];

    if (argc != 2)
        return 2;
    root_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(root_fd >= 0, argv[1]);
    scope = make_scope(argv[1], NULL);
    make_files();
    snprintf(audit_dir, sizeof(audit_dir), "%s/audit", argv[1]);
    must(mkdir(audit_dir, 0700) == 0 || errno == EEXIST, "audit directory");
    audit_config.dir_fd = open(audit_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(audit_file_open(&audit_config, &audit, &err) == 0, err.message);
    audited = make_scope(argv[1], audit);

    if (geteuid() == 0)
        printf(
            "as root, where each file is looked at before it is opened: slower than for others\n");
    compare("read 4 KB", read_plain, read_ours, scope, 1.3, ROUNDS, ROUND_MS);
    compare("read 4 KB, recorded", read_plain, read_ours, audited, 2, ROUNDS, ROUND_MS);
    compare("stat", stat_plain, stat_ours, NULL, 3, ROUNDS, ROUND_MS);
    compare("list 1,000 names and types", list_plain, list_ours, NULL, 1.1, ROUNDS, ROUND_MS);
    compare("atomic durable write of 4 KB", write_plain, write_ours, NULL, 1.15, SYNCED_ROUNDS,
            SYNCED_ROUND_MS);
    check_memory();
    return bench_missed() > 0 ? BENCH_GOALS_MISSED : 0;
}

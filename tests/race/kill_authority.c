/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill -9 at random moments: a child replaces a file, or two together, moves one between two
 * file systems, or unpacks an archive, again and again, until it is killed. The next authority on
 * the same state directory must then find the complete old or new file, and remove what was left
 * behind.
 *
 *     kill_authority [ROUNDS]        of each; 20
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rand.h"
#include "gatehouse/authority.h"

enum {
    DEFAULT_ROUNDS = 20,
    CONTENT_BYTES = 256 << 10,
    ARCHIVED_FILES = 60,
    LONGEST_US = 15000,
    SKIPPED = 77,
};

static char state[300];
static char here[256];  /* on one file system */
static char there[256]; /* on another */

struct pair {
    struct authority *authority;
    struct authority_scope *here;
    struct authority_scope *there;
};

static void must(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "kill_authority: %s (%s)\n", what, err_errno_text(errno));
    exit(1);
}

static struct authority_scope *request(struct authority *authority, const char *path)
{
    const struct authority_request wanted = {
        .subject = {AUTHORITY_CORE, "kill", NULL},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "root", .path = path},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "kill",
        .source = AUTHORITY_FROM_CORE,
    };
    struct authority_scope *scope = NULL;
    struct err err = ERR_INIT;

    must(authority_request_root(authority, &wanted, &scope, &err) == 0, err.message);
    return scope;
}

static struct pair open_pair(void)
{
    const struct authority_config config = {.backend = AUTHORITY_LINUX, .state_dir = state};
    struct err err = ERR_INIT;
    struct pair pair;

    must(authority_new(&config, &pair.authority, &err) == 0, err.message);
    pair.here = request(pair.authority, here);
    pair.there = request(pair.authority, there);
    return pair;
}

/* One letter all through: a torn file has two, or is short. */
static struct str content_of(char letter)
{
    static char bytes[CONTENT_BYTES];

    memset(bytes, letter, sizeof(bytes));
    return (struct str){bytes, sizeof(bytes)};
}

static bool is_whole(struct authority_scope *scope, struct str name)
{
    cleanup_buf struct buf content = BUF_INIT(2 * CONTENT_BYTES);

    if (authority_read_bytes(scope, name, NULL, &content, NULL) < 0 || content.len != CONTENT_BYTES)
        return false;
    for (size_t i = 1; i < content.len; i++)
        if (content.data[i] != content.data[0])
            return false;
    return true;
}

static unsigned litter;

/* On the disk itself: no scope shows such names. */
static int look_for_litter(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about;
    (void)type;
    if (strncmp(path + where->base, ".gatehouse-", sizeof(".gatehouse-") - 1) == 0) {
        fprintf(stderr, "kill_authority: left behind: %s\n", path);
        litter++;
    }
    return 0;
}

static void check_litter(void)
{
    enum { OPEN_AT_A_TIME = 16 };

    must(nftw(here, look_for_litter, OPEN_AT_A_TIME, FTW_PHYS) == 0, "nftw");
    must(nftw(there, look_for_litter, OPEN_AT_A_TIME, FTW_PHYS) == 0, "nftw");
    must(litter == 0, "litter");
}

/* ---- replacing a file ---- */

static void replace_for_ever(const struct pair *pair)
{
    for (char letter = 'a';; letter = letter == 'z' ? 'a' : (char)(letter + 1))
        must(authority_write_bytes(pair->here, STR("file"), content_of(letter), NULL, NULL) == 0,
             "write");
}

static void check_replaced(const struct pair *pair)
{
    must(is_whole(pair->here, STR("file")), "a torn file");
}

/* ---- replacing two files together ---- */

static struct authority_replacement replacement(const struct pair *pair, struct str name,
                                                struct str content, struct authority_stat *about)
{
    must(authority_stat(pair->here, name, about, NULL) == 0, "stat");
    return (struct authority_replacement){
        .name = name, .content = content, .exchange = {.expected = about}};
}

static void replace_both_for_ever(const struct pair *pair)
{
    for (char letter = 'a';; letter = letter == 'z' ? 'a' : (char)(letter + 1)) {
        struct str content = content_of(letter);
        struct authority_stat about[2];
        struct authority_replacement both[] = {
            replacement(pair, STR("other twin"), content, &about[0]),
            replacement(pair, STR("twin"), content, &about[1]),
        };
        size_t at;

        must(authority_replace_all(pair->here, both, 2, NULL, &at, NULL) == 0, "replace");
    }
}

static void check_both(const struct pair *pair)
{
    cleanup_buf struct buf one = BUF_INIT(CONTENT_BYTES);
    cleanup_buf struct buf other = BUF_INIT(CONTENT_BYTES);

    must(authority_read_bytes(pair->here, STR("other twin"), NULL, &one, NULL) == 0, "read");
    must(authority_read_bytes(pair->here, STR("twin"), NULL, &other, NULL) == 0, "read");
    must(str_eq(buf_view(&one), buf_view(&other)), "one of two");
}

/* ---- moving between file systems ---- */

static void move_for_ever(const struct pair *pair)
{
    const struct authority_move_options replace = {.may_replace = true};

    /* Which side it is on when this begins depends on the kill before. */
    while (true) {
        (void)authority_move_in(pair->there, STR("file"), pair->here, STR("file"), &replace, NULL);
        (void)authority_move_in(pair->here, STR("file"), pair->there, STR("file"), &replace, NULL);
        (void)authority_move_in(pair->there, STR("dir"), pair->here, STR("dir"), NULL, NULL);
        (void)authority_move_in(pair->here, STR("dir"), pair->there, STR("dir"), NULL, NULL);
    }
}

static bool exists(struct authority_scope *scope, struct str name)
{
    bool is_there = false;

    must(authority_exists(scope, name, &is_there, NULL) == 0, "exists");
    return is_there;
}

static void check_moved(const struct pair *pair)
{
    const struct authority_remove_options all = {.is_recursive = true, .may_miss = true};
    bool is_here = exists(pair->here, STR("file"));
    bool is_there = exists(pair->there, STR("file"));

    must(is_here || is_there, "a file is lost");
    must(!is_here || is_whole(pair->here, STR("file")), "a torn file here");
    must(!is_there || is_whole(pair->there, STR("file")), "a torn file there");

    /* A directory may be whole on one side and half removed on the other. */
    is_here = is_whole(pair->here, STR("dir/one")) && is_whole(pair->here, STR("dir/two"));
    is_there = is_whole(pair->there, STR("dir/one")) && is_whole(pair->there, STR("dir/two"));
    must(is_here || is_there, "a directory is lost");
    must(authority_remove(is_here ? pair->there : pair->here, STR("dir"), &all, NULL) == 0,
         "remove");
}

/* ---- unpacking ---- */

static int count(void *data, const struct authority_entry *entry)
{
    *(unsigned *)data += entry->type == AUTHORITY_FILE;
    return 0;
}

static void make_archive(const struct pair *pair)
{
    const struct authority_write_options deep = {.make_parents = true, .is_unsynced = true};
    struct authority_archive_result result;

    for (int i = 0; i < ARCHIVED_FILES; i++) {
        char name[64];

        snprintf(name, sizeof(name), "tree/d%d/f%d", i % 7, i);
        must(authority_write_bytes(pair->here, str_from(name), STR("content"), &deep, NULL) == 0,
             "tree");
    }
    must(authority_create_archive(pair->here, STR("tree"), STR("tree.tar.gz"), AUTHORITY_TAR_GZ,
                                  NULL, &result, NULL) == 0,
         "archive");
}

static void extract_for_ever(const struct pair *pair)
{
    const struct authority_remove_options all = {.is_recursive = true, .may_miss = true};
    struct authority_archive_result result;

    while (true) {
        must(authority_extract_archive(pair->here, STR("tree.tar.gz"), STR("out"), NULL, &result,
                                       NULL) == 0,
             "extract");
        /* Moved away first: removing a tree takes many steps, unpacking must not look so. */
        must(authority_move(pair->here, STR("out"), STR("old"), NULL, NULL) == 0, "move");
        must(authority_remove(pair->here, STR("old"), &all, NULL) == 0, "remove");
    }
}

static void check_extracted(const struct pair *pair)
{
    const struct authority_remove_options all = {.is_recursive = true, .may_miss = true};
    unsigned files = 0;

    if (exists(pair->here, STR("out"))) {
        must(authority_walk(pair->here, STR("out"), NULL, count, &files, NULL) == 0, "walk");
        must(files == ARCHIVED_FILES, "half an archive");
    }
    must(authority_remove(pair->here, STR("out"), &all, NULL) == 0, "remove");
    must(authority_remove(pair->here, STR("old"), &all, NULL) == 0, "remove");
}

/* ---- running ---- */

static const struct {
    const char *name;
    void (*work)(const struct pair *pair);
    void (*check)(const struct pair *pair);
} jobs[] = {
    {"replace a file", replace_for_ever, check_replaced},
    {"replace two files together", replace_both_for_ever, check_both},
    {"move between file systems", move_for_ever, check_moved},
    {"unpack an archive", extract_for_ever, check_extracted},
};

static void run_round(size_t job)
{
    const struct timespec pause = {.tv_nsec = (long)rand_below(LONGEST_US) * 1000};
    struct pair pair;
    pid_t child = fork();

    must(child >= 0, "fork");
    if (child == 0) {
        pair = open_pair();
        jobs[job].work(&pair);
        _exit(0);
    }
    nanosleep(&pause, NULL); /* the moment is what is random here */
    must(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child, "kill");
    pair = open_pair();
    jobs[job].check(&pair);
    check_litter();
    authority_free(pair.authority);
}

static void remove_all(char *path)
{
    pid_t child = fork();

    if (child == 0) {
        execlp("rm", "rm", "-rf", "--", path, (char *)NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    int64_t rounds = DEFAULT_ROUNDS;
    struct stat one;
    struct stat other;
    struct pair pair;

    if (argc > 1 && (!str_to_int64(str_from(argv[1]), &rounds) || rounds < 1))
        return 2;
    snprintf(here, sizeof(here), "/tmp/gatehouse-kill-XXXXXX");
    snprintf(there, sizeof(there), "/dev/shm/gatehouse-kill-XXXXXX");
    must(mkdtemp(here) != NULL, "mkdtemp");
    if (mkdtemp(there) == NULL || stat(here, &one) < 0 || stat(there, &other) < 0 ||
        one.st_dev == other.st_dev) {
        printf("needs two file systems, /tmp and /dev/shm\n");
        remove_all(here);
        remove_all(there);
        return SKIPPED;
    }
    snprintf(state, sizeof(state), "%s-state", here);
    pair = open_pair();
    must(authority_write_bytes(pair.here, STR("file"), content_of('a'), NULL, NULL) == 0, "file");
    must(authority_write_bytes(pair.here, STR("twin"), content_of('a'), NULL, NULL) == 0, "twin");
    must(authority_write_bytes(pair.here, STR("other twin"), content_of('a'), NULL, NULL) == 0,
         "twin");
    must(authority_mkdir(pair.here, STR("dir"), NULL, NULL) == 0, "dir");
    must(authority_write_bytes(pair.here, STR("dir/one"), content_of('1'), NULL, NULL) == 0, "one");
    must(authority_write_bytes(pair.here, STR("dir/two"), content_of('2'), NULL, NULL) == 0, "two");
    make_archive(&pair);
    authority_free(pair.authority);
    for (size_t job = 0; job < array_size(jobs); job++) {
        for (int64_t round = 0; round < rounds; round++)
            run_round(job);
        printf("%-26s %lld rounds\n", jobs[job].name, (long long)rounds);
    }
    remove_all(here);
    remove_all(there);
    remove_all(state);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races against the boundary: while one thread exchanges a directory of the root
 * (and a file) with a link to the outside as fast as it can, another runs every
 * operation through it, thousands of times. Nothing may ever be read from the
 * outside, and nothing may happen there.
 *
 *     race_authority [ATTEMPTS]      of each operation in each mode; 20000
 *
 * Modes: openat2 and the walk, links rejected and links followed inside the root.
 * A control runs the same race against open(2) and must leak; otherwise the race would prove
 * nothing.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gatehouse/authority.h"

enum {
    DEFAULT_ATTEMPTS = 20000,
    CONTROL_ATTEMPTS = 2000000,
    CONTENT_MAX = 64 << 10,
};

#define INSIDE  "inside"
#define OUTSIDE "outside secret"

static char base[256];
static int root_fd;
static int outside_fd;
static atomic_bool is_over;

static void must(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "race_authority: %s (%s)\n", what, err_errno_text(errno));
    exit(1);
}

static void put_file(int dir_fd, const char *name, const char *content)
{
    cleanup_fd int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    must(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content), name);
}

/*
 *     root/d/f       "inside"        ⇄  root/e      a link to the outside
 *     root/d/g       "inside"        ⇄  root/d/h    a link to outside/f
 *     outside/f, outside/g           "outside secret"
 */
static void make_scene(void)
{
    const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    cleanup_fd int base_fd = -1;
    cleanup_fd int dir_fd = -1;
    char link[300];

    snprintf(base, sizeof(base), "%s/gatehouse-race-XXXXXX", where);
    must(mkdtemp(base) != NULL, "mkdtemp");
    base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(base_fd >= 0 && mkdirat(base_fd, "root", 0755) == 0 &&
             mkdirat(base_fd, "outside", 0755) == 0 && mkdirat(base_fd, "root/d", 0755) == 0,
         "scene");
    root_fd = openat(base_fd, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    outside_fd = openat(base_fd, "outside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir_fd = openat(root_fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    put_file(dir_fd, "f", INSIDE);
    put_file(dir_fd, "g", INSIDE);
    put_file(outside_fd, "f", OUTSIDE);
    put_file(outside_fd, "g", OUTSIDE);
    snprintf(link, sizeof(link), "%s/outside", base);
    must(symlinkat(link, root_fd, "e") == 0, "link");
    must(symlinkat("../../outside/f", dir_fd, "h") == 0, "link");
}

static void remove_scene(void)
{
    struct authority *authority;
    struct authority_scope *scope;
    const struct authority_config config = {.backend = AUTHORITY_LINUX};
    const struct authority_request request = {
        .subject = {AUTHORITY_CORE, "race", NULL},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "base", .path = base},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "clean up",
        .source = AUTHORITY_FROM_CORE,
    };
    const struct authority_remove_options all = {.is_recursive = true};

    must(authority_new(&config, &authority, NULL) == 0, "authority");
    must(authority_request_root(authority, &request, &scope, NULL) == 0, "scope");
    must(authority_remove(scope, STR("root"), &all, NULL) == 0, "remove");
    must(authority_remove(scope, STR("outside"), &all, NULL) == 0, "remove");
    authority_free(authority);
    rmdir(base);
}

/* The attacker. */
static void *exchange(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over)) {
        (void)renameat2(root_fd, "d", root_fd, "e", RENAME_EXCHANGE);
        (void)renameat2(root_fd, "d/g", root_fd, "d/h", RENAME_EXCHANGE);
        (void)renameat2(root_fd, "d", root_fd, "e", RENAME_EXCHANGE);
        (void)renameat2(root_fd, "d/g", root_fd, "d/h", RENAME_EXCHANGE);
    }
    return NULL;
}

/* The outside has its two files with their content and nothing else. */
static void check_outside(const char *operation)
{
    static const char *const names[] = {"f", "g"};
    cleanup_fd int fd = openat(outside_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fdopendir(steal_fd(&fd));
    const struct dirent *entry;
    unsigned count = 0;

    must(dir != NULL, "outside");
    while ((entry = readdir(dir)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(dir);
    if (count != 2) {
        fprintf(stderr, "race_authority: %s changed what is outside\n", operation);
        exit(1);
    }
    for (size_t i = 0; i < array_size(names); i++) {
        cleanup_fd int file = openat(outside_fd, names[i], O_RDONLY | O_CLOEXEC);
        char content[64] = "";

        if (file < 0 || read(file, content, sizeof(content) - 1) < 0 ||
            strcmp(content, OUTSIDE) != 0) {
            fprintf(stderr, "race_authority: %s wrote to outside/%s\n", operation, names[i]);
            exit(1);
        }
    }
}

/* ---- the operations ---- */

struct scene {
    struct authority_scope *scope;
    struct buf content;
    char tar[2048]; /* one file */
    unsigned leaks;
};

static void check_content(struct scene *s)
{
    if (str_find(buf_view(&s->content), STR("secret")) != SIZE_MAX)
        s->leaks++;
}

static int do_read(struct scene *s)
{
    int r;

    buf_clear(&s->content);
    r = authority_read_bytes(s->scope, STR("d/f"), NULL, &s->content, NULL);
    check_content(s);
    return r;
}

static int do_read_file_link(struct scene *s)
{
    int r;

    buf_clear(&s->content);
    r = authority_read_bytes(s->scope, STR("d/g"), NULL, &s->content, NULL);
    check_content(s);
    return r;
}

static const struct authority_write_options unsynced = {.is_unsynced = true};

/* What an attempt has made goes again, as soon as the race lets it. */
static void remove_surely(struct scene *s, struct str name)
{
    const struct authority_remove_options all = {.is_recursive = true};

    while (authority_remove(s->scope, name, &all, NULL) < 0)
        ;
}

static int do_create(struct scene *s)
{
    const struct authority_write_options new = {.create = AUTHORITY_CREATE_NEW,
                                                .is_unsynced = true};
    int r = authority_write_bytes(s->scope, STR("d/new"), STR("x"), &new, NULL);

    if (r == 0)
        remove_surely(s, STR("d/new"));
    return r;
}

static int do_overwrite(struct scene *s)
{
    return authority_write_bytes(s->scope, STR("d/f"), STR(INSIDE), &unsynced, NULL);
}

static int do_overwrite_file_link(struct scene *s)
{
    const struct authority_write_options old = {.create = AUTHORITY_REPLACE_OLD,
                                                .is_unsynced = true};

    return authority_write_bytes(s->scope, STR("d/g"), STR(INSIDE), &old, NULL);
}

static int do_append(struct scene *s)
{
    struct authority_stat about;

    /* Kept small: the file is what the others read. */
    if (authority_stat(s->scope, STR("d/f"), &about, NULL) == 0 && about.size > 1024)
        (void)do_overwrite(s);
    return authority_append(s->scope, STR("d/f"), STR("x"), &unsynced, NULL);
}

static int do_mkdir(struct scene *s)
{
    int r = authority_mkdir(s->scope, STR("d/sub"), NULL, NULL);

    if (r == 0)
        remove_surely(s, STR("d/sub"));
    return r;
}

static int do_move(struct scene *s)
{
    int r = authority_move(s->scope, STR("d/f"), STR("moved"), NULL, NULL);

    if (r == 0) {
        /* Back where it was, or what the others look for is gone. */
        while (authority_move(s->scope, STR("moved"), STR("d/f"), NULL, NULL) < 0)
            ;
    }
    return r;
}

static int do_remove(struct scene *s)
{
    const struct authority_remove_options all = {.is_recursive = true};
    const struct authority_write_options deep = {.make_parents = true, .is_unsynced = true};

    (void)authority_write_bytes(s->scope, STR("d/victim/f"), STR("x"), &deep, NULL);
    return authority_remove(s->scope, STR("d/victim"), &all, NULL);
}

/* "f" is the name of a file outside too. */
static int do_remove_shared_name(struct scene *s)
{
    int r = authority_remove(s->scope, STR("d/f"), NULL, NULL);

    if (r == 0)
        while (authority_write_bytes(s->scope, STR("d/f"), STR(INSIDE), &unsynced, NULL) < 0)
            ;
    return r;
}

static int do_copy(struct scene *s)
{
    const struct authority_move_options replace = {.may_replace = true};

    return authority_copy(s->scope, STR("source"), STR("d/f"), &replace, NULL);
}

static int do_copy_in(struct scene *s)
{
    const struct authority_move_options replace = {.may_replace = true};

    return authority_copy_in(s->scope, STR("d/f"), s->scope, STR("source"), &replace, NULL);
}

static int do_extract(struct scene *s)
{
    struct authority_archive_result result;
    int r = authority_extract_archive(s->scope, STR("one.tar"), STR("d/out"), NULL, &result, NULL);

    if (r == 0)
        remove_surely(s, STR("d/out"));
    return r;
}

static int see_entry(void *data, const struct authority_entry *entry)
{
    struct scene *s = data;

    if (entry->has_stat && entry->type == AUTHORITY_FILE && entry->stat.size == strlen(OUTSIDE))
        s->leaks++;
    return 0;
}

static int do_list(struct scene *s)
{
    const struct authority_list_options with_stat = {.with_stat = true};

    return authority_list(s->scope, STR("d"), &with_stat, see_entry, s, NULL);
}

static int want_all(void *data, unsigned thread, struct str name)
{
    (void)data;
    (void)thread;
    (void)name;
    return AUTHORITY_SIFT_OPEN;
}

static int see_content(void *data, unsigned thread, struct authority_sifted *file)
{
    char text[sizeof(OUTSIDE)];
    struct scene *s = data;
    size_t got = 0;
    int r = authority_sifted_read(file, 0, text, sizeof(text), &got);

    (void)thread;
    if (r == 0 && got == strlen(OUTSIDE) && memcmp(text, OUTSIDE, got) == 0)
        s->leaks++;
    return r;
}

static int do_search(struct scene *s)
{
    const struct authority_sift_options one_thread = {.threads = 1, .heeds_ignore_files = true};
    const struct authority_sift_visitor visitor = {
        .file = want_all, .content = see_content, .data = s};

    return authority_sift(s->scope, STR(""), &one_thread, &visitor, NULL);
}

static int do_search_swapped(struct scene *s)
{
    const struct authority_sift_options one_thread = {.threads = 1};
    const struct authority_sift_visitor visitor = {
        .file = want_all, .content = see_content, .data = s};

    return authority_sift(s->scope, STR("d"), &one_thread, &visitor, NULL);
}

static const struct {
    const char *name;
    int (*attempt)(struct scene *s);
} operations[] = {
    {"read", do_read},
    {"read a swapped file", do_read_file_link},
    {"create", do_create},
    {"overwrite", do_overwrite},
    {"overwrite a swapped file", do_overwrite_file_link},
    {"append", do_append},
    {"mkdir", do_mkdir},
    {"move", do_move},
    {"remove", do_remove},
    {"remove a shared name", do_remove_shared_name},
    {"copy", do_copy},
    {"copy in", do_copy_in},
    {"extract", do_extract},
    {"list", do_list},
    {"search", do_search},
    {"search a swapped directory", do_search_swapped},
};

/* ---- a tar with one file, by hand ---- */

static void make_tar(char out_tar[2048])
{
    unsigned sum = 0;

    memset(out_tar, 0, 2048);
    memcpy(out_tar, "f", 1);
    memcpy(out_tar + 100, "0000644", 7);
    memcpy(out_tar + 108, "0000000", 7);
    memcpy(out_tar + 116, "0000000", 7);
    memcpy(out_tar + 124, "00000000001", 11);
    memcpy(out_tar + 136, "00000000000", 11);
    memset(out_tar + 148, ' ', 8);
    out_tar[156] = '0';
    memcpy(out_tar + 257, "ustar\00000", 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)out_tar[i];
    snprintf(out_tar + 148, 8, "%06o", sum);
    out_tar[512] = 'x';
}

/* ---- running ---- */

static void run_mode(bool walks, bool follows, unsigned attempts)
{
    char path[300];
    const struct authority_config config = {.backend = AUTHORITY_LINUX, .walk_components = walks};
    struct authority_request request = {
        .subject = {AUTHORITY_CORE, "race", NULL},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "root", .path = path},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "race",
        .source = AUTHORITY_FROM_CORE,
        .limits.symlinks = follows ? AUTHORITY_SYMLINKS_IN_ROOT : AUTHORITY_SYMLINKS_REJECT,
    };
    struct scene s = {.content = BUF_INIT(CONTENT_MAX)};
    struct authority *authority;
    struct err err = ERR_INIT;

    snprintf(path, sizeof(path), "%s/root", base);
    must(authority_new(&config, &authority, &err) == 0, err.message);
    must(authority_request_root(authority, &request, &s.scope, &err) == 0, err.message);
    make_tar(s.tar);
    put_file(root_fd, "source", INSIDE);
    {
        cleanup_fd int fd = openat(root_fd, "one.tar", O_WRONLY | O_CREAT | O_TRUNC, 0644);

        must(fd >= 0 && write(fd, s.tar, sizeof(s.tar)) == sizeof(s.tar), "tar");
    }
    for (size_t i = 0; i < array_size(operations); i++) {
        unsigned done = 0;
        unsigned refused = 0;

        for (unsigned n = 0; n < attempts; n++) {
            if (operations[i].attempt(&s) == 0)
                done++;
            else
                refused++;
        }
        check_outside(operations[i].name);
        printf("%-8s %-8s %-26s %7u done %7u refused %3u leaks\n", walks ? "walk" : "openat2",
               follows ? "in-root" : "reject", operations[i].name, done, refused, s.leaks);
        if (s.leaks > 0)
            exit(1);
    }
    buf_done(&s.content);
    authority_free(authority);
}

/* The same race against a plain open: it must be lost, or it was no race. */
static void run_control(void)
{
    for (unsigned n = 0; n < CONTROL_ATTEMPTS; n++) {
        cleanup_fd int fd = openat(root_fd, "d/f", O_RDONLY | O_CLOEXEC);
        char content[64] = "";

        if (fd >= 0 && read(fd, content, sizeof(content) - 1) > 0 &&
            strstr(content, "secret") != NULL) {
            printf("control: open(2) leaked after %u attempts\n", n + 1);
            return;
        }
    }
    fprintf(stderr, "race_authority: even open(2) never lost the race, so nothing was proved\n");
    exit(1);
}

int main(int argc, char **argv)
{
    int64_t attempts = DEFAULT_ATTEMPTS;
    pthread_t attacker;

    if (argc > 1 && (!str_to_int64(str_from(argv[1]), &attempts) || attempts < 1))
        return 2;
    make_scene();
    must(pthread_create(&attacker, NULL, exchange, NULL) == 0, "thread");
    run_control();
    for (int mode = 0; mode < 4; mode++)
        run_mode((mode & 1) != 0, (mode & 2) != 0, (unsigned)attempts);
    atomic_store(&is_over, true);
    pthread_join(attacker, NULL);
    check_outside("all of it");
    remove_scene();
    return 0;
}

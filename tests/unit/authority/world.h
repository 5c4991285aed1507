/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An authority with a small world around it, for tests of the public API: a root, something
 * outside, and a sibling whose name begins like the root's. Tests change and inspect the disk from
 * outside, without the authority. The world can be in memory, on the disk, or on the disk without
 * openat2; a test works the same with each.
 */
#ifndef TESTS_UNIT_AUTHORITY_WORLD_H
#define TESTS_UNIT_AUTHORITY_WORLD_H

#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "authority/internal.h"
#include "gatehouse/authority.h"
#include "memory_plant.h"

enum world_tree { WORLD_ROOT, WORLD_OUTSIDE, WORLD_TWIN, WORLD_OTHER, WORLD_TREES };
static const char *const world_tree_names[WORLD_TREES] = {"root", "outside", "root-evil", "other"};

enum { WORLD_BUF_BYTES = 64 << 20, WORLD_PATH_BYTES = 96, WORLD_SHOWN_BYTES = 4096 };

/* A Monday in March. */
#define WORLD_START_MS INT64_C(1772449200000)

struct world {
    bool is_memory;
    bool walks;
    struct clock clock;
    struct authority *authority;
    struct authority_scope *scope;     /* all access, links rejected */
    struct authority_scope *following; /* the same, links followed inside */
    char base[WORLD_PATH_BYTES / 2];   /* on disk: of everything */
    char paths[WORLD_TREES][WORLD_PATH_BYTES];
    char state[WORLD_PATH_BYTES];
    int fds[WORLD_TREES];                    /* on disk */
    struct backend_root *trees[WORLD_TREES]; /* in memory */
    struct buf frozen;
    struct err err; /* for calls: see assert_refused */
    size_t open_fds;
};

static inline size_t world_count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* ---- scopes ---- */

/* A request that is granted; tests change what they are about. */
static inline struct authority_request world_request(const struct world *world)
{
    return (struct authority_request){
        .subject = {.type = AUTHORITY_AGENT_RUN, .id = "talk", .run_id = "run-1"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "main", .path = world->paths[WORLD_ROOT]},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "a test",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT},
    };
}

static inline struct authority_scope *world_open(struct world *world,
                                                 const struct authority_request *request)
{
    struct authority_scope *scope = NULL;

    world->err = (struct err)ERR_INIT;
    assert_int_equal(authority_request_root(world->authority, request, &scope, &world->err), 0);
    assert_non_null(scope);
    return scope;
}

static inline struct authority_scope *world_open_limited(struct world *world,
                                                         const struct authority_limits *limits)
{
    struct authority_request request = world_request(world);

    request.limits = *limits;
    return world_open(world, &request);
}

/* ---- beginning and end ---- */

static bool world_is_child;

static inline int world_setup(void **state, bool is_memory, bool walk_components)
{
    struct world *world = calloc(1, sizeof(*world));
    const char *tmp = getenv("TMPDIR");
    struct authority_config config;
    struct authority_request request;

    assert_non_null(world);
    world->open_fds = world_count_fds();
    world->is_memory = is_memory;
    world->walks = walk_components;
    clock_fake_init(&world->clock, WORLD_START_MS);
    buf_init(&world->frozen, WORLD_BUF_BYTES);
    snprintf(world->base, sizeof(world->base), "%s/gh-world-XXXXXX",
             tmp != NULL && strlen(tmp) < 24 ? tmp : "/tmp");
    if (!is_memory)
        assert_non_null(mkdtemp(world->base));
    snprintf(world->state, sizeof(world->state), "%s/state", world->base);
    if (!is_memory)
        assert_int_equal(mkdir(world->state, 0700), 0);
    config = (struct authority_config){.backend = is_memory ? AUTHORITY_MEMORY : AUTHORITY_LINUX,
                                       .state_dir = is_memory ? NULL : world->state,
                                       .clock = &world->clock,
                                       .walk_components = walk_components};
    assert_int_equal(authority_new(&config, &world->authority, &world->err), 0);
    for (int i = 0; i < WORLD_TREES; i++) {
        snprintf(world->paths[i], sizeof(world->paths[i]), "%s/%s", world->base,
                 world_tree_names[i]);
        world->fds[i] = -1;
        if (is_memory) {
            struct backend *backend = world->authority->backend;

            assert_int_equal(backend->ops->root_open(backend, world->paths[i], &world->trees[i]),
                             0);
        } else {
            assert_int_equal(mkdir(world->paths[i], 0755), 0);
            world->fds[i] = open(world->paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            assert_true(world->fds[i] >= 0);
        }
    }
    request = world_request(world);
    world->scope = world_open(world, &request);
    request.limits.symlinks = AUTHORITY_SYMLINKS_IN_ROOT;
    world->following = world_open(world, &request);
    *state = world;
    return 0;
}

/* Another of the same sort, for a test that needs several; ends with teardown(). */
static inline void world_setup_like(const struct world *world, void **out_world)
{
    world_setup(out_world, world->is_memory, world->walks);
}

static inline int setup_memory(void **state)
{
    return world_setup(state, true, false);
}

static inline int setup_linux(void **state)
{
    return world_setup(state, false, false);
}

static inline int setup_walking(void **state)
{
    return world_setup(state, false, true);
}

static inline void world_erase(const char *path)
{
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);

    assert_non_null(fts);
    for (FTSENT *entry; (entry = fts_read(fts)) != NULL;) {
        if (entry->fts_info == FTS_D)
            chmod(entry->fts_accpath, 0700);
        else if (entry->fts_info == FTS_DP || entry->fts_info == FTS_DNR)
            rmdir(entry->fts_accpath);
        else
            unlink(entry->fts_accpath);
    }
    fts_close(fts);
}

/* Also sees to it that nothing was left open. */
static inline int teardown(void **state)
{
    struct world *world = *state;
    size_t left;

    if (world_is_child)
        _exit(1); /* an assertion of world_in_child's body failed */
    authority_scope_free(world->scope);
    authority_scope_free(world->following);
    for (int i = 0; i < WORLD_TREES; i++) {
        if (world->trees[i] != NULL)
            world->authority->backend->ops->root_close(world->trees[i]);
        if (world->fds[i] >= 0)
            close(world->fds[i]);
    }
    authority_free(world->authority);
    if (!world->is_memory)
        world_erase(world->base);
    buf_done(&world->frozen);
    left = world_count_fds();
    assert_int_equal(left, world->open_fds);
    free(world);
    return 0;
}

#define IN_MEMORY(test)                                                                            \
    {                                                                                              \
#test "_in_memory", test, setup_memory, teardown, NULL                                     \
    }
#define ON_DISK(test)                                                                              \
    {#test "_on_disk", test, setup_linux, teardown, NULL},                                         \
    {                                                                                              \
#test "_by_walking", test, setup_walking, teardown, NULL                                   \
    }
#define EVERYWHERE(test) IN_MEMORY(test), ON_DISK(test)

/* ---- in a process of its own ---- */

/* For what changes the process for good. The body asserts like any test. */
static inline void world_in_child(struct world *world, void (*body)(struct world *world))
{
    pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        world_is_child = true;
        body(world);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status %#x", (unsigned)status);
}

/* In a child: an authority of its own over what the world's paths mean there by now. */
static inline void world_reopen(struct world *world, const char *state_dir)
{
    const struct authority_config config = {.backend = AUTHORITY_LINUX,
                                            .state_dir = state_dir,
                                            .clock = &world->clock,
                                            .walk_components = world->walks};
    struct authority_request request = world_request(world);

    assert_int_equal(authority_new(&config, &world->authority, &world->err), 0);
    world->scope = world_open(world, &request);
    request.limits.symlinks = AUTHORITY_SYMLINKS_IN_ROOT;
    world->following = world_open(world, &request);
    for (int i = 0; i < WORLD_TREES; i++)
        world->fds[i] = open(world->paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ---- acting from outside ---- */

static inline void plant_bytes(struct world *world, enum world_tree tree, const char *name,
                               struct str bytes)
{
    int fd;

    if (world->is_memory) {
        assert_int_equal(
            memory_plant(world->trees[tree], str_from(name), AUTHORITY_FILE, bytes, 0644), 0);
        return;
    }
    fd = openat(world->fds[tree], name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.ptr, bytes.len), (ssize_t)bytes.len);
    close(fd);
}

static inline void plant(struct world *world, enum world_tree tree, const char *name,
                         const char *text)
{
    plant_bytes(world, tree, name, str_from(text));
}

/* More than is read and written in one piece: the kernel is asked to copy it. */
static inline void plant_to_copy(struct world *world, enum world_tree tree, const char *name)
{
    static char bytes[64 << 10];

    memset(bytes, 'x', sizeof(bytes));
    plant_bytes(world, tree, name, (struct str){bytes, sizeof(bytes)});
}

static inline void plant_dir(struct world *world, enum world_tree tree, const char *name)
{
    if (world->is_memory)
        assert_int_equal(
            memory_plant(world->trees[tree], str_from(name), AUTHORITY_DIRECTORY, STR_EMPTY, 0755),
            0);
    else
        assert_int_equal(mkdirat(world->fds[tree], name, 0755), 0);
}

static inline void plant_link(struct world *world, const char *name, const char *target)
{
    if (world->is_memory)
        assert_int_equal(memory_plant(world->trees[WORLD_ROOT], str_from(name), AUTHORITY_SYMLINK,
                                      str_from(target), 0777),
                         0);
    else
        assert_int_equal(symlinkat(target, world->fds[WORLD_ROOT], name), 0);
}

static inline void plant_hardlink(struct world *world, enum world_tree from_tree, const char *from,
                                  const char *name)
{
    if (world->is_memory)
        assert_int_equal(memory_plant_hardlink(world->trees[from_tree], str_from(from),
                                               world->trees[WORLD_ROOT], str_from(name)),
                         0);
    else
        assert_int_equal(linkat(world->fds[from_tree], from, world->fds[WORLD_ROOT], name, 0), 0);
}

static inline void plant_fifo(struct world *world, const char *name)
{
    if (world->is_memory)
        assert_int_equal(memory_plant(world->trees[WORLD_ROOT], str_from(name), AUTHORITY_OTHER,
                                      STR_EMPTY, 0644),
                         0);
    else
        assert_int_equal(mkfifoat(world->fds[WORLD_ROOT], name, 0644), 0);
}

static inline void set_mode(struct world *world, enum world_tree tree, const char *name,
                            unsigned mode)
{
    if (world->is_memory)
        assert_int_equal(memory_set_mode(world->trees[tree], str_from(name), mode), 0);
    else
        assert_int_equal(fchmodat(world->fds[tree], name[0] != '\0' ? name : ".", mode, 0), 0);
}

/* ---- looking from outside ---- */

/* False if there is nothing; links are not followed. */
static inline bool look(struct world *world, enum world_tree tree, const char *name,
                        struct authority_stat *out_stat, struct buf *content)
{
    struct stat about;
    int fd;

    if (world->is_memory)
        return memory_peek(world->trees[tree], str_from(name), out_stat, content) == 0;
    if (fstatat(world->fds[tree], name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    *out_stat = (struct authority_stat){
        .type = S_ISREG(about.st_mode)   ? AUTHORITY_FILE
                : S_ISDIR(about.st_mode) ? AUTHORITY_DIRECTORY
                : S_ISLNK(about.st_mode) ? AUTHORITY_SYMLINK
                                         : AUTHORITY_OTHER,
        .size = (uint64_t)about.st_size,
        .mode = about.st_mode & 07777,
        .links = (unsigned)about.st_nlink,
        .inode = about.st_ino,
    };
    if (content == NULL || !S_ISREG(about.st_mode))
        return true;
    fd = openat(world->fds[tree], name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(buf_reserve(content, (size_t)about.st_size + 1), 0);
    assert_int_equal(read(fd, content->data + content->len, (size_t)about.st_size), about.st_size);
    content->len += (size_t)about.st_size;
    close(fd);
    return true;
}

static inline bool is_there(struct world *world, enum world_tree tree, const char *name)
{
    struct authority_stat about;

    return look(world, tree, name, &about, NULL);
}

static inline void assert_bytes(struct world *world, enum world_tree tree, const char *name,
                                struct str bytes)
{
    cleanup_buf struct buf content = BUF_INIT(WORLD_BUF_BYTES);
    struct authority_stat about;

    assert_true(look(world, tree, name, &about, &content));
    assert_int_equal(about.type, AUTHORITY_FILE);
    assert_int_equal(content.len, bytes.len);
    if (bytes.len > 0)
        assert_memory_equal(content.data, bytes.ptr, bytes.len);
}

static inline void assert_content(struct world *world, enum world_tree tree, const char *name,
                                  const char *text)
{
    assert_bytes(world, tree, name, str_from(text));
}

static inline unsigned mode_of(struct world *world, enum world_tree tree, const char *name)
{
    struct authority_stat about;

    assert_true(look(world, tree, name, &about, NULL));
    return about.mode;
}

/* ---- the whole disk, to see that nothing changed ---- */

static inline int world_compare_entries(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static inline void world_describe_file(const FTSENT *entry, struct buf *out)
{
    char bytes[WORLD_SHOWN_BYTES];
    ssize_t len = -1;
    int fd;

    if (entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE) {
        len = readlink(entry->fts_accpath, bytes, sizeof(bytes));
    } else if (S_ISREG(entry->fts_statp->st_mode)) {
        fd = open(entry->fts_accpath, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        assert_true(fd >= 0);
        len = read(fd, bytes, sizeof(bytes));
        close(fd);
    }
    if (len > 0)
        assert_int_equal(buf_append(out, bytes, (size_t)len), 0);
}

/* Files with everything about them; directories without their times, which staging may touch. */
static inline void world_describe_disk(struct world *world, struct buf *out)
{
    for (int i = 0; i < WORLD_TREES; i++) {
        char *const paths[] = {world->paths[i], NULL};
        FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, world_compare_entries);

        assert_non_null(fts);
        for (FTSENT *entry; (entry = fts_read(fts)) != NULL;) {
            const struct stat *about = entry->fts_statp;
            bool is_directory = S_ISDIR(about->st_mode);

            if (entry->fts_info == FTS_DP)
                continue;
            buf_printf(out, "%s %o %ju", entry->fts_path, (unsigned)about->st_mode,
                       (uintmax_t)about->st_ino);
            if (!is_directory) {
                buf_printf(out, " links %ju size %jd time %jd.%09ld: ", (uintmax_t)about->st_nlink,
                           (intmax_t)about->st_size, (intmax_t)about->st_mtim.tv_sec,
                           about->st_mtim.tv_nsec);
                world_describe_file(entry, out);
            }
            buf_append_char(out, '\n');
        }
        fts_close(fts);
    }
}

static inline void world_describe_node(struct world *world, enum world_tree tree, struct str name,
                                       struct buf *out)
{
    const struct backend_ops *ops = world->authority->backend->ops;
    const struct backend_lookup lookup = {.allows_hardlinks = true};
    struct backend_dir *dir;
    enum authority_type type;
    struct str component;
    int error = 0;

    assert_int_equal(ops->dir_open(world->trees[tree], &lookup, name, &dir), 0);
    while (ops->dir_next(dir, &component, &type, &error)) {
        struct authority_stat about;
        struct path_name full;

        assert_int_equal(path_join(name, component, &full), 0);
        buf_printf(out, "%d %s: ", (int)tree, full.text);
        assert_int_equal(memory_peek(world->trees[tree], path_view(&full), &about,
                                     type != AUTHORITY_DIRECTORY ? out : NULL),
                         0);
        buf_printf(out, " %d %o %ju\n", (int)about.type, about.mode, (uintmax_t)about.inode);
        if (type != AUTHORITY_DIRECTORY)
            buf_printf(out, "links %u time %jd\n", about.links, (intmax_t)about.modified_ms);
        else if ((about.mode & 0500) == 0500)
            world_describe_node(world, tree, path_view(&full), out);
    }
    ops->dir_close(dir);
}

static inline void world_describe(struct world *world, struct buf *out)
{
    if (!world->is_memory)
        world_describe_disk(world, out);
    else
        for (enum world_tree tree = WORLD_ROOT; tree < WORLD_TREES; tree++)
            world_describe_node(world, tree, STR_EMPTY, out);
}

/* From here on nothing may change… */
static inline void freeze(struct world *world)
{
    buf_clear(&world->frozen);
    world_describe(world, &world->frozen);
}

/* …and nothing has. */
static inline void assert_frozen(struct world *world)
{
    cleanup_buf struct buf now = BUF_INIT(WORLD_BUF_BYTES);
    const char *before_text;
    const char *now_text;

    world_describe(world, &now);
    assert_int_equal(buf_terminate(&now, &now_text), 0);
    assert_int_equal(buf_terminate(&world->frozen, &before_text), 0);
    if (!str_eq(buf_view(&now), buf_view(&world->frozen)))
        fail_msg("the disk has changed from\n%s\nto\n%s", before_text, now_text);
}

/* ---- refusals ---- */

static inline void world_check_refusal(struct world *world, int result, int code, const char *call,
                                       const char *file, int line)
{
    if (result != code)
        fail_msg("%s:%d: %s gave %s instead of %s", file, line, call,
                 result < 0 ? err_name(result) : "success", code < 0 ? err_name(code) : "success");
    if (code >= 0)
        return;
    assert_int_equal(world->err.code, code);
    assert_string_not_equal(world->err.message, "");
    /* No error shows where the root lies. */
    assert_null(strstr(world->err.message, world->base));
}

/* The call is given &world->err. */
#define assert_refused(world, call, code)                                                          \
    do {                                                                                           \
        (world)->err = (struct err)ERR_INIT;                                                       \
        world_check_refusal(world, call, code, #call, __FILE__, __LINE__);                         \
    } while (0)
#define assert_ok(world, call) assert_refused(world, call, 0)

static inline void refuse_request(struct world *world, const struct authority_request *request,
                                  int code)
{
    struct authority_scope *scope = NULL;

    assert_refused(world, authority_request_root(world->authority, request, &scope, &world->err),
                   code);
    assert_null(scope);
}

static inline void accept_request(struct world *world, const struct authority_request *request)
{
    authority_scope_free(world_open(world, request));
}

/* The authority's own reading, compared. */
static inline void world_check_read(struct world *world, struct authority_scope *scope,
                                    struct str name, struct str bytes, int line)
{
    cleanup_buf struct buf content = BUF_INIT(WORLD_BUF_BYTES);
    int r = authority_read_bytes(scope, name, NULL, &content, &world->err);

    if (r != 0)
        fail_msg("line %d: reading %.*s gave %s", line, STR_ARG(name), err_name(r));
    assert_int_equal(content.len, bytes.len);
    if (bytes.len > 0)
        assert_memory_equal(content.data, bytes.ptr, bytes.len);
}
#define assert_reads(world, scope, name, text)                                                     \
    world_check_read(world, scope, str_from(name), str_from(text), __LINE__)

/* Names that a list or walk shows, each with a newline behind it, in its order. */
static inline int world_note_entry(void *data, const struct authority_entry *entry)
{
    struct buf *out = data;

    buf_append_str(out, entry->name);
    return buf_append_char(out, '\n');
}

#endif

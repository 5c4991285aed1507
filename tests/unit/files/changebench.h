/* SPDX-License-Identifier: Apache-2.0 */
/* A workbench whose tools may write, and the whole tree as one text to compare. */
#ifndef TESTS_UNIT_FILES_CHANGEBENCH_H
#define TESTS_UNIT_FILES_CHANGEBENCH_H

#include "workbench.h"

#include "base/jsonwrite.h"

enum { TREE_TEXT_BYTES = 64 << 20, FILE_TEXT_BYTES = 8 << 20, ARGUMENT_BYTES = 16 << 20 };

static inline int change_setup(void **state)
{
    bench_setup(state);
    bench_reopen(*state, (struct toolbox_config){.may_write = true}, NULL);
    return 0;
}

/* What is kept lies on another file system than the folder from now on; false: there is none. */
static inline bool keep_elsewhere(struct bench *bench)
{
    char path[] = "/dev/shm/gh-bench-XXXXXX";
    struct stat here;
    struct stat there;

    assert_int_equal(stat(bench->root, &here), 0);
    if (mkdtemp(path) == NULL)
        return false;
    if (stat(path, &there) < 0 || there.st_dev == here.st_dev) {
        rmdir(path);
        return false;
    }
    bench_close(bench);
    authority_free(bench->authority);
    bench->authority = NULL;
    snprintf(bench->state, sizeof(bench->state), "%s", path);
    assert_int_equal(authority_new(&(struct authority_config){.backend = AUTHORITY_LINUX,
                                                              .state_dir = bench->state},
                                   &bench->authority, &bench->err),
                     0);
    bench_reopen(bench, (struct toolbox_config){.may_write = true}, NULL);
    return true;
}

#define CHANGE_TEST(test) cmocka_unit_test_setup_teardown(test, change_setup, bench_teardown)

/* {"key":"value", …} with any text; up to a NULL. */
static inline const char *arguments(struct bench *bench, const char *key, ...)
{
    cleanup_buf struct buf text = BUF_INIT(ARGUMENT_BYTES);
    struct json_writer w;
    va_list args;

    json_writer_init(&w, &text);
    json_begin_object(&w);
    va_start(args, key);
    for (; key != NULL; key = va_arg(args, const char *)) {
        json_key(&w, str_from(key));
        json_write_str(&w, str_from(va_arg(args, const char *)));
    }
    va_end(args);
    json_end_object(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    return arena_copy(&bench->arena, buf_view(&text));
}

/* The two changes that most tests make. */
static inline const struct json_value *call_write(struct bench *bench, const char *name,
                                                  const char *content)
{
    return bench_call(bench, "write_file",
                      arguments(bench, "filePath", name, "content", content, (char *)NULL));
}

static inline const struct json_value *call_delete(struct bench *bench, const char *name)
{
    return bench_call(bench, "delete", arguments(bench, "path", name, (char *)NULL));
}

/* ---- looking from outside ---- */

static inline bool is_there(const struct bench *bench, const char *name)
{
    struct stat about;

    return fstatat(bench->root_fd, name, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline unsigned mode_of(const struct bench *bench, const char *name)
{
    struct stat about;

    assert_int_equal(fstatat(bench->root_fd, name, &about, AT_SYMLINK_NOFOLLOW), 0);
    return about.st_mode & 07777;
}

static inline void set_mode(const struct bench *bench, const char *name, unsigned mode)
{
    assert_int_equal(fchmodat(bench->root_fd, name, mode, 0), 0);
}

static inline void read_file_at(int dir_fd, const char *name, struct buf *out)
{
    cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char bytes[4096];
    ssize_t got;

    assert_true(fd >= 0);
    while ((got = read(fd, bytes, sizeof(bytes))) > 0)
        assert_int_equal(buf_append(out, bytes, (size_t)got), 0);
    assert_int_equal(got, 0);
}

static inline void assert_file(const struct bench *bench, const char *name, const char *text)
{
    cleanup_buf struct buf content = BUF_INIT(FILE_TEXT_BYTES);

    read_file_at(bench->root_fd, name, &content);
    if (!str_eq_c(buf_view(&content), text))
        fail_msg("%s holds \"%.*s\", not \"%s\"", name,
                 str_print_length(str_slice(buf_view(&content), 0, 200)), content.data, text);
}

static inline int compare_entries(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

enum { SHARED_MAX = 64 };

/* Files with several names, in the order in which they are met. */
struct shared_files {
    ino_t inodes[SHARED_MAX];
    size_t count;
};

static inline size_t shared_number(struct shared_files *shared, ino_t inode)
{
    size_t i = 0;

    while (i < shared->count && shared->inodes[i] != inode)
        i++;
    assert_true(i < SHARED_MAX);
    if (i == shared->count)
        shared->inodes[shared->count++] = inode;
    return i;
}

static inline void describe_entry(const FTSENT *entry, struct shared_files *shared, struct buf *out)
{
    const struct stat *about = entry->fts_statp;
    char target[256];
    ssize_t len;

    if (S_ISREG(about->st_mode)) {
        if (about->st_nlink > 1)
            buf_printf(out, "(one of %ju, number %zu) ", (uintmax_t)about->st_nlink,
                       shared_number(shared, about->st_ino));
        read_file_at(AT_FDCWD, entry->fts_path, out);
    } else if (S_ISLNK(about->st_mode)) {
        len = readlink(entry->fts_path, target, sizeof(target));
        assert_true(len > 0);
        buf_append(out, target, (size_t)len);
    }
}

/* Names, types, modes, owners, contents, where links lead, and which names are one file. */
static inline void describe_tree(const struct bench *bench, struct buf *out)
{
    char *const paths[] = {(char *)(uintptr_t)bench->root, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, compare_entries);
    struct shared_files shared = {.count = 0};

    assert_non_null(fts);
    for (FTSENT *entry; (entry = fts_read(fts)) != NULL;) {
        if (entry->fts_info == FTS_DP || entry->fts_level == 0)
            continue;
        buf_printf(out, "%s %o %u:%u ", entry->fts_path + strlen(bench->root),
                   (unsigned)entry->fts_statp->st_mode, entry->fts_statp->st_uid,
                   entry->fts_statp->st_gid);
        describe_entry(entry, &shared, out);
        assert_int_equal(buf_append_char(out, '\n'), 0);
    }
    fts_close(fts);
}

static inline void assert_tree(const struct bench *bench, const struct buf *expected)
{
    cleanup_buf struct buf found = BUF_INIT(TREE_TEXT_BYTES);

    describe_tree(bench, &found);
    if (!str_eq(buf_view(&found), buf_view(expected)))
        fail_msg("the tree is\n%.*snot\n%.*s", STR_ARG(buf_view(&found)),
                 STR_ARG(buf_view(expected)));
}

/* ---- undoing ---- */

static inline const struct json_value *undo_all(struct bench *bench)
{
    return bench_call(bench, "undo_changes", "{\"all\":true}");
}

/* The outcome of the item at this place: "restored", or the reason why it was skipped. */
static inline struct str outcome_of(const struct json_value *result, size_t index)
{
    json_each_item (item, json_get(result, STR("undone"))) {
        if (index-- > 0)
            continue;
        if (str_eq_c(str_member(item, "outcome"), "restored"))
            return str_member(item, "outcome");
        return str_member(item, "reason");
    }
    fail_msg("no such item");
    return STR_EMPTY;
}

#endif

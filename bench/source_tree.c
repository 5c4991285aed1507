/* SPDX-License-Identifier: Apache-2.0 */
#include "source_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source_text.h"

enum {
    DIRECTORIES = 1200,
    FILES = 20, /* in each */
    FILE_MIN_BYTES = 2 << 10,
    FILE_MORE_BYTES = 15 << 10,
    /* Files are parts of this; small, since a child's peak of memory begins with ours. */
    POOL_BYTES = 4 << 20,
    NAMED_FILES = 84, /* that are empty, in each directory of the other tree */
};

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* A text of whole lines, drawn from the pool. */
static struct str draw_content(struct source_text *source, struct str pool, size_t scale)
{
    size_t len = scale * (FILE_MIN_BYTES + source_text_draw(source, FILE_MORE_BYTES));
    size_t start = source_text_draw(source, pool.len - len - SOURCE_TEXT_LINE_BYTES);
    const char *begin = memchr(pool.ptr + start, '\n', SOURCE_TEXT_LINE_BYTES);
    const char *end = memrchr(pool.ptr + start, '\n', len);

    return (struct str){begin + 1, (size_t)(end - begin)};
}

static void write_file(int directory_fd, const char *name, struct str content)
{
    cleanup_fd int fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, content.ptr, content.len) != (ssize_t)content.len)
        die("no room for the tree");
}

static void make_directory(int fd, const char *name)
{
    if (mkdirat(fd, name, 0755) < 0 && errno != EEXIST)
        die("the directory cannot be written to");
}

/*
 * Directories in directories; without a pool all files are empty, with one they are so many times
 * as large as usual. Returns the bytes.
 */
static uint64_t make_tree(const char *path, size_t files, struct str pool, size_t scale)
{
    static const char *const endings[] = {".c", ".h", ".py"};
    struct source_text source = SOURCE_TEXT_INIT;
    cleanup_fd int root = -1;
    uint64_t bytes = 0;

    make_directory(AT_FDCWD, path);
    root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; root >= 0 && i < DIRECTORIES; i++) {
        cleanup_fd int fd = -1;
        char name[64];

        snprintf(name, sizeof(name), "part%02u", i / 30);
        make_directory(root, name);
        snprintf(name, sizeof(name), "part%02u/module%04u", i / 30, i);
        make_directory(root, name);
        fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (unsigned j = 0; j < files; j++) {
            struct str content = pool.len > 0 ? draw_content(&source, pool, scale) : STR_EMPTY;

            snprintf(name, sizeof(name), "unit_%03u%s", j, endings[j % array_size(endings)]);
            write_file(fd, name, content);
            bytes += content.len;
        }
    }
    return bytes;
}

static void make_source(const char *path, size_t files, size_t scale)
{
    cleanup_buf struct buf pool = BUF_INIT(POOL_BYTES + SOURCE_TEXT_LINE_BYTES);
    struct source_text source = SOURCE_TEXT_INIT;

    while (pool.len < POOL_BYTES)
        source_text_append_line(&source, &pool);
    printf("%zu files in %d directories, %ju MB\n", DIRECTORIES * files, DIRECTORIES,
           (uintmax_t)(make_tree(path, files, buf_view(&pool), scale) >> 20));
}

void source_tree_make(const char *path)
{
    make_source(path, FILES, 1);
}

void source_tree_make_coarse(const char *path)
{
    make_source(path, FILES / 2, 2);
}

void source_tree_make_names(const char *path)
{
    make_tree(path, NAMED_FILES, STR_EMPTY, 0);
}

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *at)
{
    (void)about;
    (void)type;
    (void)at;
    return remove(path);
}

void source_tree_remove(const char *path)
{
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
        fprintf(stderr, "%s is left\n", path);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extracts any bytes as an archive into a backend that only checks: every name that reaches it is
 * normal, new, below an existing directory and within the limits, even if the archive is refused
 * later.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authority/archive/internal.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MAX_ENTRIES = 64,
    MAX_TOTAL_BYTES = 1 << 20,
    MAX_ENTRY_BYTES = 1 << 19,
    MAX_DEPTH = 8,
    TAR_BLOCK_BYTES = 512,
};

struct backend_file {
    const uint8_t *data;
    size_t size;
};

/* What has been written so far. */
struct backend_root {
    struct arena arena;
    struct map names;
    uint64_t files;
    uint64_t directories;
    uint64_t bytes;
};

struct backend_stage {
    struct backend_root *root;
    uint64_t bytes;
};

static char directory_mark, file_mark;

static int file_read(struct backend_file *file, uint64_t offset, void *bytes, size_t size,
                     size_t *out_got)
{
    size_t left = offset < file->size ? file->size - (size_t)offset : 0;

    *out_got = size < left ? size : left;
    if (*out_got > 0)
        memcpy(bytes, file->data + offset, *out_got);
    return 0;
}

static void enter(struct backend_root *root, struct str name, char *mark)
{
    struct str rest = name, part, parent = STR_EMPTY;
    unsigned depth = 0;
    int r;

    assert(name.len > 0 && name.len < PATH_MAX && name.ptr[name.len] == '\0');
    assert(utf8_is_valid(name) && !str_has_nul(name));
    while (str_cut(&rest, '/', &part)) {
        assert(part.len > 0 && part.len <= NAME_MAX);
        assert(!str_eq(part, STR(".")) && !str_eq(part, STR("..")));
        if (rest.ptr != NULL)
            parent = (struct str){name.ptr, (size_t)(part.ptr + part.len - name.ptr)};
        depth++;
    }
    assert(depth <= MAX_DEPTH);
    assert(parent.len == 0 || map_get(&root->names, parent) == &directory_mark);
    r = map_add(&root->names, (struct str){arena_copy(&root->arena, name), name.len}, mark);
    assert(r == 0);
}

static int make_directory(struct backend_root *root, const struct backend_lookup *lookup,
                          struct str name, unsigned mode, bool is_synced)
{
    (void)lookup;
    (void)is_synced;
    assert(mode == 0755);
    enter(root, name, &directory_mark);
    root->directories++;
    return 0;
}

static int stage(struct backend_root *root, const struct backend_lookup *lookup, struct str name,
                 enum backend_create create, unsigned mode, struct backend_stage **out_stage)
{
    struct backend_stage *begun = arena_new(&root->arena, struct backend_stage);

    (void)lookup;
    assert(create == BACKEND_CREATE_NEW && (mode == 0644 || mode == 0755));
    enter(root, name, &file_mark);
    assert(begun != NULL);
    *begun = (struct backend_stage){.root = root};
    *out_stage = begun;
    return 0;
}

static int stage_write(struct backend_stage *begun, const void *bytes, size_t len)
{
    uint8_t sum = 0;

    /* Reads it all, so that a pointer that is no longer good is found. */
    for (size_t i = 0; i < len; i++)
        sum = (uint8_t)(sum + ((const uint8_t *)bytes)[i]);
    (void)sum;
    begun->bytes += len;
    begun->root->bytes += len;
    assert(begun->bytes <= MAX_ENTRY_BYTES && begun->root->bytes <= MAX_TOTAL_BYTES);
    return 0;
}

static int stage_publish(struct backend_stage *begun, bool is_synced)
{
    (void)is_synced;
    begun->root->files++;
    return 0;
}

static void stage_drop(struct backend_stage *begun)
{
    (void)begun;
}

static void check(const uint8_t *data, size_t size)
{
    static const struct backend_ops ops = {
        .file_read = file_read,
        .mkdir = make_directory,
        .stage = stage,
        .stage_write = stage_write,
        .stage_publish = stage_publish,
        .stage_drop = stage_drop,
    };
    static const struct archive_rules rules = {
        .limits = {.archive_bytes = 1 << 20,
                   .entries = MAX_ENTRIES,
                   .total_bytes = MAX_TOTAL_BYTES,
                   .entry_bytes = MAX_ENTRY_BYTES,
                   .ratio = 50,
                   .depth = MAX_DEPTH},
    };
    static const struct backend_lookup lookup;
    struct backend backend = {&ops};
    struct backend_file file = {data, size};
    struct backend_root root = {.arena = ARENA_INIT(1 << 20), .names = MAP_INIT(MAX_ENTRIES)};
    struct authority_archive_result extracted = {0};
    struct err err = ERR_INIT;
    int r;

    r = archive_extract(&backend, &file, size, &root, &lookup, &rules, &extracted, &err);
    assert((r < 0) == (err.message[0] != '\0') && err.code == r);
    if (r == 0)
        assert(extracted.files == root.files && extracted.directories == root.directories &&
               extracted.bytes == root.bytes);
    map_done(&root.names);
    arena_done(&root.arena);
}

/* Makes the checksums of a tar right, which chance would never hit on. */
static void repair(uint8_t *block)
{
    unsigned sum = 0;

    if (memcmp(block + 257, "ustar", 5) != 0)
        return;
    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_free uint8_t *copy = NULL;

    check(data, size);
    if (size < TAR_BLOCK_BYTES || memcmp(data + 257, "ustar", 5) != 0)
        return 0;
    copy = malloc(size);
    assert(copy != NULL);
    memcpy(copy, data, size);
    for (size_t at = 0; size - at >= TAR_BLOCK_BYTES; at += TAR_BLOCK_BYTES)
        repair(copy + at);
    check(copy, size);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way to give the authority a name, as a table: what it is recorded as,
 * which access it needs, and a name with which it succeeds. Tests run through
 * all of them with what must be refused.
 */
#ifndef TESTS_UNIT_AUTHORITY_ATTEMPTS_H
#define TESTS_UNIT_AUTHORITY_ATTEMPTS_H

#include "world.h"

struct attempt {
    const char *label;
    const char *good;
    enum authority_operation operation;
    unsigned access;
    bool is_mutation;
    bool is_on_disk_only;
    bool takes_link_itself; /* a last link is the thing, and not what it points at */
    int (*run)(struct world *world, struct authority_scope *scope, struct str name);
};

/* What the good names need. `world->scope` makes it. */
static inline void attempts_prepare(struct world *world)
{
    struct authority_archive_result result;

    plant(world, WORLD_ROOT, "file", "{\"content\":1}");
    plant(world, WORLD_ROOT, "spare", "spare");
    plant_dir(world, WORLD_ROOT, "dir");
    plant(world, WORLD_ROOT, "dir/below", "below");
    assert_int_equal(authority_create_archive(world->scope, STR("dir"), STR("pack"),
                                              AUTHORITY_TAR_GZ, NULL, &result, &world->err),
                     0);
}

#define ATTEMPT(name)                                                                              \
    static inline int attempt_##name(struct world *world, struct authority_scope *scope,           \
                                     struct str given)

ATTEMPT(read_bytes)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    int r = authority_read_bytes(scope, given, NULL, &out, &world->err);

    assert_true(r == 0 || out.len == 0);
    return r;
}

ATTEMPT(read_text)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    int r = authority_read_text(scope, given, NULL, &out, &world->err);

    assert_true(r == 0 || out.len == 0);
    return r;
}

ATTEMPT(read_json)
{
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct json_value *document = NULL;
    int r = authority_read_json(scope, given, NULL, &arena, &document, &world->err);

    assert_true((r == 0) == (document != NULL));
    return r;
}

ATTEMPT(write)
{
    return authority_write_bytes(scope, given, STR("written"), NULL, &world->err);
}

ATTEMPT(write_new)
{
    const struct authority_write_options options = {.create = AUTHORITY_CREATE_NEW,
                                                    .make_parents = true};

    return authority_write_text(scope, given, STR("written"), &options, &world->err);
}

ATTEMPT(write_old)
{
    const struct authority_write_options options = {.create = AUTHORITY_REPLACE_OLD};

    return authority_write_bytes(scope, given, STR("written"), &options, &world->err);
}

ATTEMPT(write_json)
{
    static const struct json_value nothing = {.type = JSON_NULL};

    return authority_write_json(scope, given, &nothing, NULL, &world->err);
}

ATTEMPT(append)
{
    return authority_append(scope, given, STR("appended"), NULL, &world->err);
}

ATTEMPT(append_parents)
{
    const struct authority_write_options options = {.make_parents = true};

    return authority_append(scope, given, STR("appended"), &options, &world->err);
}

ATTEMPT(stat)
{
    struct authority_stat about = {.inode = 77};
    int r = authority_stat(scope, given, &about, &world->err);

    assert_true(r == 0 || about.inode == 77);
    return r;
}

ATTEMPT(exists)
{
    bool exists = false;

    return authority_exists(scope, given, &exists, &world->err);
}

ATTEMPT(list)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    int r = authority_list(scope, given, NULL, world_note_entry, &out, &world->err);

    assert_true(r == 0 || out.len == 0);
    return r;
}

ATTEMPT(walk)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    int r = authority_walk(scope, given, NULL, world_note_entry, &out, &world->err);

    assert_true(r == 0 || out.len == 0);
    return r;
}

static int attempt_note_sifted(void *data, unsigned thread, struct str name)
{
    (void)thread;
    assert_int_equal(buf_append_str(data, name), 0);
    return 0;
}

ATTEMPT(search)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    const struct authority_sift_options one_thread = {.threads = 1};
    const struct authority_sift_visitor visitor = {.file = attempt_note_sifted, .data = &out};
    int r = authority_sift(scope, given, &one_thread, &visitor, &world->err);

    assert_true(r == 0 || out.len == 0);
    return r;
}

ATTEMPT(mkdir)
{
    return authority_mkdir(scope, given, NULL, &world->err);
}

ATTEMPT(mkdir_parents)
{
    const struct authority_mkdir_options options = {.make_parents = true, .may_exist = true};

    return authority_mkdir(scope, given, &options, &world->err);
}

ATTEMPT(move_from)
{
    return authority_move(scope, given, STR("moved"), NULL, &world->err);
}

static const struct authority_move_options attempt_may_replace = {.may_replace = true};
static const struct authority_move_options attempt_may_all = {.may_replace = true,
                                                              .make_parents = true};

ATTEMPT(move_to)
{
    return authority_move(scope, STR("spare"), given, &attempt_may_replace, &world->err);
}

ATTEMPT(move_to_parents)
{
    return authority_move(scope, STR("spare"), given, &attempt_may_all, &world->err);
}

ATTEMPT(copy_from)
{
    return authority_copy(scope, given, STR("copied"), NULL, &world->err);
}

ATTEMPT(copy_to)
{
    return authority_copy(scope, STR("file"), given, &attempt_may_all, &world->err);
}

ATTEMPT(copy_in_from)
{
    return authority_copy_in(world->scope, STR("copied"), scope, given, NULL, &world->err);
}

ATTEMPT(copy_in_to)
{
    return authority_copy_in(scope, given, world->scope, STR("file"), &attempt_may_replace,
                             &world->err);
}

ATTEMPT(move_in_from)
{
    return authority_move_in(world->scope, STR("moved"), scope, given, NULL, &world->err);
}

ATTEMPT(move_in_to)
{
    return authority_move_in(scope, given, world->scope, STR("spare"), &attempt_may_replace,
                             &world->err);
}

ATTEMPT(copy_in_fd)
{
    cleanup_fd int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

    return authority_copy_in_fd(scope, given, fd, &attempt_may_replace, &world->err);
}

ATTEMPT(remove)
{
    return authority_remove(scope, given, NULL, &world->err);
}

ATTEMPT(remove_tree)
{
    const struct authority_remove_options options = {.is_recursive = true};

    return authority_remove(scope, given, &options, &world->err);
}

ATTEMPT(extract_from)
{
    struct authority_archive_result result;

    return authority_extract_archive(scope, given, STR("unpacked"), NULL, &result, &world->err);
}

ATTEMPT(extract_to)
{
    struct authority_archive_result result;

    return authority_extract_archive(scope, STR("pack"), given, NULL, &result, &world->err);
}

ATTEMPT(archive_from)
{
    struct authority_archive_result result;

    return authority_create_archive(scope, given, STR("packed"), AUTHORITY_ZIP, NULL, &result,
                                    &world->err);
}

ATTEMPT(archive_to)
{
    struct authority_archive_result result;

    return authority_create_archive(scope, STR("dir"), given, AUTHORITY_ZIP, NULL, &result,
                                    &world->err);
}

ATTEMPT(watch)
{
    struct authority_watch *watch = NULL;
    int fd = -1;
    int r = authority_watch(scope, given, &watch, &fd, &world->err);

    assert_true((r == 0) == (watch != NULL) && (r == 0) == (fd >= 0));
    authority_watch_free(watch);
    return r;
}

/* clang-format off */
#define ATTEMPT_ARCHIVE_ACCESS (AUTHORITY_ARCHIVE | AUTHORITY_READ | AUTHORITY_WRITE)
static const struct attempt attempts[] = {
    {"read bytes", "file", AUTHORITY_OP_READ, AUTHORITY_READ, false, false, false, attempt_read_bytes},
    {"read text", "file", AUTHORITY_OP_READ, AUTHORITY_READ, false, false, false, attempt_read_text},
    {"read json", "file", AUTHORITY_OP_READ, AUTHORITY_READ, false, false, false, attempt_read_json},
    {"write", "new", AUTHORITY_OP_WRITE, AUTHORITY_WRITE, true, false, false, attempt_write},
    {"write new", "new/er", AUTHORITY_OP_WRITE, AUTHORITY_WRITE, true, false, false, attempt_write_new},
    {"write old", "file", AUTHORITY_OP_WRITE, AUTHORITY_WRITE, true, false, false, attempt_write_old},
    {"write json", "new", AUTHORITY_OP_WRITE, AUTHORITY_WRITE, true, false, false, attempt_write_json},
    {"append", "file", AUTHORITY_OP_APPEND, AUTHORITY_WRITE, true, false, false, attempt_append},
    {"append with parents", "new/er", AUTHORITY_OP_APPEND, AUTHORITY_WRITE, true, false, false, attempt_append_parents},
    {"stat", "file", AUTHORITY_OP_STAT, AUTHORITY_METADATA, false, false, true, attempt_stat},
    {"exists", "file", AUTHORITY_OP_STAT, AUTHORITY_METADATA, false, false, true, attempt_exists},
    {"list", "dir", AUTHORITY_OP_LIST, AUTHORITY_LIST, false, false, false, attempt_list},
    {"walk", "dir", AUTHORITY_OP_WALK, AUTHORITY_LIST, false, false, false, attempt_walk},
    {"search", "dir", AUTHORITY_OP_SEARCH, AUTHORITY_LIST | AUTHORITY_READ, false, false, false, attempt_search},
    {"mkdir", "new", AUTHORITY_OP_MKDIR, AUTHORITY_WRITE, true, false, true, attempt_mkdir},
    {"mkdir with parents", "new/er", AUTHORITY_OP_MKDIR, AUTHORITY_WRITE, true, false, true, attempt_mkdir_parents},
    {"move from", "spare", AUTHORITY_OP_MOVE, AUTHORITY_MOVE | AUTHORITY_WRITE, true, false, true, attempt_move_from},
    {"move to", "new", AUTHORITY_OP_MOVE, AUTHORITY_MOVE | AUTHORITY_WRITE, true, false, true, attempt_move_to},
    {"move to with parents", "new/er", AUTHORITY_OP_MOVE, AUTHORITY_MOVE | AUTHORITY_WRITE, true, false, true, attempt_move_to_parents},
    {"copy from", "file", AUTHORITY_OP_COPY, AUTHORITY_READ | AUTHORITY_WRITE, true, false, false, attempt_copy_from},
    {"copy to", "new/er", AUTHORITY_OP_COPY, AUTHORITY_READ | AUTHORITY_WRITE, true, false, false, attempt_copy_to},
    {"copy in from", "file", AUTHORITY_OP_READ, AUTHORITY_READ, false, false, false, attempt_copy_in_from},
    {"copy in to", "new", AUTHORITY_OP_COPY_IN, AUTHORITY_WRITE, true, false, false, attempt_copy_in_to},
    {"move in from", "spare", AUTHORITY_OP_MOVE, AUTHORITY_MOVE | AUTHORITY_WRITE, true, false, true, attempt_move_in_from},
    {"move in to", "new", AUTHORITY_OP_COPY_IN, AUTHORITY_WRITE, true, false, true, attempt_move_in_to},
    {"copy in a descriptor", "new", AUTHORITY_OP_COPY_IN, AUTHORITY_WRITE, true, true, false, attempt_copy_in_fd},
    {"remove", "spare", AUTHORITY_OP_REMOVE, AUTHORITY_DELETE, true, false, true, attempt_remove},
    {"remove a tree", "dir", AUTHORITY_OP_REMOVE, AUTHORITY_DELETE, true, false, true, attempt_remove_tree},
    {"extract from", "pack", AUTHORITY_OP_EXTRACT, ATTEMPT_ARCHIVE_ACCESS, true, false, false, attempt_extract_from},
    {"extract to", "new", AUTHORITY_OP_EXTRACT, ATTEMPT_ARCHIVE_ACCESS, true, false, false, attempt_extract_to},
    {"archive from", "dir", AUTHORITY_OP_ARCHIVE, ATTEMPT_ARCHIVE_ACCESS, true, false, false, attempt_archive_from},
    {"archive to", "new", AUTHORITY_OP_ARCHIVE, ATTEMPT_ARCHIVE_ACCESS, true, false, false, attempt_archive_to},
    {"watch", "dir", AUTHORITY_OP_WATCH, AUTHORITY_WATCH, false, true, false, attempt_watch},
};
/* clang-format on */

static inline int attempt_run(struct world *world, struct authority_scope *scope,
                              const struct attempt *attempt, struct str name)
{
    world->err = (struct err)ERR_INIT;
    return attempt->run(world, scope, name);
}

static inline bool attempt_runs_here(const struct world *world, const struct attempt *attempt)
{
    return !world->is_memory || !attempt->is_on_disk_only;
}

/* All of them are refused with one of these codes, and the disk stays as it was. */
static inline void attempt_all_or(struct world *world, struct authority_scope *scope,
                                  struct str name, int code, int or_code)
{
    freeze(world);
    for (size_t i = 0; i < array_size(attempts); i++) {
        int r;

        if (!attempt_runs_here(world, &attempts[i]))
            continue;
        r = attempt_run(world, scope, &attempts[i], name);
        if (r != code && r != or_code)
            fail_msg("%s of '%.*s' gave %s instead of %s", attempts[i].label, STR_ARG(name),
                     r < 0 ? err_name(r) : "success", err_name(code));
        assert_null(strstr(world->err.message, world->base));
    }
    assert_frozen(world);
}

static inline void attempt_all(struct world *world, struct authority_scope *scope, struct str name,
                               int code)
{
    attempt_all_or(world, scope, name, code, code);
}

#endif

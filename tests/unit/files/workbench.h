/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A toolbox over a root on the disk, for tests of the tools. Tests create files from outside, and
 * calls go the way of a client's calls, from the text of the arguments to the text of the result.
 */
#ifndef TESTS_UNIT_FILES_WORKBENCH_H
#define TESTS_UNIT_FILES_WORKBENCH_H

#include "test.h"

#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/schema/schema.h"
#include "files/toolbox.h"
#include "gatehouse/authority.h"
#include "protocol/catalog.h"
#include "protocol/toolresult.h"

enum {
    BENCH_PATH_BYTES = 96,
    BENCH_OUT_BYTES = 256 << 20,
    BENCH_ARENA_BYTES = 512 << 20,
};

struct bench {
    char base[BENCH_PATH_BYTES / 2];
    char root[BENCH_PATH_BYTES];
    char outside[BENCH_PATH_BYTES];
    char state[BENCH_PATH_BYTES];
    int root_fd;
    int outside_fd;
    struct authority *authority;
    struct authority_scope *names;
    struct authority_scope *files;
    struct toolbox *box;
    struct arena arena;
    struct buf out;
    struct err err;
};

static const struct json_limits bench_json = {JSON_MAX_BYTES, JSON_DEFAULT_MAX_DEPTH};

/* ---- beginning and end ---- */

static inline void bench_close(struct bench *bench)
{
    toolbox_free(bench->box);
    authority_scope_free(bench->names);
    authority_scope_free(bench->files);
    bench->box = NULL;
    bench->names = NULL;
    bench->files = NULL;
}

static inline struct authority_scope *bench_scope(struct bench *bench,
                                                  enum authority_symlinks symlinks,
                                                  const char *const *denied)
{
    struct authority_request request = {
        .subject = {.type = AUTHORITY_AGENT_RUN, .id = "talk", .run_id = "run-1"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "main", .path = bench->root},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "a test",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = symlinks, .denied_globs = denied},
    };
    struct authority_scope *scope = NULL;

    if (authority_request_root(bench->authority, &request, &scope, &bench->err) < 0)
        fail_msg("%s", bench->err.message);
    return scope;
}

/* Once more, with other limits; the config's scopes and root are filled in. */
static inline void bench_reopen(struct bench *bench, struct toolbox_config config,
                                const char *const *denied)
{
    bench_close(bench);
    bench->names = bench_scope(bench, AUTHORITY_SYMLINKS_IN_ROOT, denied);
    bench->files = bench_scope(bench, AUTHORITY_SYMLINKS_REJECT, denied);
    config.authority = bench->authority;
    config.names = bench->names;
    config.files = bench->files;
    if (config.root_path == NULL)
        config.root_path = bench->root;
    if (toolbox_new(&config, &bench->box, &bench->err) < 0)
        fail_msg("%s", bench->err.message);
}

static inline void bench_deny(struct bench *bench, const char *const *denied)
{
    bench_reopen(bench, (struct toolbox_config){.may_write = false}, denied);
}

static inline int bench_setup(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    const char *tmp = getenv("TMPDIR");

    assert_non_null(bench);
    snprintf(bench->base, sizeof(bench->base), "%s/gh-bench-XXXXXX",
             tmp != NULL && strlen(tmp) < 24 ? tmp : "/tmp");
    assert_non_null(mkdtemp(bench->base));
    snprintf(bench->root, sizeof(bench->root), "%s/root", bench->base);
    snprintf(bench->outside, sizeof(bench->outside), "%s/outside", bench->base);
    snprintf(bench->state, sizeof(bench->state), "%s/state", bench->base);
    assert_int_equal(mkdir(bench->root, 0755), 0);
    assert_int_equal(mkdir(bench->outside, 0755), 0);
    assert_int_equal(mkdir(bench->state, 0700), 0);
    bench->root_fd = open(bench->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bench->outside_fd = open(bench->outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(bench->root_fd >= 0 && bench->outside_fd >= 0);
    arena_init(&bench->arena, BENCH_ARENA_BYTES);
    buf_init(&bench->out, BENCH_OUT_BYTES);
    assert_int_equal(authority_new(&(struct authority_config){.backend = AUTHORITY_LINUX,
                                                              .state_dir = bench->state},
                                   &bench->authority, &bench->err),
                     0);
    bench_deny(bench, NULL);
    *state = bench;
    return 0;
}

static inline void bench_erase(const char *path)
{
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

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

static inline int bench_teardown(void **state)
{
    struct bench *bench = *state;

    bench_close(bench);
    authority_free(bench->authority);
    close(bench->root_fd);
    close(bench->outside_fd);
    bench_erase(bench->base);
    if (strncmp(bench->state, bench->base, strlen(bench->base)) != 0)
        bench_erase(bench->state); /* a test has put it elsewhere */
    arena_done(&bench->arena);
    buf_done(&bench->out);
    free(bench);
    return 0;
}

#define BENCH_TEST(test) cmocka_unit_test_setup_teardown(test, bench_setup, bench_teardown)

/* ---- what is there, put there behind the authority's back ---- */

static inline void plant_bytes_at(int dir_fd, const char *name, const void *bytes, size_t len)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    close(fd);
}

static inline void plant(const struct bench *bench, const char *name, const char *text)
{
    plant_bytes_at(bench->root_fd, name, text, strlen(text));
}

static inline void plant_dir(const struct bench *bench, const char *name)
{
    assert_int_equal(mkdirat(bench->root_fd, name, 0755), 0);
}

static inline void plant_link(const struct bench *bench, const char *name, const char *target)
{
    assert_int_equal(symlinkat(target, bench->root_fd, name), 0);
}

/* ---- calls ---- */

static inline const struct json_value *bench_parse(struct bench *bench, struct str text)
{
    const struct json_value *value = NULL;
    const char *copy = arena_copy(&bench->arena, text);

    assert_non_null(copy);
    if (json_parse(&bench->arena, (struct str){copy, text.len}, bench_json, &value, &bench->err) <
        0)
        fail_msg("%s: %.*s", bench->err.message, str_print_length(str_slice(text, 0, 200)),
                 text.ptr);
    return value;
}

static inline struct tool_call *bench_prepare(struct bench *bench, const char *tool,
                                              const char *arguments)
{
    const struct catalog_tool *found = catalog_find(str_from(tool));
    struct tool_call *call = NULL;

    assert_non_null(found);
    bench->err = (struct err)ERR_INIT;
    if (tool_prepare(bench->box, found, bench_parse(bench, str_from(arguments)), NULL, &call,
                     &bench->err) < 0)
        return NULL;
    return call;
}

/* Runs and frees it; the whole result. */
static inline const struct json_value *bench_run(struct bench *bench, struct tool_call *call)
{
    buf_clear(&bench->out);
    if (call == NULL)
        assert_int_equal(toolresult_write_error(&bench->err, TOOLRESULT_JSON, &bench->out), 0);
    else
        assert_int_equal(tool_run(call, NULL, NULL, NULL, &bench->out), 0);
    tool_free(call);
    return bench_parse(bench, buf_view(&bench->out));
}

/* What the catalogue promises about the result, a client may check. */
static inline void bench_check_promise(struct bench *bench, const char *tool,
                                       const struct json_value *object)
{
    struct str listing = catalog_listings[catalog_find(str_from(tool))->id].text;
    const struct json_value *promise = json_get(bench_parse(bench, listing), STR("outputSchema"));
    const struct schema *schema = NULL;

    assert_int_equal(object != NULL, promise != NULL);
    if (object == NULL)
        return;
    if (schema_compile(&bench->arena, promise, &schema, &bench->err) < 0 ||
        schema_check(schema, object, &bench->err) < 0)
        fail_msg("%s: %s %s", tool, bench->err.field, bench->err.message);
}

static inline const struct json_value *bench_result(struct bench *bench, const char *tool,
                                                    const char *arguments)
{
    const struct json_value *result = bench_run(bench, bench_prepare(bench, tool, arguments));
    bool is_error = false;

    if (!json_get_bool(result, STR("isError"), &is_error))
        bench_check_promise(bench, tool, json_get(result, STR("structuredContent")));
    return result;
}

static inline bool bench_is_error(const struct json_value *result)
{
    bool is_error = false;

    return json_get_bool(result, STR("isError"), &is_error) && is_error;
}

/* The block at this place, of this type. */
static inline const struct json_value *bench_block(const struct json_value *result, size_t index,
                                                   const char *type)
{
    const struct json_value *blocks = json_get(result, STR("content"));
    struct str found = STR_EMPTY;

    assert_non_null(blocks);
    json_each_item (block, blocks) {
        if (index-- > 0)
            continue;
        assert_true(json_get_str(block, STR("type"), &found));
        assert_true(str_eq_c(found, type));
        return block;
    }
    fail_msg("no such block");
    return NULL;
}

static inline struct str bench_block_text(const struct json_value *result, size_t index)
{
    struct str text = STR_EMPTY;

    assert_true(json_get_str(bench_block(result, index, "text"), STR("text"), &text));
    return text;
}

/* A result that is an object: as structuredContent and, the same, as text. */
static inline const struct json_value *bench_object(struct bench *bench,
                                                    const struct json_value *result)
{
    const struct json_value *object = json_get(result, STR("structuredContent"));

    assert_non_null(object);
    assert_true(json_eq(object, bench_parse(bench, bench_block_text(result, 0))));
    return object;
}

/* The object of a call that succeeds. */
static inline const struct json_value *bench_call(struct bench *bench, const char *tool,
                                                  const char *arguments)
{
    const struct json_value *result = bench_result(bench, tool, arguments);

    if (bench_is_error(result))
        fail_msg("%s: %.*s", tool, STR_ARG(bench_block_text(result, 0)));
    return bench_object(bench, result);
}

/* The words of a call that fails. */
static inline struct str bench_error_of(struct bench *bench, const struct json_value *result)
{
    struct str error = STR_EMPTY;

    if (!bench_is_error(result))
        fail_msg("no error: %.*s", STR_ARG(buf_view(&bench->out)));
    assert_null(json_get(result, STR("structuredContent")));
    assert_true(
        json_get_str(bench_parse(bench, bench_block_text(result, 0)), STR("error"), &error));
    return error;
}

static inline struct str bench_error(struct bench *bench, const char *tool, const char *arguments)
{
    return bench_error_of(bench, bench_result(bench, tool, arguments));
}

/* ---- looking at results ---- */

static inline struct str str_member(const struct json_value *object, const char *key)
{
    struct str text = STR_EMPTY;

    if (!json_get_str(object, str_from(key), &text))
        fail_msg("no text \"%s\"", key);
    return text;
}

static inline int64_t int_member(const struct json_value *object, const char *key)
{
    int64_t number = 0;

    if (!json_get_int(object, str_from(key), &number))
        fail_msg("no number \"%s\"", key);
    return number;
}

static inline bool bool_member(const struct json_value *object, const char *key)
{
    bool is_true = false;

    if (!json_get_bool(object, str_from(key), &is_true))
        fail_msg("no truth \"%s\"", key);
    return is_true;
}

static inline bool has_member(const struct json_value *object, const char *key)
{
    return json_get(object, str_from(key)) != NULL;
}

#define assert_contains(view, literal)                                                             \
    do {                                                                                           \
        struct str contains_view_ = (view);                                                        \
                                                                                                   \
        if (str_find(contains_view_, STR(literal)) == SIZE_MAX)                                    \
            fail_msg("\"%s\" is not in: %.*s", literal, STR_ARG(contains_view_));                  \
    } while (0)

#define assert_lacks(view, literal)                                                                \
    do {                                                                                           \
        struct str lacks_view_ = (view);                                                           \
                                                                                                   \
        if (str_find(lacks_view_, STR(literal)) != SIZE_MAX)                                       \
            fail_msg("\"%s\" is in: %.*s", literal, STR_ARG(lacks_view_));                         \
    } while (0)

#endif

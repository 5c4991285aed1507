/* SPDX-License-Identifier: Apache-2.0 */
#include "backend_suite.h"

#include <stdlib.h>
#include <string.h>

const struct backend_lookup suite_strict = {.follows_links = false};
const struct backend_lookup suite_following = {.follows_links = true};

int suite_setup(void **state, const struct suite_fixture *fixture)
{
    struct suite *suite = calloc(1, sizeof(*suite));

    if (suite == NULL)
        return -1;
    suite->fixture = fixture;
    *state = suite;
    fixture->begin(suite);
    suite->ops = suite->backend->ops;
    return 0;
}

int suite_teardown(void **state)
{
    struct suite *suite = *state;

    suite->fixture->end(suite);
    free(suite);
    return 0;
}

void suite_plant(struct suite *suite, const char *name, const char *content)
{
    suite->fixture->plant(suite, SUITE_ROOT, name, AUTHORITY_FILE, str_from(content));
}

void suite_plant_dir(struct suite *suite, const char *name)
{
    suite->fixture->plant(suite, SUITE_ROOT, name, AUTHORITY_DIRECTORY, STR_EMPTY);
}

void suite_plant_link(struct suite *suite, const char *name, const char *target)
{
    suite->fixture->plant(suite, SUITE_ROOT, name, AUTHORITY_SYMLINK, str_from(target));
}

int suite_write(struct suite *suite, const struct backend_lookup *lookup, const char *name,
                const char *content)
{
    struct backend_stage *stage = NULL;
    int r = suite->ops->stage(suite->root, lookup, str_from(name), BACKEND_CREATE_OR_REPLACE, 0644,
                              &stage);

    if (r < 0) {
        assert_null(stage);
        return r;
    }
    r = suite->ops->stage_write(stage, content, strlen(content));
    if (r < 0) {
        suite->ops->stage_drop(stage);
        return r;
    }
    return suite->ops->stage_publish(stage, false);
}

int suite_open(struct suite *suite, const struct backend_lookup *lookup, const char *name,
               struct backend_file **out_file)
{
    struct authority_stat about;

    return suite->ops->file_open(suite->root, lookup, str_from(name), out_file, &about);
}

void suite_assert_handle(struct suite *suite, struct backend_file *file, const char *content)
{
    size_t len = strlen(content);
    size_t at = 0;

    for (;;) {
        char piece[4096];
        size_t got = SIZE_MAX;

        assert_int_equal(suite->ops->file_read(file, at, piece, sizeof(piece), &got), 0);
        assert_true(got <= sizeof(piece));
        if (got == 0)
            break;
        assert_true(got <= len - at);
        assert_memory_equal(piece, content + at, got);
        at += got;
    }
    assert_int_equal(at, len);
    suite->ops->file_close(file);
}

void suite_assert_reads(struct suite *suite, const struct backend_lookup *lookup, const char *name,
                        const char *content)
{
    struct backend_file *file = NULL;

    assert_int_equal(suite_open(suite, lookup, name, &file), 0);
    suite_assert_handle(suite, file, content);
}

void suite_assert_content(struct suite *suite, enum suite_tree tree, const char *name,
                          const char *content)
{
    cleanup_buf struct buf found = BUF_INIT(SUITE_MAX_CONTENT);
    struct authority_stat about;

    assert_true(suite->fixture->look(suite, tree, name, &about, &found));
    assert_int_equal(about.type, AUTHORITY_FILE);
    assert_int_equal(found.len, strlen(content));
    if (found.len > 0)
        assert_memory_equal(found.data, content, found.len);
}

void suite_assert_missing(struct suite *suite, enum suite_tree tree, const char *name)
{
    struct authority_stat about;

    assert_false(suite->fixture->look(suite, tree, name, &about, NULL));
}

static struct authority_stat look(struct suite *suite, enum suite_tree tree, const char *name)
{
    struct authority_stat about;

    assert_true(suite->fixture->look(suite, tree, name, &about, NULL));
    return about;
}

void suite_assert_type(struct suite *suite, enum suite_tree tree, const char *name,
                       enum authority_type type)
{
    assert_int_equal(look(suite, tree, name).type, type);
}

uint64_t suite_count(struct suite *suite, enum suite_tree tree, const char *name)
{
    return look(suite, tree, name).size;
}

unsigned suite_mode(struct suite *suite, enum suite_tree tree, const char *name)
{
    return look(suite, tree, name).mode;
}

void suite_assert_refused(int result, int code, int or_code)
{
    if (result != code && result != or_code)
        fail_msg("%s, not %s or %s", result == 0 ? "no error" : err_name(result), err_name(code),
                 err_name(or_code));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Staging, appending, making directories. */
#include "backend_suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int stage(struct suite *suite, const struct backend_lookup *lookup, const char *name,
                 enum backend_create create, struct backend_stage **out_stage)
{
    return suite->ops->stage(suite->root, lookup, str_from(name), create, 0644, out_stage);
}

static struct backend_stage *staged(struct suite *suite, const char *name,
                                    enum backend_create create, const char *content)
{
    struct backend_stage *begun = NULL;

    assert_int_equal(stage(suite, &suite_strict, name, create, &begun), 0);
    assert_int_equal(suite->ops->stage_write(begun, content, strlen(content)), 0);
    return begun;
}

void a_staged_file_is_not_seen_until_it_is_published(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *begun = staged(suite, "f", BACKEND_CREATE_OR_REPLACE, "one ");
    struct authority_stat about;

    suite_assert_missing(suite, SUITE_ROOT, "f");
    assert_int_equal(suite->ops->stage_write(begun, "two", 3), 0);
    suite_assert_missing(suite, SUITE_ROOT, "f");
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("f"), &about), ERR_NOT_FOUND);
    assert_int_equal(suite->ops->stage_publish(begun, true), 0);
    suite_assert_content(suite, SUITE_ROOT, "f", "one two");
    suite_assert_reads(suite, &suite_strict, "f", "one two");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
}

void a_replaced_file_keeps_its_content_until_then(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *begun;

    suite_plant(suite, "f", "the old content");
    begun = staged(suite, "f", BACKEND_CREATE_OR_REPLACE, "new");
    suite_assert_content(suite, SUITE_ROOT, "f", "the old content");
    suite_assert_reads(suite, &suite_strict, "f", "the old content");
    assert_int_equal(suite->ops->stage_publish(begun, false), 0);
    suite_assert_content(suite, SUITE_ROOT, "f", "new");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
}

void a_dropped_stage_leaves_nothing_behind(void **state)
{
    struct suite *suite = *state;

    suite_plant(suite, "old", "old");
    suite->ops->stage_drop(staged(suite, "new", BACKEND_CREATE_OR_REPLACE, "x"));
    suite->ops->stage_drop(staged(suite, "old", BACKEND_CREATE_OR_REPLACE, "x"));
    suite->ops->stage_drop(staged(suite, "newer", BACKEND_CREATE_NEW, ""));
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
    suite_assert_content(suite, SUITE_ROOT, "old", "old");
}

void a_new_file_gets_the_mode_and_a_replaced_one_keeps_its_own(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *begun = NULL;

    assert_int_equal(
        suite->ops->stage(suite->root, &suite_strict, STR("new"), BACKEND_CREATE_NEW, 0600, &begun),
        0);
    assert_int_equal(suite->ops->stage_publish(begun, false), 0);
    assert_int_equal(suite_mode(suite, SUITE_ROOT, "new") & 07777, 0600);
    suite_assert_content(suite, SUITE_ROOT, "new", "");

    suite_plant(suite, "old", "old");
    suite->fixture->set_mode(suite, SUITE_ROOT, "old", 0750);
    assert_int_equal(suite_write(suite, &suite_strict, "old", "new"), 0);
    suite_assert_content(suite, SUITE_ROOT, "old", "new");
    assert_int_equal(suite_mode(suite, SUITE_ROOT, "old") & 07777, 0750);
    assert_int_equal(
        suite->ops->append(suite->root, &suite_strict, STR("log"), STR("x"), true, 0640, false), 0);
    assert_int_equal(suite_mode(suite, SUITE_ROOT, "log") & 07777, 0640);
}

void a_dressed_file_has_exactly_its_mode(void **state)
{
    static const char *const names[] = {"new", "old"};
    struct suite *suite = *state;
    mode_t mask = umask(077);

    suite_plant(suite, "old", "old");
    suite->fixture->set_mode(suite, SUITE_ROOT, "old", 0750);
    for (size_t i = 0; i < array_size(names); i++) {
        struct backend_stage *begun = NULL;

        assert_int_equal(suite->ops->stage(suite->root, &suite_strict, str_from(names[i]),
                                           BACKEND_CREATE_OR_REPLACE, 0600, &begun),
                         0);
        assert_int_equal(suite->ops->stage_dress(begun, 0664, NULL), 0);
        assert_int_equal(suite->ops->stage_publish(begun, false), 0);
        assert_int_equal(suite_mode(suite, SUITE_ROOT, names[i]) & 07777, 0664);
    }
    umask(mask);
}

void replacing_needs_the_files_own_write_permission(void **state)
{
    struct suite *suite = *state;

    suite_plant(suite, "f", "old");
    suite->fixture->set_mode(suite, SUITE_ROOT, "f", 0444);
    if (!suite->fixture->enforces_modes) {
        /* Root is stopped by no permission; the run as an ordinary user has the other case. */
        assert_int_equal(suite_write(suite, &suite_strict, "f", "new"), 0);
        suite_assert_content(suite, SUITE_ROOT, "f", "new");
        return;
    }
    assert_int_equal(suite_write(suite, &suite_strict, "f", "new"), ERR_PERMISSION_DENIED);
    assert_int_equal(
        suite->ops->append(suite->root, &suite_strict, STR("f"), STR("new"), false, 0644, false),
        ERR_PERMISSION_DENIED);
    suite_assert_content(suite, SUITE_ROOT, "f", "old");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
}

void create_new_refuses_what_exists_at_either_end(void **state)
{
    /* Whatever it is, and whoever else could not write to it. */
    static const char *const taken[] = {"there", "dir", "pipe", "twin"};
    struct suite *suite = *state;
    struct backend_stage *begun = NULL;

    suite_plant(suite, "there", "first");
    suite_plant_dir(suite, "dir");
    suite->fixture->plant(suite, SUITE_ROOT, "pipe", AUTHORITY_OTHER, STR_EMPTY);
    suite->fixture->plant_hardlink(suite, SUITE_ROOT, "there", SUITE_ROOT, "twin");
    for (size_t i = 0; i < array_size(taken); i++)
        assert_int_equal(stage(suite, &suite_strict, taken[i], BACKEND_CREATE_NEW, &begun),
                         ERR_ALREADY_EXISTS);
    begun = staged(suite, "later", BACKEND_CREATE_NEW, "second");
    suite_plant(suite, "later", "first");
    assert_int_equal(suite->ops->stage_publish(begun, false), ERR_ALREADY_EXISTS);
    suite_assert_content(suite, SUITE_ROOT, "there", "first");
    suite_assert_content(suite, SUITE_ROOT, "later", "first");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 5);
}

void replace_old_refuses_what_is_missing(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *begun = NULL;

    assert_int_equal(stage(suite, &suite_strict, "no", BACKEND_REPLACE_OLD, &begun), ERR_NOT_FOUND);
    suite_plant(suite, "f", "old");
    assert_int_equal(
        suite->ops->stage_publish(staged(suite, "f", BACKEND_REPLACE_OLD, "new"), false), 0);
    suite_assert_content(suite, SUITE_ROOT, "f", "new");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
}

static void assert_same(const struct authority_stat *a, const struct authority_stat *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->modified_ms, b->modified_ms);
    assert_int_equal(a->modified_ns, b->modified_ns);
    assert_int_equal(a->changed_ns, b->changed_ns);
    assert_int_equal(a->inode, b->inode);
    assert_int_equal(a->device, b->device);
    assert_int_equal(a->mode, b->mode);
    assert_int_equal(a->links, b->links);
}

void what_is_replaced_is_told_and_what_replaces_it(void **state)
{
    struct suite *suite = *state;
    cleanup_buf struct buf content = BUF_INIT(100);
    struct authority_exchange exchange = {.content = &content};
    struct authority_stat about;
    struct backend_stage *begun;

    suite_plant(suite, "f", "the old content");
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("f"), &about), 0);
    begun = staged(suite, "f", BACKEND_REPLACE_OLD, "new");
    assert_int_equal(suite->ops->stage_exchange(begun, &exchange), 0);
    assert_str(buf_view(&content), "the old content");
    assert_same(&exchange.before, &about);
    assert_int_equal(suite->ops->stage_publish(begun, false), 0);
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("f"), &about), 0);
    assert_same(&exchange.after, &about);
    assert_int_not_equal(exchange.before.inode, exchange.after.inode);
}

void what_does_not_fit_is_not_told_nor_replaced(void **state)
{
    struct suite *suite = *state;
    cleanup_buf struct buf content = BUF_INIT(15);
    struct authority_exchange exchange = {.content = &content};
    struct backend_stage *begun;

    suite_plant(suite, "f", "the old content");
    begun = staged(suite, "f", BACKEND_REPLACE_OLD, "new");
    assert_int_equal(buf_append_char(&content, '!'), 0);
    assert_int_equal(suite->ops->stage_exchange(begun, &exchange), ERR_TOO_LARGE);
    assert_str(buf_view(&content), "!");
    suite->ops->stage_drop(begun);
    suite_assert_content(suite, SUITE_ROOT, "f", "the old content");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
}

/* "f" is there, was told, and is about to be replaced; `exchange` lives until that is over. */
static struct backend_stage *begin_exchange(struct suite *suite,
                                            struct authority_exchange *exchange)
{
    cleanup_buf struct buf content = BUF_INIT(100);
    struct backend_stage *begun;

    *exchange = (struct authority_exchange){.content = &content};

    suite_plant(suite, "f", "old");
    begun = staged(suite, "f", BACKEND_REPLACE_OLD, "new");
    assert_int_equal(suite->ops->stage_exchange(begun, exchange), 0);
    exchange->content = NULL;
    return begun;
}

void what_was_told_and_has_changed_since_stays(void **state)
{
    struct suite *suite = *state;
    struct authority_exchange exchange;
    struct backend_stage *begun = begin_exchange(suite, &exchange);

    assert_int_equal(
        suite->ops->append(suite->root, &suite_strict, STR("f"), STR(" and more"), false, 0, false),
        0);
    assert_int_equal(suite->ops->stage_publish(begun, false), ERR_BUSY);
    suite_assert_content(suite, SUITE_ROOT, "f", "old and more");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
}

void what_was_told_and_replaced_by_another_stays(void **state)
{
    struct suite *suite = *state;
    struct authority_exchange exchange;
    struct backend_stage *begun = begin_exchange(suite, &exchange);

    assert_int_equal(
        suite->ops->stage_publish(staged(suite, "f", BACKEND_REPLACE_OLD, "another's"), false), 0);
    assert_int_equal(suite->ops->stage_publish(begun, false), ERR_BUSY);
    suite_assert_content(suite, SUITE_ROOT, "f", "another's");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
}

void a_directory_that_took_the_name_stays(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *begun = staged(suite, "x", BACKEND_CREATE_OR_REPLACE, "file");

    suite_plant_dir(suite, "x");
    assert_true(suite->ops->stage_publish(begun, false) < 0);
    suite_assert_type(suite, SUITE_ROOT, "x", AUTHORITY_DIRECTORY);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
}

void a_link_that_took_the_name_is_not_written_through(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *begun = staged(suite, "x", BACKEND_CREATE_OR_REPLACE, "file");

    suite_plant(suite, "victim", "untouched");
    suite_plant_link(suite, "x", "victim");
    /* Refused, or the link itself was replaced: both keep the target as it is. */
    (void)suite->ops->stage_publish(begun, false);
    suite_assert_content(suite, SUITE_ROOT, "victim", "untouched");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 2);
}

static bool admits_what_is_not_closed(void *context, struct str name)
{
    (void)context;
    return !str_starts_with(name, STR("closed"));
}

void what_appears_is_asked_about_where_it_is_by_then(void **state)
{
    const struct backend_lookup selective = {.admits = admits_what_is_not_closed,
                                             .is_selective = true};
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct backend_stage *begun = NULL;

    suite_plant_dir(suite, "d");
    assert_int_equal(
        ops->stage(suite->root, &selective, STR("d/f"), BACKEND_CREATE_NEW, 0644, &begun), 0);
    assert_int_equal(ops->rename(suite->root, &suite_strict, STR("d"), suite->root, &suite_strict,
                                 STR("closed"), false),
                     0);
    assert_int_equal(ops->stage_publish(begun, false), ERR_DENIED_BY_POLICY);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "closed"), 0);
}

void publishing_into_a_removed_directory_fails(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *begun;

    suite_plant_dir(suite, "d");
    begun = staged(suite, "d/f", BACKEND_CREATE_NEW, "x");
    assert_int_equal(suite->ops->remove(suite->root, &suite_strict, STR("d"), true, SUITE_BUDGET),
                     0);
    assert_int_equal(suite->ops->stage_publish(begun, false), ERR_NOT_FOUND);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 0);
}

void only_regular_files_with_one_name_are_replaced(void **state)
{
    static const enum backend_create ways[] = {BACKEND_CREATE_OR_REPLACE, BACKEND_REPLACE_OLD};
    struct suite *suite = *state;
    struct backend_stage *begun = NULL;

    suite_plant_dir(suite, "d");
    suite->fixture->plant(suite, SUITE_ROOT, "pipe", AUTHORITY_OTHER, STR_EMPTY);
    suite_plant(suite, "h", "shared");
    suite->fixture->plant_hardlink(suite, SUITE_ROOT, "h", SUITE_OUTSIDE, "h2");
    for (size_t i = 0; i < array_size(ways); i++) {
        assert_int_equal(stage(suite, &suite_strict, "d", ways[i], &begun), ERR_NOT_REGULAR_FILE);
        assert_int_equal(stage(suite, &suite_strict, "pipe", ways[i], &begun),
                         ERR_NOT_REGULAR_FILE);
        assert_int_equal(stage(suite, &suite_strict, "h", ways[i], &begun), ERR_HARDLINK_REJECTED);
        assert_true(stage(suite, &suite_strict, "", ways[i], &begun) < 0);
    }
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 3);
    suite_assert_content(suite, SUITE_OUTSIDE, "h2", "shared");
}

void staging_needs_a_parent(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *begun = NULL;

    assert_int_equal(stage(suite, &suite_strict, "no/f", BACKEND_CREATE_OR_REPLACE, &begun),
                     ERR_NOT_FOUND);
    suite_assert_missing(suite, SUITE_ROOT, "no");
    suite_plant_dir(suite, "d");
    assert_int_equal(suite_write(suite, &suite_strict, "d/f", "x"), 0);
    suite_assert_content(suite, SUITE_ROOT, "d/f", "x");
}

/* Larger than any buffer on the way. */
static char *long_text(size_t len)
{
    char *text = malloc(len + 1);

    assert_non_null(text);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + i % 23);
    text[len] = '\0';
    return text;
}

void a_copy_is_whole_and_its_own(void **state)
{
    struct suite *suite = *state;
    cleanup_free char *content = long_text(300001);
    struct backend_stage *begun = NULL;
    struct backend_file *file = NULL;
    uint64_t budget = 300002;

    suite_plant(suite, "from", content);
    assert_int_equal(suite_open(suite, &suite_strict, "from", &file), 0);
    assert_int_equal(stage(suite, &suite_strict, "to", BACKEND_CREATE_NEW, &begun), 0);
    assert_int_equal(suite->ops->stage_copy(begun, file, &budget), 0);
    assert_int_equal(budget, 1);
    suite_assert_handle(suite, file, content);
    assert_int_equal(suite->ops->stage_publish(begun, false), 0);
    suite_assert_content(suite, SUITE_ROOT, "to", content);
    assert_int_equal(
        suite->ops->append(suite->root, &suite_strict, STR("to"), STR("!"), false, 0644, false), 0);
    suite_assert_content(suite, SUITE_ROOT, "from", content);
}

void a_copy_is_held_to_the_limit(void **state)
{
    struct suite *suite = *state;
    const struct backend_lookup limited = {.max_file_bytes = 5};
    struct backend_file *file = NULL;

    suite_plant(suite, "from", "123456");
    suite_plant(suite, "to", "old");
    assert_int_equal(suite_open(suite, &suite_strict, "from", &file), 0);
    for (int i = 0; i < 2; i++) {
        struct backend_stage *begun = NULL;
        uint64_t budget = i == 0 ? UINT64_MAX : 5;

        assert_int_equal(stage(suite, i == 0 ? &limited : &suite_strict, "to",
                               BACKEND_CREATE_OR_REPLACE, &begun),
                         0);
        assert_int_equal(suite->ops->stage_copy(begun, file, &budget), ERR_TOO_LARGE);
        suite->ops->stage_drop(begun);
    }
    suite->ops->file_close(file);
    suite_assert_content(suite, SUITE_ROOT, "to", "old");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 2);
}

void writing_is_held_to_the_limit(void **state)
{
    struct suite *suite = *state;
    struct backend_lookup limited = {.max_file_bytes = 5};
    struct backend_stage *begun = NULL;

    assert_int_equal(suite_write(suite, &limited, "five", "12345"), 0);
    assert_int_equal(suite_write(suite, &limited, "six", "123456"), ERR_TOO_LARGE);
    assert_int_equal(stage(suite, &limited, "pieces", BACKEND_CREATE_NEW, &begun), 0);
    assert_int_equal(suite->ops->stage_write(begun, "123", 3), 0);
    assert_int_equal(suite->ops->stage_write(begun, "456", 3), ERR_TOO_LARGE);
    suite->ops->stage_drop(begun);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
    suite_assert_content(suite, SUITE_ROOT, "five", "12345");
    /* What is too large already may be replaced by what is not. */
    suite_plant(suite, "large", "1234567");
    assert_int_equal(suite_write(suite, &limited, "large", "1"), 0);
    suite_assert_content(suite, SUITE_ROOT, "large", "1");
}

static int append(struct suite *suite, const struct backend_lookup *lookup, const char *name,
                  const char *content, bool may_create)
{
    return suite->ops->append(suite->root, lookup, str_from(name), str_from(content), may_create,
                              0644, false);
}

void appending_adds_in_place(void **state)
{
    struct suite *suite = *state;
    struct authority_stat before;
    struct authority_stat after;

    suite_plant(suite, "log", "one");
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("log"), &before), 0);
    assert_int_equal(append(suite, &suite_strict, "log", " two", false), 0);
    assert_int_equal(append(suite, &suite_strict, "log", "", false), 0);
    assert_int_equal(
        suite->ops->append(suite->root, &suite_strict, STR("log"), STR(" three"), true, 0644, true),
        0);
    suite_assert_content(suite, SUITE_ROOT, "log", "one two three");
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("log"), &after), 0);
    assert_true(before.inode == after.inode);
}

void appending_creates_only_when_it_may(void **state)
{
    struct suite *suite = *state;

    assert_int_equal(append(suite, &suite_strict, "log", "x", false), ERR_NOT_FOUND);
    suite_assert_missing(suite, SUITE_ROOT, "log");
    assert_int_equal(append(suite, &suite_strict, "log", "x", true), 0);
    assert_int_equal(append(suite, &suite_strict, "log", "y", true), 0);
    suite_assert_content(suite, SUITE_ROOT, "log", "xy");
    assert_int_equal(append(suite, &suite_strict, "no/log", "x", true), ERR_NOT_FOUND);
}

void appending_keeps_to_the_rules(void **state)
{
    struct suite *suite = *state;

    suite_plant_dir(suite, "d");
    suite->fixture->plant(suite, SUITE_ROOT, "pipe", AUTHORITY_OTHER, STR_EMPTY);
    suite_plant(suite, "h", "shared");
    suite->fixture->plant_hardlink(suite, SUITE_ROOT, "h", SUITE_OUTSIDE, "h2");
    suite_plant(suite, "f", "untouched");
    suite_plant_link(suite, "link", "f");
    suite_plant_link(suite, "nowhere", "missing");
    assert_int_equal(append(suite, &suite_strict, "d", "x", true), ERR_NOT_REGULAR_FILE);
    assert_int_equal(append(suite, &suite_strict, "pipe", "x", true), ERR_NOT_REGULAR_FILE);
    assert_int_equal(append(suite, &suite_strict, "h", "x", true), ERR_HARDLINK_REJECTED);
    assert_int_equal(append(suite, &suite_strict, "link", "x", true), ERR_SYMLINK_REJECTED);
    assert_int_equal(append(suite, &suite_strict, "nowhere", "x", true), ERR_SYMLINK_REJECTED);
    assert_true(append(suite, &suite_strict, "", "x", true) < 0);
    suite_assert_content(suite, SUITE_OUTSIDE, "h2", "shared");
    suite_assert_content(suite, SUITE_ROOT, "f", "untouched");
    suite_assert_missing(suite, SUITE_ROOT, "missing");
}

void appending_is_held_to_the_limit(void **state)
{
    struct suite *suite = *state;
    struct backend_lookup limited = {.max_file_bytes = 5};

    suite_plant(suite, "log", "123");
    assert_int_equal(append(suite, &limited, "log", "456", false), ERR_TOO_LARGE);
    suite_assert_content(suite, SUITE_ROOT, "log", "123");
    assert_int_equal(append(suite, &limited, "log", "45", false), 0);
    suite_assert_content(suite, SUITE_ROOT, "log", "12345");
    assert_int_equal(append(suite, &limited, "new", "123456", true), ERR_TOO_LARGE);
    suite_assert_missing(suite, SUITE_ROOT, "new");
}

enum { SPACE = 64 << 10, TOO_MUCH = 100000 };

void an_append_that_does_not_fit_is_taken_back(void **state)
{
    struct suite *suite = *state;
    cleanup_free char *content = long_text(TOO_MUCH);
    int r;

    suite_plant(suite, "log", "old content");
    suite->fixture->limit_space(suite, SPACE);
    r = append(suite, &suite_strict, "log", content, false);
    assert_int_equal(r, suite->fixture->no_space_error);
    suite_assert_content(suite, SUITE_ROOT, "log", "old content");
    r = append(suite, &suite_strict, "new", content, true);
    assert_int_equal(r, suite->fixture->no_space_error);
    suite_assert_missing(suite, SUITE_ROOT, "new");
    assert_int_equal(append(suite, &suite_strict, "log", ", and more", false), 0);
    suite_assert_content(suite, SUITE_ROOT, "log", "old content, and more");
}

void a_file_that_does_not_fit_leaves_the_old_one(void **state)
{
    struct suite *suite = *state;
    cleanup_free char *content = long_text(TOO_MUCH);

    suite_plant(suite, "f", "old content");
    suite->fixture->limit_space(suite, SPACE);
    assert_int_equal(suite_write(suite, &suite_strict, "f", content),
                     suite->fixture->no_space_error);
    assert_int_equal(suite_write(suite, &suite_strict, "new", content),
                     suite->fixture->no_space_error);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
    suite_assert_content(suite, SUITE_ROOT, "f", "old content");
    assert_int_equal(suite_write(suite, &suite_strict, "f", "new content"), 0);
    suite_assert_content(suite, SUITE_ROOT, "f", "new content");
}

void mkdir_makes_one_directory(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;

    assert_int_equal(ops->mkdir(suite->root, &suite_strict, STR("d"), 0700, false), 0);
    suite_assert_type(suite, SUITE_ROOT, "d", AUTHORITY_DIRECTORY);
    assert_int_equal(suite_mode(suite, SUITE_ROOT, "d") & 07777, 0700);
    assert_int_equal(ops->mkdir(suite->root, &suite_strict, STR("d/e"), 0755, true), 0);
    assert_int_equal(suite_mode(suite, SUITE_ROOT, "d/e") & 07777, 0755);
    assert_int_equal(ops->mkdir(suite->root, &suite_strict, STR("d"), 0755, false),
                     ERR_ALREADY_EXISTS);
    assert_int_equal(ops->mkdir(suite->root, &suite_strict, STR("no/d"), 0755, false),
                     ERR_NOT_FOUND);
    suite_plant(suite, "f", "x");
    assert_int_equal(ops->mkdir(suite->root, &suite_strict, STR("f"), 0755, false),
                     ERR_ALREADY_EXISTS);
    assert_true(ops->mkdir(suite->root, &suite_strict, STR(""), 0755, false) < 0);
    suite_plant_link(suite, "link", "missing");
    suite_assert_refused(ops->mkdir(suite->root, &suite_strict, STR("link"), 0755, false),
                         ERR_ALREADY_EXISTS, ERR_SYMLINK_REJECTED);
    suite_assert_refused(ops->mkdir(suite->root, &suite_following, STR("link"), 0755, false),
                         ERR_ALREADY_EXISTS, ERR_SYMLINK_REJECTED);
    suite_assert_missing(suite, SUITE_ROOT, "missing");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 3);
}

/* ---- several threads at once; they cannot assert, so they count ---- */

enum { THREADS = 4, ROUNDS = 100, BLOCK = 20000 };

struct crowd {
    struct suite *suite;
    atomic_uint failures;
    atomic_uint wins;
    atomic_uint next_letter;
    pthread_barrier_t barrier;
};

static void run_crowd(struct crowd *crowd, void *(*body)(void *crowd))
{
    pthread_t threads[THREADS];

    assert_int_equal(pthread_barrier_init(&crowd->barrier, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, crowd), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&crowd->barrier);
}

static bool write_block(struct suite *suite, char letter)
{
    struct backend_stage *begun = NULL;
    char block[BLOCK];

    memset(block, letter, sizeof(block));
    if (stage(suite, &suite_strict, "f", BACKEND_CREATE_OR_REPLACE, &begun) < 0)
        return false;
    if (suite->ops->stage_write(begun, block, BLOCK / 2) < 0 ||
        suite->ops->stage_write(begun, block + BLOCK / 2, BLOCK / 2) < 0) {
        suite->ops->stage_drop(begun);
        return false;
    }
    return suite->ops->stage_publish(begun, false) == 0;
}

static bool read_block(struct suite *suite)
{
    struct backend_file *file = NULL;
    char block[BLOCK];
    size_t at = 0;
    size_t got;
    bool is_whole;

    if (suite_open(suite, &suite_strict, "f", &file) < 0)
        return false;
    while (at < BLOCK && suite->ops->file_read(file, at, block + at, BLOCK - at, &got) == 0 &&
           got > 0)
        at += got;
    suite->ops->file_close(file);
    is_whole = at == BLOCK;
    for (size_t i = 1; i < at; i++)
        is_whole = is_whole && block[i] == block[0];
    return is_whole;
}

static void *write_and_read(void *data)
{
    struct crowd *crowd = data;
    char letter = (char)('a' + atomic_fetch_add(&crowd->next_letter, 1));

    for (unsigned i = 0; i < ROUNDS; i++) {
        if (!write_block(crowd->suite, letter) || !read_block(crowd->suite))
            atomic_fetch_add(&crowd->failures, 1);
    }
    return NULL;
}

void readers_never_see_a_torn_file(void **state)
{
    struct suite *suite = *state;
    struct crowd crowd = {.suite = suite};

    assert_true(write_block(suite, 'z'));
    run_crowd(&crowd, write_and_read);
    assert_int_equal(crowd.failures, 0);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
}

static void *create_each(void *data)
{
    struct crowd *crowd = data;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct backend_stage *begun = NULL;
        char name[32];
        int r;

        snprintf(name, sizeof(name), "%u", i);
        pthread_barrier_wait(&crowd->barrier);
        r = stage(crowd->suite, &suite_strict, name, BACKEND_CREATE_NEW, &begun);
        if (r == 0)
            r = crowd->suite->ops->stage_publish(begun, false);
        if (r == 0)
            atomic_fetch_add(&crowd->wins, 1);
        else if (r != ERR_ALREADY_EXISTS)
            atomic_fetch_add(&crowd->failures, 1);
    }
    return NULL;
}

void one_of_many_creators_wins(void **state)
{
    struct suite *suite = *state;
    struct crowd crowd = {.suite = suite};

    run_crowd(&crowd, create_each);
    assert_int_equal(crowd.failures, 0);
    assert_int_equal(crowd.wins, ROUNDS);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), ROUNDS);
}

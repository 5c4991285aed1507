/* SPDX-License-Identifier: Apache-2.0 */
/* Removing, renaming, staged trees, temporary directories. */
#include "backend_suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int remove_one(struct suite *suite, const char *name)
{
    return suite->ops->remove(suite->root, &suite_strict, str_from(name), false, 1);
}

static int remove_all(struct suite *suite, const char *name, uint64_t max_entries)
{
    return suite->ops->remove(suite->root, &suite_strict, str_from(name), true, max_entries);
}

void remove_takes_files_links_and_empty_directories(void **state)
{
    struct suite *suite = *state;

    suite_plant(suite, "kept", "kept");
    suite_plant(suite, "f", "x");
    suite_plant_dir(suite, "d");
    suite_plant_link(suite, "link", "kept");
    suite_plant_link(suite, "link2", "kept");
    suite_plant_link(suite, "nowhere", "missing");
    assert_int_equal(remove_one(suite, "f"), 0);
    assert_int_equal(remove_one(suite, "d"), 0);
    assert_int_equal(remove_one(suite, "link"), 0);
    /* A followed link is still the thing to be removed. */
    assert_int_equal(suite->ops->remove(suite->root, &suite_following, STR("link2"), false, 1), 0);
    assert_int_equal(remove_all(suite, "nowhere", 10), 0);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
    suite_assert_content(suite, SUITE_ROOT, "kept", "kept");
    assert_int_equal(remove_one(suite, "f"), ERR_NOT_FOUND);
}

void remove_keeps_a_directory_that_is_not_empty(void **state)
{
    struct suite *suite = *state;

    suite_plant_dir(suite, "d");
    suite_plant(suite, "d/f", "x");
    assert_int_equal(remove_one(suite, "d"), ERR_NOT_EMPTY);
    suite_assert_content(suite, SUITE_ROOT, "d/f", "x");
}

void recursive_remove_takes_the_tree_and_nothing_behind_links(void **state)
{
    struct suite *suite = *state;
    const struct suite_fixture *fixture = suite->fixture;

    suite_plant_dir(suite, "kept");
    suite_plant(suite, "kept/f", "x");
    fixture->plant(suite, SUITE_OUTSIDE, "f", AUTHORITY_FILE, STR("outside"));
    suite_plant_dir(suite, "d");
    suite_plant_dir(suite, "d/empty");
    suite_plant_dir(suite, "d/e");
    suite_plant_dir(suite, "d/e/e");
    suite_plant(suite, "d/e/e/f", "x");
    suite_plant(suite, "d/e/f", "x");
    suite_plant_link(suite, "d/e/in", "../../kept");
    suite_plant_link(suite, "d/e/out", "../../../outside");
    suite_plant_link(suite, "d/e/up", "..");
    fixture->plant(suite, SUITE_ROOT, "d/pipe", AUTHORITY_OTHER, STR_EMPTY);
    fixture->plant_hardlink(suite, SUITE_OUTSIDE, "f", SUITE_ROOT, "d/hard");
    assert_int_equal(
        suite->ops->remove(suite->root, &suite_following, STR("d"), true, SUITE_BUDGET), 0);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
    suite_assert_content(suite, SUITE_ROOT, "kept/f", "x");
    suite_assert_content(suite, SUITE_OUTSIDE, "f", "outside");
}

void recursive_remove_keeps_to_its_budget(void **state)
{
    enum { COUNT = 20, BUDGET = 10 };
    struct suite *suite = *state;

    suite_plant_dir(suite, "d");
    suite_plant_dir(suite, "d/e");
    for (unsigned i = 0; i < COUNT; i++) {
        char name[32];

        snprintf(name, sizeof(name), "d/e/%u", i);
        suite_plant(suite, name, "x");
    }
    assert_int_equal(remove_all(suite, "d", BUDGET), ERR_TOO_LARGE);
    suite_assert_type(suite, SUITE_ROOT, "d/e", AUTHORITY_DIRECTORY);
    assert_true(suite_count(suite, SUITE_ROOT, "d/e") >= COUNT - BUDGET);
    assert_int_equal(remove_all(suite, "d", COUNT + 2), 0);
    suite_assert_missing(suite, SUITE_ROOT, "d");
}

void deep_trees_are_removed(void **state)
{
    enum { DEPTH = 100 };
    struct suite *suite = *state;
    char name[2 * DEPTH + 1] = "";

    for (unsigned i = 0; i < DEPTH; i++) {
        name[2 * i] = 'd';
        name[2 * i + 1] = '\0';
        suite_plant_dir(suite, name);
        name[2 * i + 1] = '/';
        name[2 * i + 2] = '\0';
    }
    assert_int_equal(remove_all(suite, "d", SUITE_BUDGET), 0);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 0);
}

void the_root_is_never_removed(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;

    suite_plant_dir(suite, "d");
    suite_plant(suite, "d/f", "x");
    assert_int_equal(remove_one(suite, ""), ERR_ROOT_PROTECTED);
    assert_int_equal(remove_all(suite, "", SUITE_BUDGET), ERR_ROOT_PROTECTED);
    assert_true(ops->remove(suite->root, &suite_following, STR(""), true, SUITE_BUDGET) < 0);
    assert_true(ops->remove(suite->root, &suite_following, STR("d/.."), true, SUITE_BUDGET) < 0);
    suite_plant_link(suite, "self", ".");
    assert_true(ops->remove(suite->root, &suite_following, STR("self/d/.."), true, SUITE_BUDGET) <
                0);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 2);
    suite_assert_content(suite, SUITE_ROOT, "d/f", "x");
    /* The link is not the root. */
    assert_int_equal(ops->remove(suite->root, &suite_following, STR("self"), true, SUITE_BUDGET),
                     0);
    suite_assert_content(suite, SUITE_ROOT, "d/f", "x");
}

static int move(struct suite *suite, const char *from, const char *to, bool may_replace)
{
    return suite->ops->rename(suite->root, &suite_strict, str_from(from), suite->root,
                              &suite_strict, str_from(to), may_replace);
}

void rename_moves_files_and_directories(void **state)
{
    struct suite *suite = *state;
    struct authority_stat before;
    struct authority_stat after;

    suite_plant(suite, "f", "file");
    suite_plant_dir(suite, "d");
    suite_plant(suite, "d/in", "below");
    suite_plant_dir(suite, "e");
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("f"), &before), 0);
    assert_int_equal(move(suite, "f", "g", false), 0);
    assert_int_equal(suite->ops->stat(suite->root, &suite_strict, STR("g"), &after), 0);
    assert_true(before.inode == after.inode);
    assert_int_equal(after.links, 1);
    assert_int_equal(move(suite, "g", "d/g", false), 0);
    suite_assert_missing(suite, SUITE_ROOT, "f");
    suite_assert_missing(suite, SUITE_ROOT, "g");
    suite_assert_content(suite, SUITE_ROOT, "d/g", "file");
    assert_int_equal(move(suite, "d", "e/d", false), 0);
    suite_assert_missing(suite, SUITE_ROOT, "d");
    suite_assert_content(suite, SUITE_ROOT, "e/d/g", "file");
    suite_assert_content(suite, SUITE_ROOT, "e/d/in", "below");
    assert_int_equal(move(suite, "e/d", "no/d", true), ERR_NOT_FOUND);
    assert_int_equal(move(suite, "e/d", "e/d/in/x", true), ERR_NOT_A_DIRECTORY);
    suite_assert_content(suite, SUITE_ROOT, "e/d/in", "below");
    /* What was moved is whole: it can be walked back up and removed. */
    suite_assert_reads(suite, &suite_following, "e/d/../d/in", "below");
    assert_int_equal(remove_all(suite, "e", SUITE_BUDGET), 0);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 0);
}

void rename_moves_between_roots(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;

    suite_plant_dir(suite, "d");
    suite_plant(suite, "d/in", "below");
    assert_int_equal(ops->rename(suite->root, &suite_strict, STR("d"), suite->other, &suite_strict,
                                 STR("moved"), false),
                     0);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 0);
    suite_assert_content(suite, SUITE_OTHER, "moved/in", "below");
    /* Above it is the other root now. */
    assert_int_equal(ops->rename(suite->other, &suite_following, STR("moved/../moved/in"),
                                 suite->root, &suite_strict, STR("in"), false),
                     0);
    suite_assert_content(suite, SUITE_ROOT, "in", "below");
}

void rename_replaces_only_when_it_may(void **state)
{
    struct suite *suite = *state;

    suite_plant(suite, "a", "a");
    suite_plant(suite, "b", "b");
    suite_plant_dir(suite, "d");
    suite_plant_dir(suite, "e");
    assert_int_equal(move(suite, "a", "b", false), ERR_ALREADY_EXISTS);
    assert_int_equal(move(suite, "d", "e", false), ERR_ALREADY_EXISTS);
    assert_int_equal(move(suite, "a", "e", false), ERR_ALREADY_EXISTS);
    assert_int_equal(move(suite, "d", "b", false), ERR_ALREADY_EXISTS);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 4);
    suite_assert_content(suite, SUITE_ROOT, "a", "a");
    suite_assert_content(suite, SUITE_ROOT, "b", "b");
    assert_int_equal(move(suite, "a", "b", true), 0);
    suite_assert_missing(suite, SUITE_ROOT, "a");
    suite_assert_content(suite, SUITE_ROOT, "b", "a");
    assert_int_equal(move(suite, "b", "b", true), 0);
    suite_assert_content(suite, SUITE_ROOT, "b", "a");
}

void rename_replaces_by_the_rules_of_the_system(void **state)
{
    struct suite *suite = *state;

    suite_plant(suite, "f", "file");
    suite_plant_dir(suite, "empty");
    suite_plant_dir(suite, "full");
    suite_plant(suite, "full/in", "x");
    suite_plant_dir(suite, "d");
    suite_plant(suite, "d/own", "own");
    assert_int_equal(move(suite, "d", "full", true), ERR_NOT_EMPTY);
    assert_int_equal(move(suite, "d", "f", true), ERR_NOT_A_DIRECTORY);
    suite_assert_refused(move(suite, "f", "empty", true), ERR_ALREADY_EXISTS, ERR_NOT_REGULAR_FILE);
    suite_assert_refused(move(suite, "f", "full", true), ERR_ALREADY_EXISTS, ERR_NOT_REGULAR_FILE);
    suite_assert_content(suite, SUITE_ROOT, "f", "file");
    suite_assert_content(suite, SUITE_ROOT, "full/in", "x");
    suite_assert_content(suite, SUITE_ROOT, "d/own", "own");
    assert_int_equal(move(suite, "d", "empty", true), 0);
    suite_assert_content(suite, SUITE_ROOT, "empty/own", "own");
    suite_assert_missing(suite, SUITE_ROOT, "d");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 3);
}

void a_directory_does_not_go_into_itself(void **state)
{
    struct suite *suite = *state;

    suite_plant_dir(suite, "d");
    suite_plant_dir(suite, "d/e");
    suite_plant(suite, "d/e/f", "x");
    assert_int_equal(move(suite, "d", "d/new", false), ERR_INVALID_ARGUMENT);
    assert_int_equal(move(suite, "d", "d/e/new", true), ERR_INVALID_ARGUMENT);
    assert_int_equal(move(suite, "d/e", "d", true), ERR_NOT_EMPTY);
    suite_assert_content(suite, SUITE_ROOT, "d/e/f", "x");
    assert_int_equal(suite_count(suite, SUITE_ROOT, "d"), 1);
}

void rename_moves_a_link_and_not_what_it_points_at(void **state)
{
    struct suite *suite = *state;
    int r;

    suite_plant(suite, "f", "target");
    suite_plant(suite, "g", "moved");
    suite_plant_link(suite, "link", "f");
    r = move(suite, "link", "link2", false);
    suite_assert_content(suite, SUITE_ROOT, "f", "target");
    suite_assert_refused(r, 0, ERR_SYMLINK_REJECTED);
    suite_assert_type(suite, SUITE_ROOT, r == 0 ? "link2" : "link", AUTHORITY_SYMLINK);
    /* Onto a link: the link goes, or it is refused. */
    (void)move(suite, "g", r == 0 ? "link2" : "link", true);
    suite_assert_content(suite, SUITE_ROOT, "f", "target");
}

void rename_leaves_files_with_two_names(void **state)
{
    struct suite *suite = *state;
    struct backend_lookup allowing = {.allows_hardlinks = true};

    suite_plant(suite, "f", "mine");
    suite_plant(suite, "h", "shared");
    suite->fixture->plant_hardlink(suite, SUITE_ROOT, "h", SUITE_OUTSIDE, "h2");
    assert_int_equal(move(suite, "h", "new", false), ERR_HARDLINK_REJECTED);
    assert_int_equal(move(suite, "f", "h", true), ERR_HARDLINK_REJECTED);
    suite_assert_content(suite, SUITE_ROOT, "f", "mine");
    suite_assert_content(suite, SUITE_ROOT, "h", "shared");
    assert_int_equal(suite->ops->rename(suite->root, &allowing, STR("h"), suite->root, &allowing,
                                        STR("new"), false),
                     0);
    suite_assert_content(suite, SUITE_ROOT, "new", "shared");
    suite_assert_content(suite, SUITE_OUTSIDE, "h2", "shared");
}

void rename_leaves_the_roots_where_they_are(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;

    suite_plant(suite, "f", "x");
    suite_plant_dir(suite, "d");
    assert_true(ops->rename(suite->root, &suite_strict, STR(""), suite->other, &suite_strict,
                            STR("x"), true) < 0);
    assert_true(ops->rename(suite->root, &suite_strict, STR("d"), suite->other, &suite_strict,
                            STR(""), true) < 0);
    assert_true(ops->rename(suite->root, &suite_following, STR("d/.."), suite->other,
                            &suite_following, STR("x"), true) < 0);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 2);
    assert_int_equal(suite_count(suite, SUITE_OTHER, ""), 0);
}

static struct backend_root *stage_tree(struct suite *suite, const char *name)
{
    struct backend_root *tree = NULL;

    assert_int_equal(suite->ops->tree_stage(suite->root, &suite_strict, str_from(name), &tree), 0);
    return tree;
}

static void write_below(struct suite *suite, struct backend_root *root, struct str name,
                        struct str content)
{
    struct backend_stage *stage = NULL;

    assert_int_equal(suite->ops->stage(root, &suite_strict, name, BACKEND_CREATE_NEW, 0644, &stage),
                     0);
    assert_int_equal(suite->ops->stage_write(stage, content.ptr, content.len), 0);
    assert_int_equal(suite->ops->stage_publish(stage, false), 0);
}

static void fill_tree(struct suite *suite, struct backend_root *tree)
{
    assert_int_equal(suite->ops->mkdir(tree, &suite_strict, STR("sub"), 0755, false), 0);
    write_below(suite, tree, STR("sub/f"), STR("one"));
    write_below(suite, tree, STR("g"), STR("two"));
}

void a_staged_tree_appears_whole(void **state)
{
    struct suite *suite = *state;
    struct backend_root *tree;

    suite_plant_dir(suite, "d");
    tree = stage_tree(suite, "d/new");
    fill_tree(suite, tree);
    suite_assert_missing(suite, SUITE_ROOT, "d/new");
    assert_int_equal(suite->ops->tree_publish(tree, 0755, true), 0);
    suite_assert_content(suite, SUITE_ROOT, "d/new/sub/f", "one");
    suite_assert_content(suite, SUITE_ROOT, "d/new/g", "two");
    assert_int_equal(suite_count(suite, SUITE_ROOT, "d"), 1);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "d/new"), 2);
    suite_assert_reads(suite, &suite_following, "d/new/sub/../../new/g", "two");
    assert_int_equal(remove_all(suite, "d", SUITE_BUDGET), 0);
}

void a_dropped_tree_leaves_nothing_behind(void **state)
{
    struct suite *suite = *state;
    struct backend_file *file = NULL;
    struct backend_root *tree = stage_tree(suite, "new");
    struct authority_stat about;

    fill_tree(suite, tree);
    assert_int_equal(suite->ops->file_open(tree, &suite_strict, STR("g"), &file, &about), 0);
    suite->ops->tree_drop(tree);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 0);
    suite_assert_handle(suite, file, "two");
}

void a_tree_goes_onto_an_empty_directory(void **state)
{
    struct suite *suite = *state;
    struct backend_root *tree;

    suite_plant_dir(suite, "empty");
    tree = stage_tree(suite, "empty");
    fill_tree(suite, tree);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "empty"), 0);
    assert_int_equal(suite->ops->tree_publish(tree, 0755, false), 0);
    suite_assert_content(suite, SUITE_ROOT, "empty/sub/f", "one");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
}

/* Refused at the one or the other. */
static int stage_and_publish(struct suite *suite, const char *name)
{
    struct backend_root *tree = NULL;
    int r = suite->ops->tree_stage(suite->root, &suite_strict, str_from(name), &tree);

    if (r < 0)
        return r;
    fill_tree(suite, tree);
    return suite->ops->tree_publish(tree, 0755, false);
}

void a_tree_does_not_go_onto_anything_else(void **state)
{
    struct suite *suite = *state;
    struct backend_root *tree = NULL;

    suite_plant_dir(suite, "full");
    suite_plant(suite, "full/in", "x");
    suite_plant(suite, "file", "x");
    suite_assert_refused(stage_and_publish(suite, "full"), ERR_NOT_EMPTY, ERR_NOT_EMPTY);
    suite_assert_refused(stage_and_publish(suite, "file"), ERR_ALREADY_EXISTS, ERR_NOT_A_DIRECTORY);
    suite_assert_refused(stage_and_publish(suite, "no/new"), ERR_NOT_FOUND, ERR_NOT_FOUND);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 2);
    /* What came in between stays too. */
    tree = stage_tree(suite, "late");
    fill_tree(suite, tree);
    suite_plant_dir(suite, "late");
    suite_plant(suite, "late/in", "x");
    assert_int_equal(suite->ops->tree_publish(tree, 0755, false), ERR_NOT_EMPTY);
    tree = stage_tree(suite, "later");
    fill_tree(suite, tree);
    suite_plant(suite, "later", "x");
    suite_assert_refused(suite->ops->tree_publish(tree, 0755, false), ERR_NOT_A_DIRECTORY,
                         ERR_ALREADY_EXISTS);
    suite_assert_content(suite, SUITE_ROOT, "full/in", "x");
    suite_assert_content(suite, SUITE_ROOT, "late/in", "x");
    suite_assert_content(suite, SUITE_ROOT, "later", "x");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 4);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "late"), 1);
}

void a_tree_is_a_root_of_its_own(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct backend_root *tree = stage_tree(suite, "new");
    struct backend_file *file = NULL;
    struct authority_stat about;

    suite_plant(suite, "f", "x");
    fill_tree(suite, tree);
    assert_int_equal(ops->file_open(tree, &suite_following, STR("../f"), &file, &about),
                     ERR_PATH_OUTSIDE_ROOT);
    assert_int_equal(ops->file_open(tree, &suite_strict, STR("sub/f"), &file, &about), 0);
    suite_assert_handle(suite, file, "one");
    assert_true(ops->remove(tree, &suite_strict, STR(""), true, SUITE_BUDGET) < 0);
    assert_int_equal(ops->remove(tree, &suite_strict, STR("sub"), true, SUITE_BUDGET), 0);
    assert_int_equal(ops->tree_publish(tree, 0755, false), 0);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "new"), 1);
}

void a_tree_keeps_to_the_link_rules(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct backend_root *tree = NULL;

    suite_plant_dir(suite, "d");
    suite_plant_link(suite, "link", "d");
    suite_plant_link(suite, "nowhere", "missing");
    suite_plant_link(suite, "out", "../outside");
    assert_int_equal(ops->tree_stage(suite->root, &suite_strict, STR("link"), &tree),
                     ERR_SYMLINK_REJECTED);
    assert_int_equal(ops->tree_stage(suite->root, &suite_strict, STR("link/new"), &tree),
                     ERR_SYMLINK_REJECTED);
    suite_assert_refused(ops->tree_stage(suite->root, &suite_following, STR("nowhere"), &tree),
                         ERR_SYMLINK_REJECTED, ERR_NOT_FOUND);
    suite_assert_refused(ops->tree_stage(suite->root, &suite_following, STR("out/new"), &tree),
                         ERR_SYMLINK_REJECTED, ERR_PATH_OUTSIDE_ROOT);
    suite_assert_missing(suite, SUITE_ROOT, "missing");
    assert_int_equal(suite_count(suite, SUITE_OUTSIDE, ""), 0);
    assert_int_equal(ops->tree_stage(suite->root, &suite_following, STR("link/new"), &tree), 0);
    fill_tree(suite, tree);
    assert_int_equal(ops->tree_publish(tree, 0755, false), 0);
    suite_assert_content(suite, SUITE_ROOT, "d/new/g", "two");
}

void a_tree_has_the_modes_it_was_given(void **state)
{
    static const unsigned modes[] = {0700, 0750, 0755, 0775, 0500};
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    mode_t mask = umask(022); /* changes none of them: they are of what is copied */

    for (size_t i = 0; i < array_size(modes); i++) {
        struct backend_root *tree = stage_tree(suite, "new");

        assert_int_equal(ops->mkdir(tree, &suite_strict, STR("sub"), modes[i], false), 0);
        assert_int_equal(ops->tree_publish(tree, modes[i], false), 0);
        assert_int_equal(suite_mode(suite, SUITE_ROOT, "new") & 07777, modes[i]);
        assert_int_equal(suite_mode(suite, SUITE_ROOT, "new/sub") & 07777, modes[i]);
        suite->fixture->set_mode(suite, SUITE_ROOT, "new", 0700);
        assert_int_equal(remove_all(suite, "new", SUITE_BUDGET), 0);
    }
    umask(mask);
}

void a_directory_in_a_tree_is_shut_when_all_is_in_it(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct backend_root *tree = stage_tree(suite, "new");

    fill_tree(suite, tree);
    assert_int_equal(ops->tree_set_mode(tree, STR("none"), 0500), ERR_NOT_FOUND);
    assert_int_equal(ops->tree_set_mode(tree, STR("sub"), 0500), 0);
    assert_int_equal(ops->tree_publish(tree, 0755, false), 0);
    assert_int_equal(suite_mode(suite, SUITE_ROOT, "new/sub") & 07777, 0500);
    suite_assert_content(suite, SUITE_ROOT, "new/sub/f", "one");
    suite->fixture->set_mode(suite, SUITE_ROOT, "new/sub", 0700);
}

static bool admits_what_is_not_closed(void *context, struct str name)
{
    (void)context;
    return !str_starts_with(name, STR("closed"));
}

void a_tree_keeps_the_name_that_it_was_filled_by(void **state)
{
    /* Denied itself, or with something below that would be: nobody asked about that name. */
    static const char *const elsewhere[] = {"closed", "open"};
    const struct backend_lookup selective = {.admits = admits_what_is_not_closed,
                                             .is_selective = true};
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct backend_root *tree = NULL;

    suite_plant_dir(suite, "d");
    for (size_t i = 0; i < array_size(elsewhere); i++) {
        assert_int_equal(ops->tree_stage(suite->root, &selective, STR("d/new"), &tree), 0);
        fill_tree(suite, tree);
        assert_int_equal(move(suite, "d", elsewhere[i], false), 0);
        assert_int_equal(ops->tree_publish(tree, 0755, false), ERR_DENIED_BY_POLICY);
        assert_int_equal(suite_count(suite, SUITE_ROOT, elsewhere[i]), 0);
        assert_int_equal(move(suite, elsewhere[i], "d", false), 0);
    }
    assert_int_equal(ops->tree_stage(suite->root, &selective, STR("d/new"), &tree), 0);
    fill_tree(suite, tree);
    assert_int_equal(ops->tree_publish(tree, 0755, false), 0);
    suite_assert_content(suite, SUITE_ROOT, "d/new/sub/f", "one");
}

void a_temporary_directory_works_and_goes(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct backend_root *first = NULL;
    struct backend_root *second = NULL;
    struct backend_file *file = NULL;
    struct backend_dir *dir = NULL;
    struct authority_stat about;

    assert_int_equal(ops->temp_make(suite->backend, &first), 0);
    assert_int_equal(ops->temp_make(suite->backend, &second), 0);
    assert_int_equal(ops->stat(first, &suite_strict, STR(""), &about), 0);
    assert_int_equal(about.type, AUTHORITY_DIRECTORY);
    assert_int_equal(about.mode & 07777, 0700);
    fill_tree(suite, first);
    assert_int_equal(ops->stat(second, &suite_strict, STR("g"), &about), ERR_NOT_FOUND);
    assert_int_equal(ops->file_open(first, &suite_following, STR("../g"), &file, &about),
                     ERR_PATH_OUTSIDE_ROOT);
    assert_int_equal(ops->file_open(first, &suite_strict, STR("sub/f"), &file, &about), 0);
    assert_int_equal(ops->dir_open(first, &suite_strict, STR("sub"), &dir), 0);
    ops->temp_drop(first);
    suite_assert_handle(suite, file, "one");
    assert_int_equal(ops->dir_stat(dir, STR("f"), &about), ERR_NOT_FOUND);
    ops->dir_close(dir);
    ops->temp_drop(second);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 0);
}

void files_in_a_temporary_directory_are_replaced_like_others(void **state)
{
    static const enum backend_create ways[] = {BACKEND_CREATE_OR_REPLACE, BACKEND_REPLACE_OLD};
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct backend_stage *stage = NULL;
    struct backend_root *temp = NULL;
    struct backend_file *file = NULL;
    struct authority_stat about;

    assert_int_equal(ops->temp_make(suite->backend, &temp), 0);
    write_below(suite, temp, STR("f"), STR("first"));
    for (size_t i = 0; i < array_size(ways); i++) {
        assert_int_equal(ops->stage(temp, &suite_strict, STR("f"), ways[i], 0644, &stage), 0);
        assert_int_equal(ops->stage_write(stage, "second", 6), 0);
        ops->stage_drop(stage);
        assert_int_equal(ops->file_open(temp, &suite_strict, STR("f"), &file, &about), 0);
        suite_assert_handle(suite, file, "first");
    }
    assert_int_equal(
        ops->stage(temp, &suite_strict, STR("f"), BACKEND_CREATE_OR_REPLACE, 0644, &stage), 0);
    assert_int_equal(ops->stage_write(stage, "second", 6), 0);
    assert_int_equal(ops->stage_publish(stage, false), 0);
    assert_int_equal(ops->file_open(temp, &suite_strict, STR("f"), &file, &about), 0);
    suite_assert_handle(suite, file, "second");
    assert_int_equal(ops->stage(temp, &suite_strict, STR("f"), BACKEND_CREATE_NEW, 0644, &stage),
                     ERR_ALREADY_EXISTS);
    ops->temp_drop(temp);
}

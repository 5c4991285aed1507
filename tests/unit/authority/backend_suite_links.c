/* SPDX-License-Identifier: Apache-2.0 */
/* Links, admission, cancelling, watching. */
#include "backend_suite.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* Everything that resolves a name to use what is there. True if all of them refused it. */
static void assert_unusable(struct suite *suite, const struct backend_lookup *lookup,
                            const char *name, int code, int or_code)
{
    const struct backend_ops *ops = suite->ops;
    struct str view = str_from(name);
    struct backend_root *tree = NULL;
    struct backend_file *file = NULL;
    struct authority_stat about;
    struct backend_dir *dir = NULL;

    suite_assert_refused(ops->file_open(suite->root, lookup, view, &file, &about), code, or_code);
    suite_assert_refused(ops->dir_open(suite->root, lookup, view, &dir), code, or_code);
    suite_assert_refused(suite_write(suite, lookup, name, "x"), code, or_code);
    suite_assert_refused(ops->append(suite->root, lookup, view, STR("x"), true, 0644, false), code,
                         or_code);
    suite_assert_refused(ops->tree_stage(suite->root, lookup, view, &tree), code, or_code);
}

/* The same, and everything that changes the directory it is in. */
static void assert_unreachable(struct suite *suite, const struct backend_lookup *lookup,
                               const char *name, int code, int or_code)
{
    const struct backend_ops *ops = suite->ops;
    struct str view = str_from(name);
    struct authority_stat about;

    assert_unusable(suite, lookup, name, code, or_code);
    suite_assert_refused(ops->stat(suite->root, lookup, view, &about), code, or_code);
    suite_assert_refused(ops->mkdir(suite->root, lookup, view, 0755, false), code, or_code);
    suite_assert_refused(ops->remove(suite->root, lookup, view, true, SUITE_BUDGET), code, or_code);
    suite_assert_refused(
        ops->rename(suite->root, lookup, view, suite->root, lookup, STR("new"), true), code,
        or_code);
    suite_assert_refused(
        ops->rename(suite->root, lookup, STR("mine"), suite->root, lookup, view, true), code,
        or_code);
}

/* A directory with a file, and something of ours to be moved. */
static void plant_scene(struct suite *suite)
{
    suite_plant(suite, "mine", "mine");
    suite_plant_dir(suite, "d");
    suite_plant(suite, "d/f", "inside");
    suite->fixture->plant(suite, SUITE_OUTSIDE, "f", AUTHORITY_FILE, STR("outside"));
}

static void assert_scene(struct suite *suite)
{
    suite_assert_content(suite, SUITE_ROOT, "mine", "mine");
    suite_assert_content(suite, SUITE_ROOT, "d/f", "inside");
    suite_assert_content(suite, SUITE_OUTSIDE, "f", "outside");
    assert_int_equal(suite_count(suite, SUITE_OUTSIDE, ""), 1);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "d"), 1);
    suite_assert_missing(suite, SUITE_ROOT, "new");
}

void any_link_is_refused_when_links_are_rejected(void **state)
{
    struct suite *suite = *state;

    plant_scene(suite);
    suite_plant_link(suite, "last", "d/f");
    suite_plant_link(suite, "dir", "d");
    suite_plant_link(suite, "nowhere", "missing");
    suite_plant_link(suite, "self", ".");
    assert_unusable(suite, &suite_strict, "last", ERR_SYMLINK_REJECTED, ERR_SYMLINK_REJECTED);
    assert_unusable(suite, &suite_strict, "dir", ERR_SYMLINK_REJECTED, ERR_SYMLINK_REJECTED);
    assert_unusable(suite, &suite_strict, "nowhere", ERR_SYMLINK_REJECTED, ERR_SYMLINK_REJECTED);
    assert_unreachable(suite, &suite_strict, "dir/f", ERR_SYMLINK_REJECTED, ERR_SYMLINK_REJECTED);
    assert_unreachable(suite, &suite_strict, "dir/new", ERR_SYMLINK_REJECTED, ERR_SYMLINK_REJECTED);
    assert_unreachable(suite, &suite_strict, "self/d/f", ERR_SYMLINK_REJECTED,
                       ERR_SYMLINK_REJECTED);
    assert_scene(suite);
    suite_assert_missing(suite, SUITE_ROOT, "missing");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 6);
}

void links_inside_the_root_are_followed_when_allowed(void **state)
{
    struct suite *suite = *state;
    struct backend_dir *dir = NULL;
    struct authority_stat about;

    plant_scene(suite);
    suite_plant_dir(suite, "d/e");
    suite_plant_link(suite, "last", "d/f");
    suite_plant_link(suite, "dir", "d");
    suite_plant_link(suite, "d/e/up", "../f");
    suite_plant_link(suite, "d/e/far", "../../dir/e/up");
    suite_plant_link(suite, "slash", "./d//");
    suite_assert_reads(suite, &suite_following, "last", "inside");
    suite_assert_reads(suite, &suite_following, "dir/f", "inside");
    suite_assert_reads(suite, &suite_following, "dir/e/up", "inside");
    suite_assert_reads(suite, &suite_following, "d/e/far", "inside");
    suite_assert_reads(suite, &suite_following, "slash/f", "inside");
    assert_int_equal(suite->ops->dir_open(suite->root, &suite_following, STR("slash"), &dir), 0);
    suite->ops->dir_close(dir);
    assert_int_equal(suite->ops->stat(suite->root, &suite_following, STR("dir"), &about), 0);
    assert_int_equal(about.type, AUTHORITY_DIRECTORY);
    assert_int_equal(suite->ops->mkdir(suite->root, &suite_following, STR("dir/new"), 0755, false),
                     0);
    suite_assert_type(suite, SUITE_ROOT, "d/new", AUTHORITY_DIRECTORY);
    assert_int_equal(suite->ops->rename(suite->root, &suite_following, STR("dir/new"), suite->root,
                                        &suite_following, STR("slash/e/newer"), false),
                     0);
    suite_assert_type(suite, SUITE_ROOT, "d/e/newer", AUTHORITY_DIRECTORY);
    assert_int_equal(
        suite->ops->remove(suite->root, &suite_following, STR("dir/e/newer"), false, 1), 0);
    suite_assert_missing(suite, SUITE_ROOT, "d/e/newer");
}

void links_that_leave_the_root_are_refused(void **state)
{
    static const char *const targets[] = {"../outside", "d/../../outside", "../../outside", "/",
                                          "/proc/self/root"};
    struct suite *suite = *state;
    char absolute[PATH_MAX];

    plant_scene(suite);
    for (size_t i = 0; i < array_size(targets); i++) {
        suite_plant_link(suite, "out", targets[i]);
        assert_unreachable(suite, &suite_following, "out/f", ERR_PATH_OUTSIDE_ROOT,
                           ERR_PATH_OUTSIDE_ROOT);
        assert_unusable(suite, &suite_following, "out", ERR_PATH_OUTSIDE_ROOT,
                        ERR_PATH_OUTSIDE_ROOT);
        suite->fixture->take(suite, SUITE_ROOT, "out");
    }
    suite_plant_link(suite, "out", "../outside/f");
    assert_unusable(suite, &suite_following, "out", ERR_PATH_OUTSIDE_ROOT, ERR_PATH_OUTSIDE_ROOT);
    suite_plant_link(suite, "out_new", "../outside/new");
    assert_unusable(suite, &suite_following, "out_new", ERR_PATH_OUTSIDE_ROOT,
                    ERR_PATH_OUTSIDE_ROOT);
    suite_plant_link(suite, "nowhere", "/nowhere/at/all");
    assert_unusable(suite, &suite_following, "nowhere", ERR_PATH_OUTSIDE_ROOT,
                    ERR_PATH_OUTSIDE_ROOT);
    /* An absolute one is refused also when it leads inside. */
    if (suite->fixture->path != NULL) {
        snprintf(absolute, sizeof(absolute), "%s/d", suite->fixture->path(suite, SUITE_ROOT));
        suite_plant_link(suite, "absolute", absolute);
        assert_unreachable(suite, &suite_following, "absolute/f", ERR_PATH_OUTSIDE_ROOT,
                           ERR_PATH_OUTSIDE_ROOT);
        suite->fixture->take(suite, SUITE_ROOT, "absolute");
    }
    assert_scene(suite);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 5);
}

void loops_of_links_end(void **state)
{
    struct suite *suite = *state;

    plant_scene(suite);
    suite_plant_link(suite, "self", "self");
    suite_plant_link(suite, "a", "b");
    suite_plant_link(suite, "b", "a");
    suite_plant_link(suite, "longer", "longer/x");
    assert_unusable(suite, &suite_following, "self", ERR_SYMLINK_REJECTED, ERR_SYMLINK_REJECTED);
    assert_unreachable(suite, &suite_following, "a/f", ERR_SYMLINK_REJECTED, ERR_SYMLINK_REJECTED);
    assert_unusable(suite, &suite_following, "longer", ERR_SYMLINK_REJECTED, ERR_INVALID_PATH);
    assert_scene(suite);
}

void long_chains_of_links_are_followed_up_to_forty(void **state)
{
    enum { HOPS = 40 };
    struct suite *suite = *state;
    struct backend_file *file = NULL;
    char name[16];
    char target[16] = "f";

    suite_plant(suite, "f", "end");
    for (unsigned i = 1; i <= HOPS + 1; i++) {
        snprintf(name, sizeof(name), "l%u", i);
        suite_plant_link(suite, name, target);
        memcpy(target, name, sizeof(target));
    }
    suite_assert_reads(suite, &suite_following, "l40", "end");
    assert_int_equal(suite_open(suite, &suite_following, "l41", &file), ERR_SYMLINK_REJECTED);
}

void dangling_links_create_nothing(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct backend_file *file = NULL;
    struct authority_stat about;

    suite_plant_dir(suite, "d");
    suite_plant_link(suite, "nowhere", "d/missing");
    suite_plant_link(suite, "again", "nowhere");
    assert_int_equal(suite_open(suite, &suite_following, "nowhere", &file), ERR_NOT_FOUND);
    assert_int_equal(ops->stat(suite->root, &suite_following, STR("nowhere"), &about),
                     ERR_NOT_FOUND);
    suite_assert_refused(suite_write(suite, &suite_following, "nowhere", "x"), ERR_SYMLINK_REJECTED,
                         ERR_NOT_FOUND);
    suite_assert_refused(suite_write(suite, &suite_following, "again", "x"), ERR_SYMLINK_REJECTED,
                         ERR_NOT_FOUND);
    suite_assert_refused(
        ops->append(suite->root, &suite_following, STR("nowhere"), STR("x"), true, 0644, false),
        ERR_SYMLINK_REJECTED, ERR_NOT_FOUND);
    assert_int_equal(suite_write(suite, &suite_following, "nowhere/f", "x"), ERR_NOT_FOUND);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "d"), 0);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 3);
}

void dotdot_is_taken_after_links_and_stays_inside(void **state)
{
    struct suite *suite = *state;

    plant_scene(suite);
    suite_plant_dir(suite, "d/e");
    suite_plant_link(suite, "deep", "d/e");
    /* Above "deep" is "d", where it points, and not the root, where it stands. */
    suite_assert_reads(suite, &suite_following, "deep/../f", "inside");
    suite_assert_reads(suite, &suite_following, "d/e/../../mine", "mine");
    assert_unusable(suite, &suite_following, "deep/../../../outside/f", ERR_PATH_OUTSIDE_ROOT,
                    ERR_PATH_OUTSIDE_ROOT);
    assert_unreachable(suite, &suite_following, "../outside/f", ERR_PATH_OUTSIDE_ROOT,
                       ERR_PATH_OUTSIDE_ROOT);
    suite->fixture->take(suite, SUITE_ROOT, "d/e");
    assert_scene(suite);
}

void writing_through_a_link_changes_the_file_and_keeps_the_link(void **state)
{
    struct suite *suite = *state;
    struct backend_stage *stage = NULL;

    suite_plant_dir(suite, "d");
    suite_plant(suite, "d/f", "old");
    suite_plant_link(suite, "link", "d/f");
    assert_int_equal(suite_write(suite, &suite_following, "link", "new"), 0);
    suite_assert_type(suite, SUITE_ROOT, "link", AUTHORITY_SYMLINK);
    suite_assert_content(suite, SUITE_ROOT, "d/f", "new");
    assert_int_equal(suite->ops->append(suite->root, &suite_following, STR("link"), STR("er"),
                                        false, 0644, false),
                     0);
    suite_assert_content(suite, SUITE_ROOT, "d/f", "newer");
    suite_assert_refused(suite->ops->stage(suite->root, &suite_following, STR("link"),
                                           BACKEND_CREATE_NEW, 0644, &stage),
                         ERR_ALREADY_EXISTS, ERR_SYMLINK_REJECTED);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "d"), 1);
}

/* ---- admits() ---- */

struct door {
    const char *denied; /* the one name that is not let in */
    unsigned asked;
    char last[PATH_MAX];
};

static bool admit(void *context, struct str resolved)
{
    struct door *door = context;

    door->asked++;
    snprintf(door->last, sizeof(door->last), "%.*s", STR_ARG(resolved));
    return door->denied == NULL || !str_eq_c(resolved, door->denied);
}

void a_resolved_name_that_is_not_admitted_is_not_used(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct door door = {.denied = "secret/f"};
    struct backend_lookup lookup = {.follows_links = true, .admits = admit, .context = &door};
    struct backend_stage *stage = NULL;
    struct backend_file *file = NULL;
    struct authority_stat about;

    suite_plant_dir(suite, "secret");
    suite_plant(suite, "secret/f", "secret");
    suite_plant(suite, "mine", "mine");
    suite_plant_link(suite, "notes", "secret/f");
    suite_plant_link(suite, "dir", "secret");
    assert_int_equal(suite_open(suite, &lookup, "notes", &file), ERR_DENIED_BY_POLICY);
    assert_int_equal(suite_open(suite, &lookup, "dir/f", &file), ERR_DENIED_BY_POLICY);
    assert_int_equal(ops->stat(suite->root, &lookup, STR("notes"), &about), ERR_DENIED_BY_POLICY);
    assert_int_equal(suite_write(suite, &lookup, "notes", "x"), ERR_DENIED_BY_POLICY);
    assert_int_equal(
        ops->stage(suite->root, &lookup, STR("dir/f"), BACKEND_CREATE_OR_REPLACE, 0644, &stage),
        ERR_DENIED_BY_POLICY);
    assert_int_equal(ops->append(suite->root, &lookup, STR("notes"), STR("x"), true, 0644, false),
                     ERR_DENIED_BY_POLICY);
    assert_int_equal(ops->remove(suite->root, &lookup, STR("dir/f"), true, SUITE_BUDGET),
                     ERR_DENIED_BY_POLICY);
    assert_int_equal(
        ops->rename(suite->root, &lookup, STR("dir/f"), suite->root, &lookup, STR("new"), true),
        ERR_DENIED_BY_POLICY);
    assert_int_equal(
        ops->rename(suite->root, &lookup, STR("mine"), suite->root, &lookup, STR("dir/f"), true),
        ERR_DENIED_BY_POLICY);
    suite_assert_content(suite, SUITE_ROOT, "secret/f", "secret");
    suite_assert_content(suite, SUITE_ROOT, "mine", "mine");

    /* Also where there is nothing yet. */
    door.denied = "secret/new";
    assert_int_equal(suite_write(suite, &lookup, "dir/new", "x"), ERR_DENIED_BY_POLICY);
    assert_int_equal(ops->mkdir(suite->root, &lookup, STR("dir/new"), 0755, false),
                     ERR_DENIED_BY_POLICY);
    assert_int_equal(ops->append(suite->root, &lookup, STR("dir/new"), STR("x"), true, 0644, false),
                     ERR_DENIED_BY_POLICY);
    assert_int_equal(
        ops->rename(suite->root, &lookup, STR("mine"), suite->root, &lookup, STR("dir/new"), false),
        ERR_DENIED_BY_POLICY);
    assert_int_equal(suite_count(suite, SUITE_ROOT, "secret"), 1);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 4);
}

void admission_is_asked_for_the_resolved_name(void **state)
{
    struct suite *suite = *state;
    struct door door = {.denied = NULL};
    struct backend_lookup lookup = {.follows_links = true, .admits = admit, .context = &door};
    struct backend_dir *dir = NULL;

    suite_plant_dir(suite, "a");
    suite_plant_dir(suite, "a/b");
    suite_plant(suite, "a/b/f", "x");
    suite_plant_link(suite, "a/up", "../a/b");
    suite_plant_link(suite, "l", "a/up/f");
    suite_plant_link(suite, "top", ".");
    suite_assert_reads(suite, &lookup, "l", "x");
    assert_true(door.asked > 0);
    assert_string_equal(door.last, "a/b/f");
    suite_assert_reads(suite, &lookup, "top/a/up/../b/f", "x");
    assert_string_equal(door.last, "a/b/f");
    assert_int_equal(suite->ops->dir_open(suite->root, &lookup, STR("top"), &dir), 0);
    suite->ops->dir_close(dir);
    assert_string_equal(door.last, "");
    assert_int_equal(suite_write(suite, &lookup, "a/up/new", "y"), 0);
    assert_string_equal(door.last, "a/b/new");
    suite_assert_content(suite, SUITE_ROOT, "a/b/new", "y");
}

void only_a_link_gets_a_second_name(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct authority_stat about;

    suite_plant(suite, "f", "file");
    suite_plant_dir(suite, "d");
    suite_plant_link(suite, "link", "f");
    suite_plant_link(suite, "broken", "nowhere");
    assert_int_equal(ops->link(suite->root, &suite_strict, STR("link"), suite->other, &suite_strict,
                               STR("second")),
                     0);
    assert_int_equal(ops->link(suite->root, &suite_strict, STR("broken"), suite->root,
                               &suite_strict, STR("d/broken")),
                     0);
    suite_assert_type(suite, SUITE_ROOT, "link", AUTHORITY_SYMLINK);
    suite_assert_type(suite, SUITE_OTHER, "second", AUTHORITY_SYMLINK);
    suite_assert_type(suite, SUITE_ROOT, "d/broken", AUTHORITY_SYMLINK);
    /* Nothing is replaced, and nothing else linked. */
    assert_int_equal(ops->link(suite->root, &suite_strict, STR("broken"), suite->other,
                               &suite_strict, STR("second")),
                     ERR_ALREADY_EXISTS);
    assert_int_equal(
        ops->link(suite->root, &suite_strict, STR("f"), suite->other, &suite_strict, STR("x")),
        ERR_SYMLINK_REJECTED);
    assert_int_equal(
        ops->link(suite->root, &suite_strict, STR("d"), suite->other, &suite_strict, STR("x")),
        ERR_SYMLINK_REJECTED);
    assert_int_equal(
        ops->link(suite->root, &suite_strict, STR("none"), suite->other, &suite_strict, STR("x")),
        ERR_NOT_FOUND);
    suite_assert_missing(suite, SUITE_OTHER, "x");
    assert_int_equal(ops->stat(suite->root, &suite_strict, STR("f"), &about), 0);
    assert_int_equal(about.links, 1);
}

void hard_links_to_outside_are_not_touched(void **state)
{
    struct suite *suite = *state;
    struct backend_file *file = NULL;

    suite->fixture->plant(suite, SUITE_OUTSIDE, "secret", AUTHORITY_FILE, STR("secret"));
    suite->fixture->plant_hardlink(suite, SUITE_OUTSIDE, "secret", SUITE_ROOT, "here");
    suite_plant_link(suite, "link", "here");
    assert_int_equal(suite_open(suite, &suite_strict, "here", &file), ERR_HARDLINK_REJECTED);
    assert_int_equal(suite_open(suite, &suite_following, "link", &file), ERR_HARDLINK_REJECTED);
    assert_int_equal(suite_write(suite, &suite_strict, "here", "x"), ERR_HARDLINK_REJECTED);
    assert_int_equal(suite_write(suite, &suite_following, "link", "x"), ERR_HARDLINK_REJECTED);
    assert_int_equal(
        suite->ops->append(suite->root, &suite_strict, STR("here"), STR("x"), true, 0644, false),
        ERR_HARDLINK_REJECTED);
    suite_assert_content(suite, SUITE_OUTSIDE, "secret", "secret");
    suite_assert_content(suite, SUITE_ROOT, "here", "secret");
    /* The name may go: it is the root's own. */
    assert_int_equal(suite->ops->remove(suite->root, &suite_strict, STR("here"), false, 1), 0);
    suite_assert_content(suite, SUITE_OUTSIDE, "secret", "secret");
}

void a_cancelled_token_stops_every_operation(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct cancel token;
    struct backend_lookup lookup = {.cancel = &token};
    struct authority_stat about;

    cancel_init(&token, &clock_system, CANCEL_NO_DEADLINE);
    plant_scene(suite);
    assert_int_equal(ops->stat(suite->root, &lookup, STR("mine"), &about), 0);
    cancel_now(&token);
    assert_unreachable(suite, &lookup, "d/f", ERR_CANCELLED, ERR_CANCELLED);
    assert_unreachable(suite, &lookup, "d", ERR_CANCELLED, ERR_CANCELLED);
    assert_scene(suite);
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 2);
}

void a_cancelled_stage_is_not_published(void **state)
{
    struct suite *suite = *state;
    const struct backend_ops *ops = suite->ops;
    struct cancel token;
    struct backend_lookup lookup = {.cancel = &token};
    struct backend_stage *stage = NULL;
    struct backend_file *file = NULL;

    cancel_init(&token, &clock_system, CANCEL_NO_DEADLINE);
    suite_plant(suite, "f", "old");
    assert_int_equal(
        ops->stage(suite->root, &lookup, STR("f"), BACKEND_CREATE_OR_REPLACE, 0644, &stage), 0);
    assert_int_equal(suite_open(suite, &suite_strict, "f", &file), 0);
    cancel_now(&token);
    assert_int_equal(ops->stage_copy(stage, file, &(uint64_t){UINT64_MAX}), ERR_CANCELLED);
    assert_int_equal(ops->stage_publish(stage, false), ERR_CANCELLED);
    ops->file_close(file);
    suite_assert_content(suite, SUITE_ROOT, "f", "old");
    assert_int_equal(suite_count(suite, SUITE_ROOT, ""), 1);
}

/* ---- watch ---- */

struct reports {
    unsigned created;
    unsigned removed;
    unsigned others;
};

static void report(void *data, enum authority_change change, struct str name)
{
    struct reports *reports = data;

    if (change == AUTHORITY_CREATED && str_eq_c(name, "new"))
        reports->created++;
    else if (change == AUTHORITY_REMOVED && str_eq_c(name, "old"))
        reports->removed++;
    else
        reports->others++;
}

void watching_reports_what_happens(void **state)
{
    struct suite *suite = *state;
    struct backend_watch *watch = NULL;
    struct reports reports = {.created = 0};
    struct pollfd wait = {.fd = -1, .events = POLLIN};

    suite_plant_dir(suite, "d");
    suite_plant(suite, "d/old", "x");
    if (!suite->fixture->has_watch) {
        assert_int_equal(suite->ops->watch(suite->root, &suite_strict, STR("d"), &watch, &wait.fd),
                         ERR_UNSUPPORTED);
        assert_null(watch);
        return;
    }
    suite_plant_link(suite, "link", "d");
    assert_int_equal(suite->ops->watch(suite->root, &suite_strict, STR("link"), &watch, &wait.fd),
                     ERR_SYMLINK_REJECTED);
    assert_int_equal(suite->ops->watch(suite->root, &suite_strict, STR("d"), &watch, &wait.fd), 0);
    assert_int_equal(suite->ops->watch_read(watch, report, &reports), 0);
    assert_int_equal(reports.created + reports.removed + reports.others, 0);
    suite_plant(suite, "d/new", "x");
    suite->fixture->take(suite, SUITE_ROOT, "d/old");
    suite_plant(suite, "elsewhere", "x");
    assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
    assert_int_equal(suite->ops->watch_read(watch, report, &reports), 0);
    assert_int_equal(reports.created, 1);
    assert_int_equal(reports.removed, 1);
    suite->ops->watch_free(watch);
}

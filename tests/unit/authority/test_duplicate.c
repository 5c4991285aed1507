/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of whole directories for somebody to work in. */
#include "two_scopes.h"

#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

static const struct authority_limits any_links = {.symlinks = AUTHORITY_SYMLINKS_REJECT,
                                                  .hardlinks = AUTHORITY_HARDLINKS_ALLOW};

/* Of the world's root, which may only be read. */
static struct authority_scope *open_source(struct world *world)
{
    struct authority_request request = world_request(world);

    request.access = AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA;
    request.limits = any_links;
    return world_open(world, &request);
}

/* What is said about the entries. */
struct said {
    struct world *world;
    const char *unwanted;
    size_t copied;
    size_t missed;
    int last_code;
    char last_missed[64];
    int stops_with;
    const char *rewritten; /* while it is copied */
    int rewrites;
};

static void rewrite(struct world *world, const char *name)
{
    static const char text[] = "written meanwhile";
    int fd = openat(world->fds[WORLD_ROOT], name, O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
}

static bool admits(void *data, struct str name, const struct authority_stat *about)
{
    struct said *said = data;

    assert_true(about->inode != 0);
    if (said->rewritten != NULL && str_eq_c(name, said->rewritten) && said->rewrites > 0) {
        said->rewrites--;
        rewrite(said->world, said->rewritten);
    }
    return said->unwanted == NULL || !str_eq_c(name, said->unwanted);
}

static int copied(void *data, const struct authority_duplicated *entry)
{
    struct said *said = data;

    assert_true(entry->from.inode != 0 && entry->to.inode != 0);
    said->copied++;
    return said->stops_with;
}

static void missed(void *data, struct str name, int code)
{
    struct said *said = data;

    said->missed++;
    said->last_code = code;
    snprintf(said->last_missed, sizeof(said->last_missed), "%.*s", STR_ARG(name));
}

static int duplicate(struct world *world, struct said *said, const char *from)
{
    struct authority_scope *source = open_source(world);
    struct authority_scope *other = open_plain_other(world);
    const struct authority_duplicate_options options = {
        .admits = admits, .copied = copied, .missed = missed, .data = said};
    int r;

    said->world = world;
    r = authority_duplicate(other, STR("copy"), source, str_from(from), &options, &world->err);
    authority_scope_free(other);
    authority_scope_free(source);
    return r;
}

static void a_copy_has_everything(void **state)
{
    struct world *world = *state;
    struct said said = {.world = world};

    plant(world, WORLD_ROOT, "f", "text");
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/run", "#!");
    plant_dir(world, WORLD_ROOT, "d/shut");
    plant(world, WORLD_ROOT, "d/shut/in", "in");
    plant_link(world, "link", "f");
    plant_link(world, "d/out", "../../../etc/passwd");
    plant_link(world, "broken", "/nowhere");
    set_mode(world, WORLD_ROOT, "d/run", 0750);
    set_mode(world, WORLD_ROOT, "d/shut", 0500);
    assert_ok(world, duplicate(world, &said, ""));
    assert_content(world, WORLD_OTHER, "copy/f", "text");
    assert_content(world, WORLD_OTHER, "copy/d/shut/in", "in");
    assert_link(world, WORLD_OTHER, "copy/link", "f");
    assert_link(world, WORLD_OTHER, "copy/d/out", "../../../etc/passwd");
    assert_link(world, WORLD_OTHER, "copy/broken", "/nowhere");
    assert_int_equal(about(world, WORLD_OTHER, "copy/d/run").mode, 0750);
    assert_int_equal(about(world, WORLD_OTHER, "copy/d/shut").mode, 0500);
    assert_int_equal(said.copied, 8);
    assert_int_equal(said.missed, 0);
    set_mode(world, WORLD_OTHER, "copy/d/shut", 0700);
    set_mode(world, WORLD_ROOT, "d/shut", 0700);
}

static void a_copy_keeps_times_and_loses_set_id_bits(void **state)
{
    struct world *world = *state;
    struct said said = {.world = world};
    struct stat found;
    const struct timespec times[] = {{.tv_sec = 1000000000, .tv_nsec = 5},
                                     {.tv_sec = 1111111111, .tv_nsec = 7}};

    plant(world, WORLD_ROOT, "f", "text");
    set_mode(world, WORLD_ROOT, "f", 06755);
    assert_int_equal(utimensat(world->fds[WORLD_ROOT], "f", times, 0), 0);
    assert_ok(world, duplicate(world, &said, ""));
    assert_int_equal(fstatat(world->fds[WORLD_OTHER], "copy/f", &found, 0), 0);
    assert_int_equal(found.st_mtim.tv_sec, 1111111111);
    assert_int_equal(found.st_mtim.tv_nsec, 7);
    assert_int_equal(found.st_mode & 07777, 0755);
}

static void what_is_no_file_is_told_and_left_out(void **state)
{
    struct world *world = *state;
    struct said said = {.world = world};

    plant(world, WORLD_ROOT, "f", "text");
    plant_fifo(world, "fifo");
    assert_ok(world, duplicate(world, &said, ""));
    assert_true(is_there(world, WORLD_OTHER, "copy/f"));
    assert_false(is_there(world, WORLD_OTHER, "copy/fifo"));
    assert_int_equal(said.missed, 1);
    assert_int_equal(said.last_code, ERR_NOT_REGULAR_FILE);
    assert_string_equal(said.last_missed, "fifo");
}

static void second_names_become_files_of_their_own(void **state)
{
    struct world *world = *state;
    struct said said = {.world = world};

    plant(world, WORLD_OUTSIDE, "first", "hard");
    plant_hardlink(world, WORLD_OUTSIDE, "first", "one");
    plant_hardlink(world, WORLD_OUTSIDE, "first", "two");
    assert_ok(world, duplicate(world, &said, ""));
    assert_content(world, WORLD_OTHER, "copy/two", "hard");
    assert_int_equal(about(world, WORLD_OTHER, "copy/one").links, 1);
    assert_true(about(world, WORLD_OTHER, "copy/one").inode !=
                about(world, WORLD_OTHER, "copy/two").inode);
}

static void what_is_not_wanted_stays_out_with_all_in_it(void **state)
{
    struct world *world = *state;
    struct said said = {.world = world, .unwanted = "d"};

    plant(world, WORLD_ROOT, "f", "text");
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/in", "in");
    assert_ok(world, duplicate(world, &said, ""));
    assert_true(is_there(world, WORLD_OTHER, "copy/f"));
    assert_false(is_there(world, WORLD_OTHER, "copy/d"));
    assert_int_equal(said.copied, 1);
}

static void denied_names_do_not_come_along(void **state)
{
    struct world *world = *state;
    static const char *const denied[] = {"secret", NULL};
    struct authority_scope *source =
        world_open_limited(world, &(struct authority_limits){.symlinks = AUTHORITY_SYMLINKS_REJECT,
                                                             .denied_globs = denied});
    struct authority_scope *other = open_plain_other(world);

    plant(world, WORLD_ROOT, "f", "text");
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/secret", "s");
    assert_ok(world, authority_duplicate(other, STR("copy"), source, STR_EMPTY, NULL, &world->err));
    assert_true(is_there(world, WORLD_OTHER, "copy/d"));
    assert_false(is_there(world, WORLD_OTHER, "copy/d/secret"));
    authority_scope_free(other);
    authority_scope_free(source);
}

static void a_copy_that_is_stopped_leaves_nothing(void **state)
{
    struct world *world = *state;
    struct said said = {.world = world, .stops_with = ERR_CANCELLED};

    plant(world, WORLD_ROOT, "f", "text");
    plant(world, WORLD_ROOT, "g", "text");
    assert_int_equal(duplicate(world, &said, ""), ERR_CANCELLED);
    assert_int_equal(said.copied, 1);
    assert_false(is_there(world, WORLD_OTHER, "copy"));
}

static void nothing_is_replaced(void **state)
{
    struct world *world = *state;
    struct said said = {.world = world};

    plant(world, WORLD_ROOT, "f", "text");
    plant_dir(world, WORLD_OTHER, "copy");
    plant(world, WORLD_OTHER, "copy/mine", "mine");
    assert_int_equal(duplicate(world, &said, ""), ERR_NOT_EMPTY);
    assert_content(world, WORLD_OTHER, "copy/mine", "mine");
    assert_false(is_there(world, WORLD_OTHER, "copy/f"));
}

static void a_file_that_changes_is_copied_again(void **state)
{
    struct world *world = *state;
    struct said said = {.world = world, .rewritten = "f", .rewrites = 1};

    plant(world, WORLD_ROOT, "f", "before");
    assert_ok(world, duplicate(world, &said, ""));
    assert_content(world, WORLD_OTHER, "copy/f", "written meanwhile");
    assert_int_equal(said.copied, 1);
}

static void a_file_that_never_rests_is_copied_all_the_same(void **state)
{
    struct world *world = *state;
    struct said said = {.world = world, .rewritten = "f", .rewrites = 100};

    plant(world, WORLD_ROOT, "f", "before");
    assert_ok(world, duplicate(world, &said, ""));
    assert_content(world, WORLD_OTHER, "copy/f", "written meanwhile");
    assert_int_equal(said.copied, 1);
    assert_true(said.rewrites > 90);
}

static void it_needs_the_right_to_read_and_to_write(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *readable;
    struct authority_scope *writable;

    plant(world, WORLD_ROOT, "f", "text");
    request.access = AUTHORITY_READ;
    readable = world_open(world, &request);
    writable = open_plain_other(world);
    assert_int_equal(authority_duplicate(writable, STR("copy"), readable, STR_EMPTY, NULL, NULL),
                     ERR_ACCESS_MISSING);
    assert_int_equal(authority_duplicate(readable, STR("copy"), writable, STR_EMPTY, NULL, NULL),
                     ERR_ACCESS_MISSING);
    assert_false(is_there(world, WORLD_OTHER, "copy"));
    authority_scope_free(writable);
    authority_scope_free(readable);
}

/* With subvolumes: tests/e2e/test_workspace_snapshot.py. */
static void a_plain_folder_has_no_snapshot(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *source = open_source(world);
    struct authority_scope *other = open_plain_other(world);
    struct authority_scope *shut;
    bool is_made = true;

    plant(world, WORLD_ROOT, "f", "text");
    assert_int_equal(
        authority_snapshot(other, STR("copy"), source, STR_EMPTY, NULL, &is_made, NULL), 0);
    assert_false(is_made);
    assert_false(is_there(world, WORLD_OTHER, "copy"));
    request.access = AUTHORITY_READ;
    shut = world_open(world, &request);
    is_made = true;
    assert_int_equal(authority_snapshot(other, STR("copy"), shut, STR_EMPTY, NULL, &is_made, NULL),
                     ERR_ACCESS_MISSING);
    assert_false(is_made);
    authority_scope_free(shut);
    authority_scope_free(other);
    authority_scope_free(source);
}

TEST_MAIN(EVERYWHERE(a_copy_has_everything), ON_DISK(a_copy_keeps_times_and_loses_set_id_bits),
          EVERYWHERE(what_is_no_file_is_told_and_left_out),
          EVERYWHERE(second_names_become_files_of_their_own),
          EVERYWHERE(what_is_not_wanted_stays_out_with_all_in_it),
          EVERYWHERE(denied_names_do_not_come_along),
          EVERYWHERE(a_copy_that_is_stopped_leaves_nothing), EVERYWHERE(nothing_is_replaced),
          ON_DISK(a_file_that_changes_is_copied_again),
          ON_DISK(a_file_that_never_rests_is_copied_all_the_same),
          EVERYWHERE(it_needs_the_right_to_read_and_to_write),
          EVERYWHERE(a_plain_folder_has_no_snapshot))

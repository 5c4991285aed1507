/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between scopes that keep what can be kept, and trees that are copied. */
#include "two_scopes.h"

#include <sys/xattr.h>

#include "small_disk.h"

static const struct authority_move_options exact = {.is_exact = true};
static const struct authority_move_options exact_over = {.is_exact = true, .may_replace = true};

/* Modes that a copy would have changed, and what a file that is replaced would have given it. */
static void an_exact_copy_has_the_mode_of_its_source(void **state)
{
    static const unsigned modes[] = {0664, 0600, 0444, 0755, 0777, 02755, 04711};
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);
    mode_t mask = umask(077);

    plant(world, WORLD_ROOT, "f", "f");
    for (size_t i = 0; i < array_size(modes); i++) {
        char text[16];
        struct str name;
        /* But for set-id bits: an agent decides what is copied, and what it is called. */
        const unsigned expected = modes[i] & 01777;

        set_mode(world, WORLD_ROOT, "f", modes[i]);
        snprintf(text, sizeof(text), "new-%zu", i);
        name = str_from(text);
        assert_ok(world,
                  authority_copy_in(other, name, world->scope, STR("f"), &exact, &world->err));
        assert_int_equal(mode_of(world, WORLD_OTHER, text), expected);
        set_mode(world, WORLD_OTHER, text, 0640);
        assert_ok(world,
                  authority_copy_in(other, name, world->scope, STR("f"), &exact_over, &world->err));
        assert_int_equal(mode_of(world, WORLD_OTHER, text), expected);
        assert_content(world, WORLD_OTHER, text, "f");
    }
    assert_ok(world, authority_copy(world->scope, STR("f"), STR("g"), &exact, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "g"), 0711);
    umask(mask);
    authority_scope_free(other);
}

static void an_exact_copy_of_a_link_is_a_link(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);

    plant(world, WORLD_ROOT, "f", "f");
    plant_link(world, "l", "f");
    plant_dir(world, WORLD_ROOT, "d");
    freeze(world);
    assert_refused(world,
                   authority_copy_in(other, STR("l"), world->scope, STR("l"), NULL, &world->err),
                   ERR_SYMLINK_REJECTED);
    assert_refused(world,
                   authority_copy_in(other, STR("d"), world->scope, STR("d"), &exact, &world->err),
                   ERR_NOT_REGULAR_FILE);
    assert_frozen(world);
    assert_ok(world,
              authority_copy_in(other, STR("l"), world->scope, STR("l"), &exact, &world->err));
    assert_link(world, WORLD_OTHER, "l", "f");
    assert_link(world, WORLD_ROOT, "l", "f");
    assert_refused(
        world, authority_copy_in(other, STR("l"), world->scope, STR("l"), &exact_over, &world->err),
        ERR_ALREADY_EXISTS);
    /* Where links are followed, what is copied is what it leads to. */
    assert_ok(world,
              authority_copy_in(other, STR("g"), world->following, STR("l"), &exact, &world->err));
    assert_content(world, WORLD_OTHER, "g", "f");
    authority_scope_free(other);
}

static void an_exact_copy_has_owner_and_attributes(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);
    char path[WORLD_PATH_BYTES + 8];
    char value[8] = "";
    struct stat found;

    plant(world, WORLD_ROOT, "f", "f");
    plant(world, WORLD_OTHER, "f", "old");
    snprintf(path, sizeof(path), "%s/f", world->paths[WORLD_ROOT]);
    if (setxattr(path, "user.colour", "red", 3, 0) < 0) {
        authority_scope_free(other);
        skip_because("no attributes here");
    }
    if (geteuid() == 0) {
        assert_int_equal(fchownat(world->fds[WORLD_ROOT], "f", 12345, 54321, 0), 0);
        set_mode(world, WORLD_ROOT, "f", 06755);
    }
    assert_ok(world,
              authority_copy_in(other, STR("f"), world->scope, STR("f"), &exact_over, &world->err));
    snprintf(path, sizeof(path), "%s/f", world->paths[WORLD_OTHER]);
    assert_int_equal(getxattr(path, "user.colour", value, sizeof(value)), 3);
    assert_memory_equal(value, "red", 3);
    if (geteuid() == 0) {
        assert_int_equal(stat(path, &found), 0);
        assert_int_equal(found.st_uid, 12345);
        assert_int_equal(found.st_gid, 54321);
        assert_int_equal(found.st_mode & 07777, 0755);
    }
    authority_scope_free(other);
}

/* Also where the owner may not write to a directory: not before all is in it. */
static void a_copied_tree_has_the_modes_of_its_source(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);
    bool is_held = geteuid() != 0 && !world->is_memory;
    mode_t mask = umask(077);

    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/shared", "s");
    plant_dir(world, WORLD_ROOT, "d/shut");
    plant_dir(world, WORLD_ROOT, "d/shut/deep");
    plant(world, WORLD_ROOT, "d/shut/deep/f", "f");
    plant_dir(world, WORLD_ROOT, "d/wide");
    set_mode(world, WORLD_ROOT, "d/shared", 0664);
    set_mode(world, WORLD_ROOT, "d/shut/deep/f", 0444);
    set_mode(world, WORLD_ROOT, "d/shut/deep", 0550);
    set_mode(world, WORLD_ROOT, "d/shut", 0500);
    set_mode(world, WORLD_ROOT, "d/wide", 01777);
    set_mode(world, WORLD_ROOT, "d", 0775);
    /* Whoever may not empty a directory cannot move it away either, but the copy is whole. */
    assert_refused(world,
                   authority_move_in(other, STR("d"), world->scope, STR("d"), &exact, &world->err),
                   is_held ? ERR_PERMISSION_DENIED : 0);
    umask(mask);
    assert_int_equal(is_there(world, WORLD_ROOT, "d/shut/deep/f"), is_held);
    assert_content(world, WORLD_OTHER, "d/shut/deep/f", "f");
    assert_int_equal(mode_of(world, WORLD_OTHER, "d"), 0775);
    assert_int_equal(mode_of(world, WORLD_OTHER, "d/shared"), 0664);
    assert_int_equal(mode_of(world, WORLD_OTHER, "d/shut"), 0500);
    assert_int_equal(mode_of(world, WORLD_OTHER, "d/shut/deep"), 0550);
    assert_int_equal(mode_of(world, WORLD_OTHER, "d/shut/deep/f"), 0444);
    assert_int_equal(mode_of(world, WORLD_OTHER, "d/wide"), 01777);
    authority_scope_free(other);
}

/* Without being exact, modes of a tree are those of its source as well, but for set-id bits. */
static void the_umask_changes_no_mode_in_a_moved_tree(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);
    mode_t mask = umask(077);

    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/f", "f");
    set_mode(world, WORLD_ROOT, "d", 0775);
    set_mode(world, WORLD_ROOT, "d/f", 04664);
    assert_ok(world, authority_move_in(other, STR("d"), world->scope, STR("d"), NULL, &world->err));
    umask(mask);
    assert_int_equal(mode_of(world, WORLD_OTHER, "d"), 0775);
    assert_int_equal(mode_of(world, WORLD_OTHER, "d/f"), 0664);
    authority_scope_free(other);
}

TEST_MAIN(EVERYWHERE(an_exact_copy_has_the_mode_of_its_source),
          EVERYWHERE(an_exact_copy_of_a_link_is_a_link),
          ON_DISK(an_exact_copy_has_owner_and_attributes),
          EVERYWHERE(a_copied_tree_has_the_modes_of_its_source),
          EVERYWHERE(the_umask_changes_no_mode_in_a_moved_tree))

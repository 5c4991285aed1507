/* SPDX-License-Identifier: Apache-2.0 */
/* Moving between scopes by a rename, if requested and possible. */
#include "two_scopes.h"

#include "small_disk.h"

static const struct authority_move_options renaming = {.may_rename = true};
static const struct authority_move_options replacing = {.may_rename = true, .may_replace = true};

/* ---- what comes along ---- */

/* A tree with one of each, and what it looked like. */
static const struct {
    const char *name;
    unsigned mode;
} things[] = {
    {"", 0755},     {"shared", 0664},  {"private", 0600}, {"fixed", 0444},  {"run", 0755},
    {"shut", 0500}, {"shut/in", 0640}, {"open", 0777},    {"open/a", 0666}, {"second", 0644},
};

static void plant_tree(struct world *world)
{
    char name[64];

    plant_dir(world, WORLD_ROOT, "t");
    plant(world, WORLD_ROOT, "t/shared", "s");
    plant(world, WORLD_ROOT, "t/private", "p");
    plant(world, WORLD_ROOT, "t/fixed", "f");
    plant(world, WORLD_ROOT, "t/run", "#!");
    plant_dir(world, WORLD_ROOT, "t/shut");
    plant(world, WORLD_ROOT, "t/shut/in", "in");
    plant_dir(world, WORLD_ROOT, "t/open");
    plant(world, WORLD_ROOT, "t/open/a", "a");
    plant(world, WORLD_OUTSIDE, "first", "hard");
    plant_hardlink(world, WORLD_OUTSIDE, "first", "t/second");
    plant_link(world, "t/link", "run");
    plant_link(world, "t/out", "../../outside");
    plant_link(world, "t/open/broken", "nowhere/at/all");
    plant_fifo(world, "t/fifo");
    for (size_t i = 0; i < array_size(things); i++) {
        snprintf(name, sizeof(name), "t%s%s", things[i].name[0] != '\0' ? "/" : "", things[i].name);
        set_mode(world, WORLD_ROOT, name, things[i].mode);
    }
}

static void a_tree_comes_along_as_it_is(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);
    uint64_t inodes[array_size(things)];
    char name[64];

    plant_tree(world);
    for (size_t i = 0; i < array_size(things); i++) {
        snprintf(name, sizeof(name), "t/%s", things[i].name);
        name[strlen(name) - (things[i].name[0] == '\0')] = '\0';
        inodes[i] = about(world, WORLD_ROOT, name).inode;
    }
    assert_ok(world,
              authority_move_in(other, STR("got"), world->scope, STR("t"), &renaming, &world->err));
    assert_false(is_there(world, WORLD_ROOT, "t"));
    for (size_t i = 0; i < array_size(things); i++) {
        struct authority_stat found;

        snprintf(name, sizeof(name), "got/%s", things[i].name);
        name[strlen(name) - (things[i].name[0] == '\0')] = '\0';
        found = about(world, WORLD_OTHER, name);
        assert_int_equal(found.mode, things[i].mode);
        assert_true(found.inode == inodes[i]);
    }
    assert_link(world, WORLD_OTHER, "got/link", "run");
    assert_link(world, WORLD_OTHER, "got/out", "../../outside");
    assert_link(world, WORLD_OTHER, "got/open/broken", "nowhere/at/all");
    assert_int_equal(about(world, WORLD_OTHER, "got/fifo").type, AUTHORITY_OTHER);
    assert_int_equal(about(world, WORLD_OTHER, "got/second").links, 2);
    assert_content(world, WORLD_OUTSIDE, "first", "hard");
    authority_scope_free(other);
}

static void links_and_files_with_several_names_come_by_themselves(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);

    plant(world, WORLD_OUTSIDE, "first", "hard");
    plant_hardlink(world, WORLD_OUTSIDE, "first", "second");
    plant_link(world, "link", "second");
    plant_link(world, "broken", "nowhere");
    plant_fifo(world, "fifo");
    assert_ok(world, authority_move_in(other, STR("l"), world->scope, STR("link"), &renaming,
                                       &world->err));
    assert_ok(world, authority_move_in(other, STR("b"), world->scope, STR("broken"), &renaming,
                                       &world->err));
    assert_ok(world, authority_move_in(other, STR("h"), world->scope, STR("second"), &renaming,
                                       &world->err));
    assert_ok(world, authority_move_in(other, STR("f"), world->scope, STR("fifo"), &renaming,
                                       &world->err));
    assert_link(world, WORLD_OTHER, "l", "second");
    assert_link(world, WORLD_OTHER, "b", "nowhere");
    assert_int_equal(about(world, WORLD_OTHER, "h").links, 2);
    assert_false(is_there(world, WORLD_ROOT, "link"));
    assert_false(is_there(world, WORLD_ROOT, "second"));
    /* It is not to be read there either. */
    {
        cleanup_buf struct buf out = BUF_INIT(100);

        assert_refused(world, authority_read_bytes(other, STR("h"), NULL, &out, &world->err),
                       ERR_HARDLINK_REJECTED);
    }
    /* And back, where links are followed: of the last one, it is the link itself. */
    assert_ok(world, authority_move_in(world->following, STR("link"), other, STR("l"), &renaming,
                                       &world->err));
    assert_link(world, WORLD_ROOT, "link", "second");
    authority_scope_free(other);
}

/* A program that runs with its owner's rights does not get into another folder, alone or in a tree.
 */
static void a_set_id_file_loses_its_bits_on_the_way(void **state)
{
    static const unsigned bits[] = {04000, 02000, 06000};
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);

    for (size_t i = 0; i < array_size(bits); i++) {
        plant_dir(world, WORLD_ROOT, "d");
        plant_dir(world, WORLD_ROOT, "d/shared");
        plant(world, WORLD_ROOT, "d/shared/f", "in a tree");
        plant(world, WORLD_ROOT, "f", "alone");
        set_mode(world, WORLD_ROOT, "d/shared/f", bits[i] | 0755);
        set_mode(world, WORLD_ROOT, "f", bits[i] | 0711);
        set_mode(world, WORLD_ROOT, "d/shared", 02775);
        assert_ok(world, authority_move_in(other, STR("d"), world->scope, STR("d"), &renaming,
                                           &world->err));
        assert_ok(world, authority_move_in(other, STR("f"), world->scope, STR("f"), &renaming,
                                           &world->err));
        assert_content(world, WORLD_OTHER, "d/shared/f", "in a tree");
        assert_int_equal(mode_of(world, WORLD_OTHER, "d/shared/f"), 0755);
        assert_int_equal(mode_of(world, WORLD_OTHER, "f") & 07000, 0);
        assert_false(is_there(world, WORLD_ROOT, "d"));
        assert_false(is_there(world, WORLD_ROOT, "f"));
        assert_ok(world, authority_remove(other, STR("f"), NULL, &world->err));
        assert_ok(world, authority_remove(other, STR("d"),
                                          &(struct authority_remove_options){.is_recursive = true},
                                          &world->err));
    }
    authority_scope_free(other);
}

static void owners_and_times_come_along(void **state)
{
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    struct world *world = *state;
    struct authority_scope *other;
    struct stat found;

    if (geteuid() != 0)
        skip_because("only root may give files away");
    other = open_plain_other(world);
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/f", "f");
    assert_int_equal(fchownat(world->fds[WORLD_ROOT], "d/f", 12345, 54321, 0), 0);
    assert_int_equal(fchownat(world->fds[WORLD_ROOT], "d", 12346, 54321, 0), 0);
    set_mode(world, WORLD_ROOT, "d/f", 0755);
    set_mode(world, WORLD_ROOT, "d", 02775);
    assert_int_equal(utimensat(world->fds[WORLD_ROOT], "d/f", times, 0), 0);
    assert_ok(world,
              authority_move_in(other, STR("d"), world->scope, STR("d"), &renaming, &world->err));
    assert_int_equal(fstatat(world->fds[WORLD_OTHER], "d/f", &found, 0), 0);
    assert_int_equal(found.st_uid, 12345);
    assert_int_equal(found.st_mode & 07777, 0755);
    assert_int_equal(found.st_mtim.tv_sec, 1000000000);
    assert_int_equal(fstatat(world->fds[WORLD_OTHER], "d", &found, 0), 0);
    assert_int_equal(found.st_uid, 12346);
    assert_int_equal(found.st_gid, 54321);
    assert_int_equal(found.st_mode & 07777, 02775);
    authority_scope_free(other);
}

/* ---- what is held back ---- */

static void a_denied_name_inside_refuses_at_either_end(void **state)
{
    static const char *const denied[] = {"**/secret", NULL};
    const struct authority_limits limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT,
                                            .denied_globs = denied};
    struct world *world = *state;
    struct authority_scope *there = open_other(world, limits);
    struct authority_scope *here = world_open_limited(world, &limits);

    plant_dir(world, WORLD_ROOT, "d");
    plant_dir(world, WORLD_ROOT, "d/e");
    plant(world, WORLD_ROOT, "d/e/secret", "s");
    freeze(world);
    assert_refused(
        world, authority_move_in(there, STR("d"), world->scope, STR("d"), &renaming, &world->err),
        ERR_DENIED_BY_POLICY);
    authority_scope_free(there);
    there = open_plain_other(world);
    assert_refused(world,
                   authority_move_in(there, STR("d"), here, STR("d"), &renaming, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(
        world, authority_move_in(there, STR("s"), here, STR("d/e/secret"), &renaming, &world->err),
        ERR_DENIED_BY_POLICY);
    assert_frozen(world);
    assert_ok(world,
              authority_move_in(there, STR("d"), world->scope, STR("d"), &renaming, &world->err));
    authority_scope_free(there);
    authority_scope_free(here);
}

static void a_limit_on_sizes_makes_it_a_copy(void **state)
{
    struct world *world = *state;
    struct authority_scope *other =
        open_other(world, (struct authority_limits){.symlinks = AUTHORITY_SYMLINKS_REJECT,
                                                    .max_file_bytes = 10});
    uint64_t inode;

    plant(world, WORLD_ROOT, "large", "more than ten bytes");
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/large", "more than ten bytes");
    plant_dir(world, WORLD_ROOT, "links");
    plant_link(world, "links/l", "x");
    plant(world, WORLD_ROOT, "small", "small");
    inode = about(world, WORLD_ROOT, "small").inode;
    freeze(world);
    assert_refused(
        world,
        authority_move_in(other, STR("l"), world->scope, STR("large"), &renaming, &world->err),
        ERR_TOO_LARGE);
    assert_refused(
        world, authority_move_in(other, STR("d"), world->scope, STR("d"), &renaming, &world->err),
        ERR_TOO_LARGE);
    assert_refused(
        world,
        authority_move_in(other, STR("k"), world->scope, STR("links"), &renaming, &world->err),
        ERR_SYMLINK_REJECTED);
    assert_frozen(world);
    assert_ok(world, authority_move_in(other, STR("small"), world->scope, STR("small"), &renaming,
                                       &world->err));
    assert_content(world, WORLD_OTHER, "small", "small");
    assert_true(about(world, WORLD_OTHER, "small").inode != inode);
    authority_scope_free(other);
}

static void roots_that_cut_modes_down_and_artifacts_get_copies(void **state)
{
    static const struct {
        enum authority_root_kind kind;
        unsigned mode;
    } kinds[] = {{AUTHORITY_SECRET, 0600}, {AUTHORITY_ARTIFACT, 0644}};
    const struct authority_move_options both = {.may_rename = true, .is_exact = true};
    struct world *world = *state;

    set_mode(world, WORLD_OTHER, "", 0700);
    for (size_t i = 0; i < array_size(kinds); i++) {
        struct authority_request request = world_request(world);
        struct authority_scope *other;
        uint64_t inode;

        request.root.kind = kinds[i].kind;
        request.root.path = world->paths[WORLD_OTHER];
        request.access = AUTHORITY_READ | AUTHORITY_WRITE | AUTHORITY_METADATA;
        other = world_open(world, &request);
        plant(world, WORLD_ROOT, "f", "f");
        plant_dir(world, WORLD_ROOT, "d");
        plant_link(world, "d/l", "x");
        inode = about(world, WORLD_ROOT, "f").inode;
        assert_refused(
            world, authority_move_in(other, STR("d"), world->scope, STR("d"), &both, &world->err),
            ERR_SYMLINK_REJECTED);
        assert_ok(world, authority_move_in(other, STR("f"), world->scope, STR("f"),
                                           i == 0 ? &both : &renaming, &world->err));
        assert_int_equal(mode_of(world, WORLD_OTHER, "f"), kinds[i].mode);
        assert_true(about(world, WORLD_OTHER, "f").inode != inode);
        authority_scope_free(other);
        assert_ok(world, authority_remove(world->scope, STR("d"),
                                          &(struct authority_remove_options){.is_recursive = true},
                                          &world->err));
        other = open_plain_other(world);
        assert_ok(world, authority_remove(other, STR("f"), NULL, &world->err));
        authority_scope_free(other);
    }
}

static int stop_at_mount(void *data)
{
    struct world *world = data;
    char path[WORLD_PATH_BYTES + 16];
    struct authority_scope *other;
    int r;

    plant_dir(world, WORLD_ROOT, "d");
    plant_dir(world, WORLD_ROOT, "d/mount");
    snprintf(path, sizeof(path), "%s/d/mount", world->paths[WORLD_ROOT]);
    r = mount_small_disk(path);
    if (r != 0)
        return r;
    world_reopen(world, NULL);
    other = open_plain_other(world);
    CHECK(authority_move_in(other, STR("d"), world->scope, STR("d"), &renaming, NULL) ==
          ERR_CROSSES_MOUNT);
    CHECK(is_there(world, WORLD_ROOT, "d/mount"));
    return 0;
}

/* It would go with the tree, to where nobody looks for it. */
static void a_tree_with_a_mount_in_it_stays(void **state)
{
    struct child child = start_child(stop_at_mount, *state);
    int line = end_child(&child);

    if (line == CHILD_SKIPS)
        skip_because("nothing can be mounted here");
    if (line != 0)
        fail_msg("the child stopped at line %d", line);
}

/* ---- what stands at its end ---- */

static void what_stands_at_the_end_is_replaced_only_on_request(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);

    plant(world, WORLD_ROOT, "f", "new");
    plant_link(world, "l", "x");
    plant(world, WORLD_OTHER, "f", "old");
    plant_dir(world, WORLD_OTHER, "d");
    freeze(world);
    assert_refused(
        world, authority_move_in(other, STR("f"), world->scope, STR("f"), &renaming, &world->err),
        ERR_ALREADY_EXISTS);
    assert_refused(
        world, authority_move_in(other, STR("f"), world->scope, STR("l"), &renaming, &world->err),
        ERR_ALREADY_EXISTS);
    assert_refused(
        world, authority_move_in(other, STR("d"), world->scope, STR("f"), &replacing, &world->err),
        ERR_ALREADY_EXISTS);
    assert_refused(
        world,
        authority_move_in(other, STR("no/f"), world->scope, STR("f"), &renaming, &world->err),
        ERR_NOT_FOUND);
    assert_frozen(world);
    assert_ok(world,
              authority_move_in(other, STR("f"), world->scope, STR("f"), &replacing, &world->err));
    assert_content(world, WORLD_OTHER, "f", "new");
    assert_false(is_there(world, WORLD_ROOT, "f"));
    assert_ok(world,
              authority_move_in(other, STR("f"), world->scope, STR("l"), &replacing, &world->err));
    assert_link(world, WORLD_OTHER, "f", "x");
    authority_scope_free(other);
}

/* By a rename as by a copy. */
static void a_directory_goes_onto_an_empty_one_alone(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);

    for (int i = 0; i < 2; i++) {
        const struct authority_move_options *how = i == 0 ? &renaming : NULL;

        plant_dir(world, WORLD_ROOT, "d");
        plant(world, WORLD_ROOT, "d/f", "f");
        plant_dir(world, WORLD_OTHER, i == 0 ? "e" : "e2");
        plant_dir(world, WORLD_OTHER, i == 0 ? "full" : "full2");
        plant(world, WORLD_OTHER, i == 0 ? "full/x" : "full2/x", "x");
        plant(world, WORLD_OTHER, i == 0 ? "file" : "file2", "x");
        freeze(world);
        assert_refused(
            world, authority_move_in(other, STR("full"), world->scope, STR("d"), how, &world->err),
            ERR_NOT_EMPTY);
        assert_refused(
            world, authority_move_in(other, STR("file"), world->scope, STR("d"), how, &world->err),
            ERR_ALREADY_EXISTS);
        assert_frozen(world);
        assert_ok(world, authority_move_in(other, i == 0 ? STR("e") : STR("e2"), world->scope,
                                           STR("d"), how, &world->err));
        assert_content(world, WORLD_OTHER, i == 0 ? "e/f" : "e2/f", "f");
        assert_false(is_there(world, WORLD_ROOT, "d"));
    }
    authority_scope_free(other);
}

static void nothing_goes_onto_or_into_itself(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *twin = world_open(world, &request);
    struct authority_scope *inner;
    char path[WORLD_PATH_BYTES + 8];

    plant(world, WORLD_ROOT, "f", "precious");
    plant_hardlink(world, WORLD_ROOT, "f", "g");
    plant_dir(world, WORLD_ROOT, "d");
    plant_dir(world, WORLD_ROOT, "d/e");
    freeze(world);
    assert_refused(
        world, authority_move_in(twin, STR("f"), world->scope, STR("f"), &replacing, &world->err),
        ERR_INVALID_ARGUMENT);
    assert_refused(
        world, authority_move_in(twin, STR("f"), world->scope, STR("g"), &replacing, &world->err),
        ERR_INVALID_ARGUMENT);
    assert_refused(
        world, authority_move_in(twin, STR("d"), world->scope, STR("d"), &replacing, &world->err),
        ERR_INVALID_ARGUMENT);
    assert_frozen(world);
    authority_scope_free(twin);
    if (world->is_memory)
        return; /* roots lie beside each other there */
    snprintf(path, sizeof(path), "%s/d/e", world->paths[WORLD_ROOT]);
    request.root.path = path;
    inner = world_open(world, &request);
    assert_refused(
        world, authority_move_in(inner, STR("x"), world->scope, STR("d"), &renaming, &world->err),
        ERR_INVALID_ARGUMENT);
    assert_frozen(world);
    authority_scope_free(inner);
}

/* ---- others, in the middle of it ---- */

static const struct backend_ops *real_ops;
static struct backend_ops ops;
static void (*meanwhile)(struct world *world); /* before the next rename */
static struct world *present;

static int rename_after_others(struct backend_root *from_root,
                               const struct backend_lookup *from_lookup, struct str from,
                               struct backend_root *to_root, const struct backend_lookup *to_lookup,
                               struct str to, bool may_replace)
{
    void (*act)(struct world * world) = meanwhile;

    meanwhile = NULL;
    if (act != NULL)
        act(present);
    return real_ops->rename(from_root, from_lookup, from, to_root, to_lookup, to, may_replace);
}

static int rename_never(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                        struct str from, struct backend_root *to_root,
                        const struct backend_lookup *to_lookup, struct str to, bool may_replace)
{
    (void)from_root;
    (void)from_lookup;
    (void)from;
    (void)to_root;
    (void)to_lookup;
    (void)to;
    (void)may_replace;
    return ERR_CROSS_DEVICE;
}

static void exchange_ops(struct world *world)
{
    present = world;
    real_ops = world->authority->backend->ops;
    ops = *real_ops;
    world->authority->backend->ops = &ops;
}

/* What stands at `from` from outside, below another name, or the other way round. */
static void rename_outside(struct world *world, const char *from, const char *to)
{
    const struct backend_lookup any = {.allows_hardlinks = true};
    struct backend_root *root = world->is_memory ? world->trees[WORLD_ROOT] : world->scope->root;

    assert_int_equal(real_ops->rename(root, &any, str_from(from), root, &any, str_from(to), false),
                     0);
}

static void swap_directory(struct world *world)
{
    rename_outside(world, "d", "was-d");
    rename_outside(world, "vault", "d");
}

static void swap_for_link(struct world *world)
{
    rename_outside(world, "d", "was-d");
    rename_outside(world, "trap", "d");
}

static void swap_file_for_directory(struct world *world)
{
    rename_outside(world, "f", "was-f");
    rename_outside(world, "vault", "f");
}

static void what_may_only_be_renamed_is_never_copied(void **state)
{
    static const struct authority_move_options renames = {.may_rename = true, .only_renames = true};
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);

    plant(world, WORLD_ROOT, "f", "1");
    assert_ok(world,
              authority_move_in(other, STR("g"), world->scope, STR("f"), &renames, &world->err));
    plant(world, WORLD_ROOT, "f", "2");
    exchange_ops(world);
    ops.rename = rename_never;
    assert_refused(
        world, authority_move_in(other, STR("h"), world->scope, STR("f"), &renames, &world->err),
        ERR_CROSS_DEVICE);
    world->authority->backend->ops = real_ops;
    assert_content(world, WORLD_ROOT, "f", "2");
    authority_scope_free(other);
}

/* Its names were not looked at, so it does not go. */
static void a_source_that_is_swapped_goes_back(void **state)
{
    static const char *const denied[] = {"**/secret", NULL};
    const struct authority_limits limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT,
                                            .denied_globs = denied};
    struct world *world = *state;
    struct authority_scope *here = world_open_limited(world, &limits);
    struct authority_scope *other = open_plain_other(world);

    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/f", "f");
    plant(world, WORLD_ROOT, "f", "file");
    plant_dir(world, WORLD_ROOT, "vault");
    plant(world, WORLD_ROOT, "vault/secret", "s");
    plant_link(world, "trap", "../outside");
    plant(world, WORLD_OUTSIDE, "precious", "p");
    exchange_ops(world);
    ops.rename = rename_after_others;

    meanwhile = swap_directory;
    assert_refused(world,
                   authority_move_in(other, STR("d"), here, STR("d"), &renaming, &world->err),
                   ERR_BUSY);
    assert_null(meanwhile);
    assert_false(is_there(world, WORLD_OTHER, "d"));
    assert_content(world, WORLD_ROOT, "d/secret", "s");
    assert_content(world, WORLD_ROOT, "was-d/f", "f");
    rename_outside(world, "d", "vault");
    rename_outside(world, "was-d", "d");

    meanwhile = swap_for_link;
    assert_refused(world,
                   authority_move_in(other, STR("d"), here, STR("d"), &renaming, &world->err),
                   ERR_BUSY);
    assert_false(is_there(world, WORLD_OTHER, "d"));
    assert_link(world, WORLD_ROOT, "d", "../outside");
    assert_content(world, WORLD_OUTSIDE, "precious", "p");
    rename_outside(world, "d", "trap");
    rename_outside(world, "was-d", "d");

    meanwhile = swap_file_for_directory;
    assert_refused(world,
                   authority_move_in(other, STR("f"), here, STR("f"), &renaming, &world->err),
                   ERR_BUSY);
    assert_false(is_there(world, WORLD_OTHER, "f"));
    assert_content(world, WORLD_ROOT, "f/secret", "s");

    assert_ok(world, authority_move_in(other, STR("d"), here, STR("d"), &renaming, &world->err));
    assert_content(world, WORLD_OTHER, "d/f", "f");
    world->authority->backend->ops = real_ops;
    authority_scope_free(here);
    authority_scope_free(other);
}

/* What the kernel cannot rename. */
static void on_another_file_system_it_is_a_copy(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);

    plant(world, WORLD_ROOT, "f", "f");
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/g", "g");
    plant_dir(world, WORLD_ROOT, "links");
    plant_link(world, "links/l", "x");
    plant(world, WORLD_OUTSIDE, "first", "hard");
    plant_hardlink(world, WORLD_OUTSIDE, "first", "second");
    exchange_ops(world);
    ops.rename = rename_never;
    freeze(world);
    assert_refused(
        world,
        authority_move_in(other, STR("links"), world->scope, STR("links"), &renaming, &world->err),
        ERR_SYMLINK_REJECTED);
    assert_refused(world,
                   authority_move_in(other, STR("second"), world->scope, STR("second"), &renaming,
                                     &world->err),
                   ERR_HARDLINK_REJECTED);
    assert_frozen(world);
    assert_ok(world,
              authority_move_in(other, STR("f"), world->scope, STR("f"), &renaming, &world->err));
    assert_ok(world,
              authority_move_in(other, STR("d"), world->scope, STR("d"), &renaming, &world->err));
    assert_content(world, WORLD_OTHER, "f", "f");
    assert_content(world, WORLD_OTHER, "d/g", "g");
    assert_false(is_there(world, WORLD_ROOT, "f"));
    assert_false(is_there(world, WORLD_ROOT, "d"));
    world->authority->backend->ops = real_ops;
    authority_scope_free(other);
}

/* A rename would have to write its "..", which an ordinary user may not. */
static void an_empty_directory_that_is_shut_moves_all_the_same(void **state)
{
    const struct authority_move_options both = {.may_rename = true, .is_exact = true};
    struct world *world = *state;
    struct authority_scope *other = open_plain_other(world);

    plant_dir(world, WORLD_ROOT, "d");
    set_mode(world, WORLD_ROOT, "d", 0500);
    assert_ok(world,
              authority_move_in(other, STR("d"), world->scope, STR("d"), &both, &world->err));
    assert_int_equal(mode_of(world, WORLD_OTHER, "d"), 0500);
    assert_false(is_there(world, WORLD_ROOT, "d"));
    authority_scope_free(other);
}

TEST_MAIN(EVERYWHERE(a_tree_comes_along_as_it_is),
          EVERYWHERE(links_and_files_with_several_names_come_by_themselves),
          EVERYWHERE(a_set_id_file_loses_its_bits_on_the_way), ON_DISK(owners_and_times_come_along),
          EVERYWHERE(a_denied_name_inside_refuses_at_either_end),
          EVERYWHERE(a_limit_on_sizes_makes_it_a_copy),
          EVERYWHERE(roots_that_cut_modes_down_and_artifacts_get_copies),
          ON_DISK(a_tree_with_a_mount_in_it_stays),
          EVERYWHERE(what_stands_at_the_end_is_replaced_only_on_request),
          EVERYWHERE(a_directory_goes_onto_an_empty_one_alone),
          EVERYWHERE(nothing_goes_onto_or_into_itself),
          EVERYWHERE(what_may_only_be_renamed_is_never_copied),
          EVERYWHERE(a_source_that_is_swapped_goes_back),
          EVERYWHERE(on_another_file_system_it_is_a_copy),
          EVERYWHERE(an_empty_directory_that_is_shut_moves_all_the_same))

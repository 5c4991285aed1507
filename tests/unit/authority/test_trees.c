/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at files and directories; making, moving, copying and removing them. */
#include "world.h"

static const struct authority_move_options may_replace = {.may_replace = true};
static const struct authority_move_options move_parents = {.make_parents = true};
static const struct authority_remove_options recursive = {.is_recursive = true};

/* ---- looking ---- */

static void stat_and_exists_tell_what_is_there(void **state)
{
    struct world *world = *state;
    struct authority_stat about;
    bool exists = false;

    plant(world, WORLD_ROOT, "file", "12345");
    plant_dir(world, WORLD_ROOT, "dir");
    plant_link(world, "link", "file");
    assert_ok(world, authority_stat(world->scope, STR("file"), &about, &world->err));
    assert_int_equal(about.type, AUTHORITY_FILE);
    assert_int_equal(about.size, 5);
    assert_int_equal(about.mode, 0644);
    assert_int_equal(about.links, 1);
    assert_ok(world, authority_stat(world->scope, STR("dir"), &about, &world->err));
    assert_int_equal(about.type, AUTHORITY_DIRECTORY);
    assert_ok(world, authority_stat(world->scope, STR(""), &about, &world->err));
    assert_int_equal(about.type, AUTHORITY_DIRECTORY);
    assert_ok(world, authority_stat(world->scope, STR("link"), &about, &world->err));
    assert_int_equal(about.type, AUTHORITY_SYMLINK);
    assert_ok(world, authority_stat(world->following, STR("link"), &about, &world->err));
    assert_int_equal(about.type, AUTHORITY_FILE);
    assert_refused(world, authority_stat(world->scope, STR("none"), &about, &world->err),
                   ERR_NOT_FOUND);
    assert_ok(world, authority_exists(world->scope, STR("file"), &exists, &world->err));
    assert_true(exists);
    assert_ok(world, authority_exists(world->scope, STR("none/below"), &exists, &world->err));
    assert_false(exists);
    assert_ok(world, authority_exists(world->scope, STR("file"), &exists, &world->err));
    assert_ok(world, authority_exists(world->scope, STR("file/below"), &exists, &world->err));
    assert_false(exists);
    exists = true;
    assert_refused(world, authority_exists(world->scope, STR("../x"), &exists, &world->err),
                   ERR_PATH_OUTSIDE_ROOT);
    assert_true(exists); /* untouched */
}

struct listing {
    size_t seen;
    size_t with_stat;
    uint64_t bytes;
    int answer; /* after the first */
};

static int count_entry(void *data, const struct authority_entry *entry)
{
    struct listing *listing = data;

    listing->seen++;
    if (entry->has_stat) {
        listing->with_stat++;
        listing->bytes += entry->stat.size;
        assert_int_equal(entry->stat.type, entry->type);
    }
    return listing->answer;
}

static void a_directory_is_listed(void **state)
{
    struct world *world = *state;
    struct listing listing = {0};
    struct authority_list_options options = {.with_stat = true};

    plant(world, WORLD_ROOT, "a", "1");
    plant(world, WORLD_ROOT, "b", "22");
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/below", "333");
    assert_ok(world,
              authority_list(world->scope, STR(""), &options, count_entry, &listing, &world->err));
    assert_int_equal(listing.seen, 3);
    assert_int_equal(listing.with_stat, 3);
    assert_true(listing.bytes >= 3);
    listing = (struct listing){0};
    options = (struct authority_list_options){.max_entries = 2};
    assert_ok(world,
              authority_list(world->scope, STR(""), &options, count_entry, &listing, &world->err));
    assert_int_equal(listing.seen, 2);
    assert_int_equal(listing.with_stat, 0);
    listing = (struct listing){.answer = 7};
    assert_int_equal(
        authority_list(world->scope, STR(""), NULL, count_entry, &listing, &world->err), 7);
    assert_int_equal(listing.seen, 1);
    assert_refused(world,
                   authority_list(world->scope, STR("a"), NULL, count_entry, &listing, &world->err),
                   ERR_NOT_A_DIRECTORY);
    assert_refused(
        world, authority_list(world->scope, STR("none"), NULL, count_entry, &listing, &world->err),
        ERR_NOT_FOUND);
}

static void make_tree(struct world *world)
{
    plant_dir(world, WORLD_ROOT, "t");
    plant(world, WORLD_ROOT, "t/z", "z");
    plant_dir(world, WORLD_ROOT, "t/b");
    plant(world, WORLD_ROOT, "t/b/2", "2");
    plant_dir(world, WORLD_ROOT, "t/b/c");
    plant(world, WORLD_ROOT, "t/b/c/3", "3");
    plant_dir(world, WORLD_ROOT, "t/a");
    plant(world, WORLD_ROOT, "t/a/1", "1");
    plant_link(world, "t/loop", "b");
}

static void a_tree_is_walked_in_order(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf out = BUF_INIT(1000);
    struct authority_walk_options options = {.is_sorted = true};

    make_tree(world);
    assert_ok(world, authority_walk(world->scope, STR("t"), &options, world_note_entry, &out,
                                    &world->err));
    assert_str(buf_view(&out), "a\na/1\nb\nb/c\nb/c/3\nb/2\nloop\nz\n");
    buf_clear(&out);
    options.is_breadth_first = true;
    assert_ok(world, authority_walk(world->scope, STR("t"), &options, world_note_entry, &out,
                                    &world->err));
    assert_str(buf_view(&out), "a\nb\nloop\nz\na/1\nb/c\nb/2\nb/c/3\n");
    buf_clear(&out);
    options.max_depth = 2;
    assert_ok(world, authority_walk(world->scope, STR("t"), &options, world_note_entry, &out,
                                    &world->err));
    assert_str(buf_view(&out), "a\nb\nloop\nz\na/1\nb/c\nb/2\n");
    buf_clear(&out);
    options = (struct authority_walk_options){.is_sorted = true, .max_depth = 1};
    assert_ok(world, authority_walk(world->following, STR("t"), &options, world_note_entry, &out,
                                    &world->err));
    assert_str(buf_view(&out), "a\nb\nloop\nz\n");
    buf_clear(&out);
    options = (struct authority_walk_options){.is_sorted = true, .max_entries = 3};
    assert_ok(world, authority_walk(world->scope, STR("t"), &options, world_note_entry, &out,
                                    &world->err));
    assert_str(buf_view(&out), "a\na/1\nb\n");
}

static int skip_b(void *data, const struct authority_entry *entry)
{
    world_note_entry(data, entry);
    return str_eq(entry->name, STR("b")) ? AUTHORITY_WALK_SKIP : 0;
}

static int end_at_b(void *data, const struct authority_entry *entry)
{
    world_note_entry(data, entry);
    return str_eq(entry->name, STR("b")) ? ERR_CANCELLED : 0;
}

static void a_walk_can_be_steered(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf out = BUF_INIT(1000);
    struct authority_walk_options options = {.is_sorted = true};

    make_tree(world);
    for (int i = 0; i < 2; i++) {
        options.is_breadth_first = i == 1;
        buf_clear(&out);
        assert_ok(world,
                  authority_walk(world->scope, STR("t"), &options, skip_b, &out, &world->err));
        assert_int_equal(str_find(buf_view(&out), STR("b/")), SIZE_MAX);
        assert_true(str_find(buf_view(&out), STR("a/1")) != SIZE_MAX);
        buf_clear(&out);
        assert_refused(
            world, authority_walk(world->scope, STR("t"), &options, end_at_b, &out, &world->err),
            ERR_CANCELLED);
        assert_true(str_ends_with(buf_view(&out), STR("b\n")));
    }
}

static void every_entry_is_walked_once_unsorted_too(void **state)
{
    struct world *world = *state;
    struct listing listing = {0};
    const struct authority_walk_options options = {.with_stat = true};

    make_tree(world);
    assert_ok(world,
              authority_walk(world->scope, STR("t"), &options, count_entry, &listing, &world->err));
    assert_int_equal(listing.seen, 8);
    assert_int_equal(listing.with_stat, 8);
}

/* ---- directories, moving, copying, removing ---- */

static void mkdir_makes_a_directory(void **state)
{
    struct world *world = *state;
    const struct authority_mkdir_options may_exist = {.may_exist = true};

    plant(world, WORLD_ROOT, "file", "f");
    assert_ok(world, authority_mkdir(world->scope, STR("dir"), NULL, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "dir"), 0755);
    assert_refused(world, authority_mkdir(world->scope, STR("dir"), NULL, &world->err),
                   ERR_ALREADY_EXISTS);
    assert_ok(world, authority_mkdir(world->scope, STR("dir"), &may_exist, &world->err));
    assert_ok(world, authority_mkdir(world->scope, STR(""), &may_exist, &world->err));
    assert_refused(world, authority_mkdir(world->scope, STR("file"), &may_exist, &world->err),
                   ERR_ALREADY_EXISTS);
    assert_content(world, WORLD_ROOT, "file", "f");
}

static void moving_renames_files_and_directories(void **state)
{
    struct world *world = *state;

    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/f", "f");
    assert_ok(world, authority_move(world->scope, STR("d/f"), STR("g"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "g", "f");
    assert_false(is_there(world, WORLD_ROOT, "d/f"));
    assert_ok(world, authority_move(world->scope, STR("d"), STR("e"), NULL, &world->err));
    assert_true(is_there(world, WORLD_ROOT, "e"));
    assert_false(is_there(world, WORLD_ROOT, "d"));
}

static void moving_replaces_only_on_request(void **state)
{
    struct world *world = *state;

    plant(world, WORLD_ROOT, "a", "a");
    plant(world, WORLD_ROOT, "b", "b");
    plant_dir(world, WORLD_ROOT, "d");
    freeze(world);
    assert_refused(world, authority_move(world->scope, STR("a"), STR("b"), NULL, &world->err),
                   ERR_ALREADY_EXISTS);
    assert_refused(world, authority_copy(world->scope, STR("a"), STR("b"), NULL, &world->err),
                   ERR_ALREADY_EXISTS);
    assert_refused(world,
                   authority_move(world->scope, STR("a"), STR("d"), &may_replace, &world->err),
                   ERR_ALREADY_EXISTS);
    assert_refused(world, authority_move(world->scope, STR("d"), STR("d/x"), NULL, &world->err),
                   ERR_INVALID_ARGUMENT);
    assert_refused(world, authority_move(world->scope, STR("none"), STR("c"), NULL, &world->err),
                   ERR_NOT_FOUND);
    assert_frozen(world);
    assert_ok(world, authority_copy(world->scope, STR("a"), STR("b"), &may_replace, &world->err));
    assert_content(world, WORLD_ROOT, "b", "a");
    assert_ok(world, authority_write_bytes(world->scope, STR("a"), STR("new"), NULL, &world->err));
    assert_ok(world, authority_move(world->scope, STR("a"), STR("b"), &may_replace, &world->err));
    assert_content(world, WORLD_ROOT, "b", "new");
    assert_false(is_there(world, WORLD_ROOT, "a"));
}

static void a_copy_keeps_only_the_executable_bit(void **state)
{
    struct world *world = *state;

    plant(world, WORLD_ROOT, "run", "#!");
    set_mode(world, WORLD_ROOT, "run", world->is_memory ? 0777 : 04777);
    plant(world, WORLD_ROOT, "open", "x");
    set_mode(world, WORLD_ROOT, "open", 0666);
    assert_ok(world, authority_copy(world->scope, STR("run"), STR("run2"), NULL, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "run2"), 0755);
    assert_ok(world, authority_copy(world->scope, STR("open"), STR("open2"), NULL, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "open2"), 0644);
    assert_content(world, WORLD_ROOT, "run2", "#!");
}

static void a_large_copy_is_whole(void **state)
{
    struct world *world = *state;
    enum { LARGE = 3 << 20 };
    cleanup_free char *bytes = malloc(LARGE);

    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (char)(i * 31 >> 3);
    plant_bytes(world, WORLD_ROOT, "large", (struct str){bytes, LARGE});
    assert_ok(world, authority_copy(world->scope, STR("large"), STR("copy"), NULL, &world->err));
    assert_bytes(world, WORLD_ROOT, "copy", (struct str){bytes, LARGE});
    assert_ok(world,
              authority_copy(world->scope, STR("copy"), STR("copy"), &may_replace, &world->err));
    assert_bytes(world, WORLD_ROOT, "copy", (struct str){bytes, LARGE});
}

static struct authority_scope *open_other(struct world *world)
{
    struct authority_request request = world_request(world);

    request.root.path = world->paths[WORLD_OTHER];
    request.root.id = "other";
    return world_open(world, &request);
}

static void files_come_in_from_another_scope(void **state)
{
    struct world *world = *state;
    struct authority_scope *other = open_other(world);

    plant(world, WORLD_OTHER, "f", "f");
    plant_dir(world, WORLD_OTHER, "d");
    plant(world, WORLD_OTHER, "d/g", "g");
    assert_ok(world, authority_copy_in(world->scope, STR("a/f"), other, STR("f"), &move_parents,
                                       &world->err));
    assert_content(world, WORLD_ROOT, "a/f", "f");
    assert_content(world, WORLD_OTHER, "f", "f");
    assert_ok(world, authority_move_in(world->scope, STR("f"), other, STR("f"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "f", "f");
    assert_false(is_there(world, WORLD_OTHER, "f"));
    assert_ok(world, authority_move_in(world->scope, STR("d"), other, STR("d"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "d/g", "g");
    assert_false(is_there(world, WORLD_OTHER, "d"));
    freeze(world);
    assert_refused(world,
                   authority_move_in(world->scope, STR("x"), other, STR(""), NULL, &world->err),
                   ERR_ROOT_PROTECTED);
    assert_refused(
        world,
        authority_copy_in(world->scope, STR("x"), other, STR("../root/f"), NULL, &world->err),
        ERR_PATH_OUTSIDE_ROOT);
    assert_frozen(world);
    authority_scope_free(other);
}

static void a_directory_that_is_moved_keeps_its_modes(void **state)
{
    static const unsigned modes[] = {0700, 0750, 0775};
    struct world *world = *state;
    struct authority_scope *other = open_other(world);
    mode_t mask = umask(022);

    for (size_t i = 0; i < array_size(modes); i++) {
        plant_dir(world, WORLD_OTHER, "d");
        plant_dir(world, WORLD_OTHER, "d/in");
        plant(world, WORLD_OTHER, "d/in/f", "f");
        set_mode(world, WORLD_OTHER, "d", modes[i]);
        set_mode(world, WORLD_OTHER, "d/in", modes[i]);
        assert_ok(world,
                  authority_move_in(world->scope, STR("d"), other, STR("d"), NULL, &world->err));
        assert_int_equal(mode_of(world, WORLD_ROOT, "d"), modes[i]);
        assert_int_equal(mode_of(world, WORLD_ROOT, "d/in"), modes[i]);
        assert_content(world, WORLD_ROOT, "d/in/f", "f");
        assert_ok(world, authority_remove(world->scope, STR("d"), &recursive, &world->err));
    }
    umask(mask);
    authority_scope_free(other);
}

static struct authority_scope *make_temp(struct world *world)
{
    const struct authority_subject subject = {AUTHORITY_CORE, "test", NULL};
    struct authority_scope *scope = NULL;

    assert_ok(world,
              authority_create_temp(world->authority, &subject, "a test", &scope, &world->err));
    return scope;
}

/* Packs a directory and unpacks it as out/. */
static void unpack(struct world *world, struct authority_scope *scope)
{
    const struct authority_write_options parents = {.make_parents = true};
    struct authority_archive_result result;

    assert_ok(world, authority_write_bytes(scope, STR("src/f"), STR("f"), &parents, &world->err));
    assert_ok(world, authority_create_archive(scope, STR("src"), STR("a.tar"), AUTHORITY_TAR_GZ,
                                              NULL, &result, &world->err));
    assert_ok(world, authority_extract_archive(scope, STR("a.tar"), STR("out"), NULL, &result,
                                               &world->err));
    assert_int_equal(result.files, 1);
}

static void what_is_unpacked_has_the_mode_of_its_root(void **state)
{
    struct world *world = *state;
    struct authority_scope *temp = make_temp(world);
    struct authority_stat about;

    unpack(world, world->scope);
    assert_int_equal(mode_of(world, WORLD_ROOT, "out"), 0755);
    unpack(world, temp);
    assert_ok(world, authority_stat(temp, STR("out"), &about, &world->err));
    assert_int_equal(about.mode, 0700);
    authority_scope_free(temp);
}

static void many_workspaces_leave_room_for_an_extraction(void **state)
{
    enum { MANY = 200 };
    struct world *world = *state;
    struct authority_scope *temps[MANY];

    for (size_t i = 0; i < MANY; i++) {
        temps[i] = make_temp(world);
        assert_ok(world, authority_write_bytes(temps[i], STR("f"), STR("x"), NULL, &world->err));
    }
    unpack(world, world->scope);
    assert_content(world, WORLD_ROOT, "out/f", "f");
    unpack(world, temps[MANY / 2]);
    for (size_t i = 0; i < MANY; i++)
        authority_scope_free(temps[i]);
}

static void a_descriptor_comes_in_and_stays_the_hosts(void **state)
{
    struct world *world = *state;
    char path[WORLD_PATH_BYTES + 16];
    int pipes[2];
    int fd;

    plant(world, WORLD_OUTSIDE, "mine", "mine");
    snprintf(path, sizeof(path), "%s/mine", world->paths[WORLD_OUTSIDE]);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_ok(world,
              authority_copy_in_fd(world->scope, STR("a/b"), fd, &move_parents, &world->err));
    assert_content(world, WORLD_ROOT, "a/b", "mine");
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    freeze(world);
    assert_refused(world, authority_copy_in_fd(world->scope, STR("a/b"), fd, NULL, &world->err),
                   ERR_ALREADY_EXISTS);
    close(fd);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_refused(world, authority_copy_in_fd(world->scope, STR("c"), pipes[0], NULL, &world->err),
                   ERR_NOT_REGULAR_FILE);
    assert_refused(
        world,
        authority_copy_in_fd(world->scope, STR("c"), world->fds[WORLD_OUTSIDE], NULL, &world->err),
        ERR_NOT_REGULAR_FILE);
    assert_frozen(world);
    close(pipes[0]);
    close(pipes[1]);
}

static void removing_takes_what_it_was_told(void **state)
{
    struct world *world = *state;
    const struct authority_remove_options may_miss = {.may_miss = true};
    const struct authority_remove_options few = {.is_recursive = true, .max_entries = 2};

    make_tree(world);
    plant(world, WORLD_ROOT, "f", "f");
    assert_ok(world, authority_remove(world->scope, STR("f"), NULL, &world->err));
    assert_false(is_there(world, WORLD_ROOT, "f"));
    assert_refused(world, authority_remove(world->scope, STR("f"), NULL, &world->err),
                   ERR_NOT_FOUND);
    assert_ok(world, authority_remove(world->scope, STR("f"), &may_miss, &world->err));
    assert_refused(world, authority_remove(world->scope, STR("t"), NULL, &world->err),
                   ERR_NOT_EMPTY);
    assert_true(is_there(world, WORLD_ROOT, "t/b/c/3"));
    assert_refused(world, authority_remove(world->scope, STR("t"), &few, &world->err),
                   ERR_TOO_LARGE);
    assert_true(is_there(world, WORLD_ROOT, "t"));
    assert_ok(world, authority_remove(world->scope, STR("t"), &recursive, &world->err));
    assert_false(is_there(world, WORLD_ROOT, "t"));
}

static void the_root_itself_stays(void **state)
{
    struct world *world = *state;
    static const struct str roots[] = {STR_LITERAL(""), STR_LITERAL("."), STR_LITERAL("./"),
                                       STR_LITERAL("d/.."), STR_LITERAL("d/../.")};

    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "f", "f");
    freeze(world);
    for (size_t i = 0; i < array_size(roots); i++)
        for (int links = 0; links < 2; links++) {
            struct authority_scope *scope = links ? world->following : world->scope;

            assert_refused(world, authority_remove(scope, roots[i], &recursive, &world->err),
                           ERR_ROOT_PROTECTED);
            assert_refused(world, authority_move(scope, roots[i], STR("x"), NULL, &world->err),
                           ERR_ROOT_PROTECTED);
            assert_refused(world,
                           authority_move(scope, STR("f"), roots[i], &may_replace, &world->err),
                           ERR_ROOT_PROTECTED);
            assert_true(authority_write_bytes(scope, roots[i], STR("x"), NULL, &world->err) < 0);
            assert_true(authority_append(scope, roots[i], STR("x"), NULL, &world->err) < 0);
        }
    assert_frozen(world);
}

TEST_MAIN(EVERYWHERE(stat_and_exists_tell_what_is_there), EVERYWHERE(a_directory_is_listed),
          EVERYWHERE(a_tree_is_walked_in_order), EVERYWHERE(a_walk_can_be_steered),
          EVERYWHERE(every_entry_is_walked_once_unsorted_too), EVERYWHERE(mkdir_makes_a_directory),
          EVERYWHERE(moving_renames_files_and_directories),
          EVERYWHERE(moving_replaces_only_on_request),
          EVERYWHERE(a_copy_keeps_only_the_executable_bit), EVERYWHERE(a_large_copy_is_whole),
          EVERYWHERE(files_come_in_from_another_scope),
          EVERYWHERE(a_directory_that_is_moved_keeps_its_modes),
          EVERYWHERE(what_is_unpacked_has_the_mode_of_its_root),
          EVERYWHERE(many_workspaces_leave_room_for_an_extraction),
          ON_DISK(a_descriptor_comes_in_and_stays_the_hosts),
          EVERYWHERE(removing_takes_what_it_was_told), EVERYWHERE(the_root_itself_stays))

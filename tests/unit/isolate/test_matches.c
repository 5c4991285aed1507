/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include "isolate/box/matches.h"

enum { ARENA_BYTES = 1 << 20, ROOM = 8, SOMEBODY = 65534 };

static bool has(const struct matches *matches, const char *path, enum box_access at_most)
{
    for (size_t i = 0; i < matches->count; i++)
        if (strcmp(matches->items[i].path, path) == 0 && matches->items[i].at_most == at_most &&
            !matches->items[i].is_pattern)
            return true;
    return false;
}

/* inside: file "one", directories "a" with a file "f", and "b"; a link to outside, with "secret" */
static void patterns_are_found_below_what_commands_see(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct place *place = *state;
    const struct box_place folders[] = {{.path = place->inside, .access = BOX_WRITE},
                                        {.path = place->outside, .access = BOX_HIDDEN}};
    const struct box_denial denials[] = {
        {.path = "**/f", .at_most = BOX_HIDDEN, .is_pattern = true},
        {.path = "**/secret", .at_most = BOX_HIDDEN, .is_pattern = true},
        {.path = "/one", .at_most = BOX_HIDDEN},
        {.path = "a", .at_most = BOX_READ, .is_pattern = true}};
    struct box_denial items[ROOM];
    struct matches matches = {.items = items, .room = ROOM};
    char folder[PLACE_PATH_BYTES + 8];
    char file[PLACE_PATH_BYTES + 8];

    snprintf(folder, sizeof(folder), "%s/a", place->inside);
    snprintf(file, sizeof(file), "%s/a/f", place->inside);
    assert_int_equal(symlinkat("../outside", place->base_fd, "inside/link"), 0);
    assert_int_equal(matches_find(&arena, denials, 4, folders, 2, &matches, NULL), 0);
    assert_int_equal(matches.count, 2);
    assert_true(has(&matches, folder, BOX_READ));
    assert_true(has(&matches, file, BOX_HIDDEN));
}

static void a_folder_that_is_denied_is_not_looked_into(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct place *place = *state;
    const struct box_place folder = {.path = place->inside, .access = BOX_READ};
    const struct box_denial denials[] = {
        {.path = "**/f", .at_most = BOX_HIDDEN, .is_pattern = true},
        {.path = "inside", .at_most = BOX_HIDDEN, .is_pattern = true}};
    struct box_denial items[ROOM];
    struct matches matches = {.items = items, .room = ROOM};

    assert_int_equal(matches_find(&arena, denials, 2, &folder, 1, &matches, NULL), 0);
    assert_int_equal(matches.count, 1);
    assert_true(has(&matches, place->inside, BOX_HIDDEN));
}

/* A command could fill a folder, and the next one would see what is denied. */
static void what_cannot_be_found_whole_is_an_error(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct place *place = *state;
    const struct box_place folder = {.path = place->inside, .access = BOX_READ};
    const struct box_denial denial = {.path = "{one,f}", .at_most = BOX_HIDDEN, .is_pattern = true};
    struct box_denial items[ROOM];
    struct matches matches = {.items = items, .room = 1};
    struct err err = ERR_INIT;

    assert_int_equal(matches_find(&arena, &denial, 1, &folder, 1, &matches, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "deny the folders that contain them instead"));
    matches = (struct matches){.items = items, .room = 2};
    assert_int_equal(matches_find(&arena, &denial, 1, &folder, 1, &matches, &err), 0);
    assert_int_equal(matches.count, 2);
}

static void paths_beyond_the_arena_are_an_error_too(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(2048);
    const struct place *place = *state;
    const struct box_place folder = {.path = place->inside, .access = BOX_READ};
    const struct box_denial denial = {.path = "**/f", .at_most = BOX_HIDDEN, .is_pattern = true};
    struct box_denial items[ROOM];
    struct matches matches = {.items = items, .room = ROOM};
    struct err err = ERR_INIT;

    for (int i = 0; i < 100; i++) {
        char name[64];

        snprintf(name, sizeof(name), "inside/folder-with-a-long-name-%d", i);
        assert_int_equal(mkdirat(place->base_fd, name, 0700), 0);
    }
    assert_true(matches_find(&arena, &denial, 1, &folder, 1, &matches, &err) < 0);
}

static void become_somebody(void)
{
    if (geteuid() == 0)
        expect(setresgid(SOMEBODY, SOMEBODY, SOMEBODY) == 0 &&
               setresuid(SOMEBODY, SOMEBODY, SOMEBODY) == 0);
}

static void find_folders_of_another(void *data)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct place *place = data;
    const struct box_place folder = {.path = place->inside, .access = BOX_WRITE};
    const struct box_denial hides = {.path = "**/a/f", .at_most = BOX_HIDDEN, .is_pattern = true};
    const struct box_denial holds = {.path = "**/b/g", .at_most = BOX_READ, .is_pattern = true};
    struct box_denial items[ROOM];
    struct matches matches = {.items = items, .room = ROOM};
    char closed[PLACE_PATH_BYTES + 8];

    become_somebody();
    snprintf(closed, sizeof(closed), "%s/a", place->inside);
    expect(matches_find(&arena, &hides, 1, &folder, 1, &matches, NULL) == 0);
    expect(has(&matches, closed, BOX_HIDDEN));
    snprintf(closed, sizeof(closed), "%s/b", place->inside);
    expect(matches_find(&arena, &holds, 1, &folder, 1, &matches, NULL) == 0);
    expect(has(&matches, closed, BOX_READ));
}

static void open_base(const struct place *place)
{
    assert_int_equal(fchmod(place->base_fd, 0755), 0);
    assert_int_equal(fchmodat(place->base_fd, "inside", 0755, 0), 0);
}

static void a_folder_of_another_that_cannot_be_read_is_denied_itself(void **state)
{
    struct place *place = *state;

    if (geteuid() != 0)
        skip_because("only root can have a folder of somebody else looked at");
    open_base(place);
    assert_int_equal(fchmodat(place->base_fd, "inside/a", 0, 0), 0);
    assert_int_equal(fchmodat(place->base_fd, "inside/b", 0, 0), 0);
    in_child(find_folders_of_another, place);
    assert_int_equal(fchmodat(place->base_fd, "inside/a", 0700, 0), 0);
    assert_int_equal(fchmodat(place->base_fd, "inside/b", 0700, 0), 0);
}

static void find_own_folder(void *data)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct place *place = data;
    const struct box_place folder = {.path = place->inside, .access = BOX_WRITE};
    const struct box_denial inner = {.path = "**/a/f", .at_most = BOX_HIDDEN, .is_pattern = true};
    const struct box_denial other = {
        .path = "/elsewhere/*", .at_most = BOX_READ, .is_pattern = true};
    struct box_denial items[ROOM];
    struct matches matches = {.items = items, .room = ROOM};
    struct err err = ERR_INIT;

    become_somebody();
    expect(matches_find(&arena, &inner, 1, &folder, 1, &matches, &err) == ERR_PERMISSION_DENIED);
    expect(strstr(err.message, "inside/a is not readable by its owner") != NULL);
    expect(matches_find(&arena, &other, 1, &folder, 1, &matches, &err) == 0);
}

/* A command that closed it could open it again, or knows the names in it. */
static void an_own_folder_that_cannot_be_read_is_an_error(void **state)
{
    struct place *place = *state;

    open_base(place);
    if (geteuid() == 0)
        assert_int_equal(fchownat(place->base_fd, "inside/a", SOMEBODY, SOMEBODY, 0), 0);
    assert_int_equal(fchmodat(place->base_fd, "inside/a", 0311, 0), 0);
    in_child(find_own_folder, place);
    assert_int_equal(fchmodat(place->base_fd, "inside/a", 0700, 0), 0);
}

TEST_MAIN(place_test(patterns_are_found_below_what_commands_see),
          place_test(a_folder_that_is_denied_is_not_looked_into),
          place_test(what_cannot_be_found_whole_is_an_error),
          place_test(paths_beyond_the_arena_are_an_error_too),
          place_test(a_folder_of_another_that_cannot_be_read_is_denied_itself),
          place_test(an_own_folder_that_cannot_be_read_is_an_error))

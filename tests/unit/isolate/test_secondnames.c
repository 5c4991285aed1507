/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include "isolate/box/secondnames.h"

enum { ARENA_BYTES = 1 << 20, ROOM = 8, PATH_BYTES = PLACE_PATH_BYTES + 16, SOMEBODY = 65534 };

static const char *path_of(const struct place *place, const char *name, char out_path[PATH_BYTES])
{
    snprintf(out_path, PATH_BYTES, "%s/%s", place->base, name);
    return out_path;
}

static void give_name(const struct place *place, const char *name, const char *other)
{
    assert_int_equal(linkat(place->base_fd, name, place->base_fd, other, 0), 0);
}

/* Of what was not given to it. */
static bool finds(const struct place *place, const struct matches *denied, size_t given,
                  const char *name, enum box_access at_most)
{
    char path[PATH_BYTES];

    path_of(place, name, path);
    for (size_t i = given; i < denied->count; i++)
        if (strcmp(denied->items[i].path, path) == 0 && denied->items[i].at_most == at_most)
            return true;
    return false;
}

/* inside: file "one", directories "a" with a file "f", and "b"; outside: "secret" */
static void other_names_of_denied_files_are_found(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct place *place = *state;
    const struct box_place folder = {.path = place->inside, .access = BOX_WRITE};
    char one[PATH_BYTES];
    char a[PATH_BYTES];
    struct box_denial items[ROOM] = {
        {.path = path_of(place, "inside/one", one), .at_most = BOX_HIDDEN},
        {.path = path_of(place, "inside/a", a), .at_most = BOX_READ}};
    struct matches denied = {.items = items, .room = ROOM, .count = 2};

    /* As long as there is none, nothing is added. */
    assert_int_equal(secondnames_find(&arena, &folder, 1, &denied, NULL), 0);
    assert_int_equal(denied.count, 2);
    give_name(place, "inside/one", "inside/b/second");
    give_name(place, "inside/one", "inside/a/third");
    give_name(place, "inside/a/f", "inside/four");
    give_name(place, "inside/a/f", "inside/a/five");
    assert_int_equal(secondnames_find(&arena, &folder, 1, &denied, NULL), 0);
    assert_int_equal(denied.count, 5);
    assert_true(finds(place, &denied, 2, "inside/b/second", BOX_HIDDEN));
    /* What may be read in there may not be read by this name. */
    assert_true(finds(place, &denied, 2, "inside/a/third", BOX_HIDDEN));
    assert_true(finds(place, &denied, 2, "inside/four", BOX_READ));
}

static void names_that_are_not_seen_do_not_count(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct place *place = *state;
    char a[PATH_BYTES];
    char b[PATH_BYTES];
    char secret[PATH_BYTES];
    const struct box_place folders[] = {
        {.path = place->inside, .access = BOX_READ},
        {.path = path_of(place, "inside/a", a), .access = BOX_HIDDEN},
        {.path = path_of(place, "outside/secret", secret), .access = BOX_HIDDEN}};
    struct box_denial items[ROOM] = {
        {.path = path_of(place, "inside/b", b), .at_most = BOX_HIDDEN}};
    struct matches denied = {.items = items, .room = ROOM, .count = 1};

    give_name(place, "outside/secret", "outside/other");
    give_name(place, "outside/secret", "inside/a/other");
    give_name(place, "outside/secret", "inside/b/other");
    assert_int_equal(secondnames_find(&arena, folders, 3, &denied, NULL), 0);
    assert_int_equal(denied.count, 1);
    give_name(place, "outside/secret", "inside/other");
    assert_int_equal(secondnames_find(&arena, folders, 3, &denied, NULL), 0);
    assert_int_equal(denied.count, 2);
    assert_true(finds(place, &denied, 1, "inside/other", BOX_HIDDEN));
}

/* Each place is looked at once, also where one lies in what another one hides. */
static void places_in_places_are_looked_at(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct place *place = *state;
    char one[PATH_BYTES];
    char a[PATH_BYTES];
    char deep[PATH_BYTES];
    const struct box_place folders[] = {
        {.path = place->inside, .access = BOX_WRITE},
        {.path = path_of(place, "inside/a", a), .access = BOX_HIDDEN},
        {.path = path_of(place, "inside/a/deep", deep), .access = BOX_WRITE}};
    struct box_denial items[ROOM] = {
        {.path = path_of(place, "inside/one", one), .at_most = BOX_HIDDEN}};
    struct matches denied = {.items = items, .room = ROOM, .count = 1};

    assert_int_equal(mkdirat(place->base_fd, "inside/a/deep", 0755), 0);
    give_name(place, "inside/one", "inside/a/deep/second");
    assert_int_equal(secondnames_find(&arena, folders, 3, &denied, NULL), 0);
    assert_int_equal(denied.count, 2);
    assert_true(finds(place, &denied, 1, "inside/a/deep/second", BOX_HIDDEN));
}

/* A command could make so many that the rest would be seen. */
static void more_names_than_can_be_denied_are_an_error(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct place *place = *state;
    const struct box_place folder = {.path = place->inside, .access = BOX_WRITE};
    char one[PATH_BYTES];
    struct box_denial items[ROOM] = {
        {.path = path_of(place, "inside/one", one), .at_most = BOX_HIDDEN}};
    struct matches denied = {.items = items, .room = 2, .count = 1};
    struct err err = ERR_INIT;

    give_name(place, "inside/one", "inside/two");
    give_name(place, "inside/one", "inside/three");
    assert_int_equal(secondnames_find(&arena, &folder, 1, &denied, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "remove the other names"));
}

static void find_in_own_folder(void *data)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct place *place = data;
    const struct box_place folder = {.path = place->inside, .access = BOX_WRITE};
    char one[PATH_BYTES];
    struct box_denial items[ROOM] = {
        {.path = path_of(place, "inside/one", one), .at_most = BOX_HIDDEN}};
    struct matches denied = {.items = items, .room = ROOM, .count = 1};
    struct err err = ERR_INIT;

    if (geteuid() == 0)
        expect(setresgid(SOMEBODY, SOMEBODY, SOMEBODY) == 0 &&
               setresuid(SOMEBODY, SOMEBODY, SOMEBODY) == 0);
    expect(secondnames_find(&arena, &folder, 1, &denied, &err) == ERR_PERMISSION_DENIED);
    expect(strstr(err.message, "inside/a is not readable by its owner") != NULL);
}

static void an_own_folder_that_cannot_be_read_is_an_error(void **state)
{
    static const mode_t modes[] = {0, 0311, 0444};
    struct place *place = *state;

    assert_int_equal(fchmod(place->base_fd, 0755), 0);
    give_name(place, "inside/one", "inside/two");
    if (geteuid() == 0)
        assert_int_equal(fchownat(place->base_fd, "inside/a", SOMEBODY, SOMEBODY, 0), 0);
    for (size_t i = 0; i < array_size(modes); i++) {
        assert_int_equal(fchmodat(place->base_fd, "inside/a", modes[i], 0), 0);
        in_child(find_in_own_folder, place);
    }
    assert_int_equal(fchmodat(place->base_fd, "inside/a", 0700, 0), 0);
}

TEST_MAIN(place_test(other_names_of_denied_files_are_found),
          place_test(names_that_are_not_seen_do_not_count),
          place_test(places_in_places_are_looked_at),
          place_test(more_names_than_can_be_denied_are_an_error),
          place_test(an_own_folder_that_cannot_be_read_is_an_error))

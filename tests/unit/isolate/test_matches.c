/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include "isolate/matches.h"

enum { ARENA_BYTES = 1 << 20, ROOM = 8 };

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
    assert_true(matches.is_complete);
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

static void the_nearest_are_kept_and_it_is_told_that_there_are_more(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct place *place = *state;
    const struct box_place folder = {.path = place->inside, .access = BOX_READ};
    const struct box_denial denial = {.path = "{one,f}", .at_most = BOX_HIDDEN, .is_pattern = true};
    struct box_denial items[ROOM];
    struct matches matches = {.items = items, .room = 1};
    char file[PLACE_PATH_BYTES + 8];

    snprintf(file, sizeof(file), "%s/one", place->inside);
    assert_int_equal(matches_find(&arena, &denial, 1, &folder, 1, &matches, NULL), 0);
    assert_false(matches.is_complete);
    assert_int_equal(matches.count, 1);
    assert_true(has(&matches, file, BOX_HIDDEN));
}

TEST_MAIN(place_test(patterns_are_found_below_what_commands_see),
          place_test(a_folder_that_is_denied_is_not_looked_into),
          place_test(the_nearest_are_kept_and_it_is_told_that_there_are_more))
